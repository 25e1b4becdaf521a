// The Node surface: all that a scheme sees of the world. Two back ends stand behind it: simulated time (sim/backend) and MPI.
//
// Rules that make one source run on both:
//  - `co_await node.send` returns when the last byte has left; `post` does not wait; receives are buffered.
//  - `co_await node.publish` once per update; it stamps the version and does not return at the stop.
//  - Timing reaches a scheme only through receive-from-anyone and first_of: these choices are recorded, and a replay forces them.
#pragma once
#include <algorithm>
#include <cstdint>
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
  bool fuse = true;  // same-weights gradients that are averaged are evaluated as one batch
  std::uint64_t seed = 1;
  std::uint64_t train_samples = 1;            // size of the training set
  std::uint64_t epoch_samples = 1;            // of which one pass counts: less where drop_last leaves some out
  bool shared_stream = false;                 // all workers draw from one pool
  std::vector<std::uint64_t> stream_samples;  // [workers] samples of a worker's own part; empty if shared
  const UpdateRule* optimizer = nullptr;
};

/// Where a worker, or all of them together, stand in their sequence of samples.
struct SampleStream {
  std::uint64_t position = 0;
};

class Node {
 public:
  Node(Backend& backend, Lineage& lineage, const TrainingPlan& plan, SampleStream* shared, Rank self)
      : backend_(backend), lineage_(lineage), plan_(plan), shared_(shared), self_(self) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Rank self() const { return self_; }
  Rank workers() const { return plan_.workers; }
  Rank server() const { return plan_.workers; }
  bool is_server() const { return self_ >= plan_.workers; }
  /// Samples of this worker's batch.
  std::int64_t batch_size() const { return plan_.batch + (self_ < plan_.larger_batches ? 1 : 0); }
  /// Samples of a worker's own part of the data, n_k; of the pool's fair share if the partition is shared.
  std::uint64_t part_samples(Rank worker) const;
  /// `count` distinct workers, ascending, chosen by (seed, round): the same on every node, at no message.
  std::vector<Rank> sample_workers(std::int64_t count, std::uint64_t round) const;

  /// Known to every node from the seed, at no time or bytes.
  Weights initial_weights();
  /// The next `samples` of this worker's sequence; fewer at the end of an epoch (or none of a last partial batch: drop_last).
  DrawnBatch next_batch(std::int64_t samples);

  /// Mean gradient of the batch's loss. Takes the worker's time; may be interrupted in first_of: then nothing has happened.
  GradientOperation gradient(const Weights& weights, const DrawnBatch& batch) { return GradientOperation(*this, weights, batch); }
  /// One optimizer step. The state (momentum) is this node's; it changes only when the step completes.
  StepOperation step(const Weights& weights, const Gradient& gradient) { return StepOperation(*this, weights, gradient); }
  void reset_optimizer() { optimizer_.clear(); }
  /// Optimizer state travels with `weights` and is averaged with them: attach before sending, adopt after receiving.
  void attach_optimizer(Weights& weights) const { weights.optimizer = optimizer_; }
  void adopt_optimizer(const Weights& weights) { optimizer_ = weights.optimizer; }

  // Algebra: takes no time. Summed in the order given.
  Gradient mean(const std::vector<Gradient>& parts);
  Weights mean(const std::vector<Weights>& parts);
  /// Σ shares[i] parts[i].
  Weights weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares);
  Gradient weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares);
  Gradient add(const Gradient& sum, const Gradient& next);
  /// The contribution of a worker that took no step: no value, zero steps.
  Gradient no_gradient(const Weights& weights) const;

  /// From a worker, a send is a contribution: weights without steps count as one of zero steps.
  template <class T>
  SendOperation send(Rank to, const T& payload) {
    return SendOperation(*this, make_message(to, payload));
  }
  template <class T>
  void post(Rank to, const T& payload) {
    backend_.post(make_message(to, payload));
  }
  /// Posts to every worker but this node, in rank order.
  template <class T>
  void broadcast(const T& payload) {
    for (Rank rank = 0; rank < workers(); ++rank)
      if (rank != self_) post(rank, payload);
  }
  void broadcast(const SyncSignal& signal) { backend_.signal_workers(self_, signal); }
  template <class T>
  ReceiveOperation<T> receive(Rank from = anyone) {
    return ReceiveOperation<T>(*this, from);
  }
  /// Waits for a signal of that number or later, which may have come already.
  SignalOperation signal(std::uint64_t number) { return SignalOperation(*this, number); }
  /// Completes at once: the other branch of a first_of that only asks whether something has come.
  ProceedOperation proceed() { return ProceedOperation(*this); }
  /// Mean over all workers, known to all of them at the end. Every worker calls it.
  template <class T>
  AllReduceOperation<T> all_reduce_mean(const T& mine) {
    return AllReduceOperation<T>(*this, as_contribution(mine));
  }
  /// Counts one update and stamps it; at the stop it never returns.
  PublishOperation publish(const Weights& weights) { return PublishOperation(*this, weights); }

  // For operations and back ends.
  Backend& backend() const { return backend_; }
  Lineage& lineage() const { return lineage_; }
  const TrainingPlan& plan() const { return plan_; }
  double epochs_at(const Weights& weights) const;
  std::vector<Handle>& optimizer() { return optimizer_; }
  std::uint64_t next_call() { return calls_++; }
  std::uint64_t drawn() const { return drawn_; }
  std::string name() const { return is_server() ? "server " + std::to_string(self_ - workers()) : "worker " + std::to_string(self_); }

 private:
  Weights as_contribution(Weights weights) const;
  Gradient as_contribution(Gradient gradient) const { return gradient; }
  template <class T>
  MessagePointer make_message(Rank to, const T& payload) {
    return backend_.make_message(self_, to, Payload(as_contribution(payload)));
  }

  Backend& backend_;
  Lineage& lineage_;
  const TrainingPlan& plan_;
  SampleStream* shared_;  // null: this worker's own
  SampleStream own_;
  Rank self_;
  std::uint64_t drawn_ = 0;          // samples of work, whatever the stream
  std::uint64_t last_position_ = 0;  // of the batch drawn last
  std::uint64_t calls_ = 0;          // computations started
  std::vector<Handle> optimizer_;
};

template <class A, class B>
bool FirstOf<A, B>::await_suspend(std::coroutine_handle<> waiter) {
  a_.set_waiter(waiter, this);
  b_.set_waiter(waiter, this);
  const std::int32_t forced = a_.node().backend().forced_choice(a_.node().self());
  if (forced > 1)
    throw ReplayMismatch(a_.node().name() + " is to take branch " + std::to_string(forced) + " of two; the choices are of another run");
  if (forced != 0) {
    if (b_.begin()) {
      winner_ = &b_;
      return false;
    }
    if (winner_) return true;  // settled already, resumes later
  }
  if (forced != 1 && a_.begin()) {
    winner_ = &a_;
    b_.give_up();
    return false;
  }
  return true;
}

template <class A, class B>
typename FirstOf<A, B>::Result FirstOf<A, B>::await_resume() {
  a_.node().backend().chosen(a_.node().self(), winner_ == &b_ ? 1 : 0);
  if (winner_ == &a_) return Result(std::in_place_index<0>, a_.await_resume());
  return Result(std::in_place_index<1>, b_.await_resume());
}

/// One of each worker's, in rank order, whatever the order of arrival.
template <class T>
Task<std::vector<T>> gather(Node& node) {
  std::vector<T> parts(static_cast<std::size_t>(node.workers()));
  for (Rank i = 0; i < node.workers(); ++i) {
    From<T> arrived = co_await node.receive<T>();
    parts[static_cast<std::size_t>(arrived.sender)] = std::move(static_cast<T&>(arrived));
  }
  co_return parts;
}

/// The same from some workers only, given in ascending order.
template <class T>
Task<std::vector<T>> gather(Node& node, const std::vector<Rank>& from) {
  std::vector<std::pair<Rank, T>> arrivals;
  for (std::size_t i = 0; i < from.size(); ++i) {
    From<T> arrived = co_await node.receive<T>();
    arrivals.emplace_back(arrived.sender, std::move(static_cast<T&>(arrived)));
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<T> parts;
  for (auto& [rank, part] : arrivals) parts.push_back(std::move(part));
  co_return parts;
}

}  // namespace straggler
