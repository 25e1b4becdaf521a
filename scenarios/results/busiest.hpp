// What a run was bound by on its network: its busiest link, and a server that answers one worker after the other.
#pragma once
#include <optional>
#include <string>

#include "scenarios/schema/scenario.hpp"
#include "sim/record/record.hpp"

namespace straggler {

struct BusyLink {
  std::string name;
  double use = 0;  // of its capacity over the run, at most 1
};
/// None: no link of limited capacity carried anything.
std::optional<BusyLink> busiest_link(const RunRecord& record);
/// "server/0:up, 98.9 % of its capacity"
std::string link_words(const BusyLink& link);

/// The share of the run in which the server waits until an answer has left, as its scheme's `answers: in_turn` says, where it could send
/// faster than its workers receive; else 0.
double answering_share(const Scenario& scenario, const RunRecord& record);

/// The network by which workers that wait or communicate for a tenth of their time are held up. Both may be empty.
struct Holdup {
  std::string link;     // link_words() of the busiest one, if it is busy for a quarter of the time
  std::string answers;  // "the server sends one answer at a time, for 82 % of the time; training.scheme.answers: at_once sends them …"
};
Holdup holdup(const Scenario& scenario, const RunRecord& record);

}  // namespace straggler
