// A process's place in a run: its identity, and the context it shares with the others. Operations and back ends see a node as this.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/training/codec.hpp"
#include "sim/training/durable.hpp"
#include "sim/training/operation.hpp"
#include "sim/training/optimizer.hpp"

namespace straggler {

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
  /// Name in messages: "worker 3", "server 0", "aggregator 1".
  std::string name() const { return plan().name_of(self_); }

  Backend& backend() const { return context_.backend; }
  Lineage& lineage() const { return context_.lineage; }
  Algebra& algebra() const { return context_.algebra; }
  OperationSlot& slot() { return slot_; }
  /// Passes over the training set, as schedules count them, at these weights.
  double epochs_at(const Weights& weights) const;
  /// This node's own, of the run's optimizer.
  Optimizer& optimizer() {
    if (!optimizer_) optimizer_ = std::make_unique<Optimizer>(*plan().optimizer);
    return *optimizer_;
  }
  /// Of the workers of this back end, which share states.
  GradientMeans& gradient_means() {
    if (!context_.means) context_.means = std::make_unique<GradientMeans>(workers());
    return *context_.means;
  }
  bool compresses() const { return plan().compression != nullptr; }
  /// Of this node's messages. Only if it compresses.
  MessageCodec& codec() {
    if (!rare().codec) rare_->codec = std::make_unique<MessageCodec>(context_, self_, rare_->start);
    return *rare_->codec;
  }
  /// A gradient or weights as they leave for a peer or a group: encoded if the run compresses.
  template <class T, class Where>
  T encoded(T what, const Where& to) {
    return compresses() ? codec().encode(std::move(what), to) : what;
  }
  /// A life is over (MessageCodec::forget).
  void forget_messages() {
    if (rare_ && rare_->codec) rare_->codec->forget();
  }
  void forget_weights() {
    if (rare_ && rare_->codec) rare_->codec->forget_weights();
  }
  /// The weights that training starts from here. For a worker that joins later or comes back after a crash, the weights that it was sent.
  const Weights& initial_weights() const { return rare_ && !rare_->start->value.empty() ? rare_->start : context_.initial_weights(); }
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
  /// The variables of its process that a checkpoint has to hold (Durable).
  DurableValues& durable() { return rare().durable; }
  /// Its process started again from a checkpoint: nothing is in flight, and nobody acts unless it is invited.
  bool starts_again() const { return rare_ && rare_->again; }
  /// Number of the computation that starts.
  std::uint64_t next_call() { return calls_++; }
  /// All-reduces over all workers whose results its process has taken, or whose results its starting weights hold.
  std::uint32_t reductions_taken() const { return reductions_taken_; }
  void reduction_taken() { ++reductions_taken_; }
  /// A life begins from weights that hold the results of the first `count`.
  void start_after_reductions(std::uint32_t count) { reductions_taken_ = count; }

 protected:
  ~Participant() = default;
  /// Members that most nodes of most runs do not need.
  struct Rare {
    KeptVector kept;
    Weights start;                        // of a worker that came later
    std::unique_ptr<MessageCodec> codec;  // null: nothing was sent yet
    DurableValues durable;
    bool again = false;
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
