// What a comparison of runs says, and the reasons why one run is before another, all derived from the figures.
#pragma once
#include <string>
#include <vector>

#include "scenarios/results/comparison.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

/// Which run wins, by how much and why. Time to an accuracy is the number of samples it takes divided by samples per second: the sentence
/// names the factor that made the difference, and the part of the workers' time per sample that shrank most. Where measured runs meet
/// simulated ones it begins with predictions().
Said verdict(const Comparison& comparison);
/// For every simulated run and every measured one of the same scheme, workers, data and model (as far as known): the predicted and the
/// measured value, as a clause each. They are compared by the time to the deciding accuracy if both reached it; otherwise by the time of
/// the whole run if both made equally many updates; otherwise by samples per second. Of a comparison that is mixed.
Said predictions(const Comparison& comparison);
/// Reasons why the runs are hard to compare.
std::vector<Said> comparison_notes(const Comparison& comparison);
/// "mnist (a, c), blobs (b)"
Said groups_said(const Comparison& comparison, const RunGroups& groups);

/// Why `a` reaches the accuracy before `b`, both of which do: "because it handles 1.42 times as many samples per second (its workers idle
/// 1.2 ms a sample instead of 3 ms, as the other's wait for workers 6 and 7 (3x slower)) and needs as many samples". Empty: not known.
std::string why_sooner(const RunResult& a, const RunResult& b, double threshold);
/// Why `a` handles more samples per second than `b`: "because it handles …". Empty: not known.
std::string why_faster(const RunResult& a, const RunResult& b);
/// Both parts of a time to the accuracy, whoever is first: "handles 3 % more samples per second (…) and needs 3 % more samples". Empty: not
/// known.
std::string both_parts(const RunResult& a, const RunResult& b, double threshold);
/// Of `a`, which reaches the accuracy, and `b`, which does not, or did not finish, after "which B ": "does not in 30 s (it ends at 84 %),
/// having handled …", "does not: it diverged".
std::string how_missed(const RunResult& a, const RunResult& b, double threshold);

/// The caveat of a comparison of speeds.
inline constexpr const char* timing_caveat = "timing only: whether it learns as much from a sample is not known";

}  // namespace straggler
