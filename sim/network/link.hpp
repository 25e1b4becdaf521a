// The state of a link and the roster of the flows on it.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace straggler::fluid {

using FlowIndex = std::uint32_t;
using GroupIndex = std::uint32_t;
inline constexpr std::uint32_t none = ~0u;

/// A flow that came over a link; it has left if the flow's generation differs.
struct RosterEntry {
  FlowIndex flow;
  std::uint32_t generation;
};

/// The flows on a link in the order of arrival, including those that left since the last clean-up. One entry is stored in place, more in a
/// block whose size is a power of two.
class Roster {
 public:
  Roster() : one_{} {}
  Roster(Roster&& other) noexcept : size_(std::exchange(other.size_, 0)), log2_(std::exchange(other.log2_, std::uint8_t{0})) {
    if (log2_ > 0) {
      many_ = other.many_;
    } else {
      one_ = other.one_;
    }
  }
  Roster& operator=(Roster&&) = delete;
  ~Roster() {
    if (log2_ > 0) std::free(many_);
  }

  std::uint32_t size() const { return size_; }
  bool full() const { return size_ == 1u << log2_; }
  std::uint32_t capacity() const { return 1u << log2_; }
  RosterEntry* begin() { return log2_ > 0 ? many_ : &one_; }
  RosterEntry* end() { return begin() + size_; }
  const RosterEntry* begin() const { return log2_ > 0 ? many_ : &one_; }
  const RosterEntry* end() const { return begin() + size_; }

  void truncate(std::uint32_t size) { size_ = size; }
  /// Only this entry.
  void restart(RosterEntry entry) {
    *begin() = entry;
    size_ = 1;
  }
  /// Not while full().
  void add(RosterEntry entry) { begin()[size_++] = entry; }
  void grow() {
    const std::uint8_t log2 = static_cast<std::uint8_t>(log2_ == 0 ? 2 : log2_ + 1);
    auto* block = static_cast<RosterEntry*>(std::malloc(sizeof(RosterEntry) << log2));
    if (!block) throw std::bad_alloc();
    std::memcpy(block, begin(), size_ * sizeof(RosterEntry));
    if (log2_ > 0) std::free(many_);
    many_ = block;
    log2_ = log2;
  }

 private:
  union {
    RosterEntry one_;
    RosterEntry* many_;
  };
  std::uint32_t size_ = 0;
  std::uint8_t log2_ = 0;
};

/// Changes on a link at this instant that only the general solver can apply.
enum class Disturbance : std::uint8_t { none, flows, capacity };

/// One direction of a wire: one cache line, because a million workers have two million of them.
/// `share()` is the level (rate per weight) at which its flows would fill it if it were the bottleneck of all of them.
struct alignas(64) Link {
  explicit Link(double bytes_per_tick) : capacity(bytes_per_tick) {}

  double share() const { return capacity / weight; }

  double capacity;        // bytes per tick; of a token bucket: at present
  double weight = 0;      // sum over the flows on it of weight times volume
  double promised = 0;    // bytes of all flows that ever came, less what cancelled ones left; flows still owe what remains
  std::int64_t busy = 0;  // ticks with a flow; while there is one, minus the tick at which the first came
  Roster roster;
  std::uint32_t flows = 0;
  std::uint32_t bound = 0;  // flows whose bottleneck it is
  GroupIndex group = none;  // of the bound flows; kept once it exists
  std::uint8_t peak = 0;    // binary logarithm of the largest number of flows ever, rounded up: breaks ties between bottlenecks
  Disturbance disturbance = Disturbance::none;
  bool entangled : 1 = false;  // changes here may change the levels of flows bound elsewhere, or the other way round
  bool exceeded : 1 = false;   // nothing is bound here, yet some flow has a level above share() (others have less)
  bool hub : 1 = false;        // see hub.hpp
  bool general : 1 = false;    // has a token bucket, or a flow that only the general tier may change; entangled then
  bool bucket : 1 = false;     // see bucket.hpp
  bool unsteady : 1 = false;   // its capacity has changed since it was added: Sharing keeps an account of it
};
static_assert(sizeof(Link) == 64);

}  // namespace straggler::fluid
