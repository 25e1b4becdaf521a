#include "scenarios/sweep/bound_setting.hpp"

#include <algorithm>
#include <vector>

#include "scenarios/results/bound_words.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

std::string bound_words(const SweptSetting& setting) {
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
  return runs.empty() ? std::string() : bound_words(mean_of(runs), link, std::min(use, 1.0));
}

std::string bound_word(const SweptSetting& setting) {
  const std::string words = bound_words(setting);
  return words.substr(0, words.find_first_of(",:"));
}

}  // namespace straggler
