// Base of topologies whose end points are attached to switches by their NICs: links 2 e and 2 e + 1 are end point e's, then come the cables
// between switches. A kind adds its switches, its cables and its routes, all in closed form.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/base/parameters.hpp"
#include "sim/cluster/nics.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {

/// Bandwidth and latency of the cables between switches.
struct Core {
  double bytes_per_second = 0;
  Time latency;
};
/// The parameters `bandwidth` and `latency`, which override the request's.
std::vector<Parameter> with_core(std::vector<Parameter> parameters);
/// Throws std::invalid_argument if the bandwidth is not above 0 or the latency negative.
Core core_of(const Parameters& parameters, const TopologyRequest& request);

/// Cables from switches to one core: each has `bandwidth`, or that of the cards below it divided by `oversubscription`.
struct Uplinks {
  double oversubscription = 1;
  std::optional<double> bytes_per_second;
  Time latency;
  /// Each way, of the cable above cards that have these rates together.
  Nics::Rates above(Nics::Rates cards) const {
    if (bytes_per_second) return {*bytes_per_second, *bytes_per_second};
    return {cards.up / oversubscription, cards.down / oversubscription};
  }
  /// The cable carries all that these cards send and receive.
  bool carry(Nics::Rates cards) const { return above(cards).up >= cards.up && above(cards).down >= cards.down; }
};
/// Adds `oversubscription`, `bandwidth` and `latency`. `owner`: whose cable it is, "rack"; `below`: whose cards, "rack's hosts".
std::vector<Parameter> with_uplinks(std::vector<Parameter> parameters, const std::string& owner, const std::string& below);
/// Throws std::invalid_argument on both a bandwidth and an oversubscription, and as core_of.
Uplinks uplinks_of(const Parameters& parameters, const TopologyRequest& request);

/// Throws std::invalid_argument if the request has more end points than the kind's `limit`.
void require_room(const std::string& what, std::size_t limit, std::size_t endpoints, const std::string& remedy);

class SwitchedTopology : public Topology {
 public:
  std::size_t endpoints() const final { return nics_.size(); }
  std::size_t links() const final { return 2 * (nics_.size() + cables_); }
  LinkDescription link(LinkId id) const final;
  double bytes_per_second(LinkId id) const final;
  std::string name(std::uint32_t endpoint) const final { return nics_.name(endpoint); }
  std::vector<LinkId> own_links(std::uint32_t endpoint) const final { return {2 * endpoint, 2 * endpoint + 1}; }
  std::size_t rack(std::uint32_t endpoint) const override { return home(endpoint); }
  TopologyFacts facts() const final;

 protected:
  /// From one switch to another.
  struct Way {
    std::size_t hops = 0;
    Time latency;
  };
  /// Links name:up, from -> to, and name:down, to -> from.
  struct Cable {
    std::string name, from, to;
    double up_bytes_per_second = 0, down_bytes_per_second = 0;
    Time latency;
    RouteRule rule = {};
  };
  struct Bisection {
    double bytes_per_second = 0;
    bool is_bound = false;
  };

  explicit SwitchedTopology(const TopologyRequest& request) : nics_(request.nics, request.name) {}
  /// To be called by the kind's constructor. `longest`: the most hops and the most latency between the switches of any two end points.
  /// Throws std::invalid_argument if links cannot be numbered or a route takes longer than Time::limit().
  void set_core(std::size_t switches, std::size_t cables, Way longest);

  /// The switch of the end point. Switches of ascending end points are consecutive.
  virtual std::size_t home(std::size_t endpoint) const = 0;
  virtual std::string switch_name(std::size_t home) const = 0;
  virtual Cable cable(std::size_t index) const = 0;
  virtual Way between(std::size_t from_home, std::size_t to_home) const = 0;
  /// At least two end points.
  virtual Bisection bisection() const = 0;

  void check_route(std::uint32_t from, std::uint32_t to) const {
    if (from == to || from >= nics_.size() || to >= nics_.size()) refuse_route(from, to);
  }
  /// The link name:up of a cable; its :down is the next.
  LinkId core_link(std::size_t cable) const { return static_cast<LinkId>(2 * (nics_.size() + cable)); }

  /// `upper` is the cut of some half. Suppose every end point sends equally to every other, some core cable of `core_bytes_per_second`
  /// carries the traffic of `pairs` ordered pairs, and none carries more. Then no half's cut is below the traffic between halves: where
  /// both agree it is the bisection (embedding of a complete graph: Leighton, Introduction to Parallel Algorithms and Architectures, 1992,
  /// 1.9).
  Bisection bounded_below(double upper, double core_bytes_per_second, double pairs) const;

  Nics nics_;

 private:
  [[noreturn]] void refuse_route(std::uint32_t from, std::uint32_t to) const;
  Time slowest_route() const;

  std::size_t switches_ = 0, cables_ = 0;
  Way longest_;
};

}  // namespace straggler
