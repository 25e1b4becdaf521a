// What the outcome of a search says, in sentences of parts.
#pragma once
#include <string>
#include <vector>

#include "scenarios/search/search_outcome.hpp"
#include "scenarios/statistics/said.hpp"

namespace straggler {

/// "PATH=VALUE, …: " before the sentence of a group; empty without axes.
Said group_said(const SearchOutcome& outcome, const std::vector<std::string>& labels, const char* end = ": ");
/// The settings of a point of a find.
Said settings_said(const SearchOutcome& outcome, const FoundPoint& point);

/// [groups] of a find: the best setting, its interval, its flat neighbourhood, and whether it lies on the edge of the settings tried. Of a
/// crossover: who is better where, and the effect of noise. Groups without points are left out.
std::vector<std::vector<Said>> search_said(const SearchOutcome& outcome);
/// Why the best of each group is ahead of the next that is worse; why the one is better at the smallest value and at the largest. Those
/// that are known, from time to an accuracy or samples per second.
std::vector<Said> search_reasons(const SearchOutcome& outcome);
/// The verdict on one value of a crossover, as pair_words().
std::string compared_words(const SearchOutcome& outcome, const ComparedPoint& point);
/// How a point stands relative to the best of its group: "the best", "no difference"; empty: it is worse.
std::string standing_words(const FoundGroup& group, std::size_t point);

/// ", all of timing alone", ", 3 of timing alone"; empty: none is.
std::string timing_alone_words(const SearchOutcome& outcome);
/// The sentences as a terminal prints them, with warnings and the number of points.
std::string search_text(const SearchOutcome& outcome);
/// Its sentences have an interval.
bool says_intervals(const SearchOutcome& outcome);

}  // namespace straggler
