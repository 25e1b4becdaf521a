// The operations that Node hands out: one class per kind.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/engine/mailbox.hpp"
#include "sim/training/participant.hpp"

namespace straggler {

/// The gradient of a batch that the node has computed, in that time.
Gradient computed_gradient(const Participant& node, const Weights& weights, const DrawnBatch& batch, Time spent);

/// Computes the gradient of a batch.
class ComputeOperation : public Operation {
 public:
  const DrawnBatch& batch() const { return batch_; }
  const Weights& weights() const { return weights_; }
  /// The computed gradient.
  Gradient gradient() const;
  // Back end's own, as is milestone().
  Time span;  // at full speed; after the end, the time booked as computing it
  std::uint16_t& milestone() { return count_; }
  std::uint16_t milestone() const { return count_; }

 protected:
  ComputeOperation(Participant& owner, Kind what, const Weights& weights, const DrawnBatch& batch)
      : Operation(owner, what), batch_(batch), weights_(weights) {}
  ~ComputeOperation() = default;

 private:
  DrawnBatch batch_;
  Weights weights_;
};

class GradientOperation final : public ComputeOperation {
 public:
  GradientOperation(Participant& node, const Weights& weights, const DrawnBatch& batch)
      : ComputeOperation(node, Kind::gradient, weights, batch) {}
  ~GradientOperation() { give_up(); }
  Gradient await_resume() { return gradient(); }
};

/// How far a Work has come. Back end's own.
struct WorkProgress {
  bool begun = false, over = false;
  Time span;      // of the whole, at full speed
  Time done;      // of it, when the slice in progress is over
  Time computed;  // booked so far
};

/// Computes a batch in progress up to a point (Work).
class SliceOperation final : public ComputeOperation {
 public:
  /// In micro-batch number `micro` of `micro_batches`: the share of its forward, or of its backward, that is done then.
  struct Point {
    std::int64_t micro = 0, micro_batches = 1;
    bool backward = false;
    double share = 1;
    bool ends = false;  // the batch
  };
  SliceOperation(Participant& node, const Weights& weights, const DrawnBatch& batch, WorkProgress& progress, const Point& until)
      : ComputeOperation(node, Kind::slice, weights, batch), progress_(progress), until_(until) {}
  ~SliceOperation() { give_up(); }
  void await_resume() const noexcept {}
  const Point& until() const { return until_; }
  WorkProgress& progress() const { return progress_; }

 private:
  WorkProgress& progress_;
  Point until_;
};

/// What a worker brings to a collective, and what it gets from it.
struct CollectivePart {
  Payload payload;  // in: its own; when the operation completes: the result
  /// Back end's own: its worker encodes its compressed payload before it joins, and decodes the others' when it has them.
  enum class Coding : std::uint8_t { none, encoding, decoding } coding = Coding::none;
};

class AveragedGradientOperation final : public ComputeOperation, public CollectivePart {
 public:
  AveragedGradientOperation(Participant& node, const Weights& weights, const DrawnBatch& batch)
      : ComputeOperation(node, Kind::averaged_gradient, weights, batch) {
    prepares_ = true;
  }
  ~AveragedGradientOperation() { give_up(); }
  Gradient await_resume() {
    node().reduction_taken();
    auto mean = std::get<Gradient>(std::move(payload));
    if (node().compresses()) node().codec().averaged(mean, brought, nullptr);
    return mean;
  }
  // Back end's own.
  /// This worker's part is known: payload. Call it once.
  void bring() {
    Gradient mine = node().encoded(gradient(), RankGroup());
    brought = mine->value();
    payload = std::move(mine);
  }
  Handle brought;
  bool computed = false;  // backward has finished

 private:
  void prepare() final;
};

class StepOperation final : public Operation {
 public:
  /// `optimizer` outlives this.
  StepOperation(Participant& node, Optimizer& optimizer, const Weights& weights, const Gradient& gradient)
      : Operation(node, Kind::step), optimizer_(optimizer), weights_(weights), gradient_(gradient) {}
  ~StepOperation() { give_up(); }
  Weights await_resume() {
    const double epochs = node().epochs_at(weights_);
    return node().algebra().stepped(std::move(weights_), gradient_, optimizer_, epochs, node().self());
  }
  /// The part of the vectors that changes.
  const Fragment& fragment() const { return gradient_->fragment(); }

 private:
  Optimizer& optimizer_;
  Weights weights_;
  Gradient gradient_;
};

class SendOperation final : public Operation {
 public:
  SendOperation(Participant& node, Peer to, Payload&& what) : Operation(node, Kind::send), to_(to), payload_(std::move(what)) {}
  ~SendOperation() { give_up(); }
  void await_resume() const noexcept {}
  Peer to() const { return to_; }
  Payload&& take_payload() { return std::move(payload_); }
  void* in_flight = nullptr;  // back end's own

 private:
  Peer to_;
  Payload payload_;
};

/// Waits in the node's mailbox.
class MailOperation : public Operation, public Mailbox<MessagePointer>::Receiver {
 public:
  MailOperation(Participant& owner, Kind what) : Operation(owner, what) {}
  virtual std::string describe() const = 0;
  /// The only sender whose message it takes; anyone.
  virtual Rank from() const = 0;
  virtual bool is_for_notices() const = 0;
  MessagePointer message;

 protected:
  [[gnu::always_inline]] ~MailOperation() { give_up(); }

 private:
  void take(MessagePointer item) final;
};

class ReceiveOperationBase : public MailOperation {
 public:
  ReceiveOperationBase(Participant& owner, Rank from, std::size_t payload_kind, bool or_notice = false)
      : MailOperation(owner, Kind::receive),
        from_(from),
        anyone_(from == anyone),
        or_notice_(or_notice),
        payload_kind_(static_cast<std::uint8_t>(payload_kind)) {
    prepares_ = anyone_;
  }
  std::string describe() const final;
  Rank from() const final { return from_; }
  bool is_for_notices() const final { return payload_kind_ == straggler::payload_kind<MembershipNotice>(); }

 protected:
  ~ReceiveOperationBase() = default;
  void note_choice() const {
    if (anyone_) node().backend().chosen(node().self(), message->from);
  }
  Peer sender() const { return node().backend().last_heard(node().self(), message->from); }
  template <class T>
  T taken() {
    T what = std::get<T>(std::move(message->payload));
    if constexpr (std::is_same_v<T, Weights>)
      if (node().compresses()) node().codec().arrived(what, message->from);
    return what;
  }

 private:
  void prepare() final;
  bool wants(const MessagePointer& item) const final {
    const std::size_t kind = item->payload.index();
    const bool wanted = kind == payload_kind_ || (or_notice_ && kind == straggler::payload_kind<MembershipNotice>());
    return wanted && (from_ == anyone || item->from == from_);
  }
  Rank from_;
  bool anyone_, or_notice_;
  std::uint8_t payload_kind_;
};

template <class T>
class ReceiveOperation final : public ReceiveOperationBase {
 public:
  ReceiveOperation(Participant& owner, Rank from) : ReceiveOperationBase(owner, from, payload_kind<T>()) {}
  From<T> await_resume() {
    note_choice();
    return From<T>(taken<T>(), sender());
  }
};

/// A payload from anyone, or nothing: members have changed.
template <class T>
class ArrivalOperation final : public ReceiveOperationBase {
 public:
  explicit ArrivalOperation(Participant& owner) : ReceiveOperationBase(owner, anyone, straggler::payload_kind<T>(), true) {}
  std::optional<From<T>> await_resume() {
    note_choice();
    if (!std::holds_alternative<T>(message->payload)) return std::nullopt;
    return From<T>(taken<T>(), sender());
  }
};

class SignalOperation final : public Operation {
 public:
  SignalOperation(Participant& owner, std::uint64_t number) : Operation(owner, Kind::signal), number_(number) {}
  ~SignalOperation() { give_up(); }
  SyncSignal await_resume() const { return SyncSignal(number_); }
  std::uint64_t number() const { return number_; }
  /// For back ends: this signal came; its number is at least the one waited for.
  void came(std::uint64_t number) { number_ = number; }
  std::string describe() const;

 private:
  std::uint64_t number_;
};

struct Proceed {};
class ProceedOperation final : public Operation {
 public:
  explicit ProceedOperation(Participant& owner) : Operation(owner, Kind::proceed) {}
  ~ProceedOperation() { give_up(); }
  Proceed await_resume() const { return {}; }
};

/// Completes after that time. Everything that ends at the same instant ends before it.
class TimerOperation final : public Operation {
 public:
  TimerOperation(Participant& owner, Time span) : Operation(owner, Kind::timer), span_(span) {}
  ~TimerOperation() { give_up(); }
  struct TimedOut {};
  TimedOut await_resume() const { return {}; }
  Time span() const { return span_; }
  /// For back ends, when its event comes: true at the second event, which must follow at the same instant.
  bool rings() { return count_++ > 0; }

 private:
  Time span_;
};

/// Waits until this worker's loader has prepared that number of samples, `first` among them, and they are on its device.
class LoadOperation final : public Operation {
 public:
  LoadOperation(Participant& owner, const DrawnBatch& first, std::int64_t samples)
      : Operation(owner, Kind::load), first_(first), samples_(samples) {}
  ~LoadOperation() { give_up(); }
  void await_resume() const noexcept {}
  const DrawnBatch& first() const { return first_; }
  std::int64_t samples() const { return samples_; }

 private:
  DrawnBatch first_;
  std::int64_t samples_;
};

/// The process that drives this worker is busy with something other than computing.
struct HostWork {
  Time span;
  bool ahead = false;          // it starts when the previous host work ended, not now, so it overlaps the devices' iteration
  bool loader_stands = false;  // it takes the core on which the loader would prepare batches
};

class HostOperation final : public Operation {
 public:
  HostOperation(Participant& owner, const HostWork& work) : Operation(owner, Kind::host), work_(work) {}
  ~HostOperation() { give_up(); }
  void await_resume() const noexcept {}
  const HostWork& work() const { return work_; }

 private:
  HostWork work_;
};

/// An access to the weights that workers share in their host's memory (SchemeEntry::cell_chunks). Not in a first_of.
class CellOperation : public Operation {
 public:
  CellOperation(Participant& owner, Kind what) : Operation(owner, what) { prepares_ = true; }
  Weights await_resume() { return std::move(weights); }
  Weights weights;  // back end's own; out: the weights read, or the weights from which this addition makes the next version

 protected:
  ~CellOperation() = default;

 private:
  /// Throws UnsupportedOperation where the run has no such weights.
  void prepare() final;
};

class CellReadOperation final : public CellOperation {
 public:
  explicit CellReadOperation(Participant& owner) : CellOperation(owner, Kind::cell_read) {}
  ~CellReadOperation() { give_up(); }
};

class CellStepOperation final : public CellOperation {
 public:
  CellStepOperation(Participant& owner, const Gradient& gradient) : CellOperation(owner, Kind::cell_step), gradient_(gradient) {}
  ~CellStepOperation() { give_up(); }
  const Gradient& gradient() const { return gradient_; }
  /// Back end's own: the step is computed, and its addition is in progress.
  bool is_adding() const { return count_ > 0; }
  void begin_adding() { count_ = 1; }

 private:
  Gradient gradient_;
};

/// An all-reduce, an all-gather or a reduce-scatter over the workers of a group.
class CollectiveOperation : public Operation, public CollectivePart {
 public:
  CollectiveOperation(Participant& owner, Kind what, Payload mine, RankGroup among)
      : Operation(owner, what), CollectivePart{std::move(mine)}, group_(std::move(among)) {
    prepares_ = true;
  }
  const RankGroup& group() const { return group_; }

 protected:
  ~CollectiveOperation() { give_up(); }

 private:
  /// Throws UnsupportedOperation where the run has none, or none of such a payload; std::invalid_argument if the group is not an ascending
  /// list that contains this worker.
  void prepare() final;
  RankGroup group_;

 protected:
  void change_group(RankGroup group) { group_ = std::move(group); }
};

/// For back ends: of an operation that joins collectives.
inline CollectivePart& part_of(Operation& operation) {
  if (operation.kind() == Operation::Kind::averaged_gradient) return static_cast<AveragedGradientOperation&>(operation);
  return static_cast<CollectiveOperation&>(operation);
}
inline const CollectivePart& part_of(const Operation& operation) { return part_of(const_cast<Operation&>(operation)); }

template <class T>
class AllReduceOperation final : public CollectiveOperation {
 public:
  AllReduceOperation(Participant& owner, T mine, RankGroup among = nullptr)
      : CollectiveOperation(owner, Kind::all_reduce, Payload(std::move(mine)), std::move(among)) {
    if constexpr (std::is_same_v<T, Gradient>)
      brought_ = std::get<Gradient>(payload)->value();
    else if (const WeightsDifference* const difference = std::get<Weights>(payload)->difference())
      brought_ = difference->change;
  }
  T await_resume() {
    if (!group()) node().reduction_taken();
    T mean = std::get<T>(std::move(payload));
    if (node().compresses()) node().codec().averaged(mean, brought_, group());
    return mean;
  }

 private:
  Handle brought_;  // a gradient, or the difference of weights; empty: weights that travel whole
};

class AllGatherOperationBase : public CollectiveOperation {
 public:
  AllGatherOperationBase(Participant& owner, Payload mine, RankGroup among)
      : CollectiveOperation(owner, Kind::all_gather, std::move(mine), std::move(among)) {}
  std::shared_ptr<const std::vector<Payload>> gathered;  // out: in rank order; null: this worker was alone

 protected:
  ~AllGatherOperationBase() = default;
};

template <class T>
class AllGatherOperation final : public AllGatherOperationBase {
 public:
  AllGatherOperation(Participant& owner, T mine, RankGroup among = nullptr)
      : AllGatherOperationBase(owner, Payload(std::move(mine)), std::move(among)) {}
  std::vector<T> await_resume() {
    if (!group()) node().reduction_taken();
    std::vector<T> all;
    if (!gathered) {
      all.push_back(std::get<T>(std::move(payload)));
      return all;
    }
    for (const Payload& part : *gathered) all.push_back(std::get<T>(part));
    return all;
  }
};

/// The result is this worker's part of the mean.
class ReduceScatterOperation final : public CollectiveOperation {
 public:
  ReduceScatterOperation(Participant& owner, const Gradient& mine, RankGroup among)
      : CollectiveOperation(owner, Kind::reduce_scatter, Payload(mine), std::move(among)) {}
  Gradient await_resume() {
    if (!group()) node().reduction_taken();
    return std::get<Gradient>(std::move(payload));
  }
};

/// A collective that moves shards of states, or a few numbers, whose values are known from elsewhere (GradientMeans). It has no result.
class ShardOperation final : public CollectiveOperation {
 public:
  enum class Moves : std::uint8_t { gather, reduce_scatter, all_reduce };
  /// `bytes`: of the whole vector, in `piece` number so many of `pieces`.
  struct What {
    Moves moves = Moves::all_reduce;
    std::uint64_t bytes = 0;
    std::size_t piece = 0, pieces = 1;
    double spared_per_byte = 0;  // saving of compression per byte sent
  };
  /// `then`: an all-reduce of that many bytes over another group follows at once; null: none does.
  struct Then {
    RankGroup among;
    std::uint64_t bytes = 0;
  };
  ShardOperation(Participant& owner, const What& what, RankGroup among, Then then)
      : CollectiveOperation(owner, Kind::shard, Payload(Token()), std::move(among)), what_(what), then_(std::move(then)) {}
  void await_resume() {
    if (!group()) node().reduction_taken();
  }
  const What& what() const { return what_; }
  /// Back end's own: its collective is complete. True: it joins the one that follows.
  bool advance() {
    if (!then_.among) return false;
    what_.moves = Moves::all_reduce;
    what_.bytes = then_.bytes;
    change_group(std::exchange(then_.among, nullptr));
    return true;
  }

 private:
  What what_;
  Then then_;
};

class PublishOperation final : public Operation {
 public:
  PublishOperation(Participant& node, const Weights& weights)
      : Operation(node, Kind::publish), before_(weights), weights_(node.algebra().next_version(weights, node.self())) {}
  ~PublishOperation() { give_up(); }
  Weights await_resume() {
    if (node().compresses()) node().codec().published(weights_);
    return std::move(weights_);
  }
  /// Stamped: version and progress are those of the new version.
  const Weights& weights() const { return weights_; }
  /// The contributions in it.
  const Contributions& made() const { return before_->made(); }

 private:
  Weights before_, weights_;
};

/// Which operations may begin before they are awaited. Receives: only those from a given rank, since a receive-from-anyone makes a choice,
/// and choices are made in program order.
template <class T>
inline constexpr bool may_be_in_flight = false;
template <>
inline constexpr bool may_be_in_flight<GradientOperation> = true;
template <>
inline constexpr bool may_be_in_flight<SendOperation> = true;
template <>
inline constexpr bool may_be_in_flight<TimerOperation> = true;
template <class T>
inline constexpr bool may_be_in_flight<AllReduceOperation<T>> = true;
template <class T>
inline constexpr bool may_be_in_flight<AllGatherOperation<T>> = true;
template <>
inline constexpr bool may_be_in_flight<ReduceScatterOperation> = true;
template <>
inline constexpr bool may_be_in_flight<ShardOperation> = true;
template <class T>
inline constexpr bool may_be_in_flight<ReceiveOperation<T>> = true;

static_assert(sizeof(GradientOperation) <= OperationSlot::size && sizeof(SendOperation) <= OperationSlot::size,
              "what every worker waits in must fit");

}  // namespace straggler
