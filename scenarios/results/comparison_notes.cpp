#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/results/caveats.hpp"
#include "scenarios/results/endings.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/statistics/better.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

class Notes {
 public:
  explicit Notes(const Comparison& comparison) : comparison_(comparison) {}

  std::vector<Said> all() {
    short_runs();
    alone();
    if (comparison_.different.empty()) {
      difference("data", [](const RunResult& run) { return run.data; });
      difference("the folder of their data", [](const RunResult& run) { return run.data_path; });
    }
    difference("model", [](const RunResult& run) { return run.model; });
    difference("target accuracy", [](const RunResult& run) { return run.target_accuracy ? number_text(*run.target_accuracy) : "none"; });
    for (const RunResult& run : runs())
      if (!run.unread.empty()) say("{}; its data and model are not compared", run.unread);
    work();
    not_asked();
    chance();
    for (std::size_t i = 0; i < runs().size(); ++i) {
      if (!is_finished(runs()[i].outcome))
        say("'{}' {}{}", name(i), how_it_ended(runs()[i].outcome), runs().size() > 1 ? ": it cannot win" : "");
      else if (const std::optional<std::string> warning = guess_warning(learned_of(runs()[i].summary)))
        say("'{}': {}", name(i), *warning);
    }
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void say(SaidForm<std::type_identity_t<Parts>...> form, const Parts&... parts) {
    out_.push_back(worded<Parts...>(form, parts...));
  }
  const std::vector<RunResult>& runs() const { return comparison_.runs; }
  SaidName name(std::size_t run) const { return {comparison_.labels[run]}; }
  /// "'a', 'b' were", "'a' was"
  Said these_were(const std::vector<std::size_t>& which) const {
    std::vector<Said> names;
    for (const std::size_t run : which) names.push_back(worded("'{}'", name(run)));
    return joined(names).add(which.size() == 1 ? " was" : " were");
  }

  void difference(const char* what, const std::function<std::string(const RunResult&)>& value) {
    if (const RunGroups groups = grouped(runs(), value); groups.size() > 1)
      say("the runs differ in {}: {}", what, groups_said(comparison_, groups));
  }

  /// A run that stopped before the winner was there has not shown that it is slower, unless it could not go on.
  void short_runs() {
    if (!comparison_.deciding || !comparison_.winner) return;
    const double best = *find_threshold(runs()[*comparison_.winner], *comparison_.deciding)->seconds;
    for (std::size_t i = 0; i < runs().size(); ++i) {
      const RunResult& run = runs()[i];
      const ThresholdResult* row = find_threshold(run, *comparison_.deciding);
      const bool ended = cannot_go_on(run.outcome) || run.outcome == Outcome::diverged;
      if (!row || row->seconds || run.simulated_seconds >= best || timing_alone(run) || ended) continue;
      say("'{}' ended after {}, before the winner's {}: run longer, it might win", name(i), readable_seconds(run.simulated_seconds),
          readable_seconds(best));
    }
  }

  /// "'a', 'b' were not asked for 0.9; 'c' was not asked for 0.8, 0.9". Does not repeat what the verdict says.
  void not_asked() {
    std::vector<Said> parts;
    const auto absent = [&](const RunResult& run) {
      std::string all;
      for (const double threshold : comparison_.thresholds)
        if (!timing_alone(run) && !find_threshold(run, threshold) && (comparison_.winner || threshold != comparison_.deciding))
          all += (all.empty() ? "" : ", ") + number_text(threshold);
      return all;
    };
    for (const auto& [what, who] : grouped(runs(), absent)) parts.push_back(worded("{} not asked for {}", these_were(who), what));
    if (!parts.empty()) say("{} (evaluate.thresholds)", joined(parts, "; ", "; "));
  }

  /// Of runs that no target ended.
  void work() {
    std::vector<double> samples, seconds;
    for (const RunResult& run : runs()) {
      if (run.outcome != Outcome::completed) continue;
      samples.push_back(run.samples);
      seconds.push_back(run.simulated_seconds);
    }
    if (const std::string words = different_work(samples, seconds); !words.empty()) say("{}", words);
  }

  void alone() {
    if (comparison_.timing_only) return;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < runs().size(); ++i)
      if (timing_alone(runs()[i])) who.push_back(i);
    const bool said = comparison_.deciding && !comparison_.winner && who.size() + 1 == runs().size();
    if (!who.empty() && !said) say("{} run for timing alone", these_were(who));
  }

  /// A winner among schemes by one seed of each, or by one learning rate for all.
  void chance() {
    if (!comparison_.winner || comparison_.timing_only) return;
    std::map<std::string, std::set<std::uint64_t>> seeds;  // of each scheme
    std::set<double> rates;
    for (const RunResult& run : runs()) {
      if (timing_alone(run)) continue;
      if (!run.seed || !run.learning_rate) return;
      seeds[run.scheme].insert(*run.seed);
      rates.insert(*run.learning_rate);
    }
    if (seeds.size() < 2) return;
    const bool one_seed = std::ranges::all_of(seeds, [](const auto& scheme) { return scheme.second.size() == 1; });
    const std::string chance = chance_words(" of each scheme");
    const std::string rate = rates.size() == 1 ? one_rate_words(*rates.begin()) : "";
    if (one_seed && !rate.empty())
      say("{}, and {}; `straggler race --tune learning_rate` runs several seeds and tunes it for each", chance, rate);
    else if (one_seed)
      say("{}; `straggler race` runs several", chance);
    else if (!rate.empty())
      say("{}; `straggler race --tune learning_rate` tunes it for each", rate);
  }

  const Comparison& comparison_;
  std::vector<Said> out_;
};

}  // namespace

Said groups_said(const Comparison& comparison, const RunGroups& groups) {
  std::vector<Said> parts;
  for (const auto& [text, who] : groups) {
    std::vector<Said> names;
    for (const std::size_t run : who) names.push_back({SaidName{comparison.labels[run]}});
    parts.push_back(worded("{} ({})", text, joined(names)));
  }
  return joined(parts);
}

std::vector<Said> comparison_notes(const Comparison& comparison) { return Notes(comparison).all(); }

}  // namespace straggler
