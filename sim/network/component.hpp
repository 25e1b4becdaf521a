// The general tier: progressive filling of a part of the network, verified by the max-min criterion.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/network/flow.hpp"
#include "sim/network/max_min.hpp"

namespace straggler::fluid {

class Sharing;

/// The component starts with the flows that came at this instant and those bound to disturbed links. They are filled with all other rates
/// as constants. Then each link they touch is examined: bound flows need it to be saturated and no flow on it to have a higher level, and
/// it must not carry more than its capacity. Flows outside the component that violate this join it, and it is filled again. When all links
/// pass, the allocation is the max-min one, since that is unique.
///
/// A link with one flow only limits that flow by a constant: only the narrowest of those is examined, and only if a shared link could not
/// be tighter. Links with a token bucket are always among those touched, since every rate on them counts.
class Component {
 public:
  explicit Component(Sharing& sharing) : sharing_(sharing) {}
  /// A pending flow, on disturbed links; it may be gone again before solving.
  void add_newcomer(FlowIndex index);
  /// Applies all disturbances. Levels, bindings and the flags of links are right afterwards; groups are marked as changed.
  void solve();

 private:
  static constexpr double tolerance = 1e-10;  // relative, of a level or a capacity, in the examination

  void collect();
  void include_link(LinkId l);
  bool include_flow(FlowIndex index);
  void fill();
  void pose(const Flow& flow);
  bool examine(LinkId l);
  void apply();
  void flag();
  void flag_one(LinkId l);
  double level_of(FlowIndex index) const;
  /// none: its own most.
  LinkId bottleneck_of(std::size_t number) const {
    const std::uint32_t supply = solver_.bottleneck()[number];
    return supply == MaxMinSolver::own_most ? none : links_[supply];
  }

  Sharing& sharing_;
  std::vector<RosterEntry> newcomers_;
  std::vector<FlowIndex> flows_;
  std::vector<LinkId> links_;
  std::vector<std::uint32_t> number_of_link_;  // in links_; none for those outside
  std::vector<std::uint32_t> number_of_flow_;  // in flows_; valid if Flow::in_component
  std::vector<double> bytes_;                  // remaining bytes of each flow; negative: it keeps its tag
  bool volumes_ = false, mosts_ = false;       // some flow has volumes, or a most
  std::size_t filled_ = 0;                     // flows_ that the solver has given a level
  MaxMinProblem problem_;
  MaxMinSolver solver_;
};

}  // namespace straggler::fluid
