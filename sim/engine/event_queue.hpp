// The event queue: pending events in the total order (when, sequence number).
//
// Later events are in a heap of 128-bit keys. Events due at this very instant, the commonest of all, are in a plain first-in-first-out
// ring, or beside it if nothing else is due then (`soon_`). Events whose delay repeats (latencies, equal compute times) are in a lane that
// holds them itself, a first-in-first-out ring too. See event_queue.cpp for the invariants.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/key_heap.hpp"
#include "sim/engine/ring.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

class EventQueue;

/// An event that can be scheduled once at a time: embedded in the waiting object (an awaiter in a coroutine frame, a flow). Its destruction
/// takes it out of the queue. Neither copied nor moved while scheduled.
class Event {
 public:
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /// Called by the queue, unscheduled already: it may schedule itself again or destroy itself.
  virtual void happen() = 0;
  bool scheduled() const { return queue_ != nullptr; }
  inline void cancel() noexcept;

 protected:
  Event() = default;
  ~Event() { cancel(); }

 private:
  friend class EventQueue;
  EventQueue* queue_ = nullptr;
  std::uint32_t place_ = 0;
};

/// Events of one instant happen in the order in which they were scheduled. A cancelled event neither fires nor moves the clock, and memory
/// is bounded by the largest number pending at once.
class EventQueue {
 public:
  /// For mechanisms with many timers and no object for each: the function called with the timer's id.
  using Handler = void (*)(void* context, std::uint32_t id);
  enum class Kind : std::uint32_t {};
  /// Names a scheduled timer until it fires or is cancelled; reused afterwards.
  enum class Timer : std::uint32_t {};
  /// Where the name of the scheduled timer `id` is kept: the queue may give it another one.
  using NameOf = Timer& (*)(void* context, std::uint32_t id);

  /// Sequence numbers start at `first_sequence` (tests start near the end of the 32 bits that a key holds, to test renumbering: the order
  /// is that of unbounded numbers).
  explicit EventQueue(std::uint32_t first_sequence = 0) : sequence_(first_sequence) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  /// Events still scheduled are unscheduled.
  ~EventQueue();

  Time now() const { return now_; }
  /// When the earliest event is due; never() if there is none.
  Time next() const { return soon_ || !instant_.empty() ? now_ : first_stored(); }
  /// Number of events that have fired.
  std::uint64_t fired() const { return fired_; }
  bool empty() const { return !soon_ && instant_.empty() && stored_ == 0; }
  std::size_t pending() const { return instant_live_ + stored_ - dead_ + (soon_ ? 1 : 0); }
  /// Places in heap and lanes, those of cancelled events included.
  std::size_t places() const { return stored_; }

  /// For runs that stop at Time::limit() or before: events beyond it never happen, and are not refused.
  void stop_before_limit() { stops_before_limit_ = true; }
  bool stops_before_limit() const { return stops_before_limit_; }
  /// `ticks` rounded up, for a delay: as Time::round_up, but beyond Time::limit() where that is not refused.
  Time span(double ticks) const;
  /// Throws std::logic_error if `when` is past or the event is scheduled already, TimeOverflow beyond Time::limit().
  void at(Time when, Event& event) { after(when - now_, event); }
  void after(Time delay, Event& event) {
    if (delay == Time()) return at_once(event);
    put(delay, event);
  }
  /// The same as after(Time(), event), faster.
  void at_once(Event& event) {
    if (event.queue_) throw_scheduled_already();
    if (soon_ || !instant_.empty() || first_stored() == now_) return put_behind(event);
    soon_ = &event;
    event.place_ = soon_place;
    event.queue_ = this;
  }

  /// `fetch` is called with the next timer during another event, to prefetch its data; may be null. Without `name_of` timers keep their
  /// names, which is slower where delays repeat.
  Kind register_handler(Handler handler, void* context, Handler fetch = nullptr, NameOf name_of = nullptr);
  Timer at(Time when, Kind kind, std::uint32_t id) { return after(when - now_, kind, id); }
  Timer after(Time delay, Kind kind, std::uint32_t id);
  /// The timer must be scheduled.
  void cancel(Timer timer) noexcept { take_out(static_cast<std::uint32_t>(timer)); }

  /// Moves the clock to next() and fires the earliest event. Throws std::logic_error if there is none.
  void fire_next() {
    if (!fire_soon()) fire_stored(next());
  }
  /// The same where fire_soon() has found none, with the result of next().
  inline void fire_stored(Time next);
  /// Fires the only next event at this instant if it is beside the ring; false: there is none, or it is stored with the others.
  bool fire_soon() {
    Event* const event = soon_;
    if (!event) return false;
    soon_ = nullptr;
    event->queue_ = nullptr;
    ++fired_;
    event->happen();
    return true;
  }
  /// Moves the clock to `time`, between now() and next(), without any event: the continuous part acts there.
  void advance(Time time);

 private:
  friend class Event;
  struct Target {
    Event* event;        // null: a timer
    std::uint32_t kind;  // of a timer; or vacant or dead
    std::uint32_t id;    // of a timer; of a vacant slot: the next vacant one
  };
  struct Entry {
    HeapKey key;
    Target target;
  };
  struct alignas(64) Lane {
    Time delay = Time::never();
    Ring<Entry> entries;
  };
  static constexpr std::uint32_t vacant_kind = ~0u, dead_kind = ~0u - 1, event_kind = ~0u - 2;
  // A place is a slot, or a position modulo a power of two: in the ring of the instant, or in a lane, whose number stands above it.
  static constexpr std::uint32_t instant_bit = 0x8000'0000u, lane_place_bit = 0x4000'0000u;
  static constexpr std::uint32_t soon_place = ~0u;  // of the event beside the ring
  static constexpr int lane_bits = 6, position_bits = 24;
  static constexpr std::size_t look_ahead = 3;        // events
  static constexpr std::size_t cached_events = 3072;  // with fewer places, the events' data is in the cache anyway

  static Time time_of(HeapKey key) { return Time::from_ticks(static_cast<std::int64_t>(key >> 64)); }
  /// When the first event of heap and lanes is due.
  Time first_stored() const { return std::min(time_of(heads_[lanes_in_use_]), time_of(heap_.top())); }
  /// A time after all events. Throws TimeOverflow(what) unless the run stops before the limit of time.
  Time beyond(const char* what) const;
  [[noreturn]] static void throw_scheduled_already();
  static std::uint32_t who(HeapKey key) { return static_cast<std::uint32_t>(key); }
  static std::uint32_t place_in_lane(std::uint32_t lane, std::uint64_t position) {
    return lane_place_bit | lane << position_bits | (static_cast<std::uint32_t>(position) & ((1u << position_bits) - 1));
  }
  Entry& at_lane_place(std::uint32_t place) { return lanes_[place >> position_bits & ((1u << lane_bits) - 1)].entries.at_position(place); }
  void put_behind(Event& event);
  std::uint32_t put_at_once(const Target& target);
  void put(Time delay, Event& event);
  void put_elsewhere(Time delay, Event& event);
  static inline std::uint32_t lane_of(Time delay);
  inline bool runs_in(const Lane& lane, Time delay) const;
  inline std::uint32_t put_in_lane(std::uint32_t index, Time when, const Target& target);
  [[gnu::always_inline]] inline std::uint32_t store(Time delay, const Target& target, bool may_move);
  Timer put_elsewhere(Time delay, std::uint32_t kind, std::uint32_t id);
  inline std::uint32_t put_in_slot(Time when, const Target& target);
  void make_slot();
  void take_out(std::uint32_t place) noexcept;
  inline Target pop_stored();
  Target pop_heap();
  void insert_head(HeapKey key);
  void move_first_head(HeapKey key);
  void fire_instant();
  void fire(const Target& target) {
    ++fired_;
    if (target.event) {
      target.event->queue_ = nullptr;
      target.event->happen();
    } else {
      const Callback& callback = handlers_[target.kind];
      callback.handler(callback.context, target.id);
    }
  }
  const Target& head() const;
  void prefetch(const Target& next) const;
  void fetch_next() const;
  void trim_instant() noexcept;
  void drop_dead_heads() noexcept;
  void compact() noexcept;
  void rename(const Target& target, std::uint32_t place) noexcept;
  void renumber();
  void vacate(std::uint32_t slot) noexcept {
    slots_[slot] = Target{nullptr, vacant_kind, vacant_};
    vacant_ = slot;
  }

  Time now_;
  bool stops_before_limit_ = false;
  std::uint64_t fired_ = 0;
  std::uint32_t sequence_;
  std::uint32_t vacant_ = ~0u;  // first of the list of vacant slots
  std::size_t stored_ = 0;      // entries in heap and lanes, dead ones included
  std::size_t dead_ = 0;        // cancelled ones among them
  std::size_t room_ = 0;        // places that heap and lanes have had
  std::size_t instant_live_ = 0;
  Event* soon_ = nullptr;  // due now, before the whole ring; null: none
  KeyHeap heap_;
  std::size_t lanes_in_use_ = 0;
  std::array<HeapKey, (1u << lane_bits) + 1> heads_ = {KeyHeap::never};  // [1 .. lanes_in_use_]: of the lanes' heads, the first one last
  Ring<Target> instant_;
  std::vector<Target> slots_;
  std::array<Lane, 1u << lane_bits> lanes_;
  struct Callback {
    Handler handler;
    void* context;
    Handler fetch;
    NameOf name_of;
  };
  std::vector<Callback> handlers_;
};

inline void Event::cancel() noexcept {
  if (queue_) std::exchange(queue_, nullptr)->take_out(place_);
}

/// The first of the stored events, which leaves heap and lanes.
inline EventQueue::Target EventQueue::pop_stored() {
  const HeapKey head = heads_[lanes_in_use_];
  if (!(head < heap_.top())) return pop_heap();
  --stored_;
  Ring<Entry>& entries = lanes_[who(head)].entries;
  const Target target = entries.front().target;
  if (entries.size() == 1) {
    entries.pop_front();
    --lanes_in_use_;
  } else {
    entries.drop_front();
    const HeapKey key = entries.front().key;
    if (key < heads_[lanes_in_use_ - 1]) {
      heads_[lanes_in_use_] = key;  // mostly the lane's next one comes before those of other lanes
    } else {
      move_first_head(key);
    }
  }
  return target;
}

inline void EventQueue::fire_stored(Time next) {
  if (next != now_) {
    if (next == Time::never()) return fire_instant();
    now_ = next;
  } else if (!instant_.empty() && first_stored() != now_) {
    return fire_instant();
  }
  const Target target = pop_stored();
  if (dead_ > 0) drop_dead_heads();
  if (room_ > cached_events) fetch_next();
  fire(target);
}

}  // namespace straggler
