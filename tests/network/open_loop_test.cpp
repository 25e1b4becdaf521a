// What comes when is drawn beforehand (arrivals, sizes with and without ties, weights, cancels, changes of capacity, zero
// bytes); the engine's completion times are compared with those of the textbook.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "random_instances.hpp"
#include "run.hpp"
#include "textbook.hpp"

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
struct Instance {
  std::vector<double> capacity;
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
    // A link that was stopped is opened again at last, or its messages would wait for ever.
    for (int l = 0; l < links; ++l) instance.changes.push_back({30'000'000'000ll + l, static_cast<std::uint32_t>(l), 1e8});
  }
  return instance;
}

// Time in ticks as long double. The textbook's own rule for ties within its rounding error: 2 ticks.
void run_textbook(Instance& instance) {
  std::vector<double> capacity = instance.capacity;
  auto& messages = instance.messages;
  long double now = 0;
  for (;;) {
    std::vector<textbook::Demand*> flowing;
    for (Message& m : messages) {
      if (m.flowing) flowing.push_back(&m);
    }
    textbook::fill(flowing, capacity);
    long double next = 1e300L;
    for (const Message& m : messages) {
      if (m.over) continue;
      if (!m.flowing) next = std::min<long double>(next, m.start + m.latency);
      if (m.flowing && m.rate > 0) next = std::min(next, now + m.left / m.rate * 1e12L);
      if (m.cancel >= 0) next = std::min<long double>(next, std::max<std::int64_t>(m.cancel, m.start));
    }
    for (const Change& c : instance.changes) {
      if (!c.done) next = std::min<long double>(next, c.when);
    }
    if (next > 1e299L) return;
    next = std::max(next, now);
    for (Message& m : messages) {
      if (m.flowing) m.left -= m.rate * (next - now) * 1e-12L;
    }
    now = next;
    const auto due = [&](std::int64_t ticks) { return static_cast<long double>(ticks) <= now + 0.5L; };
    const auto finish = [&](Message& m, double end) {
      m.flowing = false;
      m.over = true;
      m.end = end;
    };
    for (Message& m : messages) {
      if (m.flowing && m.left <= m.rate * 1e-12L) finish(m, static_cast<double>(now));
    }
    for (Message& m : messages) {
      if (m.over || m.flowing || !due(m.start + m.latency)) continue;
      if (m.bytes == 0) {
        finish(m, static_cast<double>(now));
      } else {
        m.flowing = true;
        m.left = m.bytes;
      }
    }
    for (Message& m : messages) {
      if (!m.over && m.cancel >= 0 && due(std::max(m.cancel, m.start))) finish(m, -2);
    }
    for (Change& c : instance.changes) {
      if (c.done || !due(c.when)) continue;
      c.done = true;
      capacity[c.link] = c.capacity;
    }
  }
}

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
    call(m.start, [&, i] { ids[i] = network.start(m.route, m.bytes, Time::from_ticks(m.latency), notes[i], m.weight); });
    if (m.cancel < 0) continue;
    call(std::max(m.cancel, m.start), [&, i] {
      cancelled[i] = notes[i].times == 0;
      network.cancel(ids[i]);
    });
  }
  for (const Change& c : instance.changes) call(c.when, [&] { network.set_capacity(c.link, c.capacity); });
  run(queue, network);
  CHECK(network.flows() == 0);
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
      if (std::find(m.route.begin(), m.route.end(), l) == m.route.end()) continue;
      if (m.end == -2) {
        bytes += m.left > 0 || m.rate > 0 ? m.bytes - m.left : 0;
      } else {
        bytes += m.bytes;
      }
    }
    const double difference = std::abs(static_cast<double>(bytes) - outcome.use[l].bytes);
    CHECK_MESSAGE(difference < 1e-2, "link ", l, ": ", outcome.use[l].bytes, " bytes, textbook ", static_cast<double>(bytes));
  }
}

}  // namespace

double compare_open_loop(std::uint32_t first, std::uint32_t number) {
  double worst = 0;
  for (std::uint32_t seed = first; seed < first + number; ++seed) {
    Instance instance = draw_instance(seed);
    const Outcome outcome = run_engine(instance);
    run_textbook(instance);
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

TEST_CASE("random networks finish their messages when the textbook says") {
  const char* number = std::getenv("STRAGGLER_INSTANCES");
  const double worst = compare_open_loop(1, number ? static_cast<std::uint32_t>(std::atoi(number)) : 2000);
  MESSAGE("largest difference of a completion time: ", worst, " s");
  CHECK(worst < 1e-9);
}
