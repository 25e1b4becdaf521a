#include "validation/mpi/mpi_backend.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "validation/mpi/patience.hpp"

namespace straggler {

namespace {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::chrono::microseconds longest_pause(bool quiet) { return std::chrono::microseconds(quiet ? 250 : 100); }

Bytes bytes_of(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace

/// The stop by time, if no vote is taken.
class MpiBackend::TimeLimit final : public Event {
 public:
  explicit TimeLimit(MpiBackend& backend) : backend_(backend) {}

 private:
  void happen() override { backend_.stop_now(*backend_.task_.stop.simulated_time); }
  MpiBackend& backend_;
};

MpiBackend::MpiBackend(RankTask task, Channel& channel, Lineage& lineage, Values& values, ComputeThread& thread)
    : task_(std::move(task)),
      wire_bytes_(task_.cut.wire_bytes()),
      channel_(channel),
      lineage_(lineage),
      values_(values),
      thread_(thread),
      parts_(index_of(channel.ranks())),
      schedule_(task_.evaluation),
      next_evaluation_(task_.evaluation.every_time.value_or(Time::never())),
      context_(*this, lineage, task_.plan),
      node_(context_, channel.self()),
      publisher_(task_.has_server ? node_.server() : 0) {
  if (own_versions() && publishes()) own_.versions.emplace(task_.plan.versions, task_.plan.workers, node_.initial_weights());
  if (runs_free()) free_.values[node_.initial_weights()->value.key()] = node_.initial_weights()->value;
  values_.of(node_.initial_weights()->value);  // before the clock starts, while a failure leaves no rank waiting
}

MpiBackend::~MpiBackend() { process_.reset(); }

Time MpiBackend::now() const { return Time::from_ticks((steady_ns() - start_ns_) * 1000); }

void MpiBackend::process_ended(std::uint32_t, std::exception_ptr failure) noexcept {
  thrown_ = failure ? failure : std::make_exception_ptr(std::logic_error("the scheme's coroutine returned; it must run until the stop"));
}

// The loop

void MpiBackend::run() {
  start_ns_ = channel_.agree_on_start();
  if (began_) {
    const std::int64_t earlier = earlier_ns(steady_ns() - start_ns_);
    start_ns_ -= earlier;
    start_ = Time::from_ticks(earlier * 1000);
    while (next_evaluation_ <= start_) next_evaluation_ += *task_.evaluation.every_time;
  }
  try {
    loop();
  } catch (const std::exception& error) {
    failure_ = node_.name() + ": " + error.what();
    send_to_all(MessageKind::stop, bytes_of(failure_));
  }
  log_.samples_drawn = node_.drawn();
  log_.events = queue_.fired();
  log_.interrupted = broken_off_;
  drain();
  if (!failure_.empty()) throw RankFailed(failure_);
}

void MpiBackend::loop() {
  if (task_.stop.simulated_time && publishes() && !votes()) {
    time_limit_ = std::make_unique<TimeLimit>(*this);
    queue_.at(*task_.stop.simulated_time, *time_limit_);
  }
  process_ = node_.is_server()       ? task_.scheme.server(node_)
             : node_.is_aggregator() ? task_.scheme.aggregator(node_)
                                     : task_.scheme.worker(node_);
  process_.watch(*this, 0);
  process_.start();
  Patience patience;
  while (!stopping_) {
    if (interrupted() && publishes() && !votes()) {
      broken_off_ = true;
      return stop_now(now());
    }
    bool any = channel_.progress(*this);
    if (!stopping_) any = take_computed() || any;
    const std::uint64_t fired = queue_.fired();
    fire_due();
    if (thrown_) std::rethrow_exception(thrown_);
    if (any || queue_.fired() != fired)
      patience.happened();
    else if (!stopping_)
      wait(patience.pause(longest_pause(channel_.quiet())));
  }
}

void MpiBackend::stop_now(Time end) {
  stopping_ = true;
  end_ = end;
  send_to_all(MessageKind::stop, {});
}

void MpiBackend::fire_due() {
  while (!stopping_ && !thrown_ && !queue_.empty() && queue_.next() <= now()) queue_.fire_next();
}

void MpiBackend::wait(std::chrono::nanoseconds pause) {
  std::int64_t span = pause.count();
  if (!queue_.empty()) span = std::min(span, (queue_.next() - now()).ticks() / 1000);
  if (span <= 0) return;
  if (computing_.job)
    thread_.wait(*computing_.job, span);
  else
    arrivals_.wait(Patience::least.count(), span);
}

/// After every rank's goodbye nothing is in flight: it is the last message between two ranks, and messages do not overtake each other.
void MpiBackend::drain() {
  draining_ = true;
  if (computing_.job) computing_.job->cancelled = true;
  process_.reset();
  send_to_all(MessageKind::bye, {});
  Patience patience;
  while (goodbyes_ < channel_.ranks() - 1 || !channel_.all_left()) {
    if (channel_.progress(*this))
      patience.happened();
    else
      arrivals_.wait(Patience::least.count(), patience.pause(longest_pause(channel_.quiet())).count());
  }
}

// Operations

bool MpiBackend::start(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient:
    case Operation::Kind::averaged_gradient:
      start_compute(static_cast<ComputeOperation&>(operation));
      return false;
    case Operation::Kind::step:  // evaluated when its result is first used, which is at once
    case Operation::Kind::proceed:
      return true;
    case Operation::Kind::timer:
      if (const Time span = static_cast<TimerOperation&>(operation).span(); span < Time::limit() - now())  // otherwise it never fires
        queue_.at(now() + span, operation);
      return false;
    case Operation::Kind::send:
      transmit(static_cast<SendOperation&>(operation).to(), static_cast<SendOperation&>(operation).take_payload(), &operation);
      return false;
    case Operation::Kind::receive:
      return start_mail(static_cast<MailOperation&>(operation));
    case Operation::Kind::signal:
      return signals_.wait(static_cast<SignalOperation&>(operation));
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_gather: {
      auto& collective = static_cast<CollectiveOperation&>(operation);
      return join_ring(ring_of(collective.group()), collective, collective.payload);
    }
    case Operation::Kind::publish:
      return start_publish(static_cast<PublishOperation&>(operation));
    case Operation::Kind::reduce_scatter:
      throw UnsupportedOperation(operation.node().name() +
                                 " calls a reduce-scatter, which real ranks do not have; call all_reduce_mean, or run it simulated");
    case Operation::Kind::slice:
    case Operation::Kind::shard:
      throw UnsupportedOperation(operation.node().name() +
                                 " computes or moves a batch bucket by bucket, which real ranks do not; call averaged_gradient, or run it "
                                 "simulated");
    case Operation::Kind::load:
    case Operation::Kind::host:
    case Operation::Kind::cell_read:
    case Operation::Kind::cell_step:
      break;
  }
  throw std::logic_error(operation.node().name() +
                         " uses an operation that real ranks do not have: loading, work of one host's process, or shared memory");
}

void MpiBackend::cancel(Operation& operation) noexcept {
  if (operation.state() != Operation::State::pending) return;
  if (computing_.operation == &operation) {
    if (computing_.job) computing_.job->cancelled = true;
    computing_.job.reset();
    computing_.operation = nullptr;
    if (!draining_) note(LogEntry::Kind::compute_discarded);
  }
  for (const auto& [number, ring] : rings_)
    std::erase_if(ring->reducing, [&](const Reducing& each) { return each.operation == &operation; });
  if (operation.kind() == Operation::Kind::send) channel_.forget(operation);
  if (operation.kind() == Operation::Kind::receive) static_cast<MailOperation&>(operation).leave();
  signals_.leave(operation);
}

void MpiBackend::due(Operation& operation) {
  if (&operation == computing_.operation) return compute_due(static_cast<ComputeOperation&>(operation));
  operation.complete_from_event();
}

void MpiBackend::start_compute(ComputeOperation& operation) {
  const Rank rank = node_.self();
  const DrawnBatch& batch = operation.batch();
  computing_.operation = &operation;
  note(LogEntry::Kind::compute_begins);
  computing_.start = Time::from_ticks(log_.entries.back().ticks);  // the worker's account gets the time spent on the gradient
  computing_.end = computing_.start;
  const std::uint64_t call = node_.next_call();
  if (task_.emulated)
    computing_.end += task_.compute.duration(rank, {batch.work, batch.size, batch.number, batch.offset}, call, computing_.start);
  // A step that led to these weights is evaluated here, within the time of the draw.
  computing_.job = thread_.start(values_.of(operation.weights()->value), batch);
}

bool MpiBackend::take_computed() {
  if (!computing_.job || !computing_.job->done) return false;
  const std::shared_ptr<ComputeThread::Job> job = std::exchange(computing_.job, nullptr);
  if (job->failure) std::rethrow_exception(job->failure);
  ComputeOperation& operation = *computing_.operation;
  computing_.gradient = lineage_.gradient(operation.weights()->value, operation.batch());
  values_.give(computing_.gradient, {job->gradient.get(), task_.cut.length});
  const Time there = now();
  if (task_.emulated) {
    ++log_.overruns.gradients;
    if (there > computing_.end) {
      const std::int64_t late = (there - computing_.end).ticks();
      ++log_.overruns.late;
      log_.overruns.ticks += late;
      log_.overruns.worst = std::max(log_.overruns.worst, late);
    }
  }
  queue_.at(std::max(there, computing_.end), operation);
  return true;
}

void MpiBackend::compute_due(ComputeOperation& operation) {
  computing_.operation = nullptr;
  note(LogEntry::Kind::compute_ends);
  operation.span = Time::from_ticks(log_.entries.back().ticks) - computing_.start;
  if (operation.kind() == Operation::Kind::gradient) return operation.complete_from_event();
  auto& averaged = static_cast<AveragedGradientOperation&>(operation);
  averaged.bring();
  averaged.computed = true;
  if (join_ring(ring_of(nullptr), averaged, averaged.payload)) operation.complete_from_event();
}

bool MpiBackend::start_mail(MailOperation& operation) {
  std::optional<MessagePointer> item = mail_.receive(operation);
  if (!item) return false;
  operation.message = std::move(*item);
  return true;
}

// Publishing and the stop

bool MpiBackend::stops_at(const Weights& weights) const {
  return voted_ ||
         task_.stop.ends_at(weights->version, static_cast<double>(weights->progress) / static_cast<double>(task_.plan.epoch_samples));
}

/// If the scheme reduces, every worker reaches the same decision. Otherwise a server sends it, or the first of the workers with weights of
/// their own.
bool MpiBackend::start_publish(PublishOperation& operation) {
  values_.of(operation.weights()->value);
  const Time when = now();
  if (publishes() && !votes() && task_.stop.simulated_time && when > *task_.stop.simulated_time) {  // before the time limit's event
    stop_now(*task_.stop.simulated_time);
    return false;
  }
  if (own_versions()) {
    publish_own(operation, when);
    return !stopping_;
  }
  if (publishes()) keep_publication(operation.weights(), operation.made(), when);
  if (!stops_at(operation.weights())) {
    if (publishes() && task_.go_on) task_.go_on(when, operation.weights(), node_.optimizer().state());
    return true;
  }
  stopping_ = true;
  end_ = now();
  if (publishes()) end_ = publications_.back().when;
  if (task_.has_server) send_to_all(MessageKind::stop, {});
  return false;
}

void MpiBackend::keep_publication(const Weights& weights, const Contributions& made, Time when) {
  const auto forget_value = [this](Publication& publication) {
    if (own_versions()) return forget_own();
    WeightsState& state = publication.weights.edit();
    state.value = Handle(state.value.key());
  };
  if (when >= next_evaluation_) {  // the previous version was the latest then
    keep_last_ = true;
    while (next_evaluation_ <= when) next_evaluation_ += *task_.evaluation.every_time;
  }
  if (!publications_.empty() && !keep_last_) forget_value(publications_.back());
  Publication& publication = publications_.emplace_back();
  publication.when = when;
  publication.weights = weights;
  publication.made = made;
  if (task_.published) task_.published(when, weights);
  keep_last_ = schedule_.due(weights->version, static_cast<double>(weights->progress) / static_cast<double>(task_.plan.epoch_samples));
}

RunCourse MpiBackend::course() {
  RunCourse course;
  course.initial = node_.initial_weights();
  course.publications = publications_;
  course.end = end_;
  course.start = start_;
  for (Rank worker = 0; began_ && worker < task_.plan.workers; ++worker)
    course.earlier_samples.push_back(samples_until(worker, course.initial->version));
  return course;
}

// Messages

MpiBackend::Packed MpiBackend::packed(const Payload& payload) {
  const auto* weights = std::get_if<Weights>(&payload);
  const auto* before = std::get_if<Weights>(&last_packed_.payload);
  if (weights && before && weights->operator->() == before->operator->()) return last_packed_.packed;
  Packed packed;
  for (Bytes& part : pack(payload, task_.cut, values_)) packed.push_back(std::make_shared<const Bytes>(std::move(part)));
  if (!node_.is_worker() && weights) {
    last_packed_.payload = payload;
    last_packed_.packed = packed;
  }
  return packed;
}

void MpiBackend::transmit(Rank to, const Payload& payload, Operation* operation) {
  keep_sent(to, payload);
  const Packed packed = this->packed(payload);
  const Parts parts = wire_bytes_.parts_of(payload);
  for (std::size_t k = 0; k < packed.size(); ++k) {
    note_sent(to, k < parts.size() ? parts[k] : Part(), k == 0 ? wire_bytes_.spared_of(payload) : 0);
    channel_.send(to, k + 1 < packed.size() ? MessageKind::part : MessageKind::payload, packed[k], operation);
  }
}

void MpiBackend::discarded(Rank, const Payload& contribution) {
  note(LogEntry::Kind::dropped, 0, wire_bytes_.all_of(contribution));
  for (const Contribution& made : made_of(contribution)) {
    note(LogEntry::Kind::dropped_samples, made.worker, made.samples);
    note(LogEntry::Kind::dropped_time, made.worker, static_cast<std::uint64_t>(made.spent.ticks()));
  }
}

void MpiBackend::signal_workers(Rank from, SyncSignal signal) {
  Packer packer;
  packer.put(signal.number);
  const auto bytes = std::make_shared<const Bytes>(packer.take());
  for (Rank rank = 0; rank < task_.plan.workers; ++rank)
    if (rank != from) channel_.send(rank, MessageKind::signal, bytes, nullptr);
}

void MpiBackend::send_to_all(MessageKind kind, Bytes bytes) {
  const auto shared = std::make_shared<const Bytes>(std::move(bytes));
  for (Rank rank = 0; rank < channel_.ranks(); ++rank)
    if (rank != channel_.self()) channel_.send(rank, kind, shared, nullptr);
}

void MpiBackend::arrived(Rank from, MessageKind kind, Bytes bytes) {
  switch (kind) {
    case MessageKind::bye:
      ++goodbyes_;
      return;
    case MessageKind::published:
      return take_publication(from, bytes);
    case MessageKind::averaged:
      return take_averaging(from, bytes);
    case MessageKind::forget:
      return take_forget(bytes);
    case MessageKind::sweep:
      throw std::logic_error("a message of a sweep in a run");
    case MessageKind::stop:
      stopping_ = true;
      if (failure_.empty()) failure_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return;
    case MessageKind::signal:
      if (!stopping_ && !draining_) signals_.arrive(Unpacker(bytes).get<std::uint64_t>());
      return;
    case MessageKind::ring:
      note(LogEntry::Kind::arrived, from);
      if (!stopping_ && !draining_) ring_message(std::move(bytes));
      return;
    case MessageKind::part:
    case MessageKind::payload:
      note(LogEntry::Kind::arrived, from);
      return take_part(from, std::move(bytes), kind == MessageKind::payload);
  }
}

void MpiBackend::take_part(Rank from, Bytes part, bool last) {
  std::vector<Bytes>& parts = parts_[index_of(from)];
  parts.push_back(std::move(part));
  if (!last) return;
  const std::vector<Bytes> all = std::exchange(parts, {});
  if (stopping_ || draining_) return;
  auto message = std::make_unique<Message>(from, node_.self(), unpack(task_.cut, values_, all));
  forget_sent(from, message->payload);
  mail_.put(std::move(message));
}

}  // namespace straggler
