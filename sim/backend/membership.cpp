#include "sim/backend/membership.hpp"

#include <algorithm>

#include "sim/backend/all_reduce.hpp"
#include "sim/backend/delivery.hpp"

namespace straggler {

SimulatedBackend::Membership::Membership(SimulatedBackend& backend)
    : backend_(backend),
      waits_(backend.cluster_.on_failure == OnFailure::wait),
      states_(static_cast<std::size_t>(backend.plan_.workers), State::member),
      lives_(static_cast<std::size_t>(backend.plan_.workers)),
      slow_(static_cast<std::size_t>(backend.plan_.workers)),
      members_(backend.plan_.workers),
      to_come_(static_cast<std::size_t>(backend.plan_.workers)) {
  for (const Fault& fault : backend_.cluster_.faults) {
    if (fault.kind == Fault::Kind::link) links_.resize(backend_.cluster_.fabric->links());
    if (fault.kind != Fault::Kind::join) continue;
    state(fault.worker) = State::absent;
    backend_.recorder_.times().set_down(static_cast<std::uint32_t>(fault.worker), Time(), true);
    backend_.computations_.set_down(fault.worker, true);
    --members_;
  }
}

void SimulatedBackend::Membership::begin() {
  for (const Fault& fault : backend_.cluster_.faults) {
    switch (fault.kind) {
      case Fault::Kind::crash:
        backend_.simulation_.spawn(crash(fault));
        break;
      case Fault::Kind::slow:
        backend_.simulation_.spawn(slow(fault));
        break;
      case Fault::Kind::link:
        backend_.simulation_.spawn(fail_link(fault));
        break;
      case Fault::Kind::join:
        to_come_[static_cast<std::size_t>(fault.worker)] = true;
        backend_.simulation_.spawn(join(fault));
        break;
      case Fault::Kind::leave:
        backend_.simulation_.spawn(leave(fault));
        break;
    }
  }
}

Process SimulatedBackend::Membership::crash(const Fault& fault) {
  co_await backend_.simulation_.delay(fault.at);
  if (!is_up(fault.worker)) co_return;  // it is down already, or not there
  if (fault.until) to_come_[static_cast<std::size_t>(fault.worker)] = true;
  take_out(fault.worker, State::crashed);
  if (backend_.cluster_.on_failure == OnFailure::abort) {
    backend_.end(Outcome::aborted);
    co_return;
  }
  if (!fault.until) co_return;
  co_await backend_.simulation_.delay(*fault.until - fault.at);
  if (state(fault.worker) == State::crashed) fetch_state(fault.worker);
}

Process SimulatedBackend::Membership::slow(const Fault& fault) {
  std::vector<double>& spells = slow_[static_cast<std::size_t>(fault.worker)];
  co_await backend_.simulation_.delay(fault.at);
  spells.push_back(fault.factor);
  const auto product = [&spells] {
    double all = 1;
    for (const double factor : spells) all *= factor;
    return all;
  };
  backend_.computations_.set_slowness(fault.worker, product());
  co_await backend_.simulation_.delay(*fault.until - fault.at);
  spells.erase(std::find(spells.begin(), spells.end(), fault.factor));
  backend_.computations_.set_slowness(fault.worker, product());
}

Process SimulatedBackend::Membership::fail_link(const Fault& fault) {
  co_await backend_.simulation_.delay(fault.at);
  set_bandwidth(fault, true);
  co_await backend_.simulation_.delay(*fault.until - fault.at);
  set_bandwidth(fault, false);
}

void SimulatedBackend::Membership::set_bandwidth(const Fault& fault, bool failing) {
  for (const LinkId link : fault.links) {
    std::vector<double>& factors = links_[link];
    if (failing)
      factors.push_back(fault.factor);
    else
      factors.erase(std::find(factors.begin(), factors.end(), fault.factor));
    double bandwidth = backend_.cluster_.fabric->bytes_per_second(link);
    for (const double factor : factors) bandwidth *= factor;
    backend_.network_.set_capacity(link, bandwidth);
  }
}

Process SimulatedBackend::Membership::join(const Fault& fault) {
  co_await backend_.simulation_.delay(fault.at);
  if (state(fault.worker) == State::absent) fetch_state(fault.worker);
}

Process SimulatedBackend::Membership::leave(const Fault& fault) {
  co_await backend_.simulation_.delay(fault.at);
  if (state(fault.worker) == State::gone) co_return;
  to_come_[static_cast<std::size_t>(fault.worker)] = false;
  take_out(fault.worker, State::gone);
}

void SimulatedBackend::Membership::take_out(Rank worker, State becomes) {
  const bool was_in = is_member(worker), was_up = is_up(worker);
  state(worker) = becomes;
  if (was_in) {
    --members_;
    backend_.kill_worker(worker);
  }
  ready_.erase(std::remove(ready_.begin(), ready_.end(), worker), ready_.end());
  backend_.mail_[static_cast<std::size_t>(worker)].clear();
  // What it was sending breaks off, unless it leaves in good order; what has left arrives; what comes finds nobody.
  std::vector<Delivery*> lost;
  for (InFlightMessage& message : backend_.in_flight_) {
    auto& delivery = static_cast<Delivery&>(message);
    const bool broken_off = delivery.from == worker && becomes == State::crashed && delivery.stage != Delivery::Stage::travelling;
    if (delivery.to == worker || broken_off) lost.push_back(&delivery);
  }
  for (Delivery* delivery : lost) backend_.lose(*delivery);
  // Nor does anybody look at what it sent before: the answer would find another life of it.
  if (becomes == State::crashed) backend_.forget_mail_from(worker);
  if (was_up) {
    backend_.recorder_.times().set_down(static_cast<std::uint32_t>(worker), backend_.now(), true);
    backend_.computations_.set_down(worker, true);
  }
  if (backend_.reducing_) backend_.reducing_->membership_changed(worker);
  notify();
  start_ready();  // what they waited for may have broken off
  const auto comes = [this](Rank rank) { return state(rank) == State::coming || to_come_[static_cast<std::size_t>(rank)]; };
  bool any = members_ > 0;
  for (Rank rank = 0; rank < backend_.plan_.workers && !any; ++rank) any = comes(rank);
  if (!any) backend_.end(Outcome::all_workers_down);
}

void SimulatedBackend::Membership::fetch_state(Rank worker) {
  state(worker) = State::coming;
  to_come_[static_cast<std::size_t>(worker)] = false;
  backend_.recorder_.times().set_down(static_cast<std::uint32_t>(worker), backend_.now(), false);
  backend_.computations_.set_down(worker, false);
  state_lost(worker);
}

void SimulatedBackend::Membership::state_lost(Rank worker) {
  if (state(worker) != State::coming) return;
  const Rank source = backend_.cluster_.servers > 0 ? backend_.plan_.workers : first_member();
  if (source == anyone) return state_arrived(worker);
  Weights weights = backend_.recorder_.latest();
  if (backend_.cluster_.servers == 0) weights.edit().more.edit().optimizer = optimizer_;
  MessagePointer message = backend_.make_message(source, Peer(worker, Peer::any_life), Payload(weights));
  static_cast<Delivery&>(*message).state_transfer = true;
  backend_.dispatch(std::move(message), nullptr);
}

void SimulatedBackend::Membership::state_arrived(Rank worker) {
  ready_.push_back(worker);
  start_ready();
}

/// Workers that reduce together must start from the version at which the others are: not while an update is under way.
bool SimulatedBackend::Membership::may_start() const {
  return !backend_.reducing_ || backend_.reducing_->between_updates(backend_.recorder_.latest()->version);
}

void SimulatedBackend::Membership::published(Rank by) {
  if (backend_.cluster_.servers == 0) optimizer_ = backend_.nodes_[static_cast<std::size_t>(by)].optimizer();
  start_ready();
}

void SimulatedBackend::Membership::start_ready() {
  if (ready_.empty() || !may_start()) return;
  const std::vector<Rank> ready = std::exchange(ready_, {});
  for (const Rank worker : ready) start(worker);
}

void SimulatedBackend::Membership::start(Rank worker) {
  backend_.forget_former_life(worker);
  ++lives_[static_cast<std::size_t>(worker)];
  Node& node = backend_.nodes_[static_cast<std::size_t>(worker)];
  // Others that have no server hold the weights whole, and it must have the same.
  const Weights& latest = backend_.recorder_.latest();
  node.start_from(backend_.cluster_.servers > 0 ? node.as_sent(latest) : latest);
  node.optimizer() = optimizer_;
  state(worker) = State::member;
  ++members_;
  backend_.spawn_worker(worker);
  notify();
}

Rank SimulatedBackend::Membership::first_member() const {
  const auto at = std::find(states_.begin(), states_.end(), State::member);
  return at == states_.end() ? anyone : static_cast<Rank>(at - states_.begin());
}

void SimulatedBackend::Membership::notify() {
  if (backend_.cluster_.servers == 0) return;
  const Rank server = backend_.plan_.workers;
  backend_.mail_.back().put(backend_.make_message(server, Peer(server, Peer::any_life), Payload(MembershipNotice())));
}

namespace {
std::uint64_t pair_of(Rank node, Rank worker) { return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(worker); }
}  // namespace

void SimulatedBackend::Membership::heard(Rank node, Rank worker) {
  if (backend_.is_worker(worker)) heard_[pair_of(node, worker)] = lives_[static_cast<std::size_t>(worker)];
}

Peer SimulatedBackend::Membership::last_heard(Rank node, Rank worker) const {
  const auto found = heard_.find(pair_of(node, worker));
  return {worker, found == heard_.end() ? Peer::any_life : found->second};
}

}  // namespace straggler
