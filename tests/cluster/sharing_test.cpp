// Sharing models: what they make of a message, and `lv08` against times that SimGrid gave (lv08_simgrid.csv says how).
#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/transport.hpp"
#include "sim/engine/simulation.hpp"
#include "sim/network/network.hpp"

using namespace straggler;

namespace {

std::unique_ptr<SharingModel> model(const char* name) { return Registry<SharingEntry>::instance().at(name).make({}); }

struct Shaped {
  Shaped(const char* name, const Path& path, double bytes) { model(name)->shape(path, bytes, links, volumes, carriage); }
  std::vector<LinkId> links;
  std::vector<double> volumes;
  Carriage carriage;
};

template <class T>
std::vector<T> list(std::span<const T> span) {
  return {span.begin(), span.end()};
}

constexpr double unlimited = std::numeric_limits<double>::infinity();
const std::vector<LinkId> links{4, 7}, other_direction{5, 6};
const std::vector<double> rates{1e8, 5e8};

/// A platform as lv08_simgrid.csv has it: links of which each direction is its own, or not.
struct Platform {
  struct Wire {
    LinkId along, against;
    double bytes_per_second, latency;
  };
  Platform() { simulation.attach(network); }
  void add_link(double bytes_per_second, double latency, bool split) {
    const LinkId along = network.add_link(bytes_per_second);
    wires.push_back({along, split ? network.add_link(bytes_per_second) : along, bytes_per_second, latency});
  }
  Simulation simulation;
  Network network{simulation.queue()};
  std::vector<Wire> wires;
  std::unique_ptr<SharingModel> sharing = model("lv08");
};

class Flow final : public Event, public Arrival {
 public:
  Flow(Platform& platform, double start, double bytes, const std::string& route)
      : platform_(platform), start_(Time::from_seconds(start)), bytes_(bytes) {
    std::istringstream words(route);
    for (std::string hop; words >> hop;) {
      const Platform::Wire& wire = platform.wires.at(std::stoul(hop));
      const bool along = hop.back() == '+';
      links_.push_back(along ? wire.along : wire.against);
      reverse_.push_back(along ? wire.against : wire.along);
      rates_.push_back(wire.bytes_per_second);
      latency_ += wire.latency;
    }
    platform.simulation.queue().at(start_, *this);
  }
  double seconds() const { return (end_ - start_).seconds(); }
  double start() const { return start_.seconds(); }

 private:
  void happen() override {
    Carriage carriage;
    std::vector<LinkId> on;
    std::vector<double> volumes;
    platform_.sharing->shape({links_, reverse_, rates_, latency_}, bytes_, on, volumes, carriage);
    platform_.network.start(carriage.with_latency(), *this);
  }
  void arrived() override { end_ = platform_.simulation.now(); }

  Platform& platform_;
  Time start_, end_;
  double bytes_, latency_ = 0;
  std::vector<LinkId> links_, reverse_;
  std::vector<double> rates_;
};

struct Case {
  Platform platform;
  std::deque<Flow> flows;
  std::vector<double> completions;  // SimGrid's
};

std::deque<Case> read_cases() {
  const std::string path = STRAGGLER_SOURCE_DIR "/tests/cluster/lv08_simgrid.csv";
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::deque<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#' || line.rfind("case,", 0) == 0) continue;
    std::istringstream fields(line);
    std::string number, kind, first, second, third, completion;
    for (std::string* field : {&number, &kind, &first, &second, &third, &completion}) std::getline(fields, *field, ',');
    if (std::stoul(number) == cases.size()) cases.emplace_back();
    REQUIRE(std::stoul(number) == cases.size() - 1);
    Case& last = cases.back();
    if (kind == "link") {
      last.platform.add_link(std::stod(first), std::stod(second), third == "split");
    } else {
      last.flows.emplace_back(last.platform, std::stod(first), std::stod(second), third);
      last.completions.push_back(std::stod(completion));
    }
  }
  return cases;
}

}  // namespace

TEST_CASE("max_min and none: bytes first on exactly the route's links, latency after") {
  for (const char* name : {"max_min", "none"}) {
    CAPTURE(name);
    CHECK(model(name)->plain());
    const Shaped shaped(name, {links, other_direction, rates, 0.003}, 12345);
    CHECK(shaped.carriage.before == Time());
    CHECK(shaped.carriage.after == Time::from_seconds(0.003));
    CHECK(shaped.carriage.bytes == 12345);
    CHECK(list(shaped.carriage.links) == links);
    CHECK(shaped.carriage.plain());
  }
}

TEST_CASE("lv08: latency first, then a flow by the formulas of the model") {
  const Shaped shaped("lv08", {links, other_direction, rates, 0.003}, 9700);
  CHECK(!model("lv08")->plain());
  CHECK(shaped.carriage.before == Time::from_seconds(13.01 * 0.003));
  CHECK(shaped.carriage.after == Time());
  CHECK(shaped.carriage.bytes == doctest::Approx(9700 / 0.97));
  CHECK(shaped.carriage.weight == doctest::Approx(1 / (0.003 + 20537 / 1e8 + 20537 / 5e8)));
  CHECK(shaped.carriage.most_bytes_per_second == doctest::Approx(4194304 / (2 * 0.003)));
  CHECK(list(shaped.carriage.links) == std::vector<LinkId>{4, 7, 5, 6});
  CHECK(list(shaped.carriage.volumes) == std::vector<double>{1, 1, 0.05, 0.05});
  CHECK(!shaped.carriage.plain());
}

TEST_CASE("lv08: where both directions are one link, acknowledgements take 0.05 of it more") {
  const Shaped shaped("lv08", {links, std::vector<LinkId>{4, 6}, rates, 0.003}, 9700);
  CHECK(list(shaped.carriage.links) == std::vector<LinkId>{4, 7, 6});
  CHECK(list(shaped.carriage.volumes) == std::vector<double>{1.05, 1, 0.05});
}

TEST_CASE("lv08: without latency no window and weight 1; without links nothing at all") {
  const Shaped no_latency("lv08", {links, other_direction, rates, 0}, 9700);
  CHECK(no_latency.carriage.weight == 1);
  CHECK(no_latency.carriage.most_bytes_per_second == unlimited);
  CHECK(no_latency.carriage.before == Time());
  const Shaped nowhere("lv08", {}, 9700);
  CHECK(nowhere.carriage.links.empty());
  CHECK(nowhere.carriage.plain());
}

TEST_CASE("lv08: the window holds a lone flow back") {
  // 100 MB over 1 GB/s and 10 ms: 0.97 * 4194304 / 0.02 bytes a second.
  Platform platform;
  platform.add_link(1e9, 0.01, true);
  Flow flow(platform, 0, 1e8, "0+");
  platform.simulation.run();
  CHECK(flow.seconds() == doctest::Approx(13.01 * 0.01 + 1e8 / (0.97 * 4194304 / 0.02)).epsilon(1e-9));
}

TEST_CASE("lv08: the two golden values of SimGrid's documentation") {
  const double bytes = 1e5, latency = 0.01, bandwidth = 1e6 / 8;
  for (const bool split : {false, true}) {
    Platform platform;
    platform.add_link(bandwidth, latency, split);
    Flow flow(platform, 0, bytes, "0+");
    platform.simulation.run();
    CHECK(flow.seconds() == doctest::Approx(13.01 * latency + bytes / (0.97 * bandwidth / (split ? 1 : 1.05))).epsilon(1e-9));
    CHECK(flow.seconds() == doctest::Approx(split ? 0.954842 : 0.996079).epsilon(1e-6));
  }
}

TEST_CASE("lv08: small random platforms take as long as under SimGrid 3.32") {
  std::deque<Case> cases = read_cases();
  CHECK(cases.size() == 22);
  double worst = 0;
  for (std::size_t number = 0; number < cases.size(); ++number) {
    CAPTURE(number);
    Case& each = cases[number];
    each.platform.simulation.run();
    CHECK(each.platform.network.worst_overload() < 1e-9);
    for (std::size_t i = 0; i < each.flows.size(); ++i) {
      const double theirs = each.completions[i] - each.flows[i].start(), ours = each.flows[i].seconds();
      const double difference = std::abs(theirs - ours) / theirs;
      CHECK(difference < 1e-6);
      worst = std::max(worst, difference);
    }
  }
  MESSAGE("largest relative difference of a flow's time: ", worst);
}
