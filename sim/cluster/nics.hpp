// The network cards of all end points, which have the first links of most topologies: end point e has 2 e (up) and 2 e + 1 (down).
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/runs.hpp"
#include "sim/cluster/topology.hpp"

namespace straggler {

/// How often each rate, in bytes per second, occurs.
using RateCounts = std::map<double, std::size_t>;
/// Of the `count` smallest.
double smallest_sum(const RateCounts& rates, std::size_t count);

class Nics {
 public:
  /// Throws std::invalid_argument on none at all, a bandwidth that is not above 0, a latency that is negative or beyond half of
  /// Time::limit().
  Nics(const std::vector<Nic>& nics, std::function<std::string(std::size_t)> name);

  std::size_t size() const { return cards_.size(); }
  const Nic& operator[](std::size_t endpoint) const { return cards_[endpoint]; }
  const Runs<Nic>& runs() const { return cards_; }
  std::string name(std::size_t endpoint) const { return name_(endpoint); }

  /// Of a link below 2 size(), whose end point is attached to the switch called `home`.
  LinkDescription link(LinkId id, const std::string& home) const;
  double bytes_per_second(LinkId id) const {
    const Nic& card = cards_[id / 2];
    return id % 2 == 0 ? card.up_bytes_per_second : card.down_bytes_per_second;
  }

  struct Rates {
    double up = 0, down = 0;  // bytes per second
  };
  /// Of end points [first, last).
  Rates sum(std::size_t first, std::size_t last) const;
  Rates least() const;
  Rates most() const;
  RateCounts ups() const;
  RateCounts downs() const;
  bool equal_rates() const { return least().up == most().up && least().down == most().down; }
  Time slowest() const;  // the largest latency of a card

  /// Least bandwidth between two halves of the end points if only the cards limit it: some half sends or receives at full rate, and the
  /// smallest ⌊n/2⌋ cards make the least of that.
  double halves() const;

 private:
  Runs<Nic> cards_;
  std::function<std::string(std::size_t)> name_;
};

}  // namespace straggler
