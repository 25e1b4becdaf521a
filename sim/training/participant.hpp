// A process's place in a run: its identity, and the context it shares with the others. Operations and back ends see a node as this.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/training/algebra.hpp"
#include "sim/training/backend.hpp"
#include "sim/training/exchanged_weights.hpp"
#include "sim/training/operation.hpp"
#include "sim/training/plan.hpp"

namespace straggler {

/// The position of one worker, or of all of them together, in their sequence of samples.
struct SampleStream {
  std::uint64_t position = 0;
};

/// The common context of one back end's nodes; outlives them.
struct NodeContext {
  NodeContext(Backend& its_backend, Lineage& its_lineage, const TrainingPlan& its_plan)
      : backend(its_backend), lineage(its_lineage), plan(its_plan), algebra(its_lineage, its_plan) {}
  Backend& backend;
  Lineage& lineage;
  const TrainingPlan& plan;
  Algebra algebra;
  /// The draws of Node::sample_workers, for all nodes.
  struct SampledWorkers {
    std::int64_t count = -1;
    std::uint64_t round = 0;
    std::shared_ptr<const std::vector<Rank>> ranks;
  };
  std::array<SampledWorkers, 2> sampled;  // the last two draws requested: newcomers ask for the first round
  std::map<Rank, std::shared_ptr<const std::vector<Rank>>> first_clients;  // by the first worker of the drawn pool
  SampleStream shared_stream;                                              // where plan.shared_stream
  Weights initial;                                                         // made on first use
  PushWeight::Pool push_weights;                                           // made on first use
};

/// An optimizer: its rule and its state. A coroutine may hold several, inner and outer ones.
class Optimizer {
 public:
  /// `rule` outlives this.
  explicit Optimizer(const UpdateRule& rule) : rule_(&rule) {}
  const UpdateRule& rule() const { return *rule_; }
  /// One vector each: momentum, moments. Empty before the first step, and after a reset.
  std::vector<Handle>& state() { return state_; }
  const std::vector<Handle>& state() const { return state_; }
  void reset() { state_.clear(); }

 private:
  const UpdateRule* rule_;
  std::vector<Handle> state_;
};

class Participant {
 public:
  Participant(NodeContext& context, Rank self) : context_(context), self_(self) {}
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  Rank self() const { return self_; }
  Rank workers() const { return plan().workers; }
  Rank server() const { return plan().workers; }
  bool is_worker() const { return self_ < plan().workers; }
  bool is_aggregator() const { return plan().aggregation.has(self_); }
  bool is_server() const { return !is_worker() && !is_aggregator(); }
  const TrainingPlan& plan() const { return context_.plan; }
  std::string name() const { return name_of(self_); }
  /// Name in messages: "worker 3", "server 0", "aggregator 1".
  std::string name_of(Rank rank) const;

  Backend& backend() const { return context_.backend; }
  Lineage& lineage() const { return context_.lineage; }
  Algebra& algebra() const { return context_.algebra; }
  OperationSlot& slot() { return slot_; }
  /// Passes over the training set, as schedules count them, at these weights.
  double epochs_at(const Weights& weights) const;
  /// The pass over its data in which the batch lies.
  std::uint64_t epoch_of(const DrawnBatch& batch) const {
    return batch.position / (plan().shared_stream ? plan().train_samples : plan().stream_samples[batch.stream]);
  }
  /// This node's own, of the run's optimizer.
  Optimizer& optimizer() {
    if (!optimizer_) optimizer_ = std::make_unique<Optimizer>(*plan().optimizer);
    return *optimizer_;
  }
  /// This worker's gradient as a server or an all-reduce gets it: compressed, if the run compresses gradients. A single worker brings its
  /// whole gradient to an all-reduce.
  Gradient outgoing(const Gradient& gradient);
  /// The same for an all-reduce of the group.
  Gradient outgoing(const Gradient& gradient, const RankGroup& group);
  /// The payload of a message to `to` with these weights: a difference if the run compresses, otherwise the weights in message precision.
  Weights outgoing(Weights weights, Peer to);
  /// These weights as an all-reduce of the group gets them. A single worker brings them whole.
  Weights outgoing(Weights weights, const RankGroup& group);
  /// The neighbours' estimate of a worker's weights: x̂ ← x̂ + q, q = C(weights - x̂). Sending it sends q. Its value is x̂. Only if the run
  /// compresses.
  Weights estimate(const Weights& weights);
  /// The weights as held by the node to which they were sent last.
  Weights as_held_by(Rank rank, const Weights& sent) const;
  /// For operations: these weights have arrived, have been averaged, or are published.
  void received(Weights& weights, Rank from) {
    if (sends_differences()) note_received(weights, from);
  }
  // `mine` is this worker's input: for weights, the difference.
  void averaged(Weights& mean, const Handle& mine, const RankGroup& group) {
    if (sends_differences()) note_averaged(mean, mine, group);
  }
  void averaged(Gradient& mean, const Handle& mine, const RankGroup& group) {
    if (plan().compression && plan().compression->factors) note_averaged(mean, mine, group);
  }
  void published(const Weights& weights) {
    if (sends_differences() && plan().compression->common_versions) exchanged().of_group(nullptr) = weights->value;
  }
  /// The weights that training starts from here: known to every node from the seed, without time or bytes. For a worker that joins later or
  /// comes back after a crash, the weights that it was sent.
  Weights initial_weights();
  /// A life is over: the residuals of its messages are lost, and so is its knowledge of others' weights.
  void forget_messages() {
    if (!rare_) return;
    rare_->residual = Handle();
    rare_->factors = GroupVectors();
    rare_->exchanged.reset();
  }
  /// A client's vector on its device between invitations; it survives absences and crashes. It is empty at first.
  Handle& kept() { return rare().kept.vector; }
  /// `next` takes its place if the contribution that is sent now counts, which began from that version: the next invitation says so.
  void keep_if_counted(Handle next, std::uint64_t version) {
    rare().kept.next = std::move(next);
    rare().kept.of = version;
  }
  /// Reads, and takes out, an invitation's word about the last contribution.
  void settle(Weights& invitation) {
    const std::optional<std::uint64_t> counted = invitation->counted();
    if (!counted) return;
    Handle settled = rare().kept.after(*counted);
    rare().kept = KeptVector();
    rare().kept.vector = std::move(settled);
    invitation.edit().more.edit().about_kept.reset();
  }
  /// Null: it keeps nothing.
  const KeptVector* kept_vector() const { return rare_ ? &rare_->kept : nullptr; }
  /// Number of the computation that starts.
  std::uint64_t next_call() { return calls_++; }
  /// All-reduces over all workers whose results its process has taken, or whose results its starting weights hold.
  std::uint32_t reductions_taken() const { return reductions_taken_; }
  void reduction_taken() { ++reductions_taken_; }
  /// A life begins from weights that hold the results of the first `count`.
  void start_after_reductions(std::uint32_t count) { reductions_taken_ = count; }

 protected:
  ~Participant() = default;
  bool begins_later() const { return rare_ && !rare_->start->value.empty(); }
  /// Members that most nodes of most runs do not need.
  struct Rare {
    std::uint64_t messages = 0;  // that were compressed
    KeptVector kept;
    Handle residual;                              // the part that messages have left out of gradients (Compression); empty: nothing yet
    GroupVectors factors;                         // of its last gradients
    Weights start;                                // of a worker that came later
    std::unique_ptr<ExchangedWeights> exchanged;  // null: nothing yet
  };
  Rare& rare() {
    if (!rare_) rare_ = std::make_unique<Rare>();
    return *rare_;
  }

  NodeContext& context_;
  [[no_unique_address]] OperationSlot slot_;  // its last bytes are free
  Rank self_;
  std::uint32_t calls_ = 0;  // computations started
  std::uint32_t reductions_taken_ = 0;
  std::unique_ptr<Optimizer> optimizer_;  // null: none yet
  std::unique_ptr<Rare> rare_;            // null: nothing yet

 private:
  bool sends_differences() const { return plan().compression && plan().compression->differences(); }
  ExchangedWeights& exchanged() {
    if (!rare().exchanged) rare_->exchanged = std::make_unique<ExchangedWeights>();
    return *rare_->exchanged;
  }
  /// Scalars of the compressor's rule for the next message, for a vector made at weights of that version.
  std::vector<double> compression_scalars(const std::vector<double>& scalars, std::uint64_t version);
  /// The inputs of a compressor's rule, as one vector: v + e.
  Handle with_residual(const Handle& v, const Handle* residual);
  /// The rule of a compressor that factors: q, and in `form` its factors. `last`: in, the factors sent before; out, the new ones; null: no
  /// warm start.
  Handle as_product(const Handle& v, CompressedForm& form, Handle* last);
  Handle left_factor(const Handle& v, const std::vector<double>& scalars, const Handle& last);
  /// The weights as brought to an all-reduce of factors: the whole difference, and its left factor.
  Weights as_left_factor(const Weights& weights, const Handle& base, const RankGroup& group);
  /// The weights as base + q. `residual` null: the next difference contains the part that q leaves out anyway.
  Weights as_difference(const Weights& weights, const Handle& base, Handle* residual);
  Weights with_difference(Weights weights, const Handle& base, const Handle& change, CompressedForm form);
  Weights as_answer(Weights weights, Peer to);
  bool knows_estimate(Rank rank);
  void note_received(Weights& weights, Rank from);
  void note_averaged(Weights& mean, const Handle& mine, const RankGroup& group);
  /// The part of `mine` that the product of factors leaves out, after the mean of all: v - P Q^T with the common P and its own Q.
  Handle left_out(const Handle& mine, const LowRank& of_all, std::uint64_t version);
  void note_averaged(Gradient& mean, const Handle& mine, const RankGroup& group);
};

inline OperationSlot& slot_of(const Operation& operation) { return operation.node().slot(); }

inline bool Operation::begin() {
  if (state_ != State::idle) return state_ == State::done;
  if (prepares_) prepare();
  state_ = State::pending;
  if (!node_->backend().start(*this)) return false;
  state_ = State::done;
  return true;
}

inline void Operation::give_up() noexcept {
  if (state_ == State::pending || state_ == State::woken) node_->backend().cancel(*this);
  Event::cancel();
  state_ = State::idle;
}

}  // namespace straggler
