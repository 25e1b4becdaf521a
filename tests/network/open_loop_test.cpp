// What comes when is drawn beforehand (arrivals, sizes with and without ties, weights, cancels, changes of capacity, zero
// bytes; in other instances volumes, mosts and token buckets as well); the engine's completion times are compared with those of the
// textbook.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "tests/network/random_instances.hpp"
#include "tests/network/run.hpp"
#include "tests/network/textbook.hpp"

namespace open_loop_test {

using namespace straggler;

namespace {

struct Message : textbook::Demand {
  double bytes = 0;
  std::int64_t start = 0, latency = 0, cancel = -1;  // ticks
  // the textbook's state
  bool flowing = false, over = false;
  long double left = 0;
  double end = -1;  // ticks; -2 if cancelled
};
struct Change {
  std::int64_t when;
  std::uint32_t link;
  double capacity;
  bool done = false;
};
struct Bucket {
  double burst = 0, ratio = 0;  // of peak to capacity
  // the textbook's state
  bool open = true;
  long double tokens = 0, load = 0;
};
struct Instance {
  std::vector<double> capacity;
  std::map<std::size_t, Bucket> buckets;
  std::vector<Message> messages;
  std::vector<Change> changes;
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  int operator()(int least, int most) { return least + static_cast<int>(engine_() % static_cast<unsigned>(most - least + 1)); }
  bool one_in(int n) { return operator()(1, n) == 1; }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

enum Shape { parameter_server, up_down_star, tangle, weighted_tangle, hub, hub_with_strangers, long_routes, shapes };

std::vector<std::uint32_t> draw_route(Draw& draw, Shape shape, std::uint32_t links, std::uint32_t message) {
  const int last = static_cast<int>(links) - 1;
  const auto link = [&](int least, int most) { return static_cast<std::uint32_t>(draw(least, most)); };
  switch (shape) {
    case parameter_server:
      if (links > 1) return {0, link(1, last)};
      return {0};
    case up_down_star:
      if (links >= 4) return {link(0, last / 2), link(last / 2 + 1, last)};
      return {link(0, last)};
    case hub_with_strangers:
      if (draw.one_in(20)) return {link(1, last)};
      if (draw.one_in(20)) return {link(1, last), 0};
      return {0, 1 + message};
    case hub:
      return {0, 1 + message};
    default: {
      const bool long_one = shape == long_routes && draw.one_in(4);
      std::vector<std::uint32_t> route(links);
      std::iota(route.begin(), route.end(), 0u);
      std::shuffle(route.begin(), route.end(), draw.engine());
      route.resize(static_cast<std::size_t>(draw(1, long_one ? last + 1 : std::min(last + 1, 5))));
      return route;
    }
  }
}

Instance draw_instance(std::uint32_t seed) {
  Draw draw(seed);
  Instance instance;
  const auto shape = static_cast<Shape>(draw(0, shapes - 1));
  const int messages = draw(1, 60);
  const bool is_hub = shape == hub || shape == hub_with_strangers;
  const int links = is_hub ? messages + 1 + draw(0, 3) : draw(1, shape == long_routes ? 20 : 12);
  for (int l = 0; l < links; ++l) instance.capacity.push_back(draw(0, 1) ? 1e8 : 1e8 * draw(1, 10) / draw(1, 4));
  if (is_hub) instance.capacity[0] *= draw(1, 20);
  const bool weighted = shape == weighted_tangle || (is_hub && draw.one_in(4)), thirds = draw.one_in(2), ties = draw.one_in(2);
  const int spread = draw(0, 3);
  for (int i = 0; i < messages; ++i) {
    Message m;
    m.route = draw_route(draw, shape, static_cast<std::uint32_t>(links), static_cast<std::uint32_t>(i));
    m.bytes = draw.one_in(31) ? 0 : ties ? 1e5 * draw(1, 3) : draw(1, 1'000'000);
    if (weighted) m.weight = thirds ? draw(1, 9) / 3.0 : 0.25 * draw(1, 8);
    m.latency = draw(0, 2) * 50'000'000ll;
    m.start = ties ? draw(0, 5) * 1'000'000'000ll * spread : draw(0, 1'000'000) * 10'000ll * spread;
    if (draw.one_in(10)) m.cancel = m.start + draw(0, 100'000) * 100'000ll;
    instance.messages.push_back(m);
  }
  if (draw.one_in(3)) {
    for (int k = draw(1, 6); k > 0; --k) {
      const double to = draw.one_in(4) ? 0 : 1e8 * draw(1, 8) / 2;
      instance.changes.push_back({draw(0, 2000) * 10'000'000ll, static_cast<std::uint32_t>(draw(0, links - 1)), to});
    }
    // A link that was stopped is opened again at last, or its messages would wait forever.
    for (int l = 0; l < links; ++l) instance.changes.push_back({30'000'000'000ll + l, static_cast<std::uint32_t>(l), 1e8});
  }
  return instance;
}

/// Makes about half of the messages uneven, and gives some links buckets.
void make_uneven(Instance& instance, std::uint32_t seed, bool volumes, bool buckets) {
  Draw draw(seed + 1'000'000);
  const bool ties = draw.one_in(2);
  for (Message& m : instance.messages) {
    if (volumes && draw.one_in(2)) {
      for (std::size_t k = 0; k < m.route.size(); ++k) m.volumes.push_back(ties ? 0.5 * draw(1, 4) : draw(1, 200) / 70.0);
    }
    if (volumes && draw.one_in(3)) m.most = ties ? 1e7 * draw(1, 10) : 1e5 * draw(1, 1000);
  }
  for (std::size_t l = 0; buckets && l < instance.capacity.size(); ++l) {
    if (draw.one_in(3)) instance.buckets[l] = {ties ? 1e5 * draw(1, 10) : 1e3 * draw(1, 2000), ties ? 2.0 : 1 + draw(1, 500) / 100.0};
  }
}

// Time in ticks as long double. The textbook's own rule for ties within its rounding error: 2 ticks.
class Textbook {
 public:
  explicit Textbook(Instance& instance) : instance_(instance), capacity_(instance.capacity) {
    for (auto& [link, bucket] : instance.buckets) bucket.tokens = bucket.burst;
  }
  void run() {
    for (;;) {
      share();
      const long double next = moment();
      if (next > 1e299L) return;
      flow_until(std::max(next, now_));
      happen();
    }
  }

 private:
  bool due(std::int64_t ticks) const { return static_cast<long double>(ticks) <= now_ + 0.5L; }
  static void finish(Message& m, double end) {
    m.flowing = false;
    m.over = true;
    m.end = end;
  }

  void share() {
    std::vector<textbook::Demand*> flowing;
    for (Message& m : instance_.messages) {
      if (m.flowing) flowing.push_back(&m);
    }
    std::vector<double> capacity = capacity_;
    for (auto& [link, bucket] : instance_.buckets) {
      if (bucket.open) capacity[link] *= bucket.ratio;
      bucket.load = 0;
    }
    textbook::fill(flowing, capacity);
    for (const textbook::Demand* d : flowing) {
      for (std::size_t k = 0; k < d->route.size(); ++k) {
        if (const auto it = instance_.buckets.find(d->route[k]); it != instance_.buckets.end()) it->second.load += d->rate * d->volume(k);
      }
    }
  }
  /// Bytes per second at which the bucket empties; at most 0 if it does not.
  long double drain(std::size_t link, const Bucket& bucket) const {
    const long double above = bucket.load - capacity_[link];
    return bucket.open && above > 1e-12L * capacity_[link] ? above : 0;
  }

  long double moment() const {
    long double next = 1e300L;
    for (const Message& m : instance_.messages) {
      if (m.over) continue;
      if (!m.flowing) next = std::min<long double>(next, m.start + m.latency);
      if (m.flowing && m.rate > 0) next = std::min(next, now_ + m.left / m.rate * 1e12L);
      if (m.cancel >= 0) next = std::min<long double>(next, std::max<std::int64_t>(m.cancel, m.start));
    }
    for (const Change& c : instance_.changes) {
      if (!c.done) next = std::min<long double>(next, c.when);
    }
    for (const auto& [link, bucket] : instance_.buckets) {
      if (drain(link, bucket) > 0) next = std::min(next, now_ + bucket.tokens / drain(link, bucket) * 1e12L);
    }
    return next;
  }

  void flow_until(long double next) {
    const long double seconds = (next - now_) * 1e-12L;
    for (Message& m : instance_.messages) {
      if (m.flowing) m.left -= m.rate * seconds;
    }
    for (auto& [link, bucket] : instance_.buckets) {
      bucket.tokens = std::min<long double>(bucket.burst, bucket.tokens + (capacity_[link] - bucket.load) * seconds);
    }
    now_ = next;
  }

  void happen() {
    for (auto& [link, bucket] : instance_.buckets) {
      if (drain(link, bucket) > 0 && bucket.tokens <= drain(link, bucket) * 1e-12L) bucket.open = false;
    }
    for (Message& m : instance_.messages) {
      if (m.flowing && m.left <= m.rate * 1e-12L) finish(m, static_cast<double>(now_));
    }
    for (Message& m : instance_.messages) {
      if (m.over || m.flowing || !due(m.start + m.latency)) continue;
      if (m.bytes == 0) {
        finish(m, static_cast<double>(now_));
      } else {
        m.flowing = true;
        m.left = m.bytes;
      }
    }
    for (Message& m : instance_.messages) {
      if (!m.over && m.cancel >= 0 && due(std::max(m.cancel, m.start))) finish(m, -2);
    }
    for (Change& c : instance_.changes) {
      if (c.done || !due(c.when)) continue;
      c.done = true;
      capacity_[c.link] = c.capacity;
    }
    for (auto& [link, bucket] : instance_.buckets) bucket.open |= bucket.tokens >= bucket.burst / 1024;
  }

  Instance& instance_;
  std::vector<double> capacity_;
  long double now_ = 0;
};

struct Call final : Event {
  explicit Call(std::function<void()> what) : what_(std::move(what)) {}
  void happen() override { what_(); }
  std::function<void()> what_;
};

struct Outcome {
  std::vector<double> end;  // ticks; -2 if cancelled
  std::vector<LinkUse> use;
};

Outcome run_engine(const Instance& instance) {
  EventQueue queue;
  Network network(queue);
  for (double c : instance.capacity) network.add_link(c);
  for (const auto& [link, bucket] : instance.buckets)
    network.set_bucket(static_cast<LinkId>(link), bucket.burst, instance.capacity[link] * bucket.ratio);
  const std::size_t n = instance.messages.size();
  std::vector<Note> notes(n, Note(queue));
  std::vector<FlowId> ids(n, 0);
  std::vector<char> cancelled(n, 0);
  std::vector<std::unique_ptr<Call>> calls;
  const auto call = [&](std::int64_t when, std::function<void()> what) {
    calls.push_back(std::make_unique<Call>(std::move(what)));
    queue.at(Time::from_ticks(when), *calls.back());
  };
  for (std::size_t i = 0; i < n; ++i) {
    const Message& m = instance.messages[i];
    call(m.start, [&, i] {
      ids[i] = network.start({m.route, m.volumes, m.bytes, Time::from_ticks(m.latency), m.weight, m.most}, notes[i]);
    });
    if (m.cancel < 0) continue;
    call(std::max(m.cancel, m.start), [&, i] {
      cancelled[i] = notes[i].times == 0;
      network.cancel(ids[i]);
    });
  }
  for (const Change& c : instance.changes) call(c.when, [&] { network.set_capacity(c.link, c.capacity); });
  run(queue, network);
  CHECK(network.flows() == 0);
  CHECK(network.worst_overload() < 1e-9);
  Outcome outcome;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(notes[i].times == (cancelled[i] ? 0 : 1));
    outcome.end.push_back(cancelled[i] ? -2 : static_cast<double>(notes[i].when.ticks()));
  }
  for (LinkId l = 0; l < instance.capacity.size(); ++l) outcome.use.push_back(network.use(l));
  return outcome;
}

// What a link carried is the bytes of the messages that arrived over it and what the textbook says of the cancelled ones.
void check_accounts(const Instance& instance, const Outcome& outcome) {
  for (std::size_t l = 0; l < instance.capacity.size(); ++l) {
    long double bytes = 0;
    for (const Message& m : instance.messages) {
      const auto at = std::find(m.route.begin(), m.route.end(), l);
      if (at == m.route.end()) continue;
      const double volume = m.volume(static_cast<std::size_t>(at - m.route.begin()));
      if (m.end == -2) {
        bytes += m.left > 0 || m.rate > 0 ? (m.bytes - m.left) * volume : 0;
      } else {
        bytes += m.bytes * volume;
      }
    }
    const double difference = std::abs(static_cast<double>(bytes) - outcome.use[l].bytes);
    CHECK_MESSAGE(difference < 1e-2, "link ", l, ": ", outcome.use[l].bytes, " bytes, textbook ", static_cast<double>(bytes));
  }
}

}  // namespace

double compare_open_loop(std::uint32_t first, std::uint32_t number, bool volumes, bool buckets) {
  double worst = 0;
  for (std::uint32_t seed = first; seed < first + number; ++seed) {
    Instance instance = draw_instance(seed);
    make_uneven(instance, seed, volumes, buckets);
    const Outcome outcome = run_engine(instance);
    Textbook(instance).run();
    bool close_race = false;  // cancelled and done within a nanosecond: either may win
    for (std::size_t i = 0; i < outcome.end.size(); ++i) {
      const Message& m = instance.messages[i];
      const double a = outcome.end[i], b = m.end;
      if ((a == -2) != (b == -2)) {
        CHECK_MESSAGE(std::abs(std::max(a, b) - static_cast<double>(m.cancel)) < 1e3, "seed ", seed, ", message ", i, ": ", a, " and ", b);
        close_race = true;
      } else {
        CHECK_MESSAGE(std::abs(a - b) < 1e3, "seed ", seed, ", message ", i, ": ", a, " ticks, textbook ", b);
        worst = std::max(worst, std::abs(a - b) * 1e-12);
      }
    }
    if (!close_race) check_accounts(instance, outcome);
  }
  return worst;
}

TEST_CASE("random networks finish their messages at the times of progressive filling") {
  const char* given = std::getenv("STRAGGLER_INSTANCES");
  bool volumes = false, buckets = false;
  SUBCASE("plain flows") {}
  SUBCASE("uneven flows") { volumes = true; }
  SUBCASE("token buckets") { buckets = true; }
  SUBCASE("both") { volumes = buckets = true; }
  const int number = given ? std::atoi(given) : buckets ? 600 : volumes ? 1000 : 2000;
  const double worst = compare_open_loop(1, static_cast<std::uint32_t>(number), volumes, buckets);
  MESSAGE("volumes ", volumes, ", buckets ", buckets, ": largest difference of a completion time: ", worst, " s");
  CHECK(worst < 1e-9);
}

}  // namespace open_loop_test
