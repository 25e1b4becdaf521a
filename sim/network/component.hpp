// The general tier: progressive filling of a part of the network, verified by the max-min criterion.
#pragma once
#include <cstdint>
#include <limits>
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
  static constexpr double infinite_ = std::numeric_limits<double>::infinity();
  static constexpr double tolerance = 1e-10;  // relative, of a level or a capacity, in the examination

  /// A flow on a link of the component. Its state is copied, since it is looked at several times.
  struct Known {
    FlowIndex flow;
    std::uint32_t member;  // its place in members_; none: it is outside the component
    LinkId bound;          // before; none once it has a supply
    std::uint32_t supply;  // that binds it by the last filling; none: it had no part in that
    double level, rate;    // by the last filling, or before
  };
  struct Crossing {
    std::uint32_t known;  // place in known_
    FlowIndex flow;
    double volume;
  };
  struct Part {
    LinkId link;
    std::uint32_t first, end;  // of its flows in crossings_, in the order of its roster
    double capacity;
    double left = -1;  // that flows outside the component leave; negative: not known
    double share = 0;  // link.share() after all, for flag()
  };
  /// What a link carries by the last filling.
  struct Load {
    double carried = 0, highest = 0;        // rates; level
    double filled = -1, fixed = infinite_;  // levels of flows bound here: filled ones, and others
  };

  void collect();
  void include_link(LinkId l) {
    if (number_of_link_[l] == none) include_new_link(l);
  }
  void include_new_link(LinkId l);
  std::uint32_t know(FlowIndex index);
  bool include_flow(std::uint32_t known);
  void pose(const Flow& flow);
  void fill();
  bool examine_all();
  bool correct(const Part& part, const Load& load);
  void apply();
  void flag();
  void flag_one(const Part& part);
  template <class Condition>
  bool any_of(const Part& part, Condition condition) const;
  /// none: its own most.
  LinkId bottleneck_of(std::size_t number) const {
    const std::uint32_t supply = solver_.bottleneck()[number];
    return supply == MaxMinSolver::own_most ? none : links_[supply].link;
  }

  Sharing& sharing_;
  std::vector<RosterEntry> newcomers_;
  std::vector<Known> known_;
  std::vector<std::uint32_t> members_;  // in known_
  std::vector<Part> links_;
  std::vector<Crossing> crossings_;
  std::vector<std::uint32_t> number_of_link_;  // in links_; none for those outside
  std::vector<std::uint32_t> place_of_flow_;   // in known_; valid if Flow::known
  std::vector<double> bytes_;                  // remaining bytes of each member; negative: it keeps its tag
  MaxMinProblem problem_;                      // its demands: members_
  MaxMinSolver solver_;
};

}  // namespace straggler::fluid
