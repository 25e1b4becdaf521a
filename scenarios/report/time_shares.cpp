#include "scenarios/report/time_shares.hpp"

#include <algorithm>

#include "scenarios/report/share_text.hpp"

namespace straggler {

StackChart time_split(const std::vector<std::string>& names, const std::vector<ByPhase<double>>& rows) {
  StackChart chart;
  chart.names = names;
  chart.values.resize(rows.size());
  for (const PhaseRow& part : phase_rows) {
    if (std::none_of(rows.begin(), rows.end(), [&part](const ByPhase<double>& row) { return row[part.phase] > 0; })) continue;
    chart.parts.push_back({part.title, part.title});
    for (std::size_t row = 0; row < rows.size(); ++row) chart.values[row].push_back(rows[row][part.phase]);
  }
  chart.label = "Where the workers' time went";
  chart.title = "share of the workers' time";
  chart.text = share_text;
  return chart;
}

}  // namespace straggler
