// Collectives in which all ranks met: who came last, who waited for it, and how far the clocks of hosts are apart.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "scenarios/import/timed_job.hpp"
#include "scenarios/import/trace_steps.hpp"

namespace straggler {

struct RankSteps {
  std::int64_t rank = 0;
  double base = 0;  // microseconds: zero of the rank's clock
  const std::vector<TraceStep>* steps = nullptr;
};

/// A collective's kernel lasts from the rank's own arrival to the common end.
struct Meeting {
  double least = 0;           // seconds of the rank that came last: the transfer
  std::size_t last = 0;       // its place in the list of ranks
  std::vector<double> waits;  // [ranks] seconds
};

struct Meetings {
  std::vector<std::vector<Meeting>> steps;  // [steps][collectives]; empty: ranks issued different ones
  std::string differ;                       // which, in words
  std::vector<double> offsets;              // [ranks] microseconds of each clock beyond the first one's
  double residual = 0;                      // microseconds by which an end is off behind that, at most
};

/// Of at least two ranks with equally many steps. Clocks are aligned by the median difference of ends of collectives that all leave
/// together: not of broadcasts and all-to-alls.
Meetings meetings_of(const std::vector<RankSteps>& ranks);

/// Of the ranks that are there, who works longest in a step: a sentence, or nothing where all work as long within 1 %.
std::string longest_work(const std::vector<TimedRank>& ranks);

/// Why the rank that waits least (`least`, a place in `ranks`) is another than the one that works longest: it begins late. Empty: it is
/// not. `begins`: seconds after the first rank.
std::string late_begin(const std::vector<TimedRank>& ranks, std::size_t least, const std::vector<double>& begins);

/// Those of 0 to world - 1 that are not there: "ranks 1 and 3".
std::string absent_ranks(const std::set<std::int64_t>& there, std::int64_t world);

}  // namespace straggler
