#include "scenarios/advise/advise_said.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/data/dataset.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr RemedyList all_lists[] = {RemedyList::same_learning, RemedyList::other_learning, RemedyList::other_machines};

std::string percent_text(double share) {
  if (std::abs(share) < 0.0005) return "0 %";
  return std::abs(share) >= 0.1 ? fmt::format("{:+.0f} %", 100 * share) : fmt::format("{:+.2g} %", 100 * share);
}
std::string part_text(double share) { return share >= 0.1 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.2g} %", 100 * share); }

/// "replace_slow (worker 3)"
Said what_of(const AdviceRow& row) { return worded("{} ({})", SaidName{row.name()}, row.attempt.setting); }

/// The best of each list; then, up to three, others: those of the same learning first.
std::vector<const AdviceRow*> best_three(const Advice& advice) {
  constexpr std::size_t most = 3;
  std::vector<const AdviceRow*> best;
  if (const auto figure = ranked_by(advice.by)) {
    for (const AdviceRow& row : advice.rows) {
      const bool known = std::ranges::any_of(best, [&](const AdviceRow* each) { return each->remedy == row.remedy; });
      if (best.size() < most && !known && ((*row.figures).*figure) && *((*row.figures).*figure) < *(advice.own.*figure))
        best.push_back(&row);
    }
    return best;
  }
  std::vector<const AdviceRow*> others;
  for (const RemedyList list : all_lists) {
    bool is_first = true;
    for (const AdviceRow* const row : best_of_each(advice, list)) {
      if (row->change < worth_a_change) continue;
      (is_first ? best : others).push_back(row);
      is_first = false;
    }
  }
  others.resize(std::min(others.size(), most - best.size()));
  best.insert(best.end(), others.begin(), others.end());
  std::ranges::stable_sort(best, {}, [](const AdviceRow* row) { return row->remedy->list; });
  return best;
}

Said gain_said(const Advice& advice, const AdviceRow& row) {
  Said said = worded("{}: {} samples per second", what_of(row), percent_text(row.change));
  const auto samples = [](const TrialFigures& figures) { return figures.samples_per_second * figures.step; };
  if (std::abs(samples(*row.figures) / samples(advice.own) - 1) < 0.01)  // else times of an update do not compare
    said.add(worded(", an update takes {} instead of {}", readable_seconds(row.figures->step), readable_seconds(advice.own.step)));
  if (row.figures->time_to_target)
    said.add(worded(", the target is reached after {} instead of {}", readable_seconds(*row.figures->time_to_target),
                    readable_seconds(*advice.own.time_to_target)));
  if (row.figures->price && advice.own.price)
    said.add(worded(", the price is {} instead of {}", readable_price(*row.figures->price), readable_price(*advice.own.price)));
  if (row.figures->joules && advice.own.joules)
    said.add(worded(", the energy is {} instead of {}", readable_joules(*row.figures->joules), readable_joules(*advice.own.joules)));
  if (row.attempt.sets.empty()) said.add(", an upper bound without a setting");
  if (row.remedy->list == RemedyList::other_learning) said.add(worded("; learning: {}", row.remedy->learning));
  if (row.remedy->list == RemedyList::other_machines) said.add(worded("; {} for each worker", percent_text(row.rank)));
  if (!row.note.empty()) said.add(worded("; {}", row.note));
  return said.add(".");
}

/// Remedies of list B that go on while one worker is late.
Said no_wait_said(const Advice& advice) {
  std::vector<Said> all;
  for (const AdviceRow* const row : best_of_each(advice, RemedyList::other_learning))
    if (row->change >= worth_a_change && (row->name() == "asynchronous" || row->name() == "wait_for_k"))
      all.push_back(worded("{} ({})", SaidName{row->name()}, percent_text(row->change)));
  return all.empty() ? Said() : worded("What does not wait for such delays: {}.", joined(all, " and "));
}

/// Nothing gains: or nothing could be tried.
Said nothing_said(const Advice& advice) {
  if (!advice.rows.empty()) return Said("No remedy gains 1 % here.");
  if (advice.facts && advice.facts->log) return Said("No remedy can be tried on a log; --all says why.");
  if (advice.left_out.empty()) return Said("No remedy was tried.");
  const AdviceRow& first = advice.left_out.front();
  return worded("No remedy can be tried here: {}: {}{}.", SaidName{first.name()}, first.why_not,
                advice.left_out.size() > 1 ? std::string("; --all says why not the others") : std::string());
}

std::vector<Said> pipeline_said(const PipelineFacts& facts) {
  const std::string step = readable_seconds(facts.step);
  std::vector<Said> out;
  if (facts.even < 0.05) {
    out.push_back(worded("No stage or worker binds: with even operations a step ({}) would take {} less.", step, part_text(facts.even)));
    return out;
  }
  const double moved = std::min(facts.last_stage, facts.even);  // the work moves to other stages
  if (moved >= std::max(0.01, facts.slowest))
    out.push_back(
        worded("The last stage binds: it has more than its part of the work. With even operations a step ({}) would take {} less.", step,
               part_text(facts.even)));
  else
    out.push_back(worded("Uneven operations bind: with even ones a step ({}) would take {} less.", step, part_text(facts.even)));
  const Said move = worded("move layers off the last stage: a step would take {} less.", part_text(std::max(0.0, moved)));
  const Said replace = worded("replace the slowest 3 % of the workers ({}): a step would take {} less.", facts.slowest_workers,
                              part_text(std::max(0.0, facts.slowest)));
  const bool stage_first = moved >= facts.slowest;
  out.push_back(worded("First, {}", stage_first ? move : replace));
  out.push_back(worded("Second, {}", stage_first ? replace : move));
  if (!facts.kind.empty())
    out.push_back(
        worded("Of the operations, uneven {} cost most: alone {} times the even step.", facts.kind, readable_number(facts.of_kind)));
  return out;
}

}  // namespace

Said binding_said(const Advice& advice) {
  const std::string share = part_text(advice.bound), step = readable_seconds(advice.own.step);
  switch (advice.binding) {
    case Binding::loader:
      if (advice.facts && advice.facts->log)
        return worded(
            "The data loader binds: {} of all the logged time is waiting for data, start-up and stalls included; look at storage, at the "
            "loader's processes, and at a prefetch that is deeper than the stalls.",
            share);
      return worded("The data loader binds: with batches that are there at once, an update ({}) would take {} less.", step, share);
    case Binding::host:
      return worded("The host binds: with launches that take no time, an update ({}) would take {} less.", step, share);
    case Binding::worker:
      return worded("Slow workers bind: if all were like the median one, an update ({}) would take {} less.", step, share);
    case Binding::jitter:
      return worded("Jitter binds: without delays and stalls of single steps, an update ({}) would take {} less.", step, share);
    case Binding::network:
      return advice.holds_waiting ? worded(
                                        "All-reduces bind: without them an update ({}) would take {} less; their measured times may "
                                        "contain waiting for other ranks.",
                                        step, share)
                                  : worded("The network binds: if messages took no time, an update ({}) would take {} less.", step, share);
    case Binding::server:
      return worded("The server binds: if it took no time, an update ({}) would take {} less.", step, share);
    case Binding::unknown:
      return worded("What binds cannot be told from a log: computing, exchange and waiting are in one time of a step ({}).", step);
    case Binding::computing:
      break;
  }
  return worded("Computing binds: neither host, network, a slow worker, jitter, server nor data loader costs {} of an update ({}).",
                part_text(0.05), step);
}

std::vector<Said> advise_said(const Advice& advice) {
  if (advice.figures_alone) return facts_said(*advice.facts);
  std::vector<Said> out{binding_said(advice)};
  const std::vector<const AdviceRow*> best = best_three(advice);
  if (best.empty()) out.push_back(nothing_said(advice));
  if (!best.empty() && !ranked_by(advice.by) && best.back()->remedy->list != best.front()->remedy->list)
    out.push_back(Said("The best of the lists, A before B before C; gains are ranked within a list only."));
  constexpr const char* places[] = {"First", "Second", "Third"};
  for (std::size_t i = 0; i < best.size(); ++i) out.push_back(worded("{}, {}", places[i], gain_said(advice, *best[i])));
  if (advice.binding == Binding::jitter)
    if (Said said = no_wait_said(advice); !said.empty()) out.push_back(std::move(said));
  for (const AdviceRow& both : advice.combinations)
    out.push_back(worded("Together, {}: {} samples per second ({}).", what_of(both), percent_text(both.change), both.note));
  std::vector<Said> useless;
  for (const RemedyList list : all_lists)
    for (const AdviceRow* const row : best_of_each(advice, list))
      if (row->change <= -worth_a_change)
        useless.push_back(worded("{} ({})", SaidName{row->name()}, percent_text(row->change)));
      else if (row->change < worth_a_change)
        useless.push_back({SaidName{row->name()}});
  if (!useless.empty()) out.push_back(worded("What would not help: {}.", joined(useless, " and ")));
  if (advice.holds_waiting)
    out.push_back(Said("Times of all-reduces are measured, and may contain waiting: links, algorithms and buckets are left out."));
  if (advice.noise_scale)
    out.push_back(
        worded("The gradient noise scale is {} samples, and an update has {}: a batch twice as large needs {} times the samples "
               "(McCandlish et al. 2018).",
               readable_number(*advice.noise_scale), readable_number(static_cast<double>(advice.batch_of_all)),
               readable_number((*advice.noise_scale + 2.0 * static_cast<double>(advice.batch_of_all)) /
                               (*advice.noise_scale + static_cast<double>(advice.batch_of_all)))));
  if (advice.facts) {
    ImportFacts facts = *advice.facts;
    if (advice.binding == Binding::jitter && facts.last && facts.last->times == 0) facts.last.reset();  // by sums, which jitter moves
    for (Said& said : facts_said(facts)) out.push_back(std::move(said));
  }
  if (advice.cut) out.push_back(worded("Compared over the first {} updates, since the whole run takes long.", readable_count(*advice.cut)));
  return out;
}

std::vector<Said> facts_said(const ImportFacts& facts) {
  std::vector<Said> out;
  if (facts.pipeline) out = pipeline_said(*facts.pipeline);
  if (const std::optional<LastRank>& last = facts.last)
    out.push_back(
        last->times > 0
            ? worded("Rank {} comes last at {} of {} collectives; without that, the first of them ends {} earlier (next: rank {}).",
                     std::to_string(last->rank), std::to_string(last->times), std::to_string(last->of), readable_seconds(last->seconds),
                     std::to_string(last->next))
            : worded("Rank {} comes last: it waits least for others. Without it they would wait {} less (next: rank {}).",
                     std::to_string(last->rank), readable_seconds(last->in_all), std::to_string(last->next)));
  if (!facts.step)  // else the rows of the lists say more
    for (const std::string& sentence : facts.uneven) out.push_back(worded("{}.", sentence));
  for (const std::string& sentence : facts.assumed) out.push_back(worded("Assumed: {}.", sentence));
  for (const std::string& sentence : facts.missing) out.push_back(worded("Missing: {}.", sentence));
  return out;
}

Advice advise_on_figures(const std::filesystem::path& import_json) {
  Advice advice;
  advice.figures_alone = true;
  advice.file = import_json.string();
  advice.facts = import_facts(import_json);
  advice.name = advice.facts->what.empty() ? advice.file : advice.facts->what;
  if (advise_said(advice).empty())
    throw DataError(advice.file + ": tells of no job and of no ranks; give a scenario, or the folder of an imported job");
  return advice;
}

}  // namespace straggler
