#include "scenarios/sweep/time_of_setting.hpp"

#include <algorithm>
#include <vector>

#include "scenarios/results/most_time.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

std::string most_time(const SweptSetting& setting) {
  std::string link;
  double use = 0;
  std::vector<RunResult> runs;
  for (const SweepRow* const row : setting.rows) {
    const RunSketch sketch = read_sketch(row->sketch);
    runs.push_back(result_of(row->fields, sketch));
    if (sketch.busiest_use <= use) continue;
    link = sketch.busiest_link;
    use = sketch.busiest_use;
  }
  return runs.empty() ? std::string() : most_time(mean_of(runs), link, std::min(use, 1.0));
}

std::string longest_phase(const SweptSetting& setting) {
  const std::string words = most_time(setting);
  return words.substr(0, words.find(','));
}

}  // namespace straggler
