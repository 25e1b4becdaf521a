// Parts of the workers' time: their scalars, and their names on pages.
#pragma once
#include "scenarios/report/charts.hpp"

namespace straggler {

struct TimeShare {
  const char *key, *column, *word;  // of summary.json, of workers.csv; the name and the class of its colour
};
inline constexpr TimeShare time_shares[] = {{"compute_fraction", "compute_s", "computing"},
                                            {"wasted_fraction", "wasted_s", "wasted"},
                                            {"loading_fraction", "loading_s", "loading"},
                                            {"communication_fraction", "communication_s", "communicating"},
                                            {"idle_fraction", "idle_s", "idle"},
                                            {"down_fraction", "down_s", "down"}};
inline constexpr std::size_t time_share_count = sizeof time_shares / sizeof *time_shares;

/// Rows of [time_shares], without the parts that no row has.
StackChart time_split(const std::vector<std::string>& names, const std::vector<std::vector<double>>& rows);

}  // namespace straggler
