#include "sim/simulated/simulated_backend.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

SimulatedBackend::SimulatedBackend(SimulatedCluster cluster, const TrainingPlan& plan, const Scheme& scheme, Lineage& lineage,
                                   RunRecorder& recorder, Evaluator* evaluator)
    : world_(std::move(cluster), plan.workers),
      recorder_(recorder),
      books_(world_, recorder),
      choices_(recorder.sink()),
      workers_(world_, choices_, scheme, *this, lineage, plan),
      post_office_(run_),
      collectives_(run_, post_office_),
      computations_(world_, books_.times()),
      updates_(run_, post_office_.processors(), computations_),
      publications_(run_, recorder, collectives_.of_versions(), computations_, post_office_.processors(), evaluator),
      polls_(world_.workers) {
  world_.simulation.add(*this);
  if (computations_.slows_in_flight()) books_.watch_flights(computations_);
  if (plan.rebalance_every > 0 && plan.workers > 1)
    computations_.tell(rebalancing_.emplace(workers_.algebra(), choices_, workers_.plan(), pool_process(0)));
  const RecoverySettings& recovery = world_.cluster.recovery;
  if (!world_.cluster.faults.none() || recovery.rolls_back())
    events_.membership = std::make_unique<Membership>(run_, post_office_, collectives_, computations_, publications_);
  if (recovery.rolls_back()) {
    recorder.may_roll_back();
    events_.recovery =
        std::make_unique<Recovery>(run_, recorder, post_office_, collectives_, computations_, publications_, *events_.membership);
    events_.membership->follow(*events_.recovery);
  } else if (recovery.kind == RecoverySettings::Kind::peer && events_.membership) {
    events_.replacement = std::make_unique<Replacement>(run_, *events_.membership);
    events_.membership->follow(*events_.replacement);
  }
  if (!world_.cluster.faults.processes.empty()) events_.failures = std::make_unique<Failures>(run_, *events_.membership);
  if (!world_.cluster.presence.patterns.empty()) events_.attendance = std::make_unique<Attendance>(run_, post_office_, computations_);
  if (!world_.cluster.background.empty()) events_.background = std::make_unique<Background>(world_);
  if (world_.cluster.tariffs.any())
    recorder.charge(
        world_.cluster.tariffs, world_.cluster.presence.patterns.empty() ? AbsentTime() : [this](Rank worker, Time at) {
          return workers_.presence().absent(worker, at);
        });
  if (world_.cluster.link_jitter.make) events_.varying_links = std::make_unique<VaryingLinks>(world_);
}

SimulatedBackend::~SimulatedBackend() {
  take_down();
  world_.simulation.remove(*this);
}

/// Frames refer to nodes, mailboxes and the network: they go first. The memory of a million workers is freed before results are written.
void SimulatedBackend::take_down() {
  world_.simulation.kill_all();
  post_office_.take_down();
  collectives_.take_down();
  workers_.take_down();
}

void SimulatedBackend::run(std::optional<Time> until, std::optional<Time> evaluate_every) {
  if (until && *until <= Time::limit()) world_.queue().stop_before_limit();
  const Weights initial = workers_.initial_weights();
  if (recorder_.begin(initial)) return close_record(world_.now());
  workers_.spawn_first_workers();
  if (world_.has_server()) workers_.spawn_server();
  workers_.spawn_aggregators();
  if (events_.attendance) events_.attendance->begin();
  if (events_.membership) events_.membership->begin();
  if (events_.failures) events_.failures->begin();
  if (events_.varying_links) events_.varying_links->begin();
  if (events_.background) events_.background->begin();
  if (evaluate_every) publications_.evaluate_every(*evaluate_every);
  bool stopped = true;
  try {
    // An event at the limit itself may stand for one that would be later.
    stopped = world_.simulation.run(until ? std::min(*until, Time::limit() - Time::from_ticks(1)) : Time::never());
  } catch (const Deadlock& deadlock) {
    if (choices_.are_left())
      throw ReplayMismatch("its choices cannot be followed beyond " + format_quantity(world_.now().seconds(), Dimension::time) +
                           ", where other workers are in than in that run; replay it with its own cluster and faults (" + deadlock.what() +
                           ")");
    if (!workers_.change() && cut_off().empty()) throw;
    publications_.note_failure(Outcome::stalled);
    note_stall();
  }
  note_overload();
  note_loaders();
  close_record(stopped || !until ? world_.now() : *until);
  publications_.run_ended();
  take_down();
}

std::string SimulatedBackend::cut_off() const { return events_.failures ? events_.failures->cut_off() : ""; }

void SimulatedBackend::note_stall() {
  constexpr std::size_t most = 3;
  std::vector<std::string> who;
  if (const std::string cut = cut_off(); !cut.empty()) who.push_back(cut);
  collectives_.describe_waiting(who);
  post_office_.describe_waiting(who);
  RunRecord& record = recorder_.record();
  for (std::size_t i = 0; i < who.size() && i < most; ++i) record.stalled += (i ? "; " : "") + who[i];
  if (who.size() > most) record.stalled += "; and " + std::to_string(who.size() - most) + " more wait";
  record.warnings.push_back("the run stalled at " + format_quantity(world_.now().seconds(), Dimension::time) + ": " + record.stalled);
}

void SimulatedBackend::note_overload() {
  const std::optional<Rank> rank = post_office_.overloaded();
  if (!rank || publications_.failure()) return;
  publications_.note_failure(Outcome::overloaded);
  const std::string who = workers_.node(*rank).name();
  recorder_.record().warnings.push_back(
      who + " cannot keep up: " + std::to_string(post_office_.most_waiting()) +
      " messages wait for it, since more arrive than it handles; " +
      (world_.is_worker(*rank)
           ? "give it a shorter cluster.network.protocol.per_message"
           : "give a shorter cluster.servers.per_message or cluster.network.protocol.per_message, fewer workers or larger "
             "batches, or a scheme whose workers wait for answers"));
}

/// Of a short run the start of the loaders is a share that no long run has.
void SimulatedBackend::note_loaders() {
  constexpr double worth_a_word = 0.01;
  const double starting = computations_.longest_loader_start().seconds(), all = world_.now().seconds();
  if (!(starting > worth_a_word * all)) return;
  char share[32];
  std::snprintf(share, sizeof share, "%.3g %%", 100 * starting / all);
  recorder_.record().warnings.push_back("loaders' starts, until their first batch, take " + readable_seconds(starting) + ", " + share +
                                        " of this run; a step's time taken from it is too long by as much: let it run longer");
}

void SimulatedBackend::close_record(Time when) {
  recorder_.record().events = world_.simulation.events();
  books_.drawn(workers_.drawn());
  if (events_.attendance) books_.clients_present(workers_.presence().mean_share(when));
  books_.lost(post_office_.bytes_in_flight());
  books_.lost(collectives_.bytes_under_way());
  recorder_.finish(when, publications_.failure());
  if (const double overload = world_.network.worst_overload(); overload > 1e-8)
    throw std::logic_error("a link carried " + std::to_string(overload * 100) +
                           " % more than its bandwidth: the simulator contradicts itself; please report it with the scenario");
}

void SimulatedBackend::watch(const ComputeOperation& operation) {
  if (watch_ && watch_->computes(static_cast<std::uint64_t>(operation.batch().size)))
    watch_->look_at_gradients(books_.latest(), events_.attendance ? events_.attendance->why_none_answers() : std::string());
}

void SimulatedBackend::watch(const StepOperation& operation) {
  if (watch_ && !operation.node().is_worker() && watch_->steps())
    watch_->look_at_steps(workers_.node(operation.node().self()), books_.latest());
}

void SimulatedBackend::watch_poll(const Operation& operation) { polls_.polls(workers_.node(operation.node().self()), world_.now()); }

bool SimulatedBackend::start(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient:
    case Operation::Kind::averaged_gradient:
      watch(static_cast<ComputeOperation&>(operation));
      computations_.start(static_cast<ComputeOperation&>(operation), operation.node().next_call());
      return false;
    case Operation::Kind::slice: {
      auto& slice = static_cast<SliceOperation&>(operation);
      if (slice.progress().begun) {
        computations_.go_on(slice);
        return false;
      }
      watch(slice);
      computations_.start(slice, operation.node().next_call());
      return false;
    }
    case Operation::Kind::step:
      watch(static_cast<StepOperation&>(operation));
      return updates_.start(static_cast<StepOperation&>(operation));
    case Operation::Kind::cell_read:
      return updates_.cell().start(static_cast<CellReadOperation&>(operation));
    case Operation::Kind::cell_step:
      return updates_.start(static_cast<CellStepOperation&>(operation));
    case Operation::Kind::send: {
      auto& send = static_cast<SendOperation&>(operation);
      post_office_.dispatch(send.node().self(), send.to(), send.take_payload(), &send);
      return false;
    }
    case Operation::Kind::receive:
      return post_office_.receive(static_cast<MailOperation&>(operation));
    case Operation::Kind::signal:
      return post_office_.signals().wait(static_cast<SignalOperation&>(operation));
    case Operation::Kind::proceed:
      watch_poll(operation);
      return true;
    case Operation::Kind::timer:
      if (static_cast<TimerOperation&>(operation).span() == Time()) watch_poll(operation);
      if (const Time span = static_cast<TimerOperation&>(operation).span(); span < Time::limit() - world_.now())  // else it never rings
        world_.queue().after(span, operation);
      return false;
    case Operation::Kind::load:
      return computations_.load(static_cast<LoadOperation&>(operation));
    case Operation::Kind::host:
      return computations_.start_host_work(static_cast<HostOperation&>(operation));
    case Operation::Kind::shard:
      return join(static_cast<ShardOperation&>(operation));
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_gather:
    case Operation::Kind::reduce_scatter:
      return encodes_first(static_cast<CollectiveOperation&>(operation)) ? false : join(static_cast<CollectiveOperation&>(operation));
    case Operation::Kind::publish:
      return publish(static_cast<PublishOperation&>(operation));
  }
  return true;
}

void SimulatedBackend::cancel(Operation& operation) noexcept {
  if (operation.state() != Operation::State::pending) return;
  switch (operation.kind()) {
    case Operation::Kind::gradient:
    case Operation::Kind::slice:
      return computations_.stop(static_cast<ComputeOperation&>(operation));
    case Operation::Kind::averaged_gradient: {
      auto& compute = static_cast<AveragedGradientOperation&>(operation);
      if (!compute.computed) computations_.stop(compute);
      return collectives_.cancel(compute);
    }
    case Operation::Kind::step:
      return updates_.cancel(static_cast<StepOperation&>(operation));
    case Operation::Kind::cell_read:
      return updates_.cell().cancel(static_cast<CellReadOperation&>(operation));
    case Operation::Kind::cell_step:
      return updates_.cancel(static_cast<CellStepOperation&>(operation));
    case Operation::Kind::send:
      return PostOffice::forget(static_cast<SendOperation&>(operation));
    case Operation::Kind::receive:
      return static_cast<MailOperation&>(operation).leave();
    case Operation::Kind::signal:
      return post_office_.signals().leave(static_cast<SignalOperation&>(operation));
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_gather:
    case Operation::Kind::reduce_scatter:
    case Operation::Kind::shard:
      return collectives_.cancel(operation);
    case Operation::Kind::load:
      return computations_.loaded_or_given_up(static_cast<LoadOperation&>(operation));
    case Operation::Kind::publish:
      if (events_.recovery) events_.recovery->left(static_cast<PublishOperation&>(operation));
      return;
    case Operation::Kind::host:
    case Operation::Kind::timer:
    case Operation::Kind::proceed:
      return;
  }
}

void SimulatedBackend::due(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient: {
      auto& compute = static_cast<ComputeOperation&>(operation);
      if (operation.unheard() && computations_.computes(compute))
        computations_.stop(compute);  // a replay computes the run's discarded work again; its duration does not matter
      else if (computations_.due(compute) != 1)
        return;
      return operation.complete_from_event();
    }
    case Operation::Kind::slice: {
      auto& slice = static_cast<SliceOperation&>(operation);
      if (computations_.due(slice) != 1) return;
      slice.progress().computed += slice.span;
      slice.progress().over = slice.until().ends;
      return operation.complete_from_event();
    }
    case Operation::Kind::shard:
      if (join(static_cast<ShardOperation&>(operation))) operation.complete_from_event();
      return;
    case Operation::Kind::averaged_gradient:
      return averaged_gradient_due(static_cast<AveragedGradientOperation&>(operation));
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_gather:
    case Operation::Kind::reduce_scatter: {
      auto& collective = static_cast<CollectiveOperation&>(operation);
      if (collective.coding == CollectivePart::Coding::decoding || join(collective)) operation.complete_from_event();
      return;
    }
    case Operation::Kind::step:
      return updates_.due(static_cast<StepOperation&>(operation));
    case Operation::Kind::cell_read:
      return updates_.cell().due(static_cast<CellReadOperation&>(operation));
    case Operation::Kind::cell_step:
      return updates_.due(static_cast<CellStepOperation&>(operation));
    case Operation::Kind::load:
      computations_.loaded_or_given_up(static_cast<LoadOperation&>(operation));
      return operation.complete_from_event();
    case Operation::Kind::timer:
      if (!static_cast<TimerOperation&>(operation).rings()) return world_.queue().after(Time(), operation);
      return operation.complete_from_event();
    default:
      return operation.complete_from_event();
  }
}

/// A worker's collectives begin in its own order: one that has nothing to encode waits for the encoding before it.
bool SimulatedBackend::encodes_first(CollectiveOperation& operation) {
  Coding& coding = post_office_.coding();
  const Rank rank = operation.node().self();
  const Time span = coding.span(rank, operation.payload);
  if (span == Time() && !coding.busy(rank)) return false;
  operation.coding = CollectivePart::Coding::encoding;
  world_.queue().at(coding.run(rank, span), operation);
  return true;
}

bool SimulatedBackend::join(CollectiveOperation& operation) {
  const bool complete = collectives_.join(operation);
  if (events_.membership) events_.membership->joined();
  return complete;
}

/// A host of one worker has all of a shard: the collective that follows begins at once.
bool SimulatedBackend::join(ShardOperation& operation) {
  while (join(static_cast<CollectiveOperation&>(operation)))
    if (!operation.advance()) return true;
  return false;
}

void SimulatedBackend::averaged_gradient_due(AveragedGradientOperation& operation) {
  if (operation.coding == CollectivePart::Coding::decoding) return operation.complete_from_event();
  if (operation.coding == CollectivePart::Coding::encoding) return join(operation);
  const std::size_t passed = computations_.due(operation), all = computations_.milestones(operation).size();
  if (passed == 0) return;
  operation.computed = passed == all;
  // The gradient is known in full only at the end; until then the payload names it, so that its parts are priced.
  if (operation.computed)
    operation.bring();
  else
    operation.payload = operation.gradient();
  if (operation.computed) {
    // The result was encoded as part of the computation.
    if (Coding& coding = post_office_.coding(); coding.busy(operation.node().self())) {
      operation.coding = CollectivePart::Coding::encoding;
      return world_.queue().at(coding.run(operation.node().self(), Time()), operation);
    }
    return join(operation);
  }
  collectives_.of(operation).join(operation, passed);
  if (events_.membership) events_.membership->joined();
}

void SimulatedBackend::join(AveragedGradientOperation& operation) {
  if (collectives_.join(operation)) return operation.complete_from_event();
  if (events_.membership) events_.membership->joined();
}

bool SimulatedBackend::publish(PublishOperation& operation) {
  if (rebalancing_) rebalancing_->published(operation.weights()->version);
  const Publications::Result result = publications_.publish(operation);
  // Where this version is saved, no worker starts from it before.
  const bool goes_on = result != Publications::Result::last && (!events_.recovery || events_.recovery->published(operation));
  if (result == Publications::Result::recorded && events_.membership) events_.membership->published(operation.node().self());
  return goes_on;
}

void SimulatedBackend::discarded(Rank, const Payload& contribution) {
  const Contributions made = made_of(contribution);
  books_.discarded({made.data(), made.size()}, post_office_.wire_bytes().all_of(contribution));
}

void SimulatedBackend::describe_waiting(std::vector<std::string>& who) const {
  post_office_.describe_waiting(who);
  collectives_.describe_waiting(who);
}

}  // namespace straggler
