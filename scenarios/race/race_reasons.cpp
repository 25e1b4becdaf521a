#include "scenarios/race/race_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  Reasons(const Race& race, const Finish& finish, const Verdict& verdict) : race_(race), finish_(finish), verdict_(verdict) {}

  void add(const std::vector<RaceRun>& runs, const RunValues& times) {
    means_.push_back(mean_result(runs).value_or(RunResult()));
    reached_.push_back(
        static_cast<std::size_t>(std::count_if(times.begin(), times.end(), [](const auto& time) { return time.has_value(); })));
    runs_.push_back(times.size());
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
  const std::string& name(std::size_t entrant) const { return race_.entrants[entrant].label; }
  bool timing() const { return finish_.accuracy == 0; }

  std::string beaten(std::size_t other) const {
    const RunResult &a = means_[verdict_.ahead], &b = means_[other];
    const std::string first = fmt::format("{} is faster{} than {}", name(verdict_.ahead), where_of(finish_), name(other));
    if (timing() && reached_[other] == 0)
      return is_finished(b.outcome) ? std::string() : fmt::format("{}, which {}", first, how_it_ended(b.outcome));
    if (timing()) {
      const std::string why = why_faster(a, b);
      return why.empty() ? why : fmt::format("{}, {}", first, why);
    }
    const ThresholdResult* const at = find_threshold(a, finish_.accuracy);
    if (at == nullptr || !at->seconds) return {};
    if (reached_[other] == 0)
      return fmt::format("{} gets{} in {}, {}", name(verdict_.ahead), where_of(finish_), readable_seconds(*at->seconds),
                         why_missed(a, b, finish_.accuracy, name(other)));
    std::string why = why_sooner(a, b, finish_.accuracy);
    if (reached_[other] < runs_[other])
      why +=
          fmt::format("{}of the {} runs of {} only {} get there", why.empty() ? "as " : "; ", runs_[other], name(other), reached_[other]);
    return why.empty() ? why : fmt::format("{}, {}", first, why);
  }

  std::string level(std::size_t other) const {
    if (timing()) return {};
    const std::string parts = both_parts(means_[verdict_.ahead], means_[other], finish_.accuracy);
    if (parts.empty()) return {};
    return fmt::format("{} and {} take as long{}: {} {}", name(verdict_.ahead), name(other), where_of(finish_), name(verdict_.ahead),
                       parts);
  }

  const Race& race_;
  const Finish& finish_;
  const Verdict& verdict_;
  std::vector<RunResult> means_;             // [entrants]
  std::vector<std::size_t> reached_, runs_;  // [entrants]
};

}  // namespace

std::vector<std::string> race_reasons(const Race& race, const RaceReader& reader, const RaceOutcome& outcome) {
  const auto at = explained_finish(reader.finishes(), outcome.verdicts);
  if (!at) return {};
  const Finish& finish = reader.finishes()[*at];
  const std::vector<RunValues> times = outcome.times(finish);
  Reasons reasons(race, finish, outcome.verdicts[*at]);
  for (std::size_t entrant = 0; entrant < outcome.runs.size(); ++entrant) reasons.add(outcome.runs[entrant], times[entrant]);
  return reasons.all();
}

}  // namespace straggler
