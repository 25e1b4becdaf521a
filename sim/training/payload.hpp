// The payloads that nodes exchange: weights, gradients, samples and control signals, all as handles with some bookkeeping.
#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/pool.hpp"
#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"
#include "sim/lineage/lineage.hpp"
#include "sim/training/push_weight.hpp"

namespace straggler {

/// A node and one of its lives: a worker that restarts after a crash begins another life. A message to a life that is over is dropped
/// (decision 7).
struct Peer {
  static constexpr std::uint32_t any_life = 0xffffffff;  // any life of the process
  Peer(Rank its_rank, std::uint32_t its_life) : rank(its_rank), life(its_life) {}
  operator Rank() const { return rank; }
  Rank rank;
  std::uint32_t life;
};

/// A group of workers that exchange among themselves: ascending, and the same list on all of them. Null: all workers.
using RankGroup = std::shared_ptr<const std::vector<Rank>>;

/// A batch, or a mini-batch of it, and the position of its samples in the worker's own work; jitter depends on that position.
struct DrawnBatch : Batch {
  std::uint64_t work = 0;                // samples drawn by the worker before; differs from `position` where workers draw from one pool
  std::uint32_t number = 0, offset = 0;  // index of the worker's batch; offset of a mini-batch in it
};

/// A worker's part in weights or a gradient since it last read a published version: a row of order.csv.
struct Contribution {
  Rank worker = 0;
  std::uint32_t steps = 0;
  std::uint64_t samples = 0, read_version = 0, first_position = 0;
  Time spent;  // on computing it
};
using Contributions = boost::container::small_vector<Contribution, 1>;

/// A state that copies share until one of them is edited. A copy costs a pointer, and a million workers with the same weights hold one
/// state. Not thread-safe.
template <class State>
class Shared {
 public:
  Shared() = default;  // reads as State()
  Shared(const Shared& o) noexcept : state_(o.state_) {
    if (state_) ++state_->sharers;
  }
  Shared(Shared&& o) noexcept : state_(std::exchange(o.state_, nullptr)) {}
  Shared& operator=(Shared o) noexcept {
    std::swap(state_, o.state_);
    return *this;
  }
  // Called a dozen times per message, nearly always without effect, so it must be inlined.
  [[gnu::always_inline]] ~Shared() {
    if (state_ && --state_->sharers == 0) destroy(state_);
  }
  const State* operator->() const { return state_ ? state_ : &initial(); }
  /// For changes: no other copy sees them.
  State& edit() {
    if (!state_) {
      state_ = new State();
    } else if (state_->sharers > 1) {
      State* own = new State(*state_);
      --state_->sharers;
      state_ = own;
    } else {
      return *state_;
    }
    state_->sharers = 1;
    return *state_;
  }

 private:
  [[gnu::noinline]] static void destroy(State* state) { delete state; }
  [[gnu::noinline]] static const State& initial() {
    static const State state;
    return state;
  }
  State* state_ = nullptr;
};

/// A member that most states do not need: one pointer.
template <class T>
class Rarely {
 public:
  Rarely() = default;
  Rarely(const Rarely& o) : value_(o.value_ ? std::make_unique<T>(*o.value_) : nullptr) {}
  Rarely(Rarely&&) noexcept = default;
  Rarely& operator=(Rarely o) noexcept {
    value_ = std::move(o.value_);
    return *this;
  }
  bool there() const { return value_ != nullptr; }
  const T& get() const { return value_ ? *value_ : none(); }
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  [[gnu::noinline]] static const T& none() {
    static const T value;
    return value;
  }
  std::unique_ptr<T> value_;
};

/// A named vector attached to a payload: a control variate, optimizer state. It is sent in full precision.
struct AttachedVector {
  std::string name;
  Handle value;
};
using AttachedVectors = std::vector<AttachedVector>;
/// Empty: none with that name.
Handle find_attached(const AttachedVectors& vectors, std::string_view name);

/// One of `count` equal pieces of a vector. A payload that is a fragment moves its share of the bytes; its vectors are zero elsewhere.
struct Fragment {
  std::uint32_t index = 0, count = 1;
  bool whole() const { return count == 1; }
  /// Its part of `all`; the parts of all fragments add up to `all`.
  std::uint64_t share_of(std::uint64_t all) const { return all * (index + 1) / count - all * index / count; }
  bool operator==(const Fragment&) const = default;
};

/// The factors of a compressed vector (FactorRules).
struct LowRank {
  Handle left;  // P
  Handle both;  // P and Q; empty for input of an all-reduce: Q follows from the mean of all P, which are not orthogonal yet
};

/// How a compressed vector travels.
struct CompressedForm {
  std::uint64_t bytes = 0;                           // on the wire
  std::vector<double> scalars;                       // of the compressor's rule, with the number of a draw
  std::shared_ptr<const LowRank> factors = nullptr;  // null: it is no product
  std::uint64_t right_bytes = 0;                     // of the bytes, those of right factors that follow in an all-reduce of their own
};

/// A vector that a client keeps on its device between invitations.
struct KeptVector {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  Handle vector;             // empty: 0
  Handle next;               // what it becomes if the contribution that was sent with it counts
  std::uint64_t of = never;  // the version from which that contribution began; never: all are settled
  /// The vector after the client's last contribution that counted, which began from that version.
  const Handle& after(std::uint64_t counted) const { return of != never && of == counted ? next : vector; }
};

/// What an invitation, or the message of a client that leaves, says about it.
struct AboutKept {
  std::optional<std::uint64_t> counted;
  std::shared_ptr<const KeptVector> kept;
};

/// Weights that travel as a difference from others, which their receiver holds: they are base + change, and `change` is sent.
struct WeightsDifference {
  Handle base, change;  // empty: it has arrived
  CompressedForm form;
  Key of;  // of the resulting value
};

struct WeightsState : pool::Pooled {
  std::uint32_t sharers = 0;
  std::int32_t participants = 1;  // workers that take steps like this one's between two versions: schedules use it
  Handle value;
  std::uint64_t version = 0;        // the published version that these derive from
  std::uint64_t progress = 0;       // samples counted in that version; schedules read it
  std::uint64_t local_samples = 0;  // samples of steps taken since that version, not yet published
  struct More : pool::Pooled {
    Contributions made;  // applied since that version, not yet published
    AttachedVectors attached;
    Fragment fragment;
    std::shared_ptr<PushWeight> push_weight;              // that travels with them; null: none
    std::shared_ptr<const WeightsDifference> difference;  // null: whole
    std::shared_ptr<const LowRank> product;               // of the factors that an all-reduce moved; null: no factors
    Rarely<AboutKept> about_kept;                         // between a client that keeps a vector and its server
  };
  Rarely<More> more;
  /// Of an invitation: KeptVector::of of the client's last contribution that counted, or never; none: every contribution counts.
  const std::optional<std::uint64_t>& counted() const { return more.get().about_kept.get().counted; }
  /// Of a client that leaves: the message is this alone. Null: these are weights.
  const KeptVector* kept() const { return more.get().about_kept.get().kept.get(); }
  const Contributions& made() const { return more.get().made; }
  const AttachedVectors& attached() const { return more.get().attached; }
  const Fragment& fragment() const { return more.get().fragment; }
  /// Of push-sum, for the receiver: taken out once. Null: none.
  PushWeight* push_weight() const { return more.get().push_weight.get(); }
  /// The form in which they travel, or have travelled; null: whole. Values derived from them since have no such form.
  const WeightsDifference* difference() const {
    const WeightsDifference* const own = more.get().difference.get();
    return own && own->of == value.key() ? own : nullptr;
  }
};

/// Model parameters.
struct Weights : Shared<WeightsState> {};

/// One worker's gradient of one batch; a mean, a sum or anything derived from gradients has `more`.
class GradientState : public pool::Pooled {
 public:
  std::uint32_t sharers = 0;
  float averaged = 1;  // number of workers' gradients averaged in it; of stated batches, in mean ones
  Weights at;          // the weights that it was taken at: staleness = server's version - version
  // Of one worker's:
  Rank worker = 0;
  std::uint32_t steps = 0, batch_samples = 0;

 private:
  std::uint32_t stream_ = 0;
  Handle value_;

 public:
  std::uint64_t first_position = 0;
  Time spent;
  class More : public pool::Pooled {
   public:
    std::uint64_t samples = 0;  // processed, by all workers
    Contributions made;
    AttachedVectors attached;
    Fragment fragment;
    std::optional<CompressedForm> compressed = std::nullopt;
    bool of_weights = false;  // derived from weights, in full precision: a message carries it in the run's precision
    bool newest = false;      // its value was taken again at the newest weights when it arrived (TrainingPlan::newest_weights)
    std::shared_ptr<const LowRank> product = nullptr;  // of these factors, as the result of an all-reduce

   private:
    friend class GradientState;
    std::vector<Batch> batches_;
    enum class Derivation : std::uint8_t { other, mean_of_batches, one_batch, sum_of_batches } derivation_ = Derivation::other;
  };
  Rarely<More> more;

  const Handle& value() const { return value_; }
  /// The gradient at `at` of the mean loss over these samples, by one worker.
  void take(Handle value, const Batch& batch) {
    value_ = std::move(value);
    batch_samples = batch.size;
    first_position = batch.position;
    stream_ = batch.stream;
    steps = 1;
  }
  /// A new value: it is no longer a mean over batches, and has no byte count of its own.
  void derive(Handle value) {
    value_ = std::move(value);
    keep_all_samples();
    more.edit().compressed.reset();
    more.edit().product.reset();
    more.edit().batches_.clear();
    more.edit().derivation_ = More::Derivation::other;
  }
  /// The mean over batches of the gradient at `at`. `fused`: computed as one large batch; otherwise summed in an order of its own.
  void mean_over(Handle value, std::vector<Batch> batches, bool fused) {
    derive(std::move(value));
    more.edit().batches_ = std::move(batches);
    more.edit().derivation_ = fused ? More::Derivation::one_batch : More::Derivation::mean_of_batches;
  }
  /// The sum over batches of their gradients, each at weights of its own: it can be recomputed as a sum, not as a mean.
  void sum_over(Handle value, std::vector<Batch> batches) {
    derive(std::move(value));
    more.edit().batches_ = std::move(batches);
    more.edit().derivation_ = More::Derivation::sum_of_batches;
  }
  /// The batches of this gradient, or of this sum of gradients, one by one; empty: it is a mean, or derived otherwise.
  std::vector<Batch> summed_batches() const {
    std::vector<Batch> batches;
    if (!more.there() || more.get().derivation_ == More::Derivation::sum_of_batches) add_all_batches(batches);
    return batches;
  }
  /// It has been summed as several vectors, in an order that its key records: it no longer is one large batch.
  void summed_apart() {
    if (more.there() && fusible()) more.edit().derivation_ = More::Derivation::mean_of_batches;
  }
  std::uint64_t version() const { return at->version; }
  std::uint64_t progress() const { return at->progress; }
  std::uint64_t samples() const { return more.there() ? more.get().samples : batch_samples; }
  Contributions made() const {
    Contributions all;
    add_made(all);
    return all;
  }
  void add_made(Contributions& to) const {
    if (more.there())
      to.insert(to.end(), more.get().made.begin(), more.get().made.end());
    else
      to.push_back({worker, steps, batch_samples, version(), first_position, spent});
  }
  const AttachedVectors& attached() const { return more.get().attached; }
  const Fragment& fragment() const { return more.get().fragment; }
  bool of_weights() const { return more.there() && more.get().of_weights; }
  /// Appends the batches of this mean, so that it can be recomputed at other weights. None if it is not a mean of batches.
  void add_batches(std::vector<Batch>& to) const {
    if (!more.there() || more.get().derivation_ != More::Derivation::sum_of_batches) add_all_batches(to);
  }
  /// Its mean over batches is one large batch, or a single one: a mean of such gradients may be evaluated as one batch.
  bool fusible() const { return more.there() ? more.get().derivation_ == More::Derivation::one_batch : steps > 0; }

 private:
  void add_all_batches(std::vector<Batch>& to) const {
    if (more.there())
      to.insert(to.end(), more.get().batches_.begin(), more.get().batches_.end());
    else if (steps > 0)
      to.push_back({first_position, stream_, batch_samples});
  }
  /// The data of one worker's gradient moves to `more`.
  void keep_all_samples() {
    if (more.there()) return;
    more.edit().made.push_back({worker, steps, batch_samples, version(), first_position, spent});
    more.edit().samples = batch_samples;
  }
};

/// A gradient, or the mean or sum of several.
struct Gradient : Shared<GradientState> {};

/// A numbered control word; carries no bytes and is not a message: only the highest number received is kept.
struct SyncSignal {
  explicit SyncSignal(std::uint64_t n) : number(n) {}
  std::uint64_t number;
};

/// Members have changed: sent to the server, or to every member where workers exchange with each other, when a worker fails, leaves, joins
/// or comes back. Carries no bytes.
struct MembershipNotice {};

struct SamplesState {
  std::uint32_t sharers = 0;
  DrawnBatch batch;
  std::uint64_t bytes = 0;
};

/// A batch that one process draws for another: its inputs, or the model's outputs for them.
struct Samples : Shared<SamplesState> {};

/// A control word with bytes from one node to another: a message like others. A request, a turn.
struct Token {
  std::uint32_t number = 0;
  std::uint32_t bytes = 8;  // bytes that it moves
};

using Payload = std::variant<Weights, Gradient, MembershipNotice, Samples, Token>;

/// Its index among the alternatives of Payload.
template <class T, std::size_t Index = 0>
constexpr std::size_t payload_kind() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<Index, Payload>>)
    return Index;
  else
    return payload_kind<T, Index + 1>();
}

/// The compressed form of the payload's vector; null: it is not compressed.
const CompressedForm* compressed_form(const Payload& payload);

/// A vector that travels compressed: a gradient, or the difference of weights from their base.
struct CompressedVector {
  Handle value;
  const CompressedForm* form;  // part of the payload
};
/// The payload is compressed and outlives the result.
CompressedVector compressed_vector(const Gradient& gradient);
CompressedVector compressed_vector(const Weights& weights);

/// The contributions in a payload.
Contributions made_of(const Payload& payload);

/// A payload and its sender. To answer later, keep the sender and not only the rank: the answer is for that life.
template <class T>
struct From : T {
  From(T what, Peer from) : T(std::move(what)), sender(from) {}
  Peer sender;
};

/// A message between two nodes. Back ends derive from it and add their transport data.
struct Message : pool::Pooled {
  Message(Rank sender, Rank receiver, Payload&& what) : from(sender), to(receiver), payload(std::move(what)) {}
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;
  Rank from, to;
  Payload payload;
};
using MessagePointer = std::unique_ptr<Message>;

}  // namespace straggler
