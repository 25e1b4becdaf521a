// Topology `wan`: clients that reach the servers over their own up- and down-links, which are mostly slow and unequal (the usual case of
// federated learning). It is a star; `up` and `down` set the cards of workers and their hosts, not those of servers. With `backbone` the
// clients and the servers have a switch each, and one cable between the two carries all of their traffic.
#include <algorithm>
#include <stdexcept>

#include "sim/base/registry.hpp"
#include "sim/cluster/switched.hpp"

namespace straggler::cluster::topology_wan {
namespace {

bool is_client(const std::string& name) { return name.starts_with("worker/") || name.starts_with("host/"); }

TopologyRequest with_access(const Parameters& parameters, TopologyRequest request) {
  for (std::size_t e = 0; e < request.nics.size(); ++e) {
    if (!is_client(request.name(e))) continue;
    if (parameters.has("up")) request.nics[e].up_bytes_per_second = parameters.number("up");
    if (parameters.has("down")) request.nics[e].down_bytes_per_second = parameters.number("down");
  }
  return request;
}

class Wan final : public SwitchedTopology {
 public:
  Wan(const Parameters& parameters, const TopologyRequest& request) : SwitchedTopology(request) {
    split_ = parameters.has("backbone");
    if (split_)
      add_backbone(parameters, request);
    else if (parameters.has("backbone_latency"))
      throw std::invalid_argument("backbone_latency: there is no backbone; write its bandwidth as backbone");
    else
      set_core(1, 0, {});
  }

  void route(std::uint32_t from, std::uint32_t to, Route& out) const override {
    check_route(from, to);
    const std::size_t a = home(from), b = home(to);
    out.links.resize(a == b ? 2 : 3);
    out.links.front() = 2 * from;
    out.links.back() = 2 * to + 1;
    out.latency = nics_[from].latency + nics_[to].latency;
    if (a == b) return;
    out.links[1] = core_link(0) + (a == 0 ? 0 : 1);
    out.latency += core_.latency;
  }

 private:
  void add_backbone(const Parameters& parameters, const TopologyRequest& request) {
    core_ = core_of({}, {{}, {}, parameters.number("backbone"), request.latency});
    if (parameters.has("backbone_latency")) core_.latency = Time::from_seconds(parameters.number("backbone_latency"));
    std::size_t clients = 0;
    for (std::size_t e = 0; e < nics_.size(); ++e) {
      serves_.push_back(nics_.name(e).starts_with("server/"));
      clients += serves_[e] ? 0 : 1;
    }
    if (clients == 0 || clients == nics_.size())
      throw std::invalid_argument("backbone: it lies between clients and servers, and there are no " +
                                  std::string(clients == 0 ? "clients" : "servers with hosts of their own") +
                                  "; leave backbone out or add some");
    set_core(2, 1, {1, core_.latency});
  }

  std::size_t home(std::size_t endpoint) const override { return split_ && serves_[endpoint] ? 1 : 0; }
  std::string switch_name(std::size_t home) const override { return !split_ ? "switch" : home == 0 ? "clients" : "servers"; }
  Cable cable(std::size_t) const override {
    return {"backbone", "clients", "servers", core_.bytes_per_second, core_.bytes_per_second, core_.latency};
  }
  Way between(std::size_t a, std::size_t b) const override { return a == b ? Way{} : Way{1, core_.latency}; }

  /// A bisection cuts either cards only, or the backbone and the cards of end points that are not in their side's half. The least of the
  /// latter has all of one side's end points in one half and the narrowest ones that are missing, or too many, in the other.
  Bisection bisection() const override {
    double least = nics_.halves();
    if (!split_) return {least, false};
    RateCounts ups[2], downs[2];
    std::size_t many[2] = {0, 0};
    for (std::size_t e = 0; e < nics_.size(); ++e) {
      const std::size_t side = home(e);
      ++ups[side][nics_[e].up_bytes_per_second];
      ++downs[side][nics_[e].down_bytes_per_second];
      ++many[side];
    }
    for (const std::size_t senders : {nics_.size() / 2, nics_.size() - nics_.size() / 2}) {
      for (const std::size_t side : {0, 1}) {
        const double cards =
            many[side] > senders ? smallest_sum(downs[side], many[side] - senders) : smallest_sum(ups[1 - side], senders - many[side]);
        least = std::min(least, core_.bytes_per_second + cards);
      }
    }
    return {least, false};
  }

  bool split_ = false;
  Runs<bool> serves_;  // only if split
  Core core_;
};

const Register<TopologyEntry> entry(
    {"wan",
     "every client has its own up- and down-link; clients and servers may share a backbone",
     {{"up", ValueType::rate, {}, false, "bandwidth out of a worker or host; default: its link", Range::above(0), {}},
      {"down", ValueType::rate, {}, false, "bandwidth into a worker or host; default: its link", Range::above(0), {}},
      {"backbone",
       ValueType::rate,
       {},
       false,
       "bandwidth between all clients and all servers, each way; default: no limit",
       Range::above(0),
       {}},
      {"backbone_latency",
       ValueType::time,
       {},
       false,
       "latency of the backbone; default: the network's link",
       Range::between(0, 1'080'000),
       {}}},
     [](const Parameters& parameters, TopologyRequest request) -> std::unique_ptr<Topology> {
       return std::make_unique<Wan>(parameters, with_access(parameters, std::move(request)));
     }});

}  // namespace
}  // namespace straggler::cluster::topology_wan
