#include "scenarios/race/race_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/results/cost_reasons.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/results/verdict.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

/// The finish that is explained; none: tests tell nothing at any.
std::optional<std::size_t> explained_finish(const std::vector<Finish>& finishes, const std::vector<Verdict>& verdicts) {
  const auto told = [&](std::size_t i) { return verdicts[i].anybody && !verdicts[i].beaten.empty(); };
  std::optional<std::size_t> last, level;
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (finishes[i].is_target && told(i)) return i;
    if (told(i)) last = i;
    if (verdicts[i].anybody && !verdicts[i].alike.empty()) level = i;
  }
  return last ? last : level;
}

std::string where_of(const Finish& finish) {
  return finish.accuracy == 0 ? std::string() : fmt::format(" to {}{}", finish.name, finish.is_target ? " (target)" : "");
}

class Reasons {
 public:
  Reasons(const RaceOutcome& outcome, std::size_t at) : outcome_(outcome), finish_(outcome.finishes[at]), verdict_(outcome.verdicts[at]) {
    for (const std::vector<StudyRun>& runs : outcome.runs) means_.push_back(mean_result(runs).value_or(RunResult()));
    for (const RunValues& times : outcome.times(finish_)) reached_.push_back(statistics_of(times).count);
  }

  std::vector<std::string> all() const {
    std::vector<std::string> sentences;
    for (const std::size_t other : verdict_.beaten)
      if (std::string sentence = beaten(other); !sentence.empty()) sentences.push_back(std::move(sentence));
    for (const std::size_t other : verdict_.alike)
      if (std::string sentence = level(other); !sentence.empty()) sentences.push_back(std::move(sentence));
    return sentences;
  }

 private:
  const std::string& name(std::size_t entrant) const { return outcome_.entrants[entrant].label; }
  bool timing() const { return finish_.accuracy == 0; }

  std::string beaten(std::size_t other) const {
    const RunResult &a = means_[verdict_.ahead], &b = means_[other];
    const MeasureRow& by = outcome_.by();
    const std::string first = fmt::format("{} {}{} than {}", name(verdict_.ahead), by.is, where_of(finish_), name(other));
    if (timing() && reached_[other] == 0)
      return is_finished(b.outcome) ? std::string() : fmt::format("{}, which {}", first, how_it_ended(b.outcome));
    if (timing()) {
      const std::string why = by.measure == Measure::time ? why_faster(a, b) : why_less(by, a, b, 0);
      return why.empty() ? why : fmt::format("{}, {}", first, why);
    }
    const ThresholdResult* const at = find_threshold(a, finish_.accuracy);
    if (at == nullptr || !at->seconds) return {};
    const auto value = at->*(by.at);
    if (reached_[other] == 0 && by.measure != Measure::time && value)
      return fmt::format("{} gets{} for {}, which {} {}", name(verdict_.ahead), where_of(finish_), by.text(*value), name(other),
                         how_missed(a, b, finish_.accuracy));
    if (reached_[other] == 0)
      return fmt::format("{} gets{} in {}, which {} {}", name(verdict_.ahead), where_of(finish_), readable_seconds(*at->seconds),
                         name(other), how_missed(a, b, finish_.accuracy));
    std::string why = by.measure == Measure::time ? why_sooner(a, b, finish_.accuracy) : why_less(by, a, b, finish_.accuracy);
    if (reached_[other] < outcome_.seeds())
      why += fmt::format("{}of the {} runs of {} only {} get there", why.empty() ? "as " : "; ", outcome_.seeds(), name(other),
                         reached_[other]);
    return why.empty() ? why : fmt::format("{}, {}", first, why);
  }

  std::string level(std::size_t other) const {
    if (timing() || outcome_.by().measure != Measure::time) return {};
    const std::string parts = both_parts(means_[verdict_.ahead], means_[other], finish_.accuracy);
    if (parts.empty()) return {};
    return fmt::format("{} and {} take as long{}: {} {}", name(verdict_.ahead), name(other), where_of(finish_), name(verdict_.ahead),
                       parts);
  }

  const RaceOutcome& outcome_;
  const Finish& finish_;
  const Verdict& verdict_;
  std::vector<RunResult> means_;      // [entrants]
  std::vector<std::size_t> reached_;  // [entrants], runs
};

}  // namespace

std::vector<std::string> race_reasons(const RaceOutcome& outcome) {
  const auto at = explained_finish(outcome.finishes, outcome.verdicts);
  return at ? Reasons(outcome, *at).all() : std::vector<std::string>();
}

}  // namespace straggler
