#include "sim/backend/simulated_backend.hpp"

#include <algorithm>
#include <utility>

#include "sim/backend/all_reduce.hpp"
#include "sim/backend/delivery.hpp"

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
    if (!backend_.simulation_.queue().empty() || backend_.network_.flows() > 0) backend_.simulation_.queue().after(every_, *this);
  }
  SimulatedBackend& backend_;
  Time every_;
};

SimulatedBackend::SimulatedBackend(SimulatedCluster cluster, const TrainingPlan& plan, const Scheme& scheme, Lineage& lineage,
                                   RunRecorder& recorder, Evaluator* evaluator)
    : cluster_(std::move(cluster)),
      plan_(plan),
      scheme_(scheme),
      lineage_(lineage),
      recorder_(recorder),
      evaluator_(evaluator),
      publishes_at_server_(cluster_.servers > 0),
      forced_used_(static_cast<std::size_t>(plan.workers) + cluster_.servers),
      server_free_(cluster_.servers),
      network_(simulation_.queue()),
      signals_(simulation_, *cluster_.topology, static_cast<std::size_t>(plan.workers)),
      mail_(static_cast<std::size_t>(plan.workers) + cluster_.servers) {
  simulation_.attach(network_);
  simulation_.add(*this);
  build_links(*cluster_.topology, network_);
  const auto ranks = static_cast<Rank>(mail_.size());
  for (Rank rank = 0; rank < ranks; ++rank)
    nodes_.emplace_back(*this, lineage_, plan_, plan_.shared_stream && is_worker(rank) ? &shared_stream_ : nullptr, rank);
  reducing_ = std::make_unique<AllReduce>(*this);
}

SimulatedBackend::~SimulatedBackend() {
  simulation_.kill_all();  // frames refer to nodes, mailboxes and the network
  while (!in_flight_.empty()) {
    auto& delivery = static_cast<Delivery&>(in_flight_.front());
    if (delivery.stage == Delivery::Stage::flowing) network_.cancel(delivery.flow);
    in_flight_.pop_front();
    delete &delivery;
  }
  simulation_.remove(*this);
}

void SimulatedBackend::run(std::optional<Time> until, std::optional<Time> evaluate_every) {
  const Weights initial = nodes_.front().initial_weights();
  if (recorder_.begin(initial)) return recorder_.finish(now(), interrupted_);
  for (Node& node : nodes_) processes_.push_back(simulation_.spawn(node.is_server() ? scheme_.server(node) : scheme_.worker(node)));
  if (evaluate_every) evaluation_clock_ = std::make_unique<EvaluationClock>(*this, *evaluate_every);
  const bool stopped = simulation_.run(until.value_or(Time::never()));
  recorder_.record().events = simulation_.events();
  recorder_.finish(stopped || !until ? now() : *until, interrupted_);
}

// Operations

bool SimulatedBackend::start(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient:
      return start_gradient(static_cast<GradientOperation&>(operation));
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
    case Operation::Kind::all_reduce:
      return reducing_->join(static_cast<AllReduceOperationBase&>(operation));
    case Operation::Kind::publish:
      return start_publish(static_cast<PublishOperation&>(operation));
  }
  return true;
}

void SimulatedBackend::cancel(Operation& operation) noexcept {
  if (operation.state() != Operation::State::pending) return;
  const Rank rank = operation.node().self();
  const auto discard = [&](Time started) {
    if (is_worker(rank))
      recorder_.clock(rank).end_compute(now(), now() - started, false, static_cast<std::uint32_t>(rank), recorder_.trace());
  };
  switch (operation.kind()) {
    case Operation::Kind::gradient:
      return discard(static_cast<GradientOperation&>(operation).started);
    case Operation::Kind::step:
      return discard(static_cast<StepOperation&>(operation).started);
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
      return reducing_->cancel(static_cast<AllReduceOperationBase&>(operation));
    case Operation::Kind::proceed:
    case Operation::Kind::publish:
      return;
  }
}

void SimulatedBackend::due(Operation& operation) {
  const Rank rank = operation.node().self();
  if (is_worker(rank)) recorder_.clock(rank).end_compute(now(), Time(), true, static_cast<std::uint32_t>(rank), recorder_.trace());
  operation.complete_from_event();
}

bool SimulatedBackend::start_gradient(GradientOperation& operation) {
  const Rank rank = operation.node().self();
  const DrawnBatch& batch = operation.batch();
  const Time span = cluster_.compute[static_cast<std::size_t>(rank)].duration(batch.work, batch.size, operation.node().next_call(), now());
  operation.started = now();
  recorder_.clock(rank).begin_compute(now(), static_cast<std::uint32_t>(rank), recorder_.trace());
  simulation_.queue().after(span, operation);
  return false;
}

bool SimulatedBackend::start_step(StepOperation& operation) {
  const Rank rank = operation.node().self();
  const double per_byte = cluster_.update_seconds_per_byte[static_cast<std::size_t>(rank)];
  Time start = now();
  if (!is_worker(rank)) start = std::max(start, server_free_[static_cast<std::size_t>(rank - plan_.workers)]);
  const Time end = start + Time::from_seconds(per_byte * static_cast<double>(cluster_.model_bytes));
  if (end == now()) return true;
  operation.started = start;
  if (is_worker(rank))
    recorder_.clock(rank).begin_compute(now(), static_cast<std::uint32_t>(rank), recorder_.trace());
  else
    server_free_[static_cast<std::size_t>(rank - plan_.workers)] = end;
  simulation_.queue().after(end - now(), operation);
  return false;
}

bool SimulatedBackend::start_mail(MailOperation& operation) {
  const Rank rank = operation.node().self();
  std::optional<MessagePointer> item = mail_[static_cast<std::size_t>(rank)].receive(operation);
  if (!item) return false;
  operation.message = std::move(*item);
  if (is_worker(rank) || cluster_.per_message == Time()) return true;
  received(operation);
  return false;
}

void SimulatedBackend::received(MailOperation& operation) {
  const Rank rank = operation.node().self();
  if (is_worker(rank) || cluster_.per_message == Time()) return operation.complete();
  operation.settle();
  simulation_.queue().at(handled(rank), operation);
}

Time SimulatedBackend::handled(Rank rank) {
  Time& free = server_free_[static_cast<std::size_t>(rank - plan_.workers)];
  free = std::max(free, now()) + cluster_.per_message;
  return free;
}

bool SimulatedBackend::start_publish(PublishOperation& operation) {
  const Rank publisher = publishes_at_server_ ? plan_.workers : 0;
  if (operation.node().self() != publisher) return true;
  const Weights& weights = operation.weights();
  if (recorder_.published(weights, now())) {
    simulation_.stop();
    return false;
  }
  if (evaluator_ && lineage_.pending() > lineage_window) evaluator_->force(weights.value);
  return true;
}

// Messages

MessagePointer SimulatedBackend::make_message(Rank from, Rank to, Payload payload) {
  return std::make_unique<Delivery>(*this, from, to, std::move(payload));
}

std::uint64_t SimulatedBackend::bytes_of(const Payload& payload) const {
  if (const auto* weights = std::get_if<Weights>(&payload)) return cluster_.model_bytes * (1 + weights->optimizer.size());
  return cluster_.model_bytes;
}

void SimulatedBackend::dispatch(MessagePointer message, SendOperation* operation) {
  auto& delivery = static_cast<Delivery&>(*message.release());
  in_flight_.push_back(delivery);
  delivery.operation = operation;
  if (operation) operation->in_flight = &delivery;
  if (!is_worker(delivery.from) && cluster_.per_message > Time())
    simulation_.queue().at(handled(delivery.from), delivery);
  else
    transmit(delivery);
}

void SimulatedBackend::transmit(Delivery& delivery) {
  const std::uint64_t bytes = bytes_of(delivery.payload);
  delivery.stage = Delivery::Stage::flowing;
  count_sent(delivery.from, bytes);
  begin_flight(delivery.from);
  begin_flight(delivery.to);
  cluster_.topology->route(static_cast<std::uint32_t>(delivery.from), static_cast<std::uint32_t>(delivery.to), route_);
  delivery.latency = route_.latency;
  // The sender is done when its last byte has left: bytes flow first, the latency passes after (docs/decisions/005).
  delivery.flow = network_.start(route_.links, static_cast<double>(bytes), Time(), delivery);
}

void SimulatedBackend::drained(Delivery& delivery) {
  delivery.stage = Delivery::Stage::travelling;
  if (SendOperation* sender = std::exchange(delivery.operation, nullptr)) {
    sender->in_flight = nullptr;
    sender->complete();
  }
  if (delivery.latency == Time()) return delivered(delivery);
  simulation_.queue().after(delivery.latency, delivery);
}

void SimulatedBackend::delivered(Delivery& delivery) {
  count_received(delivery.to, bytes_of(delivery.payload));
  end_flight(delivery.from);
  end_flight(delivery.to);
  delivery.unlink();
  mail_[static_cast<std::size_t>(delivery.to)].put(MessagePointer(&delivery));
}

void SimulatedBackend::count_sent(Rank rank, std::uint64_t bytes) {
  recorder_.bytes().sent += bytes;
  if (is_worker(rank)) recorder_.worker(rank).bytes_sent += bytes;
}

void SimulatedBackend::count_received(Rank rank, std::uint64_t bytes) {
  recorder_.bytes().received += bytes;
  if (is_worker(rank)) recorder_.worker(rank).bytes_received += bytes;
}

void SimulatedBackend::begin_flight(Rank rank) {
  if (is_worker(rank)) recorder_.clock(rank).begin_flight(now(), static_cast<std::uint32_t>(rank), recorder_.trace());
}

void SimulatedBackend::end_flight(Rank rank) {
  if (is_worker(rank)) recorder_.clock(rank).end_flight(now(), static_cast<std::uint32_t>(rank), recorder_.trace());
}

// Choices and deadlock

std::int32_t SimulatedBackend::forced_choice(Rank rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (at >= forced_.size() || forced_used_[at] >= forced_[at].size()) return -1;
  return forced_[at][forced_used_[at]++];
}

void SimulatedBackend::chosen(Rank rank, std::int32_t choice) {
  if (RecordSink* sink = recorder_.sink()) sink->choice(static_cast<std::uint32_t>(rank), choice);
}

void SimulatedBackend::describe_waiting(std::vector<std::string>& who) const {
  for (std::size_t rank = 0; rank < mail_.size(); ++rank)
    if (const auto* receiver = mail_[rank].first_waiting()) who.push_back(static_cast<const MailOperation*>(receiver)->describe());
  signals_.describe_waiting(who);
  reducing_->describe_waiting(who);
}

}  // namespace straggler
