#include "sim/cluster/switched.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

/// So that the few cables of a tree's or a dragonfly's route sum up without overflow.
constexpr Time most_latency = Time::from_ticks(Time::limit().ticks() / 8);

}  // namespace

std::vector<Parameter> with_core(std::vector<Parameter> parameters) {
  parameters.push_back({"bandwidth",
                        ValueType::rate,
                        {},
                        false,
                        "bandwidth of each cable between switches, each way; default: the network's link",
                        Range::above(0),
                        {}});
  parameters.push_back({"latency",
                        ValueType::time,
                        {},
                        false,
                        "latency of each cable between switches; default: the network's link",
                        Range::between(0, most_latency.seconds()),
                        {}});
  return parameters;
}

Core core_of(const Parameters& parameters, const TopologyRequest& request) {
  Core core{request.bytes_per_second, request.latency};
  if (parameters.has("bandwidth")) core.bytes_per_second = parameters.number("bandwidth");
  if (parameters.has("latency")) core.latency = Time::from_seconds(parameters.number("latency"));
  if (!(core.bytes_per_second > 0 && std::isfinite(core.bytes_per_second)))
    throw std::invalid_argument("the bandwidth between switches is " + std::to_string(core.bytes_per_second) + " B/s; it must be above 0");
  if (core.latency < Time() || core.latency > most_latency)
    throw std::invalid_argument("the latency between switches is " + std::to_string(core.latency.seconds()) +
                                " s; it must be at least 0, at most 12.5 days");
  return core;
}

std::vector<Parameter> with_uplinks(std::vector<Parameter> parameters, const std::string& owner, const std::string& below) {
  parameters.push_back({"oversubscription",
                        ValueType::number,
                        "1",
                        false,
                        "sum of the bandwidths of a " + below + ", divided by that of its cable to the core",
                        Range::between(1, 1e9),
                        {}});
  parameters.push_back({"bandwidth",
                        ValueType::rate,
                        {},
                        false,
                        "bandwidth of each " + owner + "'s cable to the core, each way; default: by oversubscription",
                        Range::above(0),
                        {}});
  parameters.push_back({"latency",
                        ValueType::time,
                        {},
                        false,
                        "latency of each " + owner + "'s cable to the core; default: the network's link",
                        Range::between(0, most_latency.seconds()),
                        {}});
  return parameters;
}

Uplinks uplinks_of(const Parameters& parameters, const TopologyRequest& request) {
  Uplinks uplinks{parameters.number("oversubscription"), std::nullopt, core_of(parameters, request).latency};
  if (!parameters.has("bandwidth")) return uplinks;
  if (uplinks.oversubscription != 1)
    throw std::invalid_argument("has both oversubscription and bandwidth; keep one, as either decides the bandwidth to the core");
  uplinks.bytes_per_second = parameters.number("bandwidth");
  return uplinks;
}

void require_room(const std::string& what, std::size_t limit, std::size_t endpoints, const std::string& remedy) {
  if (endpoints > limit)
    throw std::invalid_argument(what + " has room for " + std::to_string(limit) + " end points, but there are " +
                                std::to_string(endpoints) + "; " + remedy);
}

void SwitchedTopology::set_core(std::size_t switches, std::size_t cables, Way longest) {
  const std::size_t most = std::numeric_limits<LinkId>::max() / 2;
  if (nics_.size() > most || cables > most - nics_.size())
    throw std::invalid_argument(std::to_string(nics_.size()) + " end points with " + std::to_string(cables) +
                                " cables between switches are too many; at most 2^31 cables can be numbered");
  // Floating point, as the sum itself may not fit.
  const double seconds = 2 * nics_.slowest().seconds() + longest.latency.seconds();
  if (!(seconds <= Time::limit().seconds()))
    throw std::invalid_argument("the latencies of a route sum up to " + std::to_string(seconds / 86'400) + " days; it must be at most 100");
  switches_ = switches;
  cables_ = cables;
  longest_ = longest;
}

LinkDescription SwitchedTopology::link(LinkId id) const {
  if (id >= links()) throw std::out_of_range("there is no link " + std::to_string(id) + "; there are " + std::to_string(links()));
  if (id < 2 * nics_.size()) return nics_.link(id, switch_name(home(id / 2)));
  Cable found = cable(id / 2 - nics_.size());
  if (id % 2 == 0) return {found.name + ":up", found.from, found.to, found.up_bytes_per_second, found.latency, found.rule};
  return {found.name + ":down", found.to, found.from, found.down_bytes_per_second, found.latency, found.rule};
}

double SwitchedTopology::bytes_per_second(LinkId id) const {
  return id < 2 * nics_.size() ? nics_.bytes_per_second(id) : link(id).bytes_per_second;
}

void SwitchedTopology::refuse_route(std::uint32_t from, std::uint32_t to) const {
  throw std::out_of_range("no route from end point " + std::to_string(from) + " to " + std::to_string(to) +
                          "; give two different ones below " + std::to_string(nics_.size()));
}

TopologyFacts SwitchedTopology::facts() const {
  TopologyFacts facts;
  facts.switches = switches_;
  facts.cables = nics_.size() + cables_;
  if (nics_.size() < 2) return facts;
  facts.diameter_hops = 2 + longest_.hops;
  facts.diameter_latency = slowest_route();
  const Bisection half = bisection();
  facts.bisection_bytes_per_second = half.bytes_per_second;
  facts.bisection_is_bound = half.is_bound;
  return facts;
}

/// Where cards differ, pairs in descending order of their cards' latencies, until no later one can be slower. Equal cards on one switch are
/// alike, so two of them stand for all.
Time SwitchedTopology::slowest_route() const {
  const Time most = nics_.slowest();
  const auto& runs = nics_.runs().runs();
  if (std::all_of(runs.begin(), runs.end(), [most](const auto& run) { return run.value.latency == most; }))
    return most + most + longest_.latency;
  struct End {
    Time latency;
    std::size_t home;
    bool operator==(const End&) const = default;
  };
  std::vector<End> ends;
  std::size_t alike = 0;
  for (std::size_t e = 0; e < nics_.size(); ++e) {
    const End end{nics_[e].latency, home(e)};
    alike = !ends.empty() && ends.back() == end ? alike + 1 : 1;
    if (alike <= 2) ends.push_back(end);
  }
  std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.latency > b.latency; });
  Time slowest = Time::from_ticks(-1);
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    for (std::size_t j = i + 1; j < ends.size(); ++j) {
      if (ends[i].latency + ends[j].latency + longest_.latency <= slowest) break;
      slowest = std::max(slowest, ends[i].latency + ends[j].latency + between(ends[i].home, ends[j].home).latency);
    }
  }
  return slowest;
}

SwitchedTopology::Bisection SwitchedTopology::bounded_below(double upper, double core_bytes_per_second, double pairs) const {
  const double n = static_cast<double>(nics_.size()), small = std::floor(n / 2), large = n - small;
  const Nics::Rates least = nics_.least();
  const double lower = std::min(small * std::min(least.up, least.down), small * large * core_bytes_per_second / pairs);
  return {upper, upper > lower * (1 + 1e-9)};
}

}  // namespace straggler
