// Invariants
//  - Everything due at now() that was scheduled at now() is in `instant_`, in order. What the heap holds for now() was
//    scheduled before the clock got here, so it comes first: the ring needs no keys.
//  - `soon_` was scheduled when neither heap nor ring had anything for now(): it comes before what they have now.
//  - A key is time | sequence number | who. Who is a slot in the heap, a lane in a lane. A lane holds one delay only, hence
//    its keys are in order. Few lanes are in use at a time, so the keys of their heads are in a sorted list.
//  - A slot belongs to one entry of the heap from its scheduling until that entry is removed, cancelled or not: no stale
//    entry can ever name a reused slot. So it is with a position in a lane, until dead entries are cleared away.
//  - The first of the stored events and both ends of the ring are live: next() never sees a cancelled event.
//  - At most half of the entries (and 64) are dead.
#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "sim/base/prefetch.hpp"

namespace straggler {
namespace {

constexpr const char* beyond_limit = "an event is scheduled beyond 100 simulated days: look for a delay that is too long";

HeapKey make_key(Time when, std::uint32_t sequence, std::uint32_t who) {
  return static_cast<HeapKey>(static_cast<std::uint64_t>(when.ticks())) << 64 | (std::uint64_t{sequence} << 32 | who);
}

}  // namespace

EventQueue::~EventQueue() {
  const auto let_go = [](const Target& target) {
    if (target.kind == event_kind) target.event->queue_ = nullptr;
  };
  if (soon_) soon_->queue_ = nullptr;
  for (std::size_t i = 0; i < instant_.size(); ++i) let_go(instant_[i]);
  for (const Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.entries.size(); ++i) let_go(lane.entries[i].target);
  }
  for (const Target& target : slots_) let_go(target);
}

Time EventQueue::beyond(const char* what) const {
  if (!stops_before_limit_) throw TimeOverflow(what);
  return Time::limit() + Time::from_ticks(1);
}

Time EventQueue::span(double ticks) const {
  if (stops_before_limit_ && !(ticks < static_cast<double>(Time::limit().ticks()))) return beyond("");
  return Time::round_up(ticks);
}

/// The number of the lane that may hold this delay. With this factor 16 delays in steps of 1, 2, 5 or 25 times a power of ten, as round
/// times are, have a lane each; that of the golden ratio puts 10, 11, 12 … ms into four.
inline std::uint32_t EventQueue::lane_of(Time delay) {
  const std::uint64_t hash = static_cast<std::uint64_t>(delay.ticks()) * 0x07B6'57DF'316C'D843u;
  return static_cast<std::uint32_t>(hash >> (64 - lane_bits));
}

/// The commonest case: there is a lane of this delay, and room in it. A lane's delay is above 0.
inline bool EventQueue::runs_in(const Lane& lane, Time delay) const {
  return lane.delay == delay && !lane.entries.full() && delay <= Time::limit() - now_ &&
         sequence_ != std::numeric_limits<std::uint32_t>::max();
}

inline std::uint32_t EventQueue::put_in_lane(std::uint32_t index, Time when, const Target& target) {
  ++stored_;
  return place_in_lane(index, lanes_[index].entries.add({make_key(when, sequence_++, index), target}));
}

/// `may_move`: the place may become another one, which its keeper gets.
inline std::uint32_t EventQueue::store(Time delay, const Target& target, bool may_move) {
  if (delay < Time()) throw std::logic_error("an event is scheduled in the past");
  if (delay > Time::limit() - now_) delay = beyond(beyond_limit) - now_;
  if (sequence_ == std::numeric_limits<std::uint32_t>::max()) renumber();
  const Time when = now_ + delay;
  const std::uint32_t index = lane_of(delay);
  Lane& lane = lanes_[index];
  if (lane.delay != delay) {
    if (lane.entries.empty()) lane.delay = delay;  // the next one with this delay finds a lane
    return put_in_slot(when, target);
  }
  if (!may_move) return put_in_slot(when, target);
  if (lane.entries.full()) {
    if (lane.entries.size() == 1u << position_bits) return put_in_slot(when, target);  // positions would no longer differ
    room_ += lane.entries.grow();
  }
  const std::uint32_t place = put_in_lane(index, when, target);
  if (lane.entries.size() == 1) insert_head(lane.entries.front().key);
  return place;
}

inline std::uint32_t EventQueue::put_in_slot(Time when, const Target& target) {
  if (vacant_ == ~0u) make_slot();
  const std::uint32_t slot = vacant_;
  heap_.push(make_key(when, sequence_, slot));
  vacant_ = slots_[slot].id;
  slots_[slot] = target;
  ++sequence_;
  ++stored_;
  return slot;
}

[[gnu::noinline]] void EventQueue::make_slot() {
  if (slots_.size() >= lane_place_bit) throw std::length_error("more than 2^30 events are pending");
  slots_.emplace_back();
  ++room_;
  vacate(static_cast<std::uint32_t>(slots_.size() - 1));
}

[[gnu::noinline]] void EventQueue::insert_head(HeapKey key) {
  std::size_t i = ++lanes_in_use_;
  for (; heads_[i - 1] < key; --i) heads_[i] = heads_[i - 1];
  heads_[i] = key;
}

/// The lane that had the first head has this one now.
void EventQueue::move_first_head(HeapKey key) {
  --lanes_in_use_;
  insert_head(key);
}

void EventQueue::throw_scheduled_already() { throw std::logic_error("an event was scheduled twice; cancel it before scheduling it again"); }

void EventQueue::put_behind(Event& event) {
  event.place_ = put_at_once({&event, event_kind, 0});
  event.queue_ = this;
}

std::uint32_t EventQueue::put_at_once(const Target& target) {
  const std::uint64_t position = instant_.push_back(target);
  ++instant_live_;
  return instant_bit | (static_cast<std::uint32_t>(position) & (lane_place_bit - 1));
}

void EventQueue::put(Time delay, Event& event) {
  const std::uint32_t index = lane_of(delay);
  if (!runs_in(lanes_[index], delay) || event.queue_) return put_elsewhere(delay, event);
  const bool first = lanes_[index].entries.empty();
  event.place_ = put_in_lane(index, now_ + delay, {&event, event_kind, 0});
  event.queue_ = this;
  if (first) insert_head(lanes_[index].entries.front().key);
}

[[gnu::noinline]] void EventQueue::put_elsewhere(Time delay, Event& event) {
  if (event.queue_) throw_scheduled_already();
  event.place_ = store(delay, {&event, event_kind, 0}, true);
  event.queue_ = this;
}

EventQueue::Kind EventQueue::register_handler(Handler handler, void* context, Handler fetch, NameOf name_of) {
  handlers_.push_back({handler, context, fetch, name_of});
  return static_cast<Kind>(handlers_.size() - 1);
}

EventQueue::Timer EventQueue::after(Time delay, Kind kind, std::uint32_t id) {
  const auto number = static_cast<std::uint32_t>(kind);
  const std::uint32_t index = lane_of(delay);
  if (!runs_in(lanes_[index], delay) || !handlers_[number].name_of) return put_elsewhere(delay, number, id);
  const bool first = lanes_[index].entries.empty();
  const std::uint32_t place = put_in_lane(index, now_ + delay, {nullptr, number, id});
  if (first) insert_head(lanes_[index].entries.front().key);
  return static_cast<Timer>(place);
}

[[gnu::noinline]] EventQueue::Timer EventQueue::put_elsewhere(Time delay, std::uint32_t kind, std::uint32_t id) {
  const Target target{nullptr, kind, id};
  return static_cast<Timer>(delay == Time() ? put_at_once(target) : store(delay, target, handlers_[kind].name_of));
}

/// The first of the stored events where it is not in a lane.
[[gnu::noinline]] EventQueue::Target EventQueue::pop_heap() {
  --stored_;
  const std::uint32_t slot = who(heap_.top());
  heap_.pop();
  const Target target = slots_[slot];
  vacate(slot);
  return target;
}

const EventQueue::Target& EventQueue::head() const {
  const HeapKey first = heads_[lanes_in_use_];
  return first < heap_.top() ? lanes_[who(first)].entries.front().target : slots_[who(heap_.top())];
}

/// The next event's data is in some coroutine's frame, most likely out of the cache: it is fetched while this event happens.
void EventQueue::prefetch(const Target& next) const {
  if (!next.event) {
    if (next.kind < handlers_.size() && handlers_[next.kind].fetch) handlers_[next.kind].fetch(handlers_[next.kind].context, next.id);
    return;
  }
  const char* at = reinterpret_cast<const char*>(next.event);
  prefetch_line(at);
  prefetch_line(at + 64);
  prefetch_line(at - 64);
}

/// A lane's order is known far ahead.
[[gnu::noinline]] void EventQueue::fetch_next() const {
  const HeapKey first = heads_[lanes_in_use_];
  if (first < heap_.top()) {
    const Ring<Entry>& entries = lanes_[who(first)].entries;
    prefetch(entries[entries.size() > look_ahead ? look_ahead : 0].target);
  } else if (!heap_.empty()) {
    prefetch(slots_[who(heap_.top())]);
  }
}

void EventQueue::fire_instant() {
  if (instant_.empty()) throw std::logic_error("fire_next() was called with no event pending");
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
  (place & lane_place_bit ? at_lane_place(place).target : slots_[place]) = Target{nullptr, dead_kind, 0};
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
  while (dead_ > 0 && stored_ > 0 && head().kind == dead_kind) {
    pop_stored();
    --dead_;
  }
}

void EventQueue::compact() noexcept {
  heap_.keep_if([this](HeapKey key) {
    if (slots_[who(key)].kind != dead_kind) return true;
    vacate(who(key));
    return false;
  });
  lanes_in_use_ = 0;
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    Ring<Entry>& entries = lanes_[i].entries;
    entries.keep_if([](const Entry& entry) { return entry.target.kind != dead_kind; });
    for (std::size_t k = 0; k < entries.size(); ++k) rename(entries[k].target, place_in_lane(i, entries.first_position() + k));
    if (!entries.empty()) insert_head(entries.front().key);
  }
  stored_ -= dead_;
  dead_ = 0;
}

void EventQueue::rename(const Target& target, std::uint32_t place) noexcept {
  if (target.event) {
    target.event->place_ = place;
  } else {
    const Callback& callback = handlers_[target.kind];
    callback.name_of(callback.context, target.id) = static_cast<Timer>(place);
  }
}

// The new numbers have the order of the old ones, so heap and lanes stay as they are.
void EventQueue::renumber() {
  std::vector<HeapKey*> keys;
  keys.reserve(stored_);
  heap_.for_each([&](HeapKey& key) { keys.push_back(&key); });
  for (Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.entries.size(); ++i) keys.push_back(&lane.entries[i].key);
  }
  std::sort(keys.begin(), keys.end(), [](const HeapKey* a, const HeapKey* b) { return *a < *b; });
  sequence_ = 0;
  for (HeapKey* key : keys) *key = make_key(time_of(*key), sequence_++, who(*key));
  for (std::size_t i = 1; i <= lanes_in_use_; ++i) heads_[i] = lanes_[who(heads_[i])].entries.front().key;
}

}  // namespace straggler
