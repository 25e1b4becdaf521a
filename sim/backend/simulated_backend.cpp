#include "sim/backend/simulated_backend.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/backend/all_reduce.hpp"
#include "sim/backend/background.hpp"
#include "sim/backend/delivery.hpp"
#include "sim/backend/membership.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

/// Evaluates every so much simulated time, as long as anything else is going to happen.
class SimulatedBackend::EvaluationClock final : public Event {
 public:
  EvaluationClock(SimulatedBackend& backend, Time every) : backend_(backend), every_(every) {
    backend_.simulation_.queue().after(every_, *this);
  }

 private:
  void happen() override {
    if (backend_.recorder_.evaluate_now(backend_.now())) return backend_.simulation_.stop();
    const std::size_t stories = backend_.background_ ? backend_.background_->stories() : 0;
    const std::size_t flows = backend_.background_ ? backend_.background_->flows() : 0;
    if (backend_.simulation_.queue().pending() > stories || backend_.network_.flows() > flows)
      backend_.simulation_.queue().after(every_, *this);
  }
  SimulatedBackend& backend_;
  Time every_;
};

/// The serial part of an epoch: until it is over nobody computes, and no server takes or sends a message.
class SimulatedBackend::SerialPart final : public Event {
 public:
  SerialPart(SimulatedBackend& backend, Time span) : backend_(backend), span_(span) {}
  /// A version was published.
  void published() {
    const std::uint64_t epochs = backend_.recorder_.epochs_closed();
    if (epochs == epochs_) return;
    epochs_ = epochs;
    if (scheduled())
      cancel();  // one follows the other
    else
      backend_.computations_.pause();
    end_ = std::max(end_, backend_.now()) + span_;
    Time& server = backend_.processor_free(backend_.plan_.workers);
    server = std::max(server, end_);
    backend_.simulation_.queue().at(end_, *this);
  }

 private:
  void happen() override { backend_.computations_.resume(); }
  SimulatedBackend& backend_;
  Time span_, end_;
  std::uint64_t epochs_ = 0;
};

SimulatedBackend::SimulatedBackend(SimulatedCluster cluster, const TrainingPlan& plan, const Scheme& scheme, Lineage& lineage,
                                   RunRecorder& recorder, Evaluator* evaluator)
    : cluster_(std::move(cluster)),
      plan_(plan),
      scheme_(scheme),
      lineage_(lineage),
      recorder_(recorder),
      evaluator_(evaluator),
      network_(simulation_.queue()),
      transport_(*cluster_.fabric, network_, *cluster_.sharing, cluster_.segments),
      computations_(simulation_, recorder.times(), std::move(cluster_.compute)),
      signals_(simulation_, *cluster_.fabric, static_cast<std::size_t>(plan.workers)),
      context_(*this, lineage, plan) {
  build_links(*cluster_.fabric, network_);
  simulation_.attach(network_);
  simulation_.add(*this);
  for (const TokenBucket& bucket : cluster_.token_buckets)
    network_.set_bucket(bucket.link, bucket.burst_bytes, bucket.peak_bytes_per_second);
  const std::size_t processes = static_cast<std::size_t>(plan_.workers) + (cluster_.servers > 0 ? 1 : 0);
  nodes_ = FixedArray<Node>(processes);
  for (std::size_t rank = 0; rank < processes; ++rank) nodes_.emplace_back(context_, static_cast<Rank>(rank));
  mail_ = std::vector<Mailbox<MessagePointer>>(processes);
  processor_free_.resize(
      cluster_.per_message > Time() || cluster_.handling_seconds_per_byte > 0 ? static_cast<std::size_t>(plan_.workers) + 1 : 1);
  if (cluster_.message_cores > 0) message_cores_ = std::make_unique<CorePool>(cluster_.message_cores);
  if (cluster_.all_reduce || (plan_.workers == 1 && cluster_.servers == 0)) reducing_ = AllReduce::make(*this);
  if (cluster_.serial_per_epoch > Time()) serial_part_ = std::make_unique<SerialPart>(*this, cluster_.serial_per_epoch);
  if (!cluster_.faults.empty()) {
    processes_.resize(static_cast<std::size_t>(plan_.workers));
    membership_ = std::make_unique<Membership>(*this);
  }
  if (!cluster_.background.empty()) background_ = std::make_unique<Background>(*this);
}

SimulatedBackend::~SimulatedBackend() {
  take_down();
  simulation_.remove(*this);
}

/// Frames refer to nodes, mailboxes and the network: they go first. What a million workers leave is given back before results are written.
void SimulatedBackend::take_down() {
  simulation_.kill_all();
  mail_ = std::vector<Mailbox<MessagePointer>>();
  while (!in_flight_.empty()) {
    auto& delivery = static_cast<Delivery&>(in_flight_.front());
    in_flight_.pop_front();
    delete &delivery;
  }
  reducing_.reset();
  nodes_ = FixedArray<Node>();
}

void SimulatedBackend::spawn_worker(Rank worker) {
  Process process = scheme_.worker(nodes_[static_cast<std::size_t>(worker)]);
  const bool first = now() == Time() && !membership_;
  const Simulation::ProcessId id = first ? simulation_.spawn_now(std::move(process)) : simulation_.spawn(std::move(process));
  if (membership_) processes_[static_cast<std::size_t>(worker)] = id;
}

void SimulatedBackend::kill_worker(Rank worker) {
  const auto at = static_cast<std::size_t>(worker);
  simulation_.kill(processes_[at]);
  if (at < forced_.size())
    forced_used_[at] = std::min(forced_used_[at], forced_made_[at]);  // what it did not live to choose is its next life's
}

void SimulatedBackend::forget_mail_from(Rank worker) {
  const auto of_it = [worker](const MessagePointer& message) { return message->from == worker; };
  if (cluster_.servers > 0) mail_.back().remove_if(of_it);
  if (!workers_write_each_other_) return;
  for (Mailbox<MessagePointer>& mail : mail_) mail.remove_if(of_it);
}

void SimulatedBackend::forget_former_life(Rank worker) {
  forget_mail_from(worker);
  std::vector<Delivery*> former;
  for (InFlightMessage& message : in_flight_) {
    auto& delivery = static_cast<Delivery&>(message);
    if (delivery.from == worker && !delivery.state_transfer) former.push_back(&delivery);
  }
  for (Delivery* delivery : former) lose(*delivery);
}

void SimulatedBackend::run(std::optional<Time> until, std::optional<Time> evaluate_every) {
  forced_used_.resize(forced_.size());
  forced_made_.resize(forced_.size());
  const Weights initial = nodes_.front().initial_weights();
  if (recorder_.begin(initial)) return close_record(now());
  for (Rank worker = 0; worker < plan_.workers; ++worker)
    if (is_member(worker)) spawn_worker(worker);
  if (cluster_.servers > 0) simulation_.spawn(scheme_.server(nodes_.back()));
  if (membership_) membership_->begin();
  if (background_) background_->begin();
  if (evaluate_every) evaluation_clock_ = std::make_unique<EvaluationClock>(*this, *evaluate_every);
  bool stopped = true;
  try {
    stopped = simulation_.run(until.value_or(Time::never()));
  } catch (const Deadlock& deadlock) {
    if (forced_choices_are_left())
      throw ReplayMismatch("its choices cannot be followed beyond " + format_quantity(now().seconds(), Dimension::time) +
                           ", where other workers are in than in that run; replay it with its own cluster and faults (" + deadlock.what() +
                           ")");
    if (!membership_) throw;
    failure_ = Outcome::stalled;
    recorder_.record().warnings.push_back(std::string("the run stalled after a worker had failed: ") + deadlock.what());
  }
  close_record(stopped || !until ? now() : *until);
  if (evaluator_ && failure_ != Outcome::interrupted) evaluator_->stopped(recorder_.latest()->value, recorder_.latest()->version);
  take_down();
}

void SimulatedBackend::end(Outcome failure) {
  failure_ = failure;
  simulation_.stop();
}

void SimulatedBackend::close_record(Time when) {
  RunRecord& record = recorder_.record();
  record.events = simulation_.events();
  for (const Node& node : nodes_) record.samples_drawn += node.drawn();
  for (const InFlightMessage& message : in_flight_) recorder_.bytes().lost += sent_bytes(static_cast<const Delivery&>(message));
  if (reducing_) recorder_.bytes().lost += reducing_->bytes_under_way();
  recorder_.finish(when, failure_);
  if (const double overload = network_.worst_overload(); overload > 1e-8)
    throw std::logic_error("a link carried " + std::to_string(overload * 100) +
                           " % more than its bandwidth: the simulator contradicts itself; please report it with the scenario");
}

// Members

bool SimulatedBackend::is_member(Rank worker) const { return !membership_ || membership_->is_member(worker); }
Peer SimulatedBackend::last_heard(Rank node, Rank other) const {
  return membership_ ? membership_->last_heard(node, other) : Peer(other, Peer::any_life);
}
bool SimulatedBackend::awaits(Rank worker) const { return !membership_ || membership_->awaits(worker); }
Rank SimulatedBackend::members() const { return membership_ ? membership_->members() : plan_.workers; }

// Operations

bool SimulatedBackend::start(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient:
    case Operation::Kind::averaged_gradient:
      computations_.start(static_cast<ComputeOperation&>(operation), operation.node().next_call());
      return false;
    case Operation::Kind::step:
      return start_step(static_cast<StepOperation&>(operation));
    case Operation::Kind::send: {
      auto& send = static_cast<SendOperation&>(operation);
      dispatch(send.take_message(), &send);
      return false;
    }
    case Operation::Kind::receive:
      return start_mail(static_cast<MailOperation&>(operation));
    case Operation::Kind::signal:
      return signals_.wait(static_cast<SignalOperation&>(operation));
    case Operation::Kind::proceed:
      return true;
    case Operation::Kind::load:
      return computations_.load(static_cast<LoadOperation&>(operation));
    case Operation::Kind::host:
      return start_host_work(static_cast<HostOperation&>(operation));
    case Operation::Kind::all_reduce: {
      auto& reduction = static_cast<AllReduceOperationBase&>(operation);
      return reducing_->join(reduction, reduction.payload);
    }
    case Operation::Kind::publish:
      return start_publish(static_cast<PublishOperation&>(operation));
  }
  return true;
}

void SimulatedBackend::cancel(Operation& operation) noexcept {
  if (operation.state() != Operation::State::pending) return;
  switch (operation.kind()) {
    case Operation::Kind::gradient:
      return computations_.stop(static_cast<ComputeOperation&>(operation));
    case Operation::Kind::averaged_gradient: {
      auto& compute = static_cast<AveragedGradientOperation&>(operation);
      if (!compute.computed) computations_.stop(compute);
      return reducing_->cancel(compute);
    }
    case Operation::Kind::step: {
      if (!is_worker(operation.node().self())) return;
      return recorder_.times().discard_compute(static_cast<std::uint32_t>(operation.node().self()), now());
    }
    case Operation::Kind::send: {
      auto* delivery = static_cast<Delivery*>(static_cast<SendOperation&>(operation).in_flight);
      if (delivery) delivery->operation = nullptr;
      return;
    }
    case Operation::Kind::receive:
      return static_cast<MailOperation&>(operation).leave();
    case Operation::Kind::signal:
      return signals_.leave(static_cast<SignalOperation&>(operation));
    case Operation::Kind::all_reduce:
      return reducing_->cancel(operation);
    case Operation::Kind::load:
      return recorder_.times().set_loading(static_cast<std::uint32_t>(operation.node().self()), now(), false);
    case Operation::Kind::host:
    case Operation::Kind::proceed:
    case Operation::Kind::publish:
      return;
  }
}

void SimulatedBackend::due(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient: {
      auto& compute = static_cast<ComputeOperation&>(operation);
      if (operation.unheard() && computations_.computes(compute))
        computations_.stop(compute);  // a replay computes in vain what the run did, in whatever time
      else if (computations_.due(compute) != 1)
        return;
      return operation.complete_from_event();
    }
    case Operation::Kind::averaged_gradient:
      return averaged_gradient_due(static_cast<AveragedGradientOperation&>(operation));
    case Operation::Kind::step:
      if (is_worker(operation.node().self())) recorder_.times().end_compute(static_cast<std::uint32_t>(operation.node().self()), now());
      return operation.complete_from_event();
    case Operation::Kind::load:
      recorder_.times().set_loading(static_cast<std::uint32_t>(operation.node().self()), now(), false);
      return operation.complete_from_event();
    default:
      return operation.complete_from_event();
  }
}

void SimulatedBackend::averaged_gradient_due(AveragedGradientOperation& operation) {
  const std::size_t passed = computations_.due(operation), all = computations_.milestones(operation).size();
  if (passed == 0) return;
  operation.computed = passed == all;
  // The gradient is known in full only at the end; until then the payload just says what it is.
  operation.payload = operation.computed ? operation.gradient() : Gradient();
  if (!operation.computed)
    reducing_->join(operation, operation.payload, passed);
  else if (reducing_->join(operation, operation.payload))
    operation.complete_from_event();
}

bool SimulatedBackend::start_host_work(HostOperation& operation) {
  const HostWork& work = operation.work();
  if (work.loader_stands) computations_.stall_loader(operation.node().self(), work.span);
  const Time done = (work.ahead ? host_free_ : now()) + work.span;
  host_free_ = std::max(now(), done);
  if (done <= now()) return true;
  simulation_.queue().at(done, operation);
  return false;
}

bool SimulatedBackend::start_step(StepOperation& operation) {
  const Rank rank = operation.node().self();
  const bool server = !is_worker(rank);
  // Each server steps on its own shard.
  const double per_byte = server ? cluster_.server_update_seconds_per_byte / static_cast<double>(cluster_.servers)
                                 : cluster_.update_seconds_per_byte[computations_.class_number(rank)];
  if (per_byte == 0) return true;
  const Time start = server ? std::max(now(), processor_free(rank)) : now();
  const Time end = start + Time::from_seconds(per_byte * static_cast<double>(cluster_.state_bytes));
  if (end == now()) return true;
  if (server)
    processor_free(rank) = end;
  else
    recorder_.times().begin_compute(static_cast<std::uint32_t>(rank), now());
  simulation_.queue().at(end, operation);
  return false;
}

namespace {
/// Control words take no processor time.
bool is_notice(const Message& message) { return std::holds_alternative<MembershipNotice>(message.payload); }
}  // namespace

bool SimulatedBackend::start_mail(MailOperation& operation) {
  const Rank rank = operation.node().self();
  std::optional<MessagePointer> item = mail_[static_cast<std::size_t>(rank)].receive(operation);
  if (!item) return false;
  operation.message = std::move(*item);
  if (!is_worker(rank)) prefetch_messages(mail_.back());
  taken(operation);
  if (!occupies(rank) || is_notice(*operation.message)) return true;
  handle(operation);
  return false;
}

void SimulatedBackend::taken(const MailOperation& operation) {
  if (membership_) membership_->heard(operation.node().self(), operation.message->from);
}

void SimulatedBackend::received(MailOperation& operation) {
  taken(operation);
  handle(operation);
}

void SimulatedBackend::handle(MailOperation& operation) {
  const Rank rank = operation.node().self();
  if (!occupies(rank) || is_notice(*operation.message)) return operation.complete();
  operation.settle();
  const Payload& payload = operation.message->payload;
  Time done = handled(rank, main_bytes_of(payload));
  if (const std::uint64_t statistics = statistics_of(payload); statistics > 0) done = handled(rank, statistics);
  simulation_.queue().at(done, operation);
}

Time SimulatedBackend::handled(Rank rank, std::uint64_t bytes) {
  Time span = handling(rank);
  if (cluster_.handling_seconds_per_byte > 0) span += Time::from_seconds(cluster_.handling_seconds_per_byte * static_cast<double>(bytes));
  Time& free = processor_free(rank);
  const Time ready = std::max(free, now());
  return free = message_cores_ ? message_cores_->run(ready, span) : ready + span;
}

/// Every worker of a collective scheme publishes; one call is recorded: worker 0's, or whichever comes first where workers may fail.
bool SimulatedBackend::start_publish(PublishOperation& operation) {
  if (stops_with_reduction_) return false;
  const Weights& weights = operation.weights();
  if (cluster_.servers > 0 ? is_worker(operation.node().self())
      : membership_        ? weights->version <= recorder_.latest()->version
                           : operation.node().self() != 0) {
    if (cluster_.servers == 0 && weights->version == recorder_.latest()->version &&
        !(weights->value.key() == recorder_.latest()->value.key()))
      throw std::logic_error(operation.node().name() + " has other weights than the others at version " + std::to_string(weights->version) +
                             ": the simulator contradicts itself; please report it with the scenario");
    return true;
  }
  const bool stop = recorder_.published(weights, operation.made(), now());
  if (stop) {
    // Where messages move one by one, others may still receive: the run ends with the last of them.
    stops_with_reduction_ = reducing_ && reducing_->finishing();
    if (!stops_with_reduction_) simulation_.stop();
    return false;
  }
  if (evaluator_ && lineage_.pending() > lineage_window) evaluator_->force(weights->value);
  if (evaluator_) evaluator_->published(weights->value, weights->version);
  if (serial_part_) serial_part_->published();
  if (membership_) membership_->published(operation.node().self());
  return true;
}

// Choices and deadlock

bool SimulatedBackend::forced_choices_are_left() const {
  for (std::size_t rank = 0; rank < forced_.size(); ++rank)
    if (forced_made_[rank] < forced_[rank].size()) return true;
  return false;
}

std::int32_t SimulatedBackend::forced_choice(Rank rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= forced_.size()) return -1;
  if (forced_used_[at] >= forced_[at].size()) return -1;
  return forced_[at][forced_used_[at]++];
}

void SimulatedBackend::chosen(Rank rank, std::int32_t choice) {
  if (static_cast<std::size_t>(rank) < forced_.size()) ++forced_made_[static_cast<std::size_t>(rank)];
  if (RecordSink* sink = recorder_.sink()) sink->choice(static_cast<std::uint32_t>(rank), choice);
}

void SimulatedBackend::describe_waiting(std::vector<std::string>& who) const {
  for (std::size_t rank = 0; rank < mail_.size(); ++rank)
    if (const auto* receiver = mail_[rank].first_waiting()) who.push_back(static_cast<const MailOperation*>(receiver)->describe());
  signals_.describe_waiting(who);
  if (reducing_) reducing_->describe_waiting(who);
}

}  // namespace straggler
