// Runs side by side: which wins, by how much and why.
#pragma once
#include <string>
#include <vector>

#include "scenarios/results/compared_runs.hpp"

namespace straggler {

/// At least one run. The order of the runs does not change the winner, except that the first of equals wins. `labels`: of the runs,
/// distinct; empty: their names, or their folders where names repeat.
Comparison compare(std::vector<RunResult> runs, std::vector<std::string> labels = {});

/// Plain ASCII, at most `width` columns where names allow; runs that do not fit side by side come below.
std::string comparison_table(const Comparison& comparison, std::size_t width = 140);

/// The same, one row per run below a header; the first cell is the run's label.
std::vector<std::vector<std::string>> comparison_cells(const Comparison& comparison);

/// The contents of the table and the lines below it, typed, with all scalars of each run. `left_out`: folders that are no runs, and why.
std::string comparison_json(const Comparison& comparison, const std::vector<std::string>& left_out);

}  // namespace straggler
