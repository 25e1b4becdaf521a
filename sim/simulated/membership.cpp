#include "sim/simulated/membership.hpp"

#include <algorithm>
#include <utility>

namespace straggler {

Membership::Membership(const SimulatedRun& run, PostOffice& post_office, Collectives& collectives, Computations& computations,
                       Publications& publications)
    : run_(run),
      post_office_(post_office),
      collectives_(collectives),
      queue_(collectives.of_versions()),
      computations_(computations),
      publications_(publications),
      slow_(index_of(run.world.workers)),
      to_come_(index_of(run.world.workers)) {
  post_office_.watch_state_transfers(*this);
  for (const Fault& fault : run_.world.cluster.faults.list) {
    if (fault.kind == Fault::Kind::link) links_.resize(run_.world.cluster.fabric->links());
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
        to_come_[static_cast<std::size_t>(fault.worker)] = true;
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
  if (!run_.workers.is_up(fault.worker)) co_return;  // it is down already, or not there
  if (fault.until) to_come_[static_cast<std::size_t>(fault.worker)] = true;
  take_out(fault.worker, State::crashed);
  if (run_.world.cluster.faults.on_failure == OnFailure::abort) {
    publications_.end_run(Outcome::aborted);
    co_return;
  }
  if (!fault.until) co_return;
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  if (run_.workers.state(fault.worker) == State::crashed) fetch_state(fault.worker);
}

Process Membership::slow(const Fault& fault) {
  std::vector<double>& spells = slow_[static_cast<std::size_t>(fault.worker)];
  co_await run_.world.simulation.delay(fault.at);
  spells.push_back(fault.factor);
  const auto product = [&spells] {
    double all = 1;
    for (const double factor : spells) all *= factor;
    return all;
  };
  computations_.set_slowness(fault.worker, product());
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  spells.erase(std::find(spells.begin(), spells.end(), fault.factor));
  computations_.set_slowness(fault.worker, product());
}

Process Membership::fail_link(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  set_bandwidth(fault, true);
  co_await run_.world.simulation.delay(*fault.until - fault.at);
  set_bandwidth(fault, false);
}

void Membership::set_bandwidth(const Fault& fault, bool failing) {
  for (const LinkId link : fault.links) {
    std::vector<double>& factors = links_[link];
    if (failing)
      factors.push_back(fault.factor);
    else
      factors.erase(std::find(factors.begin(), factors.end(), fault.factor));
    double bandwidth = run_.world.cluster.fabric->bytes_per_second(link);
    for (const double factor : factors) bandwidth *= factor;
    run_.world.network.set_capacity(link, bandwidth);
  }
}

Process Membership::join(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  if (run_.workers.state(fault.worker) == State::absent) fetch_state(fault.worker);
}

Process Membership::leave(const Fault& fault) {
  co_await run_.world.simulation.delay(fault.at);
  if (run_.workers.state(fault.worker) == State::gone) co_return;
  to_come_[static_cast<std::size_t>(fault.worker)] = false;
  if (run_.workers.is_up(fault.worker)) {
    send_kept_vector(fault.worker);
    run_.workers.set_enrolled(fault.worker, false);
  }
  take_out(fault.worker, State::gone);
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

void Membership::take_out(Rank worker, State becomes) {
  const bool was_in = run_.workers.is_member(worker), was_up = run_.workers.is_up(worker);
  run_.workers.set_state(worker, becomes);
  if (was_in) run_.workers.kill(worker);
  ready_.erase(std::remove(ready_.begin(), ready_.end(), worker), ready_.end());
  // Its sends break off, unless it leaves in good order; bytes that have left arrive; later arrivals are lost.
  post_office_.remove_worker(worker, becomes == State::crashed);
  if (was_up) {
    run_.books.times().set_down(worker, run_.world.now(), true);
    computations_.set_down(worker, true);
  }
  collectives_.membership_changed(worker);
  if (publications_.remove_worker(worker)) return;
  post_office_.notify_of_members();
  start_ready();  // the exchange that they waited for may have broken off
  const auto comes = [this](Rank rank) { return run_.workers.state(rank) == State::coming || to_come_[static_cast<std::size_t>(rank)]; };
  bool any = run_.workers.members() > 0;
  for (Rank rank = 0; rank < run_.world.workers && !any; ++rank) any = comes(rank);
  if (!any) publications_.end_run(Outcome::all_workers_down);
}

void Membership::fetch_state(Rank worker) {
  run_.workers.set_state(worker, State::coming);
  to_come_[static_cast<std::size_t>(worker)] = false;
  run_.books.times().set_down(worker, run_.world.now(), false);
  computations_.set_down(worker, false);
  state_lost(worker);
}

void Membership::state_lost(Rank worker) {
  if (run_.workers.state(worker) != State::coming) return;
  const Rank source = run_.world.has_server() ? run_.world.workers : run_.workers.first_member();
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
  if (queue_) queue_->published(run_.workers.node(by).reductions_taken());
  start_all();
}

/// Workers that reduce together must start from the version at which the others are: not while an update is in progress.
void Membership::start_ready() {
  if (!ready_.empty() && (!queue_ || queue_->may_start())) start_all();
}

void Membership::start_all() {
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
  node.forget_messages();
  collectives_.start(node);
  run_.workers.set_state(worker, State::member);
  run_.workers.set_enrolled(worker, true);
  run_.workers.spawn_worker(worker);
  post_office_.notify_of_members();
}

}  // namespace straggler
