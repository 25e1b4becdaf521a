// What nodes send each other: weights, gradients, samples and control signals, all as handles with a little bookkeeping.
#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/pool.hpp"
#include "sim/lineage/lineage.hpp"

namespace straggler {

using Rank = std::int32_t;  // workers 0 .. p-1, then servers
inline constexpr Rank anyone = -1;

/// A node, and which of its lives: a worker that restarts after a crash begins another. What is addressed to a life that is over is
/// dropped (docs/decisions/007).
struct Peer {
  static constexpr std::uint32_t any_life = 0xffffffff;  // whoever is in
  Peer(Rank its_rank, std::uint32_t its_life) : rank(its_rank), life(its_life) {}
  operator Rank() const { return rank; }
  Rank rank;
  std::uint32_t life;
};

/// A batch, or a mini-batch of it, and where its samples lie in the worker's own work, which jitter follows.
struct DrawnBatch : Batch {
  std::uint64_t work = 0;  // samples that the worker has drawn before, which is not `position` where workers draw from one pool
  std::uint32_t number = 0, offset = 0;  // of the worker's batches; where in it a mini-batch begins
};

/// What a worker put into weights or a gradient since it last read a published version: a row of order.csv.
struct Contribution {
  Rank worker = 0;
  std::uint32_t steps = 0;
  std::uint64_t samples = 0, read_version = 0, first_position = 0;
};
using Contributions = boost::container::small_vector<Contribution, 1>;

/// A state that copies share until one of them is edited: a copy costs a pointer, and a million workers that hold the same weights hold
/// one state. Not for several threads at once.
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
  ~Shared() {
    if (state_ && --state_->sharers == 0) delete state_;
  }
  const State* operator->() const { return state_ ? state_ : &initial(); }
  /// To change it: nobody else sees the change.
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
  static const State& initial() {
    static const State state;
    return state;
  }
  State* state_ = nullptr;
};

/// A member that most states go without: one pointer.
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
  const T& get() const {
    static const T none;
    return value_ ? *value_ : none;
  }
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

struct WeightsState : pool::Pooled {
  std::uint32_t sharers = 0;
  std::int32_t participants = 1;  // workers that take steps like this one's between two versions: schedules reckon with it
  Handle value;
  std::uint64_t version = 0;        // the published version that these derive from
  std::uint64_t progress = 0;       // samples counted in that version; schedules read it
  std::uint64_t local_samples = 0;  // samples of steps taken since that version, not yet published
  struct More {
    Contributions made;             // applied since that version, not yet published
    std::vector<Handle> optimizer;  // the sender's optimizer state, where a scheme averages that too
  };
  Rarely<More> more;
  const Contributions& made() const { return more.get().made; }
  const std::vector<Handle>& optimizer() const { return more.get().optimizer; }
};

/// Model parameters.
struct Weights : Shared<WeightsState> {};

/// One worker's gradient of one batch; a mean or a sum of several has `more`.
struct GradientState : pool::Pooled {
  std::uint32_t sharers = 0;
  std::int32_t averaged = 1;  // how many workers' gradients are averaged in it
  Handle value;
  Weights at;  // the weights that it was taken at: staleness = server's version - version
  // Of one worker's:
  Rank worker = 0;
  std::uint32_t steps = 0, batch_samples = 0, stream = 0;
  std::uint64_t first_position = 0;
  struct More {
    std::uint64_t samples = 0;   // that were looked at, by all
    std::vector<Batch> batches;  // value is the mean over these of the gradient at `at`; empty if it is not such a mean
    Contributions made;
  };
  Rarely<More> more;

  std::uint64_t version() const { return at->version; }
  std::uint64_t progress() const { return at->progress; }
  std::uint64_t samples() const { return more.there() ? more.get().samples : batch_samples; }
  Contributions made() const {
    if (more.there()) return more.get().made;
    return {Contribution{worker, steps, batch_samples, version(), first_position}};
  }
  /// Appends the batches over which it is a plain mean; none if it is not such a mean.
  void add_batches(std::vector<Batch>& to) const {
    if (more.there()) {
      to.insert(to.end(), more.get().batches.begin(), more.get().batches.end());
    } else if (steps > 0) {
      to.push_back({first_position, stream, batch_samples});
    }
  }
};

/// A gradient, or the mean or sum of several.
struct Gradient : Shared<GradientState> {};

/// A numbered control word; carries no bytes and is not a message: only the highest number that has come is kept.
struct SyncSignal {
  explicit SyncSignal(std::uint64_t n) : number(n) {}
  std::uint64_t number;
};

/// Who is in has changed: told to the server, or to every member where workers exchange with each other, when a worker fails, leaves or
/// comes (back). Carries no bytes.
struct MembershipNotice {};

struct SamplesState {
  std::uint32_t sharers = 0;
  DrawnBatch batch;
  std::uint64_t bytes = 0;
};

/// A batch that one process draws for another: its inputs, or what the model made of them.
struct Samples : Shared<SamplesState> {};

using Payload = std::variant<Weights, Gradient, MembershipNotice, Samples>;

/// A payload and who sent it. Whoever holds an answer back keeps the sender, not the rank alone: the answer is to that life.
template <class T>
struct From : T {
  From(T what, Peer from) : T(std::move(what)), sender(from) {}
  Peer sender;
};

/// A message between two nodes. Back ends derive from it what they need to carry it.
struct Message : pool::Pooled {
  Message(Rank sender, Rank receiver, Payload what) : from(sender), to(receiver), payload(std::move(what)) {}
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;
  Rank from, to;
  Payload payload;
};
using MessagePointer = std::unique_ptr<Message>;

}  // namespace straggler
