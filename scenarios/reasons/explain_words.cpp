#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/reasons/explain.hpp"
#include "scenarios/statistics/better.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr double small_share = 0.01;  // a smaller saving is called nothing

std::string share_text(double share) { return share >= 0.1 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.2g} %", 100 * share); }

std::string takes(const Explained& explained) { return explained.by_target ? "the target is reached after" : "the same work takes"; }

/// Seconds that are compared, of a row that has an answer.
double taken(const Explained& explained, const CauseRow& row) {
  return explained.by_target ? *row.figures->time_to_target : row.figures->simulated_seconds;
}

/// The run misses its target, and does not without this cause.
bool reaches_what_was_missed(const Explained& explained, const CauseRow& row) {
  return !explained.order_matters && !explained.row(Cause::nothing).figures->time_to_target && row.figures && row.figures->time_to_target;
}

std::vector<std::string> names_of(const std::vector<const CauseRow*>& rows) {
  std::vector<std::string> names;
  for (const CauseRow* const row : rows) names.push_back(label_of(row->cause));
  return names;
}

/// Said of bandwidth that comes after contention, of which it costs more.
std::string and_contention(const Explained& explained, const std::vector<const CauseRow*>& rows, std::size_t i) {
  const CauseRow &before = *rows[i - 1], &row = *rows[i];
  const bool out_of_order = row.cause == Cause::bandwidth && before.cause == Cause::contention;
  return out_of_order && cost_of(explained, row) > cost_of(explained, before) ? ", contention included" : "";
}

/// The causes after the bottleneck that cost something.
void say_others(const Explained& explained, const std::vector<const CauseRow*>& rows, std::vector<std::string>& out) {
  const bool first = bottleneck(explained) == nullptr;
  std::vector<std::string> others;
  for (std::size_t i = first ? 0 : 1; i < rows.size() && cost_of(explained, *rows[i]) >= small_share; ++i)
    others.push_back(fmt::format("{} ({}{}{})", label_of(rows[i]->cause), share_text(cost_of(explained, *rows[i])),
                                 explained.by_rate() ? " more" : "", i > 0 ? and_contention(explained, rows, i) : std::string()));
  if (others.empty()) return;
  const bool one = others.size() == 1;
  out.push_back(fmt::format("{} {}. Causes overlap, so shares do not add up.",
                            first ? (one ? "The most costly one is" : "The most costly ones are") : (one ? "Next comes" : "Next come"),
                            listed(others)));
}

/// "the causes", or only those with an answer where one that might cost time has none.
std::string causes_that_count(const Explained& explained) {
  const bool unknown = std::ranges::any_of(explained.rows, [](const CauseRow& row) {
    return row.cause != Cause::all && row.cause != Cause::staleness && !row.absent && !row.figures;
  });
  return unknown ? "the causes with an answer" : "the causes";
}

/// The words where one seed's times to the target differ by chance.
void say_bottleneck_of_rate(const Explained& explained, const std::vector<const CauseRow*>& rows, std::vector<std::string>& out) {
  const double own = explained.row(Cause::nothing).figures->samples_per_second;
  const CauseRow& all = explained.row(Cause::all);
  if (bottleneck(explained)) {
    const CauseRow& first = *rows.front();
    out.push_back(fmt::format("The bottleneck is {}: {} the run handles {} samples per second instead of {}, {} more.",
                              label_of(first.cause), words_of(first.cause), readable_number(first.figures->samples_per_second),
                              readable_number(own), share_text(cost_of(explained, first))));
  } else {
    out.push_back(fmt::format("The bottleneck is computing: without any one of {}, samples per second grow by less than {}.",
                              causes_that_count(explained), share_text(bottleneck_share)));
  }
  say_others(explained, rows, out);
  if (all.figures && cost_of(explained, all) >= small_share)
    out.push_back(fmt::format("{}, the run handles {} samples per second, {} more.", capital(words_of(Cause::all)),
                              readable_number(all.figures->samples_per_second), share_text(cost_of(explained, all))));
  out.push_back(fmt::format("Without a cause, updates come in another order, so the time to the target differs by chance too: {}.",
                            chance_words("", "a saving")));
  out.emplace_back("So causes are ranked by samples per second: there only a few percent may be chance, and staleness changes nothing.");
}

void say_bottleneck(const Explained& explained, const std::vector<const CauseRow*>& rows, std::vector<std::string>& out) {
  const double seconds = explained.seconds();
  const CauseRow& all = explained.row(Cause::all);
  if (!bottleneck(explained)) {
    out.push_back(fmt::format("The bottleneck is computing: none of {} costs {} of the time.", causes_that_count(explained),
                              share_text(bottleneck_share)));
    say_others(explained, rows, out);
  } else if (const CauseRow& first = *rows.front(); reaches_what_was_missed(explained, first)) {
    out.push_back(fmt::format("The bottleneck is {}: the run does not reach its target, and {} it does, after {}.", label_of(first.cause),
                              words_of(first.cause), readable_seconds(*first.figures->time_to_target)));
  } else {
    out.push_back(fmt::format("The bottleneck is {}: {} {} {} instead of {}, {} less.", label_of(first.cause), words_of(first.cause),
                              takes(explained), readable_seconds(taken(explained, first)), readable_seconds(seconds),
                              share_text(*first.share)));
    say_others(explained, rows, out);
    const CauseRow& bandwidth = explained.row(Cause::bandwidth);
    if (first.cause == Cause::contention && bandwidth.share && *bandwidth.share > *first.share)
      out.push_back(fmt::format("Unlimited bandwidth would save {} in all, of which {} is contention.",
                                readable_seconds(*bandwidth.seconds_saved), share_text(*first.share / *bandwidth.share)));
  }
  if (all.share && seconds > 0 && *all.share >= small_share)
    out.push_back(fmt::format("{}, {} {}: the rest, {}, is computing and other causes.", capital(words_of(Cause::all)), takes(explained),
                              readable_seconds(taken(explained, all)), share_text(1 - *all.share)));
}

void say_no_help(const Explained& explained, const std::vector<const CauseRow*>& rows, std::vector<std::string>& out) {
  std::vector<const CauseRow*> useless, harmful;
  for (const CauseRow* const row : rows) {
    const double cost = cost_of(explained, *row);
    if (cost <= -small_share)
      harmful.push_back(row);
    else if (cost < small_share)
      useless.push_back(row);
  }
  if (!useless.empty())
    out.push_back(fmt::format("What would not help: {}; {} would {} less than {}.", listed(names_of(useless)),
                              useless.size() == 1 ? "its removal" : "the removal of each",
                              explained.by_rate() ? "raise samples per second by" : "save", share_text(small_share)));
  for (const CauseRow* const row : harmful) {
    const std::string without = capital(words_of(row->cause)), lost = readable_seconds(-row->seconds_saved.value_or(0));
    if (explained.by_rate())
      out.push_back(fmt::format("{} the run handles {} fewer samples per second.", without, share_text(-cost_of(explained, *row))));
    else if (explained.by_target)
      out.push_back(fmt::format("{} the target is reached {} later.", without, lost));
    else
      out.push_back(fmt::format("{} the same work takes {} more.", without, lost));
  }
  std::vector<std::string> absent;
  for (const CauseRow& row : explained.rows)
    if (row.absent) absent.emplace_back(row.note);
  if (!absent.empty()) out.push_back(fmt::format("Not there: {}.", listed(absent)));
}

/// Whether a row reaches the target that the run misses may be chance.
void say_missed_by_chance(const Explained& explained, std::vector<std::string>& out) {
  if (!explained.order_matters || explained.by_target || explained.row(Cause::nothing).figures->time_to_target) return;
  if (std::ranges::any_of(explained.rows, [](const CauseRow& row) { return row.figures && row.figures->time_to_target; }))
    out.emplace_back(
        "Without a cause, updates come in another order, so whether the target is reached differs by chance too: one seed cannot tell.");
}

/// Of causes that change what is learned.
void say_accuracy(const Explained& explained, std::vector<std::string>& out) {
  if (explained.diverged)
    out.emplace_back(
        "The run diverges. A row that diverges earlier does less work, and is empty; with --timing-only every row does the same work.");
  if (explained.timing_only || explained.by_target) return;  // all end where they reach the target
  const std::optional<double>& before = explained.row(Cause::nothing).figures->final_test_accuracy;
  for (const Cause cause : {Cause::staleness, Cause::compression}) {
    const CauseRow& row = explained.row(cause);
    if (row.absent || !row.figures || !row.figures->final_test_accuracy) continue;
    const std::string without = capital(words_of(cause)), after = fmt::format("{:.4g} %", 100 * *row.figures->final_test_accuracy);
    if (before)
      out.push_back(fmt::format("{}, the run would end at {} test accuracy instead of {:.4g} %.", without, after, 100 * *before));
    else if (explained.diverged)
      out.push_back(
          fmt::format("{}, the loss would stay finite: after the same work the run would be at {} test accuracy.", without, after));
  }
}

/// What the change does to the time to the target, where that is known.
std::string target_text(const ChangeRow& row) {
  return row.target_change ? fmt::format(", time to the target {:+.2g} %", 100 * *row.target_change) : std::string();
}

void say_changes(const Explained& explained, std::vector<std::string>& out) {
  std::vector<const ChangeRow*> rows;
  for (const ChangeRow& row : explained.changes)
    if (row.rate_change) rows.push_back(&row);
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const ChangeRow* a, const ChangeRow* b) { return *a->rate_change > *b->rate_change; });
  std::vector<std::string> helping, others;
  for (const ChangeRow* const row : rows) {
    if (*row->rate_change >= small_share / 2)
      helping.push_back(fmt::format("{} ({:+.2g} % samples per second{})", row->change, 100 * *row->rate_change, target_text(*row)));
    else
      others.push_back(fmt::format("{} ({:+.2g} %{})", row->change, 100 * *row->rate_change, target_text(*row)));
  }
  if (!helping.empty()) out.push_back(fmt::format("Of small changes, what raises the rate most is {}.", fmt::join(helping, ", then ")));
  if (!others.empty())
    out.push_back(fmt::format("Of small changes, {} would raise the rate by less than {}.", listed(others), share_text(small_share / 2)));
}

}  // namespace

double cost_of(const Explained& explained, const CauseRow& row) {
  if (!explained.by_rate()) return *row.share;
  const double own = explained.row(Cause::nothing).figures->samples_per_second;
  return own > 0 ? row.figures->samples_per_second / own - 1 : 0;
}

std::vector<const CauseRow*> ranked_causes(const Explained& explained) {
  std::vector<const CauseRow*> rows;
  for (const CauseRow& row : explained.rows) {
    const bool answer = explained.by_rate() ? row.figures.has_value() : row.share.has_value();
    if (row.cause == Cause::nothing || row.cause == Cause::all || !answer || row.absent) continue;
    const bool only_ends_elsewhere = row.cause == Cause::staleness && !explained.by_target && !reaches_what_was_missed(explained, row);
    if (only_ends_elsewhere || (explained.by_rate() && row.cause == Cause::staleness)) continue;
    rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const CauseRow* a, const CauseRow* b) { return cost_of(explained, *a) > cost_of(explained, *b); });
  // Reaching a missed target counts for more than seconds.
  std::stable_partition(rows.begin(), rows.end(), [&](const CauseRow* row) { return reaches_what_was_missed(explained, *row); });
  const auto place = [&](Cause cause) { return std::ranges::find(rows, cause, [](const CauseRow* row) { return row->cause; }); };
  const auto bandwidth = place(Cause::bandwidth), contention = place(Cause::contention);
  if (bandwidth < contention && contention != rows.end()) {
    const double all = cost_of(explained, **bandwidth), shared = cost_of(explained, **contention);
    if (shared > all / 2 && (shared >= bottleneck_share || all < bottleneck_share)) std::rotate(bandwidth, contention, contention + 1);
  }
  return rows;
}

const CauseRow* bottleneck(const Explained& explained) {
  const std::vector<const CauseRow*> rows = ranked_causes(explained);
  if (rows.empty()) return nullptr;
  const CauseRow& first = *rows.front();
  return cost_of(explained, first) >= bottleneck_share || reaches_what_was_missed(explained, first) ? &first : nullptr;
}

std::vector<std::string> explain_words(const Explained& explained) {
  const std::vector<const CauseRow*> rows = ranked_causes(explained);
  std::vector<std::string> out;
  if (explained.by_rate())
    say_bottleneck_of_rate(explained, rows, out);
  else
    say_bottleneck(explained, rows, out);
  say_missed_by_chance(explained, out);
  say_accuracy(explained, out);
  say_changes(explained, out);
  say_no_help(explained, rows, out);
  return out;
}

}  // namespace straggler
