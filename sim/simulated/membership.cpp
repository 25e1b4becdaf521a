#include "sim/simulated/membership.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/quantity.hpp"

namespace straggler {

Membership::Membership(const SimulatedRun& run, PostOffice& post_office, Collectives& collectives, Computations& computations,
                       Publications& publications)
    : run_(run),
      post_office_(post_office),
      collectives_(collectives),
      computations_(computations),
      publications_(publications),
      down_(index_of(run.world.workers)),
      lost_(index_of(run.world.workers)) {
  post_office_.watch_state_transfers(*this);
  if (run_.world.cluster.faults.units) replicas_down_.resize(run_.world.cluster.servers.count);
  if (!run_.world.cluster.faults.processes.empty()) run_.books.count_failures();
  for (const Fault& fault : run_.world.cluster.faults.list) {
    if (fault.kind != Fault::Kind::join) continue;
    run_.workers.set_state(fault.worker, State::absent);
    run_.workers.set_enrolled(fault.worker, false);
    run_.books.times().set_down(fault.worker, Time(), true);
    computations_.set_down(fault.worker, true);
    publications_.worker_is_absent(fault.worker);
  }
}

void Membership::begin() {
  for (const Fault& fault : run_.world.cluster.faults.list) {
    switch (fault.kind) {
      case Fault::Kind::crash:
        run_.world.simulation.spawn(crash(fault));
        break;
      case Fault::Kind::slow:
        run_.world.simulation.spawn(slow(fault));
        break;
      case Fault::Kind::link:
        run_.world.simulation.spawn(fail_link(fault));
        break;
      case Fault::Kind::join:
        run_.world.simulation.spawn(join(fault));
        break;
      case Fault::Kind::leave:
        run_.world.simulation.spawn(leave(fault));
        break;
    }
  }
}

Process Membership::crash(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  const Failure failure{
      {UnitKind::worker, static_cast<std::uint32_t>(fault.worker)}, {fault.worker, fault.worker + 1}, {}, fault.at, fault.until};
  fail(failure);
  if (!fault.until || run_.world.cluster.faults.on_failure == OnFailure::abort) co_return;
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  repair(failure);
}

void Membership::fail(Failure failure) {
  run_.books.failed(failure.unit);
  std::vector<Rank> hit;
  for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker) {
    if (run_.workers.state(worker) == State::gone) continue;
    if (!failure.back) lost_[index_of(worker)] = true;
    if (down_[index_of(worker)]++ == 0 && run_.workers.is_up(worker)) hit.push_back(worker);
  }
  const FaultUnits* const units = run_.world.cluster.faults.units.get();
  for (const std::uint32_t server : units ? units->servers(failure.unit) : std::vector<std::uint32_t>())
    if (++replicas_down_[server] == units->replicas()) failure.lost_servers.push_back(server);
  if (failure.unit.kind == UnitKind::link) return set_bandwidth(units->links(failure.unit), 0, true);
  if (policy_ && policy_->failed(failure)) return;
  if (!failure.lost_servers.empty()) {
    run_.books.warn("server " + std::to_string(failure.lost_servers.front()) + " failed at " +
                    format_quantity(run_.world.now().seconds(), Dimension::time) +
                    ", when none of its replicas was left, and with it the weights; the run ended there");
    return publications_.end_run(Outcome::aborted);
  }
  if (hit.empty()) return;
  take_out(hit, State::crashed);
  if (run_.world.cluster.faults.on_failure == OnFailure::abort) publications_.end_run(Outcome::aborted);
}

void Membership::repair(const Failure& failure) {
  std::vector<Rank> back;
  for (Rank worker = failure.workers.begin; worker < failure.workers.end; ++worker)
    if (run_.workers.state(worker) != State::gone && --down_[index_of(worker)] == 0 && run_.workers.state(worker) == State::crashed)
      back.push_back(worker);
  const FaultUnits* const units = run_.world.cluster.faults.units.get();
  for (const std::uint32_t server : units ? units->servers(failure.unit) : std::vector<std::uint32_t>()) --replicas_down_[server];
  if (failure.unit.kind == UnitKind::link) return set_bandwidth(units->links(failure.unit), 0, false);
  if (policy_ && policy_->repaired(failure)) return;
  if (!back.empty()) fetch_state(back);
}

void Membership::announce(const Failure& failure) {
  if (policy_) policy_->noticed(failure);
}

void Membership::impair(FaultUnit unit, double times_slower, double bandwidth_factor, bool begins) {
  const FaultUnits& units = *run_.world.cluster.faults.units;
  const RankSpan workers = units.workers(unit);
  for (Rank worker = workers.begin; times_slower != 1 && worker < workers.end; ++worker) slow_down(worker, times_slower, begins);
  if (bandwidth_factor != 1) set_bandwidth(units.links(unit), bandwidth_factor, begins);
}

void Membership::rolled_back(std::vector<Handle> optimizer) {
  ready_.clear();
  if (!run_.world.has_server()) optimizer_ = std::move(optimizer);
}

void Membership::start_from_saved(const std::vector<Rank>& workers) {
  ready_.insert(ready_.end(), workers.begin(), workers.end());
  start_ready();
}

Process Membership::slow(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  slow_down(fault.worker, fault.factor, true);
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  slow_down(fault.worker, fault.factor, false);
}

void Membership::slow_down(Rank worker, double factor, bool begins) {
  std::vector<double>& spells = slow_[worker];
  if (begins)
    spells.push_back(factor);
  else
    spells.erase(std::find(spells.begin(), spells.end(), factor));
  double all = 1;
  for (const double spell : spells) all *= spell;
  if (spells.empty()) slow_.erase(worker);
  computations_.set_slowness(worker, all);
}

Process Membership::fail_link(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  set_bandwidth(fault.links, fault.factor, true);
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  set_bandwidth(fault.links, fault.factor, false);
}

void Membership::set_bandwidth(std::span<const LinkId> links, double factor, bool failing) {
  for (const LinkId link : links) {
    std::vector<double>& factors = links_[link];
    if (failing)
      factors.push_back(factor);
    else
      factors.erase(std::find(factors.begin(), factors.end(), factor));
    double bandwidth = run_.world.cluster.fabric->bytes_per_second(link);
    for (const double each : factors) bandwidth *= each;
    if (factors.empty()) links_.erase(link);
    run_.world.network.set_capacity(link, bandwidth);
  }
}

Process Membership::join(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  if (run_.workers.state(fault.worker) != State::absent) co_return;
  if (is_down(fault.worker))
    run_.workers.set_state(fault.worker, State::crashed);
  else
    fetch_state({&fault.worker, 1});
}

Process Membership::leave(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  if (run_.workers.state(fault.worker) == State::gone) co_return;
  if (run_.workers.is_up(fault.worker)) {
    send_kept_vector(fault.worker);
    run_.workers.set_enrolled(fault.worker, false);
  }
  take_out({&fault.worker, 1}, State::gone);
}

void Membership::send_kept_vector(Rank worker) {
  if (!run_.workers.plan().clients_keep_vectors || !run_.workers.find_node(worker)) return;
  const KeptVector* const kept = run_.workers.node(worker).kept_vector();
  if (!kept || (kept->vector.empty() && kept->next.empty())) return;
  Weights farewell;
  farewell.edit().value = kept->vector.empty() ? kept->next : kept->vector;
  farewell.edit().more.edit().about_kept.edit().kept = std::make_shared<const KeptVector>(*kept);
  post_office_.dispatch(worker, Peer(run_.world.workers, Peer::any_life), Payload(farewell), nullptr);
}

void Membership::take_out(std::span<const Rank> workers, State becomes) {
  std::vector<bool> was_in, was_up;
  for (const Rank worker : workers) {
    was_in.push_back(run_.workers.is_member(worker));
    was_up.push_back(run_.workers.is_up(worker));
    run_.workers.set_state(worker, becomes);
  }
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (was_in[i]) run_.workers.kill(workers[i]);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Rank worker = workers[i];
    ready_.erase(std::remove(ready_.begin(), ready_.end(), worker), ready_.end());
    // Its sends break off, unless it leaves in good order; bytes that have left arrive; later arrivals are lost.
    post_office_.remove_worker(worker, becomes == State::crashed);
    if (!was_up[i]) continue;
    run_.books.times().set_down(worker, run_.world.now(), true);
    computations_.set_down(worker, true);
  }
  for (const Rank worker : workers) collectives_.membership_changed(worker);
  bool over = false;
  for (const Rank worker : workers) over = publications_.remove_worker(worker) || over;
  if (over) return;
  post_office_.notify_of_members();
  if (policy_) policy_->members_changed();
  start_ready();  // the exchange that they waited for may have broken off
  const auto comes = [this](Rank rank) {
    const State state = run_.workers.state(rank);
    return state == State::coming || ((state == State::crashed || state == State::absent) && !is_lost(rank));
  };
  bool any = run_.workers.members() > 0;
  for (Rank rank = 0; rank < run_.world.workers && !any; ++rank) any = comes(rank);
  if (!any) publications_.end_run(Outcome::all_workers_down);
}

void Membership::fetch_state(std::span<const Rank> workers) {
  const Rank source = run_.world.has_server() ? run_.world.workers : run_.workers.first_member();
  for (const Rank worker : workers) {
    run_.workers.set_state(worker, State::coming);
    run_.books.times().set_down(worker, run_.world.now(), false);
    computations_.set_down(worker, false);
  }
  for (const Rank worker : workers) request_state(worker, source);
}

void Membership::state_lost(Rank worker) {
  if (run_.workers.state(worker) == State::coming)
    request_state(worker, run_.world.has_server() ? run_.world.workers : run_.workers.first_member());
}

void Membership::request_state(Rank worker, Rank source) {
  if (source == anyone || run_.workers.plan().cell_chunks > 0) return state_arrived(worker);
  Weights weights = publications_.state_of(source);
  if (!run_.world.has_server())
    for (const Handle& state : optimizer_of(source)) weights.edit().more.edit().attached.push_back({"optimizer", state});
  post_office_.transfer_state(source, worker, Payload(weights));
}

const std::vector<Handle>& Membership::optimizer_of(Rank source) const {
  return publications_.own_versions() && source != anyone ? run_.workers.node(source).optimizer().state() : optimizer_;
}

void Membership::state_arrived(Rank worker) {
  ready_.push_back(worker);
  start_ready();
}

void Membership::published(Rank by) {
  if (!run_.world.has_server()) optimizer_ = run_.workers.node(by).optimizer().state();
  if (CollectiveQueue* const queue = collectives_.of_versions()) queue->published(run_.workers.node(by).reductions_taken());
  start_all();
}

/// Workers that reduce together must start from the version at which the others are: not while an update is in progress.
void Membership::start_ready() {
  const CollectiveQueue* const queue = collectives_.of_versions();  // another one after a rollback
  if (!ready_.empty() && (!queue || queue->may_start())) start_all();
}

void Membership::start_all() {
  if (policy_ && policy_->holds_starts()) return;
  const std::vector<Rank> ready = std::exchange(ready_, {});
  for (const Rank worker : ready) start(worker);
}

void Membership::start(Rank worker) {
  post_office_.forget_former_life(worker);
  run_.workers.begin_life(worker);
  Node& node = run_.workers.node(worker);
  const Rank source = run_.world.has_server() ? run_.world.workers : run_.workers.first_member();
  const Weights state = publications_.readmit_worker(worker, publications_.state_of(source));
  // Others that have no server hold the weights whole, and it must have the same.
  node.start_from(run_.world.has_server() ? node.algebra().as_sent(state) : state);
  node.optimizer().state() = optimizer_of(source);
  if (policy_ && policy_->restores(worker))
    node.forget_weights();
  else
    node.forget_messages();
  collectives_.start(node);
  run_.workers.set_state(worker, State::member);
  run_.workers.set_enrolled(worker, true);
  if (policy_) policy_->started(state->version);
  run_.workers.spawn_worker(worker);
  post_office_.notify_of_members();
}

}  // namespace straggler
