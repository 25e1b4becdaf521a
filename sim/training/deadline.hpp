// The parameter `deadline`: when a round is closed though contributions are missing.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/training/node.hpp"

namespace straggler {

/// Median + k MAD of the latest arrivals: 4 p of them, of p participants. The MAD, the median distance from the median, counts at least
/// 5 % of the median. It is not scaled to a standard deviation.
class AdaptiveDeadline {
 public:
  AdaptiveDeadline(double factor, std::int64_t participants) : factor_(factor), participants_(static_cast<std::size_t>(participants)) {}
  /// A contribution, in time or late, came that long after its invitation.
  void arrived(Time after);
  /// None: fewer than p have arrived.
  std::optional<Time> now() const;

 private:
  double factor_;
  std::size_t participants_;
  std::deque<Time> latest_;
};

/// `deadline`: {time: T} or {adaptive: k}; none.
struct DeadlineChoice {
  /// Throws std::invalid_argument if a scenario states both.
  explicit DeadlineChoice(const Parameters& parameters);
  /// `before`: what both meanings begin with.
  static Parameter time_parameter(const std::string& before);
  static Parameter adaptive_parameter(const std::string& before);
  bool exists() const { return time || adaptive; }
  std::optional<Time> time;
  std::optional<double> adaptive;
};

/// The deadlines of a server's rounds.
class RoundDeadline {
 public:
  RoundDeadline(const DeadlineChoice& choice, const Node& node, std::int64_t participants);
  /// This life of a worker is to compute from now on.
  void invited(Peer worker);
  /// Its contribution has come.
  void arrived(Peer worker);
  /// From now on. None: this round has none, or none yet.
  std::optional<Time> now() const { return adaptive_ ? adaptive_->now() : time_; }
  bool adapts() const { return adaptive_.has_value(); }

 private:
  const Node& node_;
  std::optional<Time> time_;
  std::optional<AdaptiveDeadline> adaptive_;
  struct Invitation {
    std::uint32_t life = 0;
    Time at;
  };
  std::map<Rank, Invitation> invitations_;  // that nobody has answered yet
};

}  // namespace straggler
