// The event queue against the plainest one: a std::multimap of moments, which keeps equal ones in the order of insertion.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "sim/engine/event_queue.hpp"

using namespace straggler;

namespace {

constexpr Time ticks(std::int64_t n) { return Time::from_ticks(n); }

struct Numbered final : Event {
  Numbered(int its_number, std::vector<int>& log) : number(its_number), fired(&log) {}
  void happen() override { fired->push_back(number); }
  int number;
  std::vector<int>* fired;
};

/// Random operations on the queue and on the reference; what fires must be the same, at the same moment.
class Race {
 public:
  Race(std::uint32_t seed, std::uint32_t first_sequence) : random_(seed), queue_(first_sequence) {
    const auto log = [](void* self, std::uint32_t id) { static_cast<Race*>(self)->fired_.push_back(static_cast<int>(id)); };
    kind_ = queue_.register_handler(log, this);
    renamed_kind_ = queue_.register_handler(log, this, nullptr, [](void* self, std::uint32_t id) -> EventQueue::Timer& {
      return static_cast<Race*>(self)->timers_[static_cast<int>(id)];
    });
    cancels_ = draw(0, 3);
    most_ = draw(0, 1) ? 1000 : 20;  // with delays so short, many fall due at one tick
    for (int i = draw(1, 4); i > 0; --i) lanes_.push_back(draw(1, most_));
  }

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const int what = draw(0, 9);
      if (draw(0, 99) == 0) {
        for (int k = draw(0, 300); k > 0; --k) schedule();
        if (draw(0, 1)) cancel_most();
      } else if (what < 4) {
        schedule();
      } else if (what < 4 + cancels_) {
        cancel();
      } else if (what == 9 && draw(0, 3) == 0) {
        advance();
      } else {
        fire();
      }
      check();
    }
    while (!reference_.empty()) fire();
    check();
  }

 private:
  struct Entry {
    int number;
    bool is_timer;
  };
  using Reference = std::multimap<Time, Entry>;

  int draw(int least, int most) { return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1)); }

  void schedule() {
    const int how = draw(0, 3);
    const Time delay = how == 0   ? ticks(0)
                       : how == 1 ? ticks(lanes_[static_cast<std::size_t>(draw(0, static_cast<int>(lanes_.size()) - 1))])
                       : how == 2 ? ticks(draw(0, 50))
                                  : ticks(draw(0, most_ * most_));
    Entry entry{next_number_++, draw(0, 2) == 0};
    if (entry.is_timer) {
      const auto id = static_cast<std::uint32_t>(entry.number);
      const EventQueue::Kind kind = draw(0, 2) == 0 ? kind_ : renamed_kind_;
      timers_[entry.number] = draw(0, 1) ? queue_.after(delay, kind, id) : queue_.at(queue_.now() + delay, kind, id);
    } else {
      events_[entry.number] = std::make_unique<Numbered>(entry.number, fired_);
      queue_.after(delay, *events_[entry.number]);
    }
    reference_.emplace(queue_.now() + delay, entry);
  }

  void cancel() {
    if (reference_.empty()) return;
    auto victim = reference_.begin();
    std::advance(victim, draw(0, std::min(20, static_cast<int>(reference_.size()) - 1)));
    if (draw(0, 1)) victim = std::prev(reference_.end());
    cancel(victim);
  }

  void cancel_most() {
    for (auto next = reference_.begin(); next != reference_.end();) {
      const auto victim = next++;
      if (draw(0, 5) > 0) cancel(victim);
    }
  }

  void cancel(Reference::iterator victim) {
    if (victim->second.is_timer) {
      queue_.cancel(timers_.at(victim->second.number));
    } else if (draw(0, 1)) {
      events_.at(victim->second.number)->cancel();
      CHECK(!events_.at(victim->second.number)->scheduled());
    } else {
      events_.erase(victim->second.number);
    }
    reference_.erase(victim);
  }

  void fire() {
    if (reference_.empty()) return;
    const auto [when, entry] = *reference_.begin();
    reference_.erase(reference_.begin());
    fired_.clear();
    queue_.fire_next();
    REQUIRE(fired_ == std::vector<int>{entry.number});
    REQUIRE(queue_.now() == when);
    ++count_;
  }

  void advance() {
    if (reference_.empty() || queue_.next() == queue_.now()) return;
    const Time next = queue_.next();
    queue_.advance(ticks(queue_.now().ticks() + (next - queue_.now()).ticks() / draw(1, 3)));
  }

  void check() {
    REQUIRE(queue_.next() == (reference_.empty() ? Time::never() : reference_.begin()->first));
    REQUIRE(queue_.pending() == reference_.size());
    REQUIRE(queue_.places() <= std::max<std::size_t>(2 * reference_.size(), reference_.size() + 64) + 1);
    REQUIRE(queue_.empty() == reference_.empty());
    REQUIRE(queue_.fired() == count_);
  }

  std::mt19937 random_;
  std::vector<int> fired_;
  std::map<int, std::unique_ptr<Numbered>> events_;
  std::map<int, EventQueue::Timer> timers_;
  Reference reference_;
  std::vector<int> lanes_;
  int most_, cancels_, next_number_ = 0;
  std::uint64_t count_ = 0;
  EventQueue queue_;                          // the first to go, with events still scheduled
  EventQueue::Kind kind_{}, renamed_kind_{};  // the queue gives timers of the second one new names
};

}  // namespace

TEST_CASE("random operations fire in the order of a multimap") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) Race(seed, 0).run(400);
  Race(1000, 0).run(30'000);
}

TEST_CASE("the order survives the end of the 32-bit sequence numbers") {
  // Each race schedules more events than numbers are left, so these run out on the way, with entries in heap and lanes.
  const std::uint32_t end = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t seed = 1; seed <= 300; ++seed) Race(seed, end - seed % 100).run(400);
  // One case by hand: the head of a lane comes before the end, its rival at the same tick after it.
  std::vector<int> fired;
  EventQueue queue(end - 3);
  Numbered in_heap(1, fired), in_lane(2, fired), clock(3, fired), rival(4, fired);
  queue.after(ticks(10), in_heap);
  queue.after(ticks(10), in_lane);
  queue.after(ticks(3), clock);
  queue.fire_next();
  queue.after(ticks(7), rival);
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == std::vector<int>{3, 1, 2, 4});
}

TEST_CASE("equal moments fire in the order of scheduling, wherever they wait") {
  // All due at tick 10: from the heap (delay 10 for the first time), from the lane of delay 10, from the heap with delay 7,
  // and at last, scheduled at tick 10 itself, from the ring of the instant.
  std::vector<int> fired;
  EventQueue queue;
  Numbered first(1, fired), second(2, fired), third(3, fired), clock(0, fired), fourth(4, fired), last(5, fired);
  queue.after(ticks(10), first);
  queue.after(ticks(10), second);
  queue.after(ticks(10), third);
  queue.after(ticks(3), clock);
  queue.fire_next();
  queue.after(ticks(7), fourth);
  queue.fire_next();
  CHECK(queue.now() == ticks(10));
  queue.after(ticks(0), last);
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == std::vector<int>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a cancelled event neither fires nor moves the clock") {
  std::vector<int> fired;
  EventQueue queue;
  Numbered kept(1, fired);
  {
    Numbered gone(2, fired);
    queue.at(ticks(5), gone);
    queue.at(ticks(9), kept);
    CHECK(queue.next() == ticks(5));
  }
  CHECK(queue.next() == ticks(9));
  kept.cancel();
  CHECK(queue.next() == Time::never());
  CHECK(queue.empty());
  CHECK_THROWS_AS(queue.fire_next(), std::logic_error);
  CHECK(queue.now() == ticks(0));
  CHECK(fired.empty());
}

TEST_CASE("an event may schedule itself again, or end its own life") {
  struct Again final : Event {
    explicit Again(EventQueue& its_queue) : queue(its_queue) {}
    void happen() override {
      if (++times < 3) queue.after(ticks(4), *this);
    }
    EventQueue& queue;
    int times = 0;
  };
  struct Suicide final : Event {
    void happen() override { delete this; }
  };
  EventQueue queue;
  Again again(queue);
  queue.after(ticks(0), again);
  queue.after(ticks(1), *new Suicide);
  while (!queue.empty()) queue.fire_next();
  CHECK(again.times == 3);
  CHECK(queue.now() == ticks(8));
  CHECK(queue.fired() == 4);
}

TEST_CASE("the past, the far future and double scheduling are refused") {
  std::vector<int> fired;
  EventQueue queue;
  Numbered event(1, fired), other(2, fired);
  queue.at(ticks(5), event);
  CHECK_THROWS_AS(queue.at(ticks(6), event), std::logic_error);
  queue.fire_next();
  CHECK_THROWS_AS(queue.at(ticks(4), event), std::logic_error);
  CHECK_THROWS_AS(queue.after(ticks(-1), event), std::logic_error);
  CHECK_THROWS_AS(queue.at(Time::limit() + ticks(1), event), TimeOverflow);
  CHECK_THROWS_AS(queue.after(Time::never(), event), TimeOverflow);
  CHECK_THROWS_AS(queue.advance(ticks(4)), std::logic_error);
  CHECK(!event.scheduled());
  queue.at(Time::limit(), event);
  queue.at(ticks(8), other);
  CHECK_THROWS_AS(queue.advance(ticks(9)), std::logic_error);
  queue.advance(ticks(8));
  CHECK(queue.now() == ticks(8));
}

TEST_CASE("an event that outlives the queue is unscheduled") {
  std::vector<int> fired;
  Numbered now(1, fired), later(2, fired);
  {
    EventQueue queue;
    queue.after(ticks(0), now);
    queue.after(ticks(7), later);
  }
  CHECK(!now.scheduled());
  CHECK(!later.scheduled());
}

TEST_CASE("entries of cancelled events are cleared away while an early one waits") {
  // An event at tick 1 keeps the head of the queue; a million far ones come and go behind it, in a lane (equal delays) and in
  // the heap (different ones). At most half of what is stored may be dead, 64 aside.
  std::vector<int> fired;
  EventQueue queue;
  EventQueue::Timer timer{};
  const auto name_of = [](void* name, std::uint32_t) -> EventQueue::Timer& { return *static_cast<EventQueue::Timer*>(name); };
  const auto kind = queue.register_handler([](void*, std::uint32_t) {}, &timer, nullptr, name_of);
  Numbered head(1, fired);
  queue.at(ticks(1), head);
  std::size_t most = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    timer = queue.after(ticks(i % 2 ? 1'000'000 : 1000 + i), kind, 0);
    most = std::max(most, queue.places());
    queue.cancel(timer);
  }
  CHECK(most <= 1 + 64 + 1);
  CHECK(queue.pending() == 1);
  queue.fire_next();
  CHECK(queue.empty());
  CHECK(queue.now() == ticks(1));
}

TEST_CASE("what waits in a lane can be cancelled after others of the lane were cleared away") {
  // Of 1,000 events and 1,000 timers of one delay, all but every tenth are cancelled, so that dead ones are cleared away
  // several times and the others get new places. Then half of the rest are cancelled by their new names.
  std::vector<int> fired;
  EventQueue queue;
  struct Kept {
    std::vector<int>* fired;
    std::vector<EventQueue::Timer> timers;
  } kept{&fired, std::vector<EventQueue::Timer>(1000)};
  const auto kind = queue.register_handler(
      [](void* self, std::uint32_t id) { static_cast<Kept*>(self)->fired->push_back(static_cast<int>(1000 + id)); }, &kept, nullptr,
      [](void* self, std::uint32_t id) -> EventQueue::Timer& { return static_cast<Kept*>(self)->timers[id]; });
  std::vector<std::unique_ptr<Numbered>> events;
  for (int i = 0; i < 1000; ++i) {
    events.push_back(std::make_unique<Numbered>(i, fired));
    queue.after(ticks(10), *events.back());
    kept.timers[static_cast<std::size_t>(i)] = queue.after(ticks(10), kind, static_cast<std::uint32_t>(i));
  }
  const auto cancel_if = [&](auto condition) {
    for (std::size_t i = 0; i < 1000; ++i) {
      if (!condition(i)) continue;
      events[i]->cancel();
      queue.cancel(kept.timers[i]);
    }
  };
  const std::vector<EventQueue::Timer> before = kept.timers;
  cancel_if([](std::size_t i) { return i % 10 != 5; });
  CHECK(queue.places() < 400);
  CHECK(kept.timers[995] != before[995]);
  cancel_if([](std::size_t i) { return i % 20 == 5; });
  std::vector<int> expected;
  for (int i = 15; i < 1000; i += 20) expected.insert(expected.end(), {i, 1000 + i});
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == expected);
}

TEST_CASE("events scheduled for now keep their order, whether or not others are due at that instant") {
  std::vector<int> fired;
  EventQueue queue;
  const auto kind = queue.register_handler(
      [](void* log, std::uint32_t id) { static_cast<std::vector<int>*>(log)->push_back(static_cast<int>(id)); }, &fired);
  Numbered a(1, fired), b(2, fired), c(3, fired), due(4, fired), last(5, fired);
  queue.at_once(a);  // alone
  queue.after(ticks(0), kind, 10);
  queue.at_once(b);
  CHECK(queue.pending() == 3);
  CHECK(queue.next() == ticks(0));
  CHECK_THROWS_AS(queue.at_once(a), std::logic_error);
  a.cancel();
  queue.at_once(c);  // behind what is there, though nothing lies beside the ring any more
  CHECK(!queue.fire_soon());
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == std::vector<int>{10, 2, 3});
  // What was scheduled for this moment before the clock got there comes first.
  fired.clear();
  queue.after(ticks(7), due);
  queue.advance(ticks(7));
  queue.at_once(last);
  CHECK(!queue.fire_soon());
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == std::vector<int>{4, 5});
  queue.at_once(a);
  CHECK(queue.fire_soon());
  CHECK(fired.back() == 1);
  CHECK(queue.empty());
  CHECK(queue.fired() == 6);
}

TEST_CASE("destroying a queue unschedules the events beside its ring") {
  std::vector<int> fired;
  Numbered alone(1, fired);
  {
    EventQueue queue;
    queue.at_once(alone);
    CHECK(alone.scheduled());
  }
  CHECK(!alone.scheduled());
}

TEST_CASE("a delay beyond the limit of time stays beyond it, however late it begins") {
  // 100 days are 8.64e18 ticks: with more than 6.7 days before it, the sum of delay and now is above 2^63.
  std::vector<int> fired;
  Numbered first(1, fired), second(2, fired), makes_lane(3, fired), in_lane(4, fired);
  EventQueue queue;
  queue.stop_before_limit();
  const Time beyond = queue.span(1e30);
  queue.after(beyond, makes_lane);
  queue.after(beyond, in_lane);
  queue.after(Time::from_seconds(10 * 86'400), first);
  queue.fire_next();
  queue.after(beyond, second);
  CHECK(queue.next() == Time::limit() + ticks(1));
  queue.after(Time::from_seconds(1), first);
  CHECK(queue.next() == Time::from_seconds(10 * 86'400 + 1));
  queue.fire_next();
  while (!queue.empty()) queue.fire_next();
  CHECK(fired == std::vector<int>{1, 1, 3, 4, 2});
  CHECK(queue.now() == Time::limit() + ticks(1));
}
