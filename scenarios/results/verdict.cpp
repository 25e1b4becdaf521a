#include "scenarios/results/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "scenarios/results/endings.hpp"
#include "scenarios/statistics/pair_test.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

std::string percent(double accuracy) { return fmt::format("{:.6g} %", 100 * accuracy); }

/// "1.42 times as many", "3.1 % more", "12 % fewer", "as many".
std::string amount(double ratio) {
  if (ratio < level_ratio && ratio > 1 / level_ratio) return "as many";
  if (ratio >= 1.1) return fmt::format("{:.3g} times as many", ratio);
  return fmt::format("{:.2g} % {}", 100 * std::abs(ratio - 1), ratio > 1 ? "more" : "fewer");
}

/// "1.42 times as TIMES", "3.1 % MORE"; ratio > 1.
std::string beats(double ratio, const char* times, const char* more) {
  return ratio >= 1.1 ? fmt::format("{:.3g} times as {}", ratio, times) : fmt::format("{:.2g} % {}", 100 * (ratio - 1), more);
}

/// Mean worker time per sample spent in a phase, over the whole run.
std::optional<double> per_sample(const RunResult& run, const std::optional<double>& share) {
  if (!share || run.samples <= 0) return std::nullopt;
  return run.workers * *share * run.simulated_seconds / run.samples;
}

/// "worker 6, 3x slower" for "worker 6 (3x slower)": inside brackets there are no others.
std::string without_brackets(std::string name) {
  const auto at = name.rfind(" (");
  return name.ends_with(')') && at != std::string::npos ? name.replace(at, 2, ", ").substr(0, name.size() - 1) : name;
}

/// What shrank most in the workers' time per sample; empty if the run as a whole was not faster. With other numbers of
/// workers the times do not compare: then it is those.
std::string where(const RunResult& a, const RunResult& b) {
  if (a.workers != b.workers)
    return fmt::format(" with {} {} instead of {}", readable_number(a.workers), a.workers == 1 ? "worker" : "workers",
                       readable_number(b.workers));
  if (a.samples_per_second.value_or(0) <= b.samples_per_second.value_or(0)) return {};
  constexpr double noise = 1e-9;  // what stored shares round to is shorter
  const PhaseRow* best = nullptr;
  double most = noise, mine = 0, other = 0;
  for (const PhaseRow& row : phase_rows) {
    // A run that cannot be rolled back has no share for it.
    const auto share = [&row](const RunResult& run) {
      return row.of_recovery ? std::optional<double>(run.shares[row.phase].value_or(0)) : run.shares[row.phase];
    };
    const std::optional<double> x = per_sample(a, share(a)), y = per_sample(b, share(b));
    if (!x || !y || *y - *x <= most) continue;
    best = &row;
    most = *y - *x;
    mine = *x;
    other = *y;
  }
  if (!best) return {};
  const bool waits = best->phase == Phase::idle && !b.waited_for.empty();
  return fmt::format(" (its workers {} {} a sample instead of {}{})", best->verb, mine < noise ? "no time" : readable_seconds(mine),
                     readable_seconds(other), waits ? ", as the other's wait for " + without_brackets(b.waited_for) : std::string());
}

/// The two parts of a time to an accuracy, of a relative to b.
struct Parts {
  double samples = 1, rate = 1;  // needed; handled per second
  std::string need, speed;       // in words

  bool fewer() const { return samples < 1 / level_ratio; }
  bool faster() const { return rate > level_ratio; }
  /// Neither makes a difference.
  bool level() const { return !fewer() && !faster(); }
  /// After "it": first what makes it sooner.
  std::string words() const {
    if (faster() && (!fewer() || rate >= 1 / samples))
      return fmt::format("{}{} {}", speed, samples > level_ratio ? ", although it" : " and", need);
    return fmt::format("{}{} {}", need, fewer() && rate < 1 / level_ratio ? ", although it" : " and", speed);
  }
};

std::optional<Parts> parts_of(const RunResult& a, const RunResult& b, double threshold) {
  const ThresholdResult *x = find_threshold(a, threshold), *y = find_threshold(b, threshold);
  if (x == nullptr || y == nullptr || x->seconds.value_or(0) <= 0 || y->seconds.value_or(0) <= 0) return std::nullopt;
  if (x->samples.value_or(0) <= 0 || y->samples.value_or(0) <= 0) return std::nullopt;
  Parts parts;
  parts.samples = *x->samples / *y->samples;
  parts.rate = (*x->samples / *x->seconds) / (*y->samples / *y->seconds);
  parts.speed = fmt::format("handles {} samples per second{}", amount(parts.rate), parts.rate > level_ratio ? where(a, b) : "");
  parts.need = fmt::format("needs {} samples", amount(parts.samples));
  return parts;
}

class Sentence {
 public:
  explicit Sentence(const Comparison& comparison) : comparison_(comparison) {}

  Said said() const {
    if (comparison_.runs.size() == 1) return alone();
    const auto finished = std::ranges::count_if(comparison_.runs, [](const RunResult& run) { return is_finished(run.outcome); });
    if (finished == 0) return worded("No run wins: none finished.");
    if (!comparison_.different.empty())
      return worded("No run wins: their accuracies do not compare, as they learn from different data: {}.",
                    groups_said(comparison_, comparison_.different));
    if (comparison_.deciding) return comparison_.winner ? by_accuracy() : unopposed();
    if (comparison_.timing_only && finished == 1) return only_one_finished();
    if (comparison_.timing_only) return by_throughput();
    return nobody();
  }

 private:
  const RunResult& run(std::size_t i) const { return comparison_.runs[i]; }

  Said called(std::size_t i) const {
    const std::string& label = comparison_.labels[i];
    const std::string& scheme = run(i).scheme;
    if (const std::string known = baseline(run(i)); !known.empty()) return worded("{} ('{}')", known, SaidName{label});
    return label == scheme ? worded("'{}'", SaidName{label}) : worded("'{}' ({})", SaidName{label}, scheme);
  }

  bool finished(std::size_t i) const { return is_finished(run(i).outcome); }

  /// None: not reached, or not finished.
  std::optional<double> seconds(std::size_t i) const {
    const ThresholdResult* row = find_threshold(run(i), *comparison_.deciding);
    return row && finished(i) ? row->seconds : std::nullopt;
  }

  /// Ranks the runs that did not win; larger is better: those that reached the accuracy, the sooner the better, then the others by
  /// accuracy, then those that did not finish.
  std::pair<bool, double> standing(std::size_t i) const {
    if (!finished(i)) return {false, -2};
    if (comparison_.timing_only) return {true, run(i).samples_per_second.value_or(0)};
    if (const std::optional<double> reached = seconds(i)) return {true, -*reached};
    return {false, run(i).final_test_accuracy.value_or(-1)};
  }

  /// Can win: has the deciding threshold.
  bool contends(std::size_t i) const {
    if (comparison_.timing_only) return true;
    return !timing_alone(run(i)) && find_threshold(run(i), *comparison_.deciding) != nullptr;
  }

  /// The run that the winner is compared with: that of a baseline, or the next best. A winner has an opponent.
  std::size_t opponent() const {
    const std::size_t winner = *comparison_.winner, reference = comparison_.reference;
    if (baseline(run(winner)).empty() && !baseline(run(reference)).empty() && contends(reference)) return reference;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i)
      if (i != winner && contends(i) && (!best || standing(i) > standing(*best))) best = i;
    return *best;
  }

  Said alone() const {
    const RunResult& only = run(0);
    if (!finished(0))
      return worded("There is only one run, so nothing to compare: {} {} after {}.", called(0), how_it_ended(only.outcome),
                    readable_seconds(only.simulated_seconds));
    std::string what = fmt::format("handles {} samples per second", readable_number(only.samples_per_second.value_or(0)));
    if (comparison_.deciding)
      what = fmt::format("reaches {} test accuracy in {}", percent(*comparison_.deciding), readable_seconds(*seconds(0)));
    return worded("There is only one run, so nothing to compare: {} {}.", called(0), what);
  }

  /// One run got there, and no other was asked to.
  Said unopposed() const {
    std::size_t only = 0;
    while (!contends(only)) ++only;
    std::vector<Said> others;
    bool all_timing = true;
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      if (i == only) continue;
      others.push_back(called(i));
      all_timing = all_timing && timing_alone(run(i));
    }
    const Said why = all_timing ? worded("{} {} run for timing alone", joined(others), others.size() == 1 ? "was" : "were")
                                : worded("no other run was asked for that (evaluate.thresholds)");
    return worded("No run wins: {} reaches {} test accuracy in {}, and {}.", called(only), percent(*comparison_.deciding),
                  readable_seconds(*seconds(only)), why);
  }

  Said nobody() const {
    const auto accuracy = [&](std::size_t i) { return finished(i) ? run(i).final_test_accuracy.value_or(-1) : -1; };
    std::size_t best = 0;
    for (std::size_t i = 1; i < comparison_.runs.size(); ++i)
      if (accuracy(i) > accuracy(best)) best = i;
    if (accuracy(best) < 0) return worded("No run wins: none has an accuracy.");
    const Said nearest = worded("{} has the best final test accuracy, {}", called(best), percent(accuracy(best)));
    if (comparison_.thresholds.empty())
      return worded("No run wins on time to accuracy, as none was asked for a threshold (evaluate.thresholds) or a target: {}.", nearest);
    return worded("No run wins: none reached even {} test accuracy; {}.", percent(comparison_.thresholds.front()), nearest);
  }

  Said only_one_finished() const {
    std::size_t only = 0;
    while (!finished(only)) ++only;
    return worded("No run wins: only {} finished.", called(only));
  }

  std::string reason(const RunResult& a, const RunResult& b) const {
    const auto parts = parts_of(a, b, *comparison_.deciding);
    return !parts ? std::string() : fmt::format(" {}{}.", parts->level() ? "It " : "The reason: it ", parts->words());
  }

  Said by_throughput() const {
    if (!comparison_.winner) return worded("No run wins: none handled a sample.");
    const std::size_t winner = *comparison_.winner, other = opponent();
    const RunResult &a = run(winner), &b = run(other);
    const double rate_a = *a.samples_per_second, rate_b = b.samples_per_second.value_or(0);
    if (rate_b <= 0)
      return worded("{} wins with {} samples per second, and {} handled none ({}).", called(winner), readable_number(rate_a), called(other),
                    timing_caveat);
    if (rate_a / rate_b < level_ratio)
      return worded("Nobody wins: {} and {} handle the same {} samples per second ({}).", called(winner), called(other),
                    readable_number(rate_a), timing_caveat);
    return worded("{} wins on speed: {} samples per second, {} {} with {}{} ({}).", called(winner), readable_number(rate_a),
                  beats(rate_a / rate_b, "many as", "more than"), called(other), readable_number(rate_b), where(a, b), timing_caveat);
  }

  Said by_accuracy() const {
    const std::size_t winner = *comparison_.winner, other = opponent();
    const double mine = *seconds(winner);
    const std::string goal = percent(*comparison_.deciding) + " test accuracy";
    if (const std::optional<double> theirs = seconds(other)) {
      if (*theirs == mine)
        return worded("Nobody wins: {} and {} both reach {} in {}.", called(winner), called(other), goal, readable_seconds(mine));
      if (mine <= 0)
        return worded("{} wins. It has {} from the start, {} after {}.", called(winner), goal, called(other), readable_seconds(*theirs));
      return worded("{} wins. It reaches {} in {}; {} needs {}, {}.{}", called(winner), goal, readable_seconds(mine), called(other),
                    readable_seconds(*theirs), beats(*theirs / mine, "long", "longer"), reason(run(winner), run(other)));
    }
    return worded("{} wins. It reaches {} in {}, which {} {}.", called(winner), goal, readable_seconds(mine), called(other),
                  how_missed(run(winner), run(other), *comparison_.deciding));
  }

  const Comparison& comparison_;
};

/// The winner's sentence among the measured runs, or among the simulated ones, if these are of several schemes; otherwise empty.
Said verdict_among(const Comparison& all, bool real) {
  std::vector<RunResult> runs;
  std::vector<std::string> labels;
  std::set<std::string> schemes;
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    if (all.runs[i].real != real) continue;
    runs.push_back(all.runs[i]);
    labels.push_back(all.labels[i]);
    schemes.insert(all.runs[i].scheme);
  }
  if (schemes.size() < 2) return {};
  return worded(" Of the {}: {}", real ? "measured" : "simulated", verdict(compare(std::move(runs), std::move(labels))));
}

}  // namespace

std::string why_sooner(const RunResult& a, const RunResult& b, double threshold) {
  const auto parts = parts_of(a, b, threshold);
  return parts ? (parts->level() ? "as it " : "because it ") + parts->words() : std::string();
}

std::string why_faster(const RunResult& a, const RunResult& b) {
  const double mine = a.samples_per_second.value_or(0), other = b.samples_per_second.value_or(0);
  if (mine <= 0 || other <= 0) return {};
  return fmt::format("because it handles {} samples per second{}", amount(mine / other), where(a, b));
}

std::string both_parts(const RunResult& a, const RunResult& b, double threshold) {
  const auto parts = parts_of(a, b, threshold);
  return parts ? fmt::format("{} and {}", parts->speed, parts->need) : std::string();
}

std::string how_missed(const RunResult& a, const RunResult& b, double threshold) {
  if (!is_finished(b.outcome)) {
    const ThresholdResult* const before = find_threshold(b, threshold);
    if (before && before->seconds)
      return fmt::format("did after {}, before it {}", readable_seconds(*before->seconds), how_it_ended(b.outcome));
    return fmt::format("does not: it {}", how_it_ended(b.outcome));
  }
  const ThresholdResult& got = *find_threshold(a, threshold);
  const bool cut_short = b.simulated_seconds < *got.seconds;
  std::string out =
      fmt::format("{} {}", cut_short ? "had not, when its run ended after only" : "does not in", readable_seconds(b.simulated_seconds));
  if (b.final_test_accuracy) out += fmt::format(" (it ends at {})", percent(*b.final_test_accuracy));
  const std::optional<double> needed = got.samples;
  if (!needed || *needed <= 0) return out;
  if (b.samples < *needed)
    return out + fmt::format(", having handled only {} samples where {} were needed{}", readable_number(b.samples),
                             readable_number(*needed), b.workers == a.workers ? where(a, b) : "");
  return out + fmt::format(", although it handled {} samples where {} were enough", readable_number(b.samples), readable_number(*needed));
}

Said verdict(const Comparison& comparison) {
  if (!comparison.mixed || !comparison.different.empty()) return Sentence(comparison).said();
  return predictions(comparison).add(verdict_among(comparison, true)).add(verdict_among(comparison, false));
}

}  // namespace straggler
