// The Node surface: all that a scheme sees of the world. Two back ends stand behind it: simulated time (sim/backend) and MPI.
//
// Rules that make one source run on both:
//  - `co_await node.send` returns when the last byte has left; `post` does not wait; receives are buffered.
//  - `co_await node.publish` once per update; it stamps the version and does not return at the stop.
//  - Timing reaches a scheme only through receive-from-anyone and first_of: these choices are recorded, and a replay forces them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/schemes/operations.hpp"
#include "sim/schemes/scheme.hpp"

namespace straggler {

/// What all nodes of a run share; outlives them.
struct TrainingPlan {
  Rank workers = 1;
  std::int64_t batch = 1;           // per worker, before the remainder of a global batch
  std::int64_t larger_batches = 0;  // the first so many workers take one sample more
  bool drop_last = false;
  bool ring_sums = false;  // an all-reduce sums in the order of a ring, as real ranks do; else in rank order
  bool fuse = true;        // same-weights gradients that are averaged are evaluated as one batch
  std::uint64_t seed = 1;
  std::uint64_t train_samples = 1;            // size of the training set
  std::uint64_t epoch_samples = 1;            // of which one pass counts: less where drop_last leaves some out
  bool shared_stream = false;                 // all workers draw from one pool
  std::vector<std::uint64_t> stream_samples;  // [workers] samples of a worker's own part; empty if shared
  double input_bytes = 0, output_bytes = 0;   // of one sample
  const UpdateRule* optimizer = nullptr;
  const Rule* rounding = nullptr;  // what a message does to weights; none: nothing
};

/// Where a worker, or all of them together, stand in their sequence of samples.
struct SampleStream {
  std::uint64_t position = 0;
};

/// What one worker has drawn so far.
struct Drawing {
  SampleStream stream;
  std::uint64_t work = 0;  // samples, whatever the stream
};

/// What the nodes of one back end share; outlives them.
struct NodeContext {
  NodeContext(Backend& its_backend, Lineage& its_lineage, const TrainingPlan& its_plan)
      : backend(its_backend), lineage(its_lineage), plan(its_plan) {}
  Backend& backend;
  Lineage& lineage;
  const TrainingPlan& plan;
  SampleStream shared_stream;  // where plan.shared_stream
  Weights initial;             // made when first asked for
};

class Node {
 public:
  Node(NodeContext& context, Rank self) : context_(context), self_(self) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Rank self() const { return self_; }
  Rank workers() const { return plan().workers; }
  Rank server() const { return plan().workers; }
  bool is_server() const { return self_ >= plan().workers; }
  /// Samples of this worker's batch.
  std::int64_t batch_size() const { return batch_size(self_); }
  std::int64_t batch_size(Rank worker) const { return plan().batch + (worker < plan().larger_batches ? 1 : 0); }
  /// Samples of a worker's own part of the data, n_k; of the pool's fair share if the partition is shared.
  std::uint64_t part_samples(Rank worker) const;
  /// `count` distinct workers, ascending, chosen by (seed, round): the same on every node, at no message.
  std::vector<Rank> sample_workers(std::int64_t count, std::uint64_t round) const;

  /// What training starts from here: known to every node from the seed, at no time or bytes; for a worker that joins later or comes back
  /// after a crash, the weights that it was sent.
  Weights initial_weights();
  /// The next `samples` of this worker's sequence; fewer at the end of an epoch (or none of a last partial batch: drop_last).
  DrawnBatch next_batch(std::int64_t samples);
  /// The same of another worker's sequence, by the process that draws for it; `drawing` is that worker's.
  DrawnBatch next_batch_of(Rank worker, Drawing& drawing, std::int64_t samples);

  /// Mean gradient of the batch's loss. Takes the worker's time; may be interrupted in first_of: then nothing has happened.
  Pending<GradientOperation> gradient(const Weights& weights, const DrawnBatch& batch) {
    return Pending<GradientOperation>(slot_, *this, weights, batch);
  }
  /// The mean over all workers of their gradients at their weights, known to all of them at the end: gradient, then all-reduce, or bucket
  /// by bucket while backward still runs if the cluster overlaps them (collective.overlap). Every worker calls it.
  Pending<AveragedGradientOperation> averaged_gradient(const Weights& weights, const DrawnBatch& batch) {
    return Pending<AveragedGradientOperation>(slot_, *this, weights, batch);
  }
  /// One optimizer step. The state (momentum) is this node's; it changes only when the step completes.
  Pending<StepOperation> step(const Weights& weights, const Gradient& gradient) {
    return Pending<StepOperation>(slot_, *this, weights, gradient);
  }
  /// Loading that is a step of its own, for schemes where one process loads for others (SchemeEntry::one_process).
  Pending<LoadOperation> load(const DrawnBatch& first, std::int64_t samples) {
    return Pending<LoadOperation>(slot_, *this, first, samples);
  }
  /// Work of the process that drives this worker, which waits until it is done.
  Pending<HostOperation> host_work(const HostWork& work) { return Pending<HostOperation>(slot_, *this, work); }
  void reset_optimizer() { optimizer_.reset(); }
  /// Optimizer state travels with `weights` and is averaged with them: attach before sending, adopt after receiving.
  void attach_optimizer(Weights& weights) const { weights.edit().more.edit().optimizer = optimizer_ ? *optimizer_ : std::vector<Handle>(); }
  void adopt_optimizer(const Weights& weights) { optimizer() = weights->optimizer(); }

  // Algebra: takes no time. Summed in the order given; by an all-reduce in that of `all_reduce_rule`.
  Gradient mean(const std::vector<Gradient>& parts, const Rule& rule = rules::mean);
  Weights mean(const std::vector<Weights>& parts, const Rule& rule = rules::mean);
  const Rule& all_reduce_rule() const { return plan().ring_sums ? rules::ring_mean : rules::mean; }
  /// Σ shares[i] parts[i].
  Weights weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares);
  Gradient weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares);
  Gradient add(const Gradient& sum, const Gradient& next);
  /// The contribution of a worker that took no step: no value, zero steps.
  Gradient no_gradient(const Weights& weights) const;

  /// From a worker, a send is a contribution: weights without steps count as one of zero steps.
  /// A server's send or post answers the last message that it received from that worker: if the life that sent it is over, the answer is
  /// dropped.
  template <class T>
  Pending<SendOperation> send(Rank to, const T& payload) {
    return send(addressee(to), payload);
  }
  template <class T>
  void post(Rank to, const T& payload) {
    post(addressee(to), payload);
  }
  /// An answer to that life, From::sender; dropped if it is over.
  template <class T>
  Pending<SendOperation> send(Peer to, const T& payload) {
    return Pending<SendOperation>(slot_, *this, make_message(to, payload));
  }
  template <class T>
  void post(Peer to, const T& payload) {
    backend().post(make_message(to, payload));
  }
  /// Posts to every member but this node, in rank order: no answer, it reaches whichever life is in.
  template <class T>
  void broadcast(const T& payload) {
    const Payload arriving(as_sent(as_contribution(payload)));
    for (Rank rank = 0; rank < workers(); ++rank) broadcast_to(rank, arriving);
  }
  /// The same to those of `ranks` that are members.
  template <class T>
  void broadcast(const T& payload, std::span<const Rank> ranks) {
    const Payload arriving(as_sent(as_contribution(payload)));
    for (const Rank rank : ranks) broadcast_to(rank, arriving);
  }
  void broadcast(const SyncSignal& signal) { backend().signal_workers(self_, signal); }
  template <class T>
  Pending<ReceiveOperation<T>> receive(Rank from = anyone) {
    return Pending<ReceiveOperation<T>>(slot_, *this, from);
  }
  /// Waits for a signal of that number or later, which may have come already.
  Pending<SignalOperation> signal(std::uint64_t number) { return Pending<SignalOperation>(slot_, *this, number); }
  /// Completes at once: the other branch of a first_of that only asks whether something has come.
  Pending<ProceedOperation> proceed() { return Pending<ProceedOperation>(slot_, *this); }
  /// Mean over all workers, known to all of them at the end. Every worker calls it.
  template <class T>
  Pending<AllReduceOperation<T>> all_reduce_mean(const T& mine) {
    return Pending<AllReduceOperation<T>>(slot_, *this, as_contribution(mine));
  }
  /// Counts one update and stamps it; at the stop it never returns.
  Pending<PublishOperation> publish(const Weights& weights) { return Pending<PublishOperation>(slot_, *this, weights); }

  /// Workers fail, leave and join where the cluster has faults; a server is told by a MembershipNotice.
  bool is_member(Rank worker) const { return backend().is_member(worker); }
  /// Members, and those that are down but whose return the others wait for (on_failure: wait).
  bool awaits(Rank worker) const { return backend().awaits(worker); }
  bool members_change() const { return backend().members_change(); }

  // For operations and back ends.
  /// What arrives of a payload: a message carries weights in the precision of the run. Gradients are in it already, optimizer state is
  /// always sent whole.
  Weights as_sent(Weights weights) const;
  Gradient as_sent(Gradient gradient) const { return gradient; }
  Samples as_sent(Samples samples) const { return samples; }
  void start_from(const Weights& weights) { start_ = weights; }
  void prefetch() const noexcept {
    __builtin_prefetch(this, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 64, 1);
  }
  OperationSlot& slot() { return slot_; }
  Backend& backend() const { return context_.backend; }
  Lineage& lineage() const { return context_.lineage; }
  const TrainingPlan& plan() const { return context_.plan; }
  double epochs_at(const Weights& weights) const;
  /// In which pass over the data that it is drawn from the batch lies.
  std::uint64_t epoch_of(const DrawnBatch& batch) const {
    return batch.position / (plan().shared_stream ? plan().train_samples : plan().stream_samples[batch.stream]);
  }
  std::vector<Handle>& optimizer() {
    if (!optimizer_) optimizer_ = std::make_unique<std::vector<Handle>>();
    return *optimizer_;
  }
  std::uint64_t next_call() { return calls_++; }
  std::uint64_t drawn() const { return drawn_; }
  std::string name() const { return is_server() ? "server " + std::to_string(self_ - workers()) : "worker " + std::to_string(self_); }

 private:
  Contribution contribution_of(const WeightsState& weights) const;
  Weights as_contribution(Weights weights) const;
  Gradient as_contribution(Gradient gradient) const { return gradient; }
  Samples as_contribution(Samples samples) const { return samples; }
  DrawnBatch draw(Rank worker, SampleStream& own, std::uint64_t& work, std::int64_t samples);
  template <class T>
  MessagePointer make_message(Peer to, const T& payload) {
    return backend().make_message(self_, to, Payload(as_sent(as_contribution(payload))));
  }
  Peer addressee(Rank to) const { return is_server() ? backend().last_heard(self_, to) : Peer(to, Peer::any_life); }
  void broadcast_to(Rank rank, const Payload& arriving) {
    if (rank != self_ && is_member(rank)) backend().post(backend().make_message(self_, Peer(rank, Peer::any_life), arriving));
  }

  NodeContext& context_;
  OperationSlot slot_;
  Rank self_;
  std::uint32_t calls_ = 0;  // computations started
  SampleStream own_;
  std::uint64_t drawn_ = 0;                         // samples of work, whatever the stream
  std::uint64_t last_position_ = 0;                 // of the batch drawn last
  Weights start_;                                   // of a worker that came later
  std::unique_ptr<std::vector<Handle>> optimizer_;  // null: none yet
};

template <class A, class B>
bool FirstOf<A, B>::await_suspend(std::coroutine_handle<> waiter) {
  a_->set_waiter(waiter, this);
  b_->set_waiter(waiter, this);
  const std::int32_t forced = a_->node().backend().forced_choice(a_->node().self());
  if (forced > 1)
    throw ReplayMismatch(a_->node().name() + " is to take branch " + std::to_string(forced) + " of two; the choices are of another run");
  // A replay decides, and time passes as in the run: the loser takes what it took there until the winner completes.
  if (forced == 0) {
    begin_loser(*b_);
  } else {
    if (b_->begin()) {
      winner_ = &*b_;
      return false;
    }
    if (winner_) return true;  // settled already, resumes later
  }
  if (forced == 1) {
    begin_loser(*a_);
  } else if (a_->begin()) {
    winner_ = &*a_;
    b_->give_up();
    return false;
  }
  return true;
}

template <class A, class B>
typename FirstOf<A, B>::Result FirstOf<A, B>::await_resume() {
  a_->node().backend().chosen(a_->node().self(), winner_ == &*b_ ? 1 : 0);
  if (winner_ == &*a_) return Result(std::in_place_index<0>, a_->await_resume());
  return Result(std::in_place_index<1>, b_->await_resume());
}

/// One from each member among `from`, in rank order, whatever the order of arrival. Only contributions to `version` count: what a worker
/// sent before it failed or joined, or sent twice, is dropped. Members may change meanwhile; there is at least one part, unless none will
/// do.
enum class GatherUntil {
  one_at_least,  // members and those whose return is awaited; if there are none, whoever comes
  nobody_left,   // the same; but none will do
  first_lives,   // those who have been in all the time; none will do
};

template <class T>
class Gathering {
  static std::uint64_t version_of(const Weights& weights) { return weights->version; }
  static std::uint64_t version_of(const Gradient& gradient) { return gradient->version(); }

 public:
  Gathering(const Node& node, std::uint64_t version, std::vector<Rank> from) : node_(node), version_(version), from_(std::move(from)) {
    parts_.resize(static_cast<std::size_t>(node.workers()));
    missing_ = from_.size();
  }
  void take(From<T> arrived) {
    std::optional<T>& part = parts_[static_cast<std::size_t>(arrived.sender)];
    if (part || version_of(arrived) != version_) return;
    part.emplace(std::move(static_cast<T&>(arrived)));
    --missing_;
  }
  /// `until`: who is waited for.
  bool complete(GatherUntil until) {
    if (until == GatherUntil::first_lives) forget_the_dead();
    if (missing_ == 0) return true;
    if (!node_.members_change() || (missing_ == from_.size() && until == GatherUntil::one_at_least)) return false;
    for (const Rank rank : from_)
      if (!parts_[static_cast<std::size_t>(rank)] && node_.awaits(rank)) return false;
    return true;
  }
  /// One that was down in between is not waited for: its new life has not been asked.
  void forget_the_dead() {
    std::erase_if(from_, [this](Rank rank) {
      const bool dead = !parts_[static_cast<std::size_t>(rank)] && !node_.is_member(rank);
      if (dead) --missing_;
      return dead;
    });
  }
  std::vector<T> parts() {
    std::vector<T> all;
    for (std::optional<T>& part : parts_)
      if (part) all.push_back(std::move(*part));
    return all;
  }

 private:
  const Node& node_;
  std::uint64_t version_;
  std::vector<Rank> from_;
  std::vector<std::optional<T>> parts_;  // [workers]
  std::size_t missing_;
};

template <class T>
Task<std::vector<T>> gather(Node& node, std::uint64_t version, std::vector<Rank> from, GatherUntil until = GatherUntil::one_at_least) {
  Gathering<T> gathering(node, version, std::move(from));
  while (!gathering.complete(until)) {
    if (!node.members_change()) {
      From<T> arrived = co_await node.receive<T>();
      gathering.take(std::move(arrived));
      continue;
    }
    auto arrived = co_await first_of(node.receive<T>(), node.receive<MembershipNotice>());
    if (arrived.index() == 0) gathering.take(std::get<0>(std::move(arrived)));
  }
  co_return gathering.parts();
}

/// From every worker.
template <class T>
Task<std::vector<T>> gather(Node& node, std::uint64_t version) {
  std::vector<Rank> everyone(static_cast<std::size_t>(node.workers()));
  std::iota(everyone.begin(), everyone.end(), 0);
  return gather<T>(node, version, std::move(everyone));
}

}  // namespace straggler
