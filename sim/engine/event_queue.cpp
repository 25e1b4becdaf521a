// Invariants
//  - Everything due at now() that was scheduled at now() is in `instant_`, in order. What the heap holds for now() was
//    scheduled before the clock got here, so it comes first: the ring needs no keys.
//  - `soon_` was scheduled when neither heap nor ring had anything for now(): it comes before what they have now.
//  - A key is time | sequence number | who. Who is a slot, or a lane if the top bit is set; such a key is the copy of the
//    lane's head. A lane holds one delay only, hence its keys are in order.
//  - A slot belongs to one entry of heap or lanes from its scheduling until that entry is removed, cancelled or not:
//    no stale entry can ever name a reused slot.
//  - The top of the heap and both ends of the ring are live: next() never sees a cancelled event.
//  - At most half of the entries (and 64) are dead.
#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

constexpr const char* beyond_limit = "an event is scheduled beyond 100 simulated days: look for a delay that is too long";

HeapKey make_key(Time when, std::uint32_t sequence, std::uint32_t who) {
  return static_cast<HeapKey>(static_cast<std::uint64_t>(when.ticks())) << 64 | static_cast<HeapKey>(sequence) << 32 | who;
}

}  // namespace

EventQueue::~EventQueue() {
  if (soon_) soon_->queue_ = nullptr;
  for (std::size_t i = 0; i < instant_.size(); ++i) {
    if (instant_[i].kind == event_kind) instant_[i].event->queue_ = nullptr;
  }
  for (const Target& target : slots_) {
    if (target.kind == event_kind) target.event->queue_ = nullptr;
  }
}

Time EventQueue::beyond(const char* what) const {
  if (!stops_before_limit_) throw TimeOverflow(what);
  return Time::limit() + Time::from_ticks(1);
}

Time EventQueue::span(double ticks) const {
  if (stops_before_limit_ && !(ticks < static_cast<double>(Time::limit().ticks()))) return beyond("");
  return Time::round_up(ticks);
}

Time EventQueue::too_late() const { return beyond(beyond_limit); }

/// Does what is rarely necessary before an event is stored: then a slot is vacant and a sequence number left. Returns when it happens.
[[gnu::noinline]] Time EventQueue::make_ready(Time when) {
  if (when < now_) throw std::logic_error("an event is scheduled in the past");
  if (when > Time::limit()) when = beyond(beyond_limit);
  if (sequence_ == std::numeric_limits<std::uint32_t>::max()) renumber();
  if (vacant_ == ~0u) {
    if (slots_.size() >= lane_bit) throw std::length_error("more than 2^31 events are pending");
    slots_.emplace_back();
    vacate(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  return when;
}

inline std::uint32_t EventQueue::put_in_heap(Time when, Target target) {
  if (when < now_ || when > Time::limit() || vacant_ == ~0u || sequence_ == std::numeric_limits<std::uint32_t>::max())
    when = make_ready(when);
  const std::uint32_t slot = vacant_;
  vacant_ = slots_[slot].id;
  slots_[slot] = target;
  if (target.event) {
    target.event->place_ = slot;
    target.event->queue_ = this;
  }
  ++stored_;
  const HeapKey key = make_key(when, sequence_++, slot);
  const Time delay = when - now_;
  const std::uint64_t hash = static_cast<std::uint64_t>(delay.ticks()) * 0x9E37'79B9'7F4A'7C15u;
  const std::uint32_t index = static_cast<std::uint32_t>(hash >> (64 - lane_bits));
  Lane& lane = lanes_[index];
  if (lane.delay == delay) {
    if (lane.keys.empty()) heap_.push(with_who(key, lane_bit | index));
    lane.keys.push_back(key);
  } else {
    if (lane.keys.empty()) lane.delay = delay;  // the next one with this delay finds a lane
    heap_.push(key);
  }
  return slot;
}

void EventQueue::throw_scheduled_already() { throw std::logic_error("an event is scheduled that is scheduled already: cancel it first"); }

void EventQueue::put_behind(Event& event) {
  event.place_ = put(now_, Target{&event, event_kind, 0});
  event.queue_ = this;
}

void EventQueue::at(Time when, Event& event) {
  if (when == now_) return at_once(event);
  if (event.queue_) throw_scheduled_already();
  put_in_heap(when, Target{&event, event_kind, 0});
}

EventQueue::Kind EventQueue::register_handler(Handler handler, void* context, Handler fetch) {
  handlers_.push_back({handler, context, fetch});
  return static_cast<Kind>(handlers_.size() - 1);
}

EventQueue::Timer EventQueue::at(Time when, Kind kind, std::uint32_t id) {
  return static_cast<Timer>(put(when, Target{nullptr, static_cast<std::uint32_t>(kind), id}));
}

std::uint32_t EventQueue::put(Time when, Target target) {
  if (when == now_) {
    ++instant_live_;
    return static_cast<std::uint32_t>(instant_.push_back(target)) | instant_bit;
  }
  return put_in_heap(when, target);
}

std::uint32_t EventQueue::head_slot() const {
  const std::uint32_t head = who(heap_.top());
  return head & lane_bit ? who(lanes_[head & ~lane_bit].keys.front()) : head;
}

/// The next event's data is in some coroutine's frame, most likely out of the cache: it is fetched while this event happens.
void EventQueue::prefetch(const Target& next) const {
  if (!next.event) {
    if (next.kind < handlers_.size() && handlers_[next.kind].fetch) handlers_[next.kind].fetch(handlers_[next.kind].context, next.id);
    return;
  }
  const char* at = reinterpret_cast<const char*>(next.event);
  __builtin_prefetch(at);
  __builtin_prefetch(at + 64);
  __builtin_prefetch(at - 64);
}

/// Unless its lane has fetched it.
void EventQueue::fetch_next() const {
  if (heap_.empty()) return;
  const std::uint32_t head = who(heap_.top());
  if (head & lane_bit && lanes_[head & ~lane_bit].keys.size() > 2 * look_ahead) return;
  prefetch(slots_[head_slot()]);
}

void EventQueue::fire_instant() {
  if (instant_.empty()) throw std::logic_error("the next event is asked for, but none is pending");
  const Target target = instant_.front();
  instant_.pop_front();
  --instant_live_;
  trim_instant();
  if (!instant_.empty()) prefetch(instant_.front());
  fire(target);
}

void EventQueue::advance(Time time) {
  if (time < now_ || time > next()) throw std::logic_error("the clock may only advance to a moment between now and the next event");
  if (time > Time::limit()) throw TimeOverflow("simulated time passes 100 days");
  now_ = time;
}

void EventQueue::take_out(std::uint32_t place) noexcept {
  if (place == soon_place) {
    soon_ = nullptr;
    return;
  }
  if (place & instant_bit) {
    instant_.at_position(place & ~instant_bit) = Target{nullptr, dead_kind, 0};
    --instant_live_;
    trim_instant();
    return;
  }
  slots_[place] = Target{nullptr, dead_kind, 0};
  ++dead_;
  if (dead_ > 64 && 2 * dead_ > stored_) {
    compact();
  } else {
    drop_dead_heads();
  }
}

void EventQueue::trim_instant() noexcept {
  while (!instant_.empty() && instant_.front().kind == dead_kind) instant_.pop_front();
  while (!instant_.empty() && instant_.back().kind == dead_kind) instant_.pop_back();
}

void EventQueue::drop_dead_heads() noexcept {
  while (dead_ > 0 && !heap_.empty() && slots_[head_slot()].kind == dead_kind) {
    vacate(pop_heap());
    --dead_;
  }
}

void EventQueue::compact() noexcept {
  const auto live = [this](HeapKey key) {
    if (slots_[who(key)].kind != dead_kind) return true;
    vacate(who(key));
    return false;
  };
  heap_.keep_if([&](HeapKey key) { return !(who(key) & lane_bit) && live(key); });
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    Ring<HeapKey>& keys = lanes_[i].keys;
    keys.keep_if(live);
    if (!keys.empty()) heap_.push(with_who(keys.front(), lane_bit | i));
  }
  stored_ -= dead_;
  dead_ = 0;
}

// The new numbers have the order of the old ones, so heap and lanes stay as they are.
void EventQueue::renumber() {
  std::vector<HeapKey*> keys;
  keys.reserve(stored_);
  heap_.for_each([&](HeapKey& key) {
    if (!(who(key) & lane_bit)) keys.push_back(&key);
  });
  for (Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.keys.size(); ++i) keys.push_back(&lane.keys[i]);
  }
  std::sort(keys.begin(), keys.end(), [](const HeapKey* a, const HeapKey* b) { return *a < *b; });
  sequence_ = 0;
  for (HeapKey* key : keys) *key = make_key(time_of(*key), sequence_++, who(*key));
  heap_.for_each([&](HeapKey& key) {
    if (who(key) & lane_bit) key = with_who(lanes_[who(key) & ~lane_bit].keys.front(), who(key));
  });
}

}  // namespace straggler
