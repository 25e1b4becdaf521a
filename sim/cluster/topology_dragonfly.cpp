// Topology `dragonfly`: groups of routers, p hosts on each router; within a group every router has a cable to every other, and every pair
// of groups has one global cable. Routes are minimal in the sense of Kim, Dally, Scott, Abts, Technology-Driven, Highly-Scalable Dragonfly
// Topology, ISCA 2008: at most one global cable, to the router that has it and on from the one where it ends by at most one local cable
// each. (Where a router has several global cables, two of them in a row may make fewer hops; such routes are not taken, as they would load
// a third group.) Seen from group G, the others, counted on from G round all groups, go to its routers in turn.
#include <algorithm>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/pairs.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler::cluster::topology_dragonfly {
namespace {

constexpr std::int64_t most = 65'536;

/// Router r of group G is switch G a + r. Cables: group by group the local ones, then the global ones, both by pair_number.
class Dragonfly final : public SwitchedTopology {
 public:
  Dragonfly(const Parameters& parameters, const TopologyRequest& request)
      : SwitchedTopology(request),
        groups_(static_cast<std::size_t>(parameters.count("groups"))),
        routers_(static_cast<std::size_t>(parameters.count("routers"))),
        hosts_(static_cast<std::size_t>(parameters.count("hosts"))),
        local_(core_of(parameters, request)),
        global_(local_) {
    if (parameters.has("global_bandwidth")) global_.bytes_per_second = parameters.number("global_bandwidth");
    if (parameters.has("global_latency")) global_.latency = Time::from_seconds(parameters.number("global_latency"));
    require_room("a dragonfly of " + std::to_string(groups_) + " groups of " + std::to_string(routers_) + " routers with " +
                     std::to_string(hosts_) + " hosts each",
                 groups_ * routers_ * hosts_, nics_.size(), "give more groups, routers or hosts");
    set_core(groups_ * routers_, locals() + pairs_below(groups_), longest());
  }

  bool has_racks() const override { return true; }
  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    out.links.clear();
    out.links.push_back(2 * from);
    out.latency = nics_[from].latency + nics_[to].latency;
    const std::size_t a = from / hosts_, b = to / hosts_, group_a = a / routers_, group_b = b / routers_;
    if (group_a == group_b) {
      add_local(a, b, out);
    } else {
      add_local(a, gateway(group_a, group_b), out);
      out.links.push_back(core_link(locals() + pair_number(group_a, group_b)) + (group_a < group_b ? 0 : 1));
      out.latency += global_.latency;
      add_local(gateway(group_b, group_a), b, out);
    }
    out.links.push_back(2 * to + 1);
  }

 private:
  std::size_t locals() const { return groups_ * pairs_below(routers_); }
  /// The router of `group` with the cable to `other`.
  std::size_t gateway(std::size_t group, std::size_t other) const {
    return group * routers_ + (other + groups_ - group - 1) % groups_ % routers_;
  }
  /// Between two routers of one group, nothing if they are the same.
  void add_local(std::size_t from, std::size_t to, Route& out) const {
    if (from == to) return;
    const std::size_t group = from / routers_;
    const std::size_t cable = group * pairs_below(routers_) + pair_number(from % routers_, to % routers_);
    out.links.push_back(core_link(cable) + (from < to ? 0 : 1));
    out.latency += local_.latency;
  }

  std::size_t home(std::size_t endpoint) const override { return endpoint / hosts_; }
  std::string switch_name(std::size_t router) const override {
    return "group/" + std::to_string(router / routers_) + "/router/" + std::to_string(router % routers_);
  }
  Cable cable(std::size_t index) const override {
    if (index < locals()) {
      const std::size_t group = index / pairs_below(routers_);
      const auto [i, j] = pair_of(index % pairs_below(routers_));
      return {"group/" + std::to_string(group) + "/local/" + std::to_string(i) + "-" + std::to_string(j),
              switch_name(group * routers_ + i),
              switch_name(group * routers_ + j),
              local_.bytes_per_second,
              local_.bytes_per_second,
              local_.latency,
              {.cost = 1, .order = {}}};
    }
    const auto [i, j] = pair_of(index - locals());
    return {"global/" + std::to_string(i) + "-" + std::to_string(j),
            switch_name(gateway(i, j)),
            switch_name(gateway(j, i)),
            global_.bytes_per_second,
            global_.bytes_per_second,
            global_.latency,
            {.cost = 3, .order = {}}};  // two of them cost more than one and two local cables
  }
  Way between(std::size_t a, std::size_t b) const override {
    const std::size_t group_a = a / routers_, group_b = b / routers_;
    if (group_a == group_b) return a == b ? Way{} : Way{1, local_.latency};
    Way way{1, global_.latency};
    for (const bool local : {a != gateway(group_a, group_b), b != gateway(group_b, group_a)}) {
      if (!local) continue;
      ++way.hops;
      way.latency += local_.latency;
    }
    return way;
  }

  /// Between routers with hosts; the first few pairs already have the longest there is, unless hosts are few.
  Way longest() const {
    const std::size_t used = home(nics_.size() - 1) + 1;
    Way bound;
    const std::size_t most_local = routers_ > 1 ? 2 : 0;
    if (used > routers_) {
      bound = {1 + most_local, global_.latency};
      for (std::size_t i = 0; i < most_local; ++i) bound.latency += local_.latency;
    } else if (used > 1) {
      bound = {1, local_.latency};
    }
    Way longest;
    for (std::size_t a = 0; a < used; ++a) {
      for (std::size_t b = a + 1; b < used; ++b) {
        if (longest.hops == bound.hops && longest.latency >= bound.latency) return longest;
        const Way way = between(a, b);
        longest = {std::max(longest.hops, way.hops), std::max(longest.latency, way.latency)};
      }
    }
    return longest;
  }

  Bisection bisection() const override {
    const std::size_t n = nics_.size();
    const double upper = std::min({nics_.halves(), first_hosts_cut(n / 2), first_hosts_cut(n - n / 2)});
    // Pairs over one direction of a global cable, all hosts of one group with all of another; and over a local cable, those of its two
    // routers with each other and with the groups whose global cables the routers have, router 0 having most of them, 1 next.
    const double a = static_cast<double>(routers_), p = static_cast<double>(hosts_);
    const auto globals = [&](std::size_t router) {
      const std::size_t cables = (groups_ - 1 + routers_ - 1 - router) / routers_;
      return static_cast<double>(cables);
    };
    const double over_global = groups_ > 1 ? a * p * a * p : 0;
    const double over_local = routers_ > 1 ? p * p * (1 + a * (globals(0) + globals(1))) : 0;
    const double slowest = std::min(local_.bytes_per_second, global_.bytes_per_second);
    const double pairs = std::max(over_global * slowest / global_.bytes_per_second, over_local * slowest / local_.bytes_per_second);
    return pairs > 0 ? bounded_below(upper, slowest, pairs) : Bisection{nics_.halves(), false};
  }

  /// A cut between the first hosts and the others, with the router that it goes through on either side.
  double first_hosts_cut(std::size_t hosts) const {
    const std::size_t router = hosts / hosts_, used = home(nics_.size() - 1) + 1;
    const Nics::Rates here = nics_.sum(router * hosts_, hosts);
    const double without = routers_cut(router) + std::min(here.up, here.down);
    if (router >= used) return without;
    const Nics::Rates there = nics_.sum(hosts, std::min(nics_.size(), (router + 1) * hosts_));
    return std::min(without, routers_cut(router + 1) + std::min(there.up, there.down));
  }
  /// Between the first routers and the others.
  double routers_cut(std::size_t routers) const {
    const std::size_t group = routers / routers_, some = routers % routers_;
    std::size_t globals = group * (groups_ - group);
    if (some > 0) {  // of that group, the cables to the groups after it from the first routers; to those before from the others
      for (std::size_t other = 0; other < groups_; ++other) {
        if (other == group) continue;
        const bool among_first = gateway(group, other) < routers;
        if (other > group && among_first) ++globals;
        if (other < group && among_first) --globals;
      }
    }
    return static_cast<double>(some * (routers_ - some)) * local_.bytes_per_second +
           static_cast<double>(globals) * global_.bytes_per_second;
  }

  std::size_t groups_, routers_, hosts_;
  Core local_, global_;
};

const Register<TopologyEntry> entry(
    {"dragonfly", "groups of fully connected routers, and one cable for every pair of groups; minimal routes",
     with_core({{"groups", ValueType::count, {}, true, "number of groups", Range::between(1, most), {}},
                {"routers", ValueType::count, {}, true, "routers of a group", Range::between(1, most), {}},
                {"hosts", ValueType::count, {}, true, "hosts of a router; routers are filled in order", Range::between(1, most), {}},
                {"global_bandwidth",
                 ValueType::rate,
                 {},
                 false,
                 "bandwidth of each cable between groups, each way; default: bandwidth",
                 Range::above(0),
                 {}},
                {"global_latency",
                 ValueType::time,
                 {},
                 false,
                 "latency of each cable between groups; default: latency",
                 Range::between(0, 1'080'000),
                 {}}}),
     [](const Parameters& parameters, TopologyRequest request) -> std::unique_ptr<Topology> {
       return std::make_unique<Dragonfly>(parameters, request);
     }});

}  // namespace
}  // namespace straggler::cluster::topology_dragonfly
