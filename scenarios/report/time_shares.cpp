#include "scenarios/report/time_shares.hpp"

#include <algorithm>

#include "scenarios/report/share_text.hpp"

namespace straggler {

StackChart time_split(const std::vector<std::string>& names, const std::vector<std::vector<double>>& rows) {
  StackChart chart;
  chart.names = names;
  chart.values.resize(rows.size());
  for (std::size_t part = 0; part < time_share_count; ++part) {
    if (std::none_of(rows.begin(), rows.end(), [part](const std::vector<double>& row) { return row[part] > 0; })) continue;
    chart.parts.push_back({time_shares[part].word, time_shares[part].word});
    for (std::size_t row = 0; row < rows.size(); ++row) chart.values[row].push_back(rows[row][part]);
  }
  chart.label = "Where the workers' time went";
  chart.title = "share of the workers' time";
  chart.text = share_text;
  return chart;
}

}  // namespace straggler
