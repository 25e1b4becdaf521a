// The Node interface: a scheme's only access to the world. Two back ends implement it: simulated time (sim/simulated) and MPI.
//
// Rules that make one source run on both:
//  - `co_await node.send` returns when the last byte has left; `post` does not wait; receives are buffered.
//  - `co_await node.publish` once per update; it stamps the version and does not return at the stop.
//  - Timing reaches a scheme only through receive-from-anyone and first_of: these choices are recorded, and a replay forces them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/prefetch.hpp"
#include "sim/training/operations.hpp"
#include "sim/training/scheme.hpp"
#include "sim/training/work.hpp"

namespace straggler {

/// A worker's draws so far.
struct Drawing {
  SampleStream stream;                    // of its own part; of a shared pool, the end of the last draw
  std::uint64_t work = 0;                 // samples drawn, from any stream
  std::uint32_t batches = 0, offset = 0;  // batches begun; samples of the latest
};

/// All that a node's next version depends on beside its weights, as a checkpoint holds it: the optimizer's state, what a client keeps, what
/// messages have left out, the place in the samples, and the process's own variables. How far random factors of time have been drawn is not
/// in it: a batch that is computed again draws others.
struct SavedNode {
  SampleStream stream;
  std::uint64_t last_position = 0;
  std::vector<Handle> optimizer;
  KeptVector kept;
  std::unique_ptr<const MessageCodec> codec;  // null: nothing was sent yet
  std::vector<std::any> durable;
};

/// In addition to Participant (self, workers, server, plan):
class Node final : public Participant {
 public:
  using Participant::Participant;

  /// Aggregators, beside the server (SchemeEntry::aggregators): their number, and an aggregator's rank.
  Rank aggregators() const { return plan().aggregation.count(); }
  Rank aggregator(Rank k) const { return plan().aggregation.first_rank + k; }
  /// The rank of this worker's aggregator.
  Rank aggregator() const { return aggregator(plan().aggregation.number_of(self_)); }
  /// The workers of this aggregator, or of this worker's: consecutive and ascending.
  std::vector<Rank> group() const;

  /// Samples of this worker's batch.
  std::int64_t batch_size() const { return batch_size(self_); }
  std::int64_t batch_size(Rank worker) const { return algebra().batches().of(worker); }
  std::uint64_t part_samples(Rank worker) const { return plan().part_samples(worker); }
  /// `count` distinct workers, ascending, chosen by (seed, round): the same on every node, without a message.
  std::shared_ptr<const std::vector<Rank>> sample_workers(std::int64_t count, std::uint64_t round) const;
  /// Consecutive workers.
  struct Pool {
    Rank first = 0, count = 0;
  };
  /// `count` distinct workers of `pool` for which `may` holds, or all of these if they are fewer; ascending. Drawn by the plan's selection
  /// rule, by (seed, pool, round): where `may` holds for all workers of the run, they are those of sample_workers.
  std::vector<Rank> draw_clients(Pool pool, std::int64_t count, std::uint64_t round, const std::function<bool(Rank)>& may) const;
  /// The clients of round 0, drawn among the workers that are in at the beginning: the same on every node, at any time.
  std::shared_ptr<const std::vector<Rank>> first_clients(Pool pool, std::int64_t count) const;

  /// A new batch: the next `samples` of this worker's sequence; fewer at the end of a pass (TrainingPlan::pass_samples).
  DrawnBatch next_batch(std::int64_t samples);
  /// The same samples as another part of the batch that was begun last: it shares that batch's jitter.
  DrawnBatch more_of_batch(std::int64_t samples);
  /// The same from another worker's sequence, for a process that draws for it; `drawing` is that worker's.
  DrawnBatch next_batch_of(Rank worker, Drawing& drawing, std::int64_t samples);

  /// Mean gradient of the batch's loss. Takes the worker's time. If first_of interrupts it, it has no effect.
  Pending<GradientOperation> gradient(const Weights& weights, const DrawnBatch& batch) {
    return Pending<GradientOperation>(slot_, *this, weights, batch);
  }
  /// The same of a new batch of that many samples (next_batch), which the coroutine does not keep: 32 bytes less a worker.
  Pending<GradientOperation> gradient(const Weights& weights, std::int64_t samples) { return gradient(weights, next_batch(samples)); }
  /// The mean over all workers of their gradients at their weights, known to all of them at the end. The worker computes the gradient, then
  /// all-reduces it; if the cluster overlaps them (collective.overlap), each bucket is reduced while backward still runs. Every worker
  /// calls it.
  Pending<AveragedGradientOperation> averaged_gradient(const Weights& weights, const DrawnBatch& batch) {
    return Pending<AveragedGradientOperation>(slot_, *this, weights, batch);
  }
  /// The batch in progress, whose forward and backward the coroutine computes bucket by bucket: a scheme that moves buckets itself.
  Work work(const Weights& weights, const DrawnBatch& batch) { return Work(*this, slot_, weights, batch); }
  /// One optimizer step. The state (momentum) is this node's; it changes only when the step completes.
  Pending<StepOperation> step(const Weights& weights, const Gradient& gradient) { return step(optimizer(), weights, gradient); }
  /// The same, with an optimizer that the coroutine holds.
  Pending<StepOperation> step(Optimizer& optimizer, const Weights& weights, const Gradient& gradient) {
    return Pending<StepOperation>(slot_, *this, optimizer, weights, gradient);
  }
  /// The weights that workers share in their host's memory, read without a lock: each chunk (SchemeEntry::cell_chunks) has the value it has
  /// when the read reaches it. Takes the time of the bytes over network.intra. Their version is the latest one at the end of the read.
  Pending<CellReadOperation> read_cell() { return Pending<CellReadOperation>(slot_, *this); }
  /// A step of the run's optimizer on these weights at their current value. The worker computes it, then adds it chunk by chunk, each chunk
  /// at once. The optimizer's state is shared like the weights. Returns the weights after this addition and all that began before it;
  /// publish them next.
  Pending<CellStepOperation> step_cell(const Gradient& gradient) { return Pending<CellStepOperation>(slot_, *this, gradient); }
  /// A new outer optimizer (SchemeEntry::outer_optimizer). Throws std::logic_error if the entry names none.
  Optimizer outer_optimizer() const;
  /// The operation begins now and stays in flight until it is awaited later. Receives: only from a given rank.
  template <class T>
  Pending<T> begin(Pending<T> operation) {
    static_assert(may_be_in_flight<T>, "only exchanges, computations and timers can be in flight");
    operation->begin();
    return operation;
  }
  /// Loading that is a step of its own, for schemes where one process loads for others (SchemeEntry::one_process).
  Pending<LoadOperation> load(const DrawnBatch& first, std::int64_t samples) {
    return Pending<LoadOperation>(slot_, *this, first, samples);
  }
  /// Work of the process that drives this worker; the worker waits until it is done.
  Pending<HostOperation> host_work(const HostWork& work) { return Pending<HostOperation>(slot_, *this, work); }
  void reset_optimizer() { optimizer_.reset(); }
  /// Push-sum: the part of all workers' weights that no worker holds and no message carries. All parts add up to workers().
  const PushWeight::Pool& push_weights() const {
    if (!context_.push_weights) context_.push_weights = std::make_shared<double>(workers());
    return context_.push_weights;
  }
  /// Optimizer state travels with `weights` and is averaged with them: attach before sending, adopt after receiving.
  void attach_optimizer(Weights& weights) const;
  void adopt_optimizer(const Weights& weights);

  // Algebra (sim/training/algebra.hpp): takes no time. Sums run in the order given.
  Gradient mean(const std::vector<Gradient>& parts) { return algebra().mean(parts); }
  Weights mean(const std::vector<Weights>& parts) { return algebra().mean(parts); }
  /// Σ shares[i] parts[i].
  Weights weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) {
    return algebra().weighted_mean(parts, shares);
  }
  /// Weights of this node's own history whose value is Σ shares[i] parts[i].
  Weights blend(const Weights& mine, const std::vector<Weights>& parts, const std::vector<double>& shares) {
    return algebra().blend(mine, parts, shares);
  }
  /// A server may answer with a vote over the workers' messages (Algebra::vote), as small as one of them; the workers then step by
  /// themselves. Not where workers fail, leave or join: they would not hold the server's weights and its optimizer's state.
  bool votes() const { return plan().compression && plan().compression->vote && !members_change(); }
  /// Drops a contribution: it goes into no version, and the time spent on it is wasted.
  template <class T>
  void discard(const T& contribution) {
    backend().discarded(self_, Payload(contribution));
  }
  /// τ of the gradient's value: updates from the weights that it was taken at to these.
  static std::uint64_t staleness(const Weights& weights, const Gradient& gradient) {
    const bool newest = gradient->more.there() && gradient->more.get().newest;
    return newest ? 0 : weights->version - gradient->version();
  }
  /// The contribution of a worker that took no step: no value, zero steps.
  Gradient no_gradient(const Weights& weights) const;

  /// A worker's send is a contribution. Weights without steps count as one of zero steps. Messages are encoded if the run compresses them
  /// (MessageCodec).
  /// A server's send or post answers the last message that it received from that worker. If the life that sent it is over, the answer is
  /// dropped.
  template <class T>
  Pending<SendOperation> send(Rank to, const T& payload) {
    return send(addressee(to), payload);
  }
  template <class T>
  void post(Rank to, const T& payload) {
    post(addressee(to), payload);
  }
  /// The same; `sent` is the value that arrives, which a message that is rounded or compressed changes.
  Pending<SendOperation> send(Rank to, const Weights& weights, Handle& sent) {
    Payload payload = arriving(weights, addressee(to));
    sent = std::get<Weights>(payload)->value;
    return Pending<SendOperation>(slot_, *this, addressee(to), std::move(payload));
  }
  /// An answer to that life, From::sender; dropped if it is over.
  template <class T>
  Pending<SendOperation> send(Peer to, const T& payload) {
    return Pending<SendOperation>(slot_, *this, to, arriving(payload, to));
  }
  template <class T>
  void post(Peer to, const T& payload) {
    backend().post(self_, to, arriving(payload, to));
  }
  /// The neighbours' estimate of this worker's weights (MessageCodec::estimate). Only if the run compresses.
  Weights estimate(const Weights& weights) { return codec().estimate(weights); }
  /// The weights as held by the node to which they were sent last.
  Weights as_held_by(Rank rank, const Weights& sent) const {
    return rare_ && rare_->codec ? rare_->codec->held_by(rank, sent) : algebra().as_sent(sent);
  }
  /// Posts to every member except this node, in rank order. It is not an answer: it reaches whichever life is a member.
  template <class T>
  void broadcast(const T& payload) {
    const std::optional<Payload> same = the_same_for_all(payload);
    for (Rank rank = 0; rank < workers(); ++rank) broadcast_to(rank, payload, same);
  }
  /// The same to those of `ranks` that are members.
  template <class T>
  void broadcast(const T& payload, std::span<const Rank> ranks) {
    const std::optional<Payload> same = the_same_for_all(payload);
    for (const Rank rank : ranks)
      if (!broadcast_to(rank, payload, same)) backend().unsent(self_, rank);
  }
  void broadcast(const SyncSignal& signal) { backend().signal_workers(self_, signal); }
  template <class T>
  Pending<ReceiveOperation<T>> receive(Rank from = anyone) {
    return Pending<ReceiveOperation<T>>(slot_, *this, from);
  }
  /// The next one from anyone, or nothing if members change first.
  template <class T>
  Pending<ArrivalOperation<T>> arrival() {
    return Pending<ArrivalOperation<T>>(slot_, *this);
  }
  /// Waits for a signal of that number or later, which may have come already.
  Pending<SignalOperation> signal(std::uint64_t number) { return Pending<SignalOperation>(slot_, *this, number); }
  /// Completes at once: the other branch of a first_of that only polls for a message.
  Pending<ProceedOperation> proceed() { return Pending<ProceedOperation>(slot_, *this); }
  /// Completes after that time: begun before several computations (Node::begin), it is the deadline of all of them (first_of_in_flight).
  Pending<TimerOperation> timer(Time span) { return Pending<TimerOperation>(slot_, *this, span); }
  /// Mean over all workers, known to all of them at the end. Every worker calls it. Only if the entry exchanges by all-reduce, or has
  /// SchemeEntry::reduces as well. With a group: the mean over its workers, who all call it. Several groups may reduce at
  /// once. Collectives of a group are ordered: the n-th calls of its workers belong together. The others do not wait for a worker that
  /// fails; for one that comes back see sim/simulated/group_queue.hpp.
  template <class T>
  Pending<AllReduceOperation<T>> all_reduce_mean(const T& mine, const RankGroup& group = nullptr) {
    return Pending<AllReduceOperation<T>>(slot_, *this, brought(mine, proper(group)), proper(group));
  }
  /// An all-gather: every worker's payload, in rank order, known to all of them at the end. It queues like an all-reduce. Gathered weights
  /// carry their contributions and are not a contribution themselves. Under faults the list has the payloads of those who took part.
  template <class T>
  Pending<AllGatherOperation<T>> all_gather(const T& mine, const RankGroup& group = nullptr) {
    if constexpr (std::is_same_v<T, Weights>)
      return Pending<AllGatherOperation<T>>(slot_, *this, mine, proper(group));
    else
      return Pending<AllGatherOperation<T>>(slot_, *this, as_contribution(mine), proper(group));
  }
  /// A reduce-scatter: of the mean over all p workers, or over those of a group, each gets one of p equal parts, in rank order, at the end:
  /// a gradient that is a Fragment. It queues like an all-reduce. Algebra::joined makes the whole of what an all-gather of the parts
  /// returns: the value that all_reduce_mean has, bit for bit. Throws UnsupportedOperation with compression, running statistics or a loss
  /// scale, and where members change.
  Pending<ReduceScatterOperation> reduce_scatter(const Gradient& mine, const RankGroup& group = nullptr) {
    return Pending<ReduceScatterOperation>(slot_, *this, mine, proper(group));
  }
  /// Counts one update and stamps it; at the stop it never returns.
  Pending<PublishOperation> publish(const Weights& weights) { return Pending<PublishOperation>(slot_, *this, weights); }

  // With free-running workers (Versions::free_running) the record needs every change of their weights between two updates, so that the mean
  // of all has both sides of an average, or neither. The report takes no time and no bytes.
  /// This worker has averaged its weights with those it was sent: both hold `mixed` now.
  void averaged_with(const From<Weights>& theirs, const Weights& mixed) {
    backend().averaged(self_, {self_, theirs.sender.rank, theirs->version, mixed});
  }
  /// The worker `at` has averaged its weights with `mine`, and has answered: `mixed`. Call it before the next publish.
  void averaged_at(Rank at, const Weights& mine, const Weights& mixed) { backend().averaged(self_, {at, self_, mine->version, mixed}); }

  /// Workers fail, leave and join where the cluster has faults. A MembershipNotice informs the server, and every member where workers
  /// exchange with each other.
  /// Servers and aggregators are always in.
  bool is_member(Rank worker) const { return backend().is_member(worker); }
  /// Members, and workers that are down but awaited (on_failure: wait).
  bool awaits(Rank worker) const { return backend().awaits(worker); }
  bool members_change() const { return backend().members_change(); }
  /// Workers that have joined and have not left, whether they are up or not.
  Rank enrolled() const { return backend().enrolled(); }
  bool is_enrolled(Rank worker) const { return backend().is_enrolled(worker); }
  /// Where clients come and go: a MembershipNotice follows when the next absent worker is present again.
  void await_comers() const { backend().await_comers(); }
  /// The present life of that worker, or its last one.
  Peer present(Rank worker) const { return backend().present(worker); }
  /// Where workers publish their own weights: it is a member, and its present life began at or before its weights of that version.
  bool takes_part(Rank worker, std::uint64_t version) const { return is_member(worker) && backend().first_version(worker) <= version; }
  /// Where workers publish their own weights: it is in at that version. All who begin the version agree on that: a worker that goes for
  /// good, or is not waited for, is out from the first version that nobody has begun; one that comes is in from such a version on.
  bool is_in(Rank worker, std::uint64_t version) const { return backend().is_in(worker, version); }
  /// Its weights of that version may still come: it takes part, or it is down and the others wait for its return.
  bool awaits(Rank worker, std::uint64_t version) const { return is_member(worker) ? takes_part(worker, version) : awaits(worker); }

  // For operations and back ends.
  /// `published`: the version that its process publishes now; null: another's does.
  SavedNode saved(const Weights* published) const;
  /// Its next process starts from `weights`, in that state.
  void start_again(const SavedNode& saved, const Weights& weights);
  void start_from(const Weights& weights) { rare().start = weights; }
  void prefetch() const noexcept {
    prefetch_line_to_write(this);
    prefetch_line_to_write(reinterpret_cast<const char*>(this) + 64);
  }
  /// Samples that this node has drawn, for any worker.
  std::uint64_t drawn() const { return own_.work; }

 private:
  Contribution contribution_of(const WeightsState& weights) const;
  Weights as_contribution(Weights weights) const;
  Gradient as_contribution(const Gradient& gradient) { return encoded(gradient, Peer(server(), Peer::any_life)); }
  Samples as_contribution(Samples samples) const { return samples; }
  Token as_contribution(Token token) const { return token; }
  /// A group of all workers means all workers.
  RankGroup proper(const RankGroup& group) const { return group && index_of(workers()) == group->size() ? nullptr : group; }
  void place_in_pool(std::uint64_t own_end);
  DrawnBatch draw(Rank worker, Drawing& drawing, std::int64_t samples, bool begins);
  /// Neither compression nor the precision of the run changes what is sent.
  bool sends_as_it_is() const { return !plan().compression && !plan().rounding; }
  template <class T>
  Payload arriving(const T& payload, Peer to) {
    if constexpr (std::is_same_v<T, Gradient>)
      if (sends_as_it_is()) return Payload(payload);
    if constexpr (std::is_same_v<T, Weights>)
      if (!is_worker() && sends_as_it_is()) return Payload(payload);
    if constexpr (std::is_same_v<T, Weights>) {
      if (compresses()) return Payload(codec().encode(as_contribution(payload), to));
    }
    return Payload(algebra().as_sent(as_contribution(payload)));
  }
  /// None where each receiver gets weights of its own, such as compressed answers.
  template <class T>
  std::optional<Payload> the_same_for_all(const T& payload) {
    if (std::is_same_v<T, Weights> && plan().compression && plan().compression->exchange.answers) return std::nullopt;
    return arriving(payload, Peer(0, Peer::any_life));
  }
  template <class T>
  T brought(T mine, const RankGroup& group) {
    if constexpr (std::is_same_v<T, Weights>) mine = as_contribution(std::move(mine));
    return encoded(std::move(mine), group);
  }
  Peer addressee(Rank to) const { return !is_worker() ? backend().last_heard(self_, to) : Peer(to, Peer::any_life); }
  /// False: it is not in.
  template <class T>
  bool broadcast_to(Rank rank, const T& payload, const std::optional<Payload>& same) {
    if (rank == self_) return true;
    if (!is_member(rank)) return false;
    const Peer to(rank, Peer::any_life);
    backend().post(self_, to, same ? Payload(*same) : arriving(payload, to));
    return true;
  }

  Drawing own_;
  std::uint64_t last_position_ = 0;  // of the batch drawn last
};

}  // namespace straggler
