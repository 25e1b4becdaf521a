#include "validation/mpi/mpi_backend.hpp"

#include <algorithm>
#include <chrono>

namespace straggler {

MpiBackend::MpiBackend(RankTask task, Channel& channel, Lineage& lineage, Values& values, ComputeThread& thread)
    : world_{std::move(task), channel, values},
      context_(*this, lineage, world_.task.plan),
      node_(context_, channel.self()),
      post_(world_),
      stop_(world_, post_),
      computations_(world_, node_, lineage, thread, queue_),
      rings_({world_, context_.algebra, post_, stop_}),
      publications_(world_, node_, post_, stop_) {
  values.of(node_.initial_weights()->value);  // before the clock starts, while a failure leaves no rank waiting
}

MpiBackend::~MpiBackend() { process_.reset(); }

bool MpiBackend::reduces() const {
  const RankTask& task = world_.task;
  return task.reduces || (task.plan.workers == 1 && !task.has_server && task.plan.versions == Versions::shared);
}

void MpiBackend::process_ended(std::uint32_t, std::exception_ptr failure) noexcept {
  thrown_ = failure ? failure : std::make_exception_ptr(std::logic_error("the scheme's coroutine returned; it must run until the stop"));
}

// A job that continues

std::uint64_t MpiBackend::samples_until(Rank worker, std::uint64_t version) {
  Node drawing(context_, worker);
  for (std::uint64_t k = 0; k < version; ++k) drawing.next_batch(drawing.batch_size());
  return drawing.drawn();
}

void MpiBackend::continue_from(EarlierState earlier) {
  const std::uint64_t version = earlier.weights->version;
  WeightsState& weights = earlier.weights.edit();
  weights.participants = world_.task.plan.workers;
  for (Rank worker = 0; worker < world_.task.plan.workers; ++worker)
    if (worker != node_.self()) weights.progress += samples_until(worker, version);
  for (std::uint64_t k = 0; node_.is_worker() && k < version; ++k) {
    node_.next_batch(node_.batch_size());
    node_.next_call();
  }
  weights.progress += node_.drawn();
  publications_.continue_from(earlier.weights);
  node_.start_from(earlier.weights);
  node_.optimizer().state() = std::move(earlier.optimizer);
  world_.clock.continue_from(earlier.began);
}

RunCourse MpiBackend::course() {
  RunCourse course;
  course.initial = node_.initial_weights();
  course.publications = publications_.all();
  course.end = stop_.end();
  course.start = world_.clock.start();
  for (Rank worker = 0; world_.clock.continues() && worker < world_.task.plan.workers; ++worker)
    course.earlier_samples.push_back(samples_until(worker, course.initial->version));
  return course;
}

// The loop

void MpiBackend::run() {
  world_.clock.start(world_.channel, world_.publisher());
  publications_.start();
  try {
    loop();
  } catch (const std::exception& error) {
    stop_.fail(node_.name() + ": " + error.what());
  }
  world_.log.samples_drawn = node_.drawn();
  world_.log.events = queue_.fired();
  world_.log.interrupted = stop_.interrupted();
  drain();
  if (!stop_.error().empty()) throw RankFailed(stop_.error());
}

void MpiBackend::loop() {
  stop_.schedule(queue_);
  const Scheme& scheme = world_.task.scheme;
  process_ = node_.is_server() ? scheme.server(node_) : node_.is_aggregator() ? scheme.aggregator(node_) : scheme.worker(node_);
  process_.watch(*this, 0);
  process_.start();
  patience_.happened();
  while (!stop_.stopping()) {
    stop_.check_interrupt();
    bool any = !stop_.stopping() && world_.channel.progress(*this);
    if (!stop_.stopping()) any = computations_.take_computed() || any;
    const std::uint64_t fired = queue_.fired();
    fire_due();
    if (thrown_) std::rethrow_exception(thrown_);
    if (!stop_.stopping()) any = computations_.begin(only_computes()) || any;
    if (any || queue_.fired() != fired)
      patience_.happened();
    else if (!stop_.stopping())
      wait();
  }
}

void MpiBackend::fire_due() {
  while (!stop_.stopping() && !thrown_ && !queue_.empty() && queue_.next() <= now()) queue_.fire_next();
}

bool MpiBackend::only_computes() const {
  return computations_.running() && !world_.task.emulated && world_.channel.quiet() && !mail_.first_waiting() && !signals_.waiting() &&
         rings_.idle();
}

std::chrono::nanoseconds MpiBackend::pause() const {
  using namespace std::chrono_literals;
  if (world_.channel.wakes() && world_.channel.waits_asleep()) return patience_.rest();
  return patience_.pause(only_computes() ? 1ms : world_.channel.quiet() ? 250us : 100us);
}

void MpiBackend::wait() {
  std::int64_t span = pause().count();
  if (!queue_.empty()) span = std::min(span, (queue_.next() - now()).ticks() / 1000);
  if (span <= 0) return;
  if (world_.channel.wakes() || !computations_.wait(span)) world_.channel.await_message(Patience::least.count(), span);
}

/// After every rank's goodbye nothing is in flight: it is the last message between two ranks, and messages do not overtake each other.
void MpiBackend::drain() {
  computations_.drop();
  process_.reset();
  post_.close();
  patience_.happened();
  while (goodbyes_ < world_.channel.ranks() - 1 || !world_.channel.all_left()) {
    if (world_.channel.progress(*this))
      patience_.happened();
    else
      world_.channel.await_message(Patience::least.count(), pause().count());
  }
}

// Operations

bool MpiBackend::start(Operation& operation) {
  switch (operation.kind()) {
    case Operation::Kind::gradient:
    case Operation::Kind::averaged_gradient:
      computations_.start(static_cast<ComputeOperation&>(operation));
      return false;
    case Operation::Kind::step:  // evaluated when its result is first used, which is at once
    case Operation::Kind::proceed:
      return true;
    case Operation::Kind::timer:
      if (const Time span = static_cast<TimerOperation&>(operation).span(); span < Time::limit() - now())  // otherwise it never fires
        queue_.at(now() + span, operation);
      return false;
    case Operation::Kind::send:
      post_.send(static_cast<SendOperation&>(operation).to(), static_cast<SendOperation&>(operation).take_payload(), &operation);
      return false;
    case Operation::Kind::receive:
      return start_mail(static_cast<MailOperation&>(operation));
    case Operation::Kind::signal:
      return signals_.wait(static_cast<SignalOperation&>(operation));
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_gather:
      return rings_.join(operation, static_cast<CollectiveOperation&>(operation).group());
    case Operation::Kind::publish:
      return publications_.publish(static_cast<PublishOperation&>(operation));
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
  if (computations_.is_of(operation)) computations_.cancel();
  rings_.cancel(operation);
  if (operation.kind() == Operation::Kind::send) world_.channel.forget(operation);
  if (operation.kind() == Operation::Kind::receive) static_cast<MailOperation&>(operation).leave();
  signals_.leave(operation);
}

void MpiBackend::due(Operation& operation) {
  if (computations_.is_of(operation)) {
    computations_.end(static_cast<ComputeOperation&>(operation));
    if (operation.kind() == Operation::Kind::averaged_gradient)
      return averaged_gradient_due(static_cast<AveragedGradientOperation&>(operation));
  }
  operation.complete_from_event();
}

void MpiBackend::averaged_gradient_due(AveragedGradientOperation& operation) {
  operation.bring();
  operation.computed = true;
  if (rings_.join(operation, nullptr)) operation.complete_from_event();
}

bool MpiBackend::start_mail(MailOperation& operation) {
  std::optional<MessagePointer> item = mail_.receive(operation);
  if (!item) return false;
  operation.message = std::move(*item);
  return true;
}

void MpiBackend::signal_workers(Rank, SyncSignal signal) {
  Packer packer;
  packer.put(signal.number);
  post_.tell_workers(MessageKind::signal, packer.take());
}

// Messages

LentFloats MpiBackend::place_for(std::size_t bytes) {
  try {
    if (bytes != world_.task.cut.length * sizeof(float)) throw std::logic_error("a vector of another length from another rank");
    return world_.values.lend();
  } catch (...) {  // it must be received all the same: its sender waits for that
    if (!thrown_) thrown_ = std::current_exception();
    return {new float[bytes / sizeof(float) + 1], std::default_delete<float[]>()};
  }
}

void MpiBackend::arrived(Rank from, MessageKind kind, Bytes bytes) {
  switch (kind) {
    case MessageKind::bye:
      ++goodbyes_;
      return;
    case MessageKind::published:
    case MessageKind::averaged:
    case MessageKind::forget:
      return publications_.told(from, kind, bytes);
    case MessageKind::vector:
    case MessageKind::sweep:
      throw std::logic_error("a message that is of no run");
    case MessageKind::stop:
      return stop_.told(bytes);
    case MessageKind::signal:
      if (!stop_.stopping()) signals_.arrive(Unpacker(bytes).get<std::uint64_t>());
      return;
    case MessageKind::ring:
      world_.note(LogEntry::Kind::arrived, from);
      if (!stop_.stopping()) rings_.arrived(std::move(bytes));
      return;
    case MessageKind::part:
    case MessageKind::payload:
      world_.note(LogEntry::Kind::arrived, from);
      if (stop_.stopping() || thrown_) return;
      if (MessagePointer message = post_.arrived(from, std::move(bytes), kind == MessageKind::payload)) mail_.put(std::move(message));
      return;
  }
}

}  // namespace straggler
