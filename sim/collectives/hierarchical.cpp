// Hierarchical ring: a ring reduce-scatter inside every host, then g rings between the m hosts side by side, each over n/g, then a
// ring all-gather inside every host. With g ranks a host that share its link, α_i and β_i inside hosts, α and β between them:
//   T = 2(g-1) α_i + 2((g-1)/g) n β_i + 2(m-1) α + 2((m-1)/m) n β + ((g-1)/g + (m-1)/(g m)) n γ
// With a card for every w of them the fourth term has n w/g instead of n: cards carry their workers' rings side by side.
// Where each rank has a link of its own, the fourth term is of n/g. With one host, or one rank on each, it is the plain ring.
// Where n is no multiple of g the rings between hosts differ by a byte. More than two of them do not keep step then: whichever is ahead
// gets further ahead, and they hide some of each other's latency, so that less than T is taken.
// Its halves: an all-gather goes around the rings between hosts, then around those inside; a reduce-scatter the other way. Each has half of
// T, but for γ, of which the all-gather has none. Mikami et al., Massively Distributed SGD: ImageNet/ResNet-50 Training in a Flash, 2018
// (2D-torus all-reduce).
#include <map>

#include "sim/base/registry.hpp"
#include "sim/collectives/gathering.hpp"
#include "sim/collectives/ring_steps.hpp"

namespace straggler::collectives::hierarchical {
namespace {

/// Ranks by host, both in ascending order.
std::map<std::uint32_t, std::vector<CollectiveRank>> ranks_by_host(const CollectiveShape& shape) {
  std::map<std::uint32_t, std::vector<CollectiveRank>> hosts;
  for (std::size_t rank = 0; rank < shape.workers; ++rank) hosts[shape.host(rank)].push_back(static_cast<CollectiveRank>(rank));
  return hosts;
}

/// The member at place i of every host is in ring i between hosts, over the chunk that the reduce-scatter in its host leaves it.
class Hierarchical final : public CollectiveSchedule {
 public:
  Hierarchical(std::uint64_t bytes, const CollectiveShape& shape) : inside_(bytes, 1), places_(shape.workers) {
    for (const auto& [name, ranks] : ranks_by_host(shape)) {
      for (const CollectiveRank rank : ranks) {
        places_[rank] = {hosts_, members_.size() - hosts_ * ranks.size()};
        members_.push_back(rank);
      }
      ++hosts_;
    }
    inside_ = RingSteps(bytes, shape.workers / hosts_);
  }

  std::size_t ranks() const override { return places_.size(); }
  std::size_t rounds() const override { return 2 * (inside_.steps() + hosts_ - 1); }

  void part(CollectiveRank rank, std::size_t round, RoundPart& out) const override {
    out.clear();
    out.receives = 1;
    const auto [host, member] = places_[rank];
    const std::size_t previous = inside_.previous(member), between = 2 * (hosts_ - 1);
    if (round < inside_.steps()) {
      out.sends.push_back({at(host, inside_.next(member)), inside_.scattered(member, round)});
      out.reduced_bytes = out.received_bytes = inside_.scattered(previous, round);
    } else if (round -= inside_.steps(); round < between) {
      part_between(host, member, round, out);
    } else {
      round -= between;
      out.sends.push_back({at(host, inside_.next(member)), inside_.gathered(member, round)});
      out.received_bytes = inside_.gathered(previous, round);
    }
  }

  std::vector<Stretch> stretches() const override {
    std::vector<Stretch> all;
    std::size_t first = 0;
    for (const std::size_t rounds : {inside_.steps(), hosts_ - 1, hosts_ - 1, inside_.steps()}) {
      if (rounds > 0) all.push_back({first, rounds});
      first += rounds;
    }
    return all;
  }

  std::uint64_t bytes_sent(CollectiveRank rank) const override {
    const auto [host, member] = places_[rank];
    return sent_inside(member) + sent_between(host, member);
  }
  std::uint64_t bytes_received(CollectiveRank rank) const override {
    const auto [host, member] = places_[rank];
    return sent_inside(inside_.previous(member)) + sent_between(host == 0 ? hosts_ - 1 : host - 1, member);
  }

 private:
  struct Place {
    std::size_t host, member;
  };
  CollectiveRank at(std::size_t host, std::size_t member) const { return members_[host * inside_.members() + member]; }
  RingSteps between_hosts(std::size_t member) const { return RingSteps(inside_.owned(member), hosts_); }
  std::uint64_t sent_inside(std::size_t member) const { return inside_.all_scattered(member) + inside_.all_gathered(member); }
  std::uint64_t sent_between(std::size_t host, std::size_t member) const {
    const RingSteps ring = between_hosts(member);
    return ring.all_scattered(host) + ring.all_gathered(host);
  }

  void part_between(std::size_t host, std::size_t member, std::size_t round, RoundPart& out) const {
    const RingSteps ring = between_hosts(member);
    const CollectiveRank next = at(ring.next(host), member);
    const std::size_t previous = ring.previous(host);
    if (round < ring.steps()) {
      out.sends.push_back({next, ring.scattered(host, round)});
      out.reduced_bytes = out.received_bytes = ring.scattered(previous, round);
    } else {
      out.sends.push_back({next, ring.gathered(host, round - ring.steps())});
      out.received_bytes = ring.gathered(previous, round - ring.steps());
    }
  }

  std::size_t hosts_ = 0;
  RingSteps inside_;
  std::vector<Place> places_;            // [ranks]
  std::vector<CollectiveRank> members_;  // [hosts][members]
};

/// The member at place i of every host gathers the blocks of its like, then each host's members exchange what they have.
class HierarchicalGathering final : public Gathering {
 public:
  HierarchicalGathering(Blocks blocks, const CollectiveShape& shape, bool backwards)
      : Gathering(std::move(blocks)), backwards_(backwards), places_(ranks()) {
    for (const auto& [name, ranks] : ranks_by_host(shape)) {
      for (std::size_t member = 0; member < ranks.size(); ++member) places_[ranks[member]] = {hosts_.size(), member};
      hosts_.push_back(ranks);
    }
    of_members_.resize(hosts_.front().size());
    for (const std::vector<CollectiveRank>& host : hosts_)
      for (std::size_t member = 0; member < host.size(); ++member) of_members_[member] += this->blocks().size(host[member]);
  }
  std::size_t rounds() const override { return hosts_.size() - 1 + of_members_.size() - 1; }

  void add(CollectiveRank rank, std::size_t round, Moves& moves) const override {
    const auto [host, member] = places_[rank];
    const std::size_t m = hosts_.size(), g = of_members_.size();
    if (round < m - 1) {
      moves.to.push_back({hosts_[along(host, 1, m)][member], block(along(host, m - round, m), member)});
      moves.from.push_back({hosts_[along(host, m - 1, m)][member], block(along(host, m - 1 - round, m), member)});
    } else {
      round -= m - 1;
      moves.to.push_back({hosts_[host][along(member, 1, g)], of_members_[along(member, g - round, g)]});
      moves.from.push_back({hosts_[host][along(member, g - 1, g)], of_members_[along(member, g - 1 - round, g)]});
    }
  }

  std::vector<Stretch> stretches() const override {
    if (!blocks().alike()) return Gathering::stretches();
    std::vector<Stretch> all;
    if (hosts_.size() > 1) all.push_back({0, hosts_.size() - 1});
    if (of_members_.size() > 1) all.push_back({hosts_.size() - 1, of_members_.size() - 1});
    return all;
  }

 private:
  struct Place {
    std::size_t host, member;
  };
  /// The place `by` steps further along a ring of so many, at most once around.
  std::size_t along(std::size_t place, std::size_t by, std::size_t count) const {
    return (place + by * (backwards_ ? count - 1 : 1)) % count;
  }
  std::uint64_t block(std::size_t host, std::size_t member) const { return blocks().size(hosts_[host][member]); }

  bool backwards_;
  std::vector<Place> places_;                       // [ranks]
  std::vector<std::vector<CollectiveRank>> hosts_;  // [hosts][members]
  std::vector<std::uint64_t> of_members_;           // [members]: bytes of their blocks on all hosts
};

/// Without arithmetic.
double half_seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const double m = static_cast<double>(ranks_by_host(shape).size()), g = static_cast<double>(shape.workers) / m;
  const double of_card = shape.card_share(static_cast<std::size_t>(g));
  return (g - 1) * links.intra_alpha + (g - 1) / g * bytes * links.intra_beta + (m - 1) * links.alpha +
         (m - 1) / m * bytes * of_card * links.beta;
}

double seconds(double bytes, const CollectiveShape& shape, const UniformLinks& links, const Parameters&) {
  const double m = static_cast<double>(ranks_by_host(shape).size()), g = static_cast<double>(shape.workers) / m;
  const double of_card = shape.card_share(static_cast<std::size_t>(g));
  return 2 * (g - 1) * links.intra_alpha + 2 * ((g - 1) / g) * bytes * links.intra_beta + 2 * (m - 1) * links.alpha +
         2 * ((m - 1) / m) * bytes * of_card * links.beta + ((g - 1) / g + (m - 1) / (g * m)) * bytes * links.gamma;
}

std::string unfit(const CollectiveShape& shape) {
  const auto hosts = ranks_by_host(shape);
  for (const auto& [name, ranks] : hosts) {
    const std::size_t first = hosts.begin()->second.size();
    if (ranks.size() != first) {
      return "needs the same number of workers on every host, but host " + std::to_string(hosts.begin()->first) + " has " +
             std::to_string(first) + " and host " + std::to_string(name) + " has " + std::to_string(ranks.size()) +
             "; give each the same number";
    }
  }
  return "";
}

CollectiveEntry entry() {
  CollectiveEntry made;
  made.name = "hierarchical";
  made.summary = "rings inside hosts, then rings between hosts over each member's part";
  made.reference = "Mikami et al. 2018";
  made.seconds = seconds;
  made.exact = [](const CollectiveShape& shape) {
    const std::size_t hosts = ranks_by_host(shape).size();
    return hosts == 1 || hosts == shape.workers;
  };
  made.unfit = unfit;
  made.make = [](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                 const Parameters&) -> std::unique_ptr<CollectiveSchedule> { return std::make_unique<Hierarchical>(bytes, shape); };
  return made;
}
const Register<CollectiveEntry> registered(entry());

CollectiveEntry half() {
  CollectiveEntry made = entry();
  made.seconds = half_seconds;
  return made;
}
const RegisterGathering halves(half(), "rings between hosts, then rings inside hosts", "rings inside hosts, then rings between hosts",
                               [](Blocks blocks, const CollectiveShape& shape, bool backwards) -> std::unique_ptr<Gathering> {
                                 return std::make_unique<HierarchicalGathering>(std::move(blocks), shape, backwards);
                               });

}  // namespace
}  // namespace straggler::collectives::hierarchical
