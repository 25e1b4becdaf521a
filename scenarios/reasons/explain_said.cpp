#include "scenarios/reasons/explain_said.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/statistics/better.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr double small_share = 0.01;  // a smaller saving is called nothing

std::string share_text(double share) { return share >= 0.1 ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{:.2g} %", 100 * share); }
std::string change_text(double share) {
  return std::abs(share) >= 0.1 ? fmt::format("{:+.0f} %", 100 * share) : fmt::format("{:+.2g} %", 100 * share);
}
std::string accuracy_text(double accuracy) { return fmt::format("{:.4g} %", 100 * accuracy); }
std::string times_text(double slowdown) { return fmt::format("{:.3g}", slowdown); }
SaidName name(Cause cause) { return {label_of(cause)}; }
Said listed(const std::vector<Said>& all) { return joined(all, " and "); }

class ExplainSentences {
 public:
  explicit ExplainSentences(const Explained& explained) : explained_(explained), rows_(ranked_causes(explained)) {}

  std::vector<Said> all() {
    if (explained_.by_rate())
      bottleneck_of_rate();
    else
      bottleneck_of_time();
    missed_by_chance();
    accuracy();
    changes();
    no_help();
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void say(SaidForm<std::type_identity_t<Parts>...> form, const Parts&... parts) {
    out_.push_back(worded<Parts...>(form, parts...));
  }
  const Figures& own() const { return *explained_.row(Cause::nothing).figures; }
  const char* takes() const { return explained_.by_target ? "the target is reached after" : "the same work takes"; }
  double cost(const CauseRow& row) const { return cost_of(explained_, row); }
  std::string cost_text(const CauseRow& row) const { return share_text(cost(row)); }
  /// Seconds that are compared, of a row that has an answer.
  std::string taken(const CauseRow& row) const {
    return readable_seconds(explained_.by_target ? *row.figures->time_to_target : row.figures->simulated_seconds);
  }

  /// The bottleneck is contention, which unlimited bandwidth ends, too, so that it saves more.
  bool within_bandwidth() const {
    const CauseRow *const first = bottleneck(explained_), &bandwidth = explained_.row(Cause::bandwidth);
    const bool answer = explained_.by_rate() ? bandwidth.figures.has_value() : bandwidth.share.has_value();
    return first && first->cause == Cause::contention && answer && !bandwidth.absent && cost(bandwidth) > cost(*first);
  }

  /// In a list of causes.
  std::string what_it_is(const CauseRow& row) const {
    if (row.cause == Cause::contention) return ", messages that share a link";
    const CauseRow& contention = explained_.row(Cause::contention);
    const bool both =
        row.cause == Cause::bandwidth && std::ranges::find(rows_, &contention) != rows_.end() && cost(contention) >= small_share;
    return both ? ", contention included" : "";
  }

  /// The causes after the bottleneck that cost something, the most costly first.
  void next_causes() {
    const bool first = bottleneck(explained_) == nullptr;
    std::vector<const CauseRow*> next;
    for (std::size_t i = first ? 0 : 1; i < rows_.size(); ++i)
      if (cost(*rows_[i]) >= small_share && !(rows_[i]->cause == Cause::bandwidth && within_bandwidth())) next.push_back(rows_[i]);
    std::ranges::stable_sort(next, [&](const CauseRow* a, const CauseRow* b) { return cost(*a) > cost(*b); });
    std::vector<Said> others;
    for (const CauseRow* const row : next)
      others.push_back(worded("{} ({}{}{})", name(row->cause), cost_text(*row), explained_.by_rate() ? " more" : "", what_it_is(*row)));
    if (others.empty()) return;
    const bool one = others.size() == 1;
    const std::string begin = first ? (one ? "The most costly one is" : "The most costly ones are") : (one ? "Next comes" : "Next come");
    say("{} {}. Causes overlap, so shares do not add up.", begin, listed(others));
  }

  /// Which link, and what of the scheme, where the network is the bottleneck.
  void who_holds_up() {
    const CauseRow* const first = bottleneck(explained_);
    if (!first || (first->cause != Cause::bandwidth && first->cause != Cause::contention)) return;
    if (!explained_.held.link.empty()) say("The busiest link is {}.", explained_.held.link);
    if (!explained_.held.answers.empty()) say("{}.", capital(explained_.held.answers));
  }

  /// "the causes", or only those with an answer where one that might cost time has none.
  std::string causes_that_count() const {
    const bool unknown = std::ranges::any_of(explained_.rows, [](const CauseRow& row) {
      return row.cause != Cause::all && row.cause != Cause::staleness && !row.absent && !row.figures;
    });
    return unknown ? "the causes with an answer" : "the causes";
  }

  /// Where one seed's times to the target differ by chance.
  void bottleneck_of_rate() {
    const CauseRow& all = explained_.row(Cause::all);
    if (const CauseRow* const first = bottleneck(explained_))
      say("The bottleneck is {}: {} the run handles {} samples per second instead of {}, {} more.", name(first->cause),
          words_of(first->cause), readable_number(first->figures->samples_per_second), readable_number(own().samples_per_second),
          cost_text(*first));
    else
      say("The bottleneck is computing: without any one of {}, samples per second grow by less than {}.", causes_that_count(),
          share_text(bottleneck_share));
    if (within_bandwidth())
      say("With unlimited bandwidth, which ends contention too, it handles {} more.", cost_text(explained_.row(Cause::bandwidth)));
    who_holds_up();
    next_causes();
    if (all.figures && cost(all) >= small_share)
      say("{}, the run handles {} samples per second, {} more.", capital(words_of(Cause::all)),
          readable_number(all.figures->samples_per_second), cost_text(all));
    say("Without a cause, updates come in another order, so the time to the target differs by chance too: {}.",
        chance_words("", "a saving"));
    say("So causes are ranked by samples per second: there only a few percent may be chance, and staleness changes nothing.");
  }

  void bottleneck_of_time() {
    const double seconds = explained_.seconds();
    const CauseRow& all = explained_.row(Cause::all);
    if (const CauseRow* const first = bottleneck(explained_); !first) {
      say("The bottleneck is computing: none of {} costs {} of the time.", causes_that_count(), share_text(bottleneck_share));
      next_causes();
    } else if (explained_.reaches_what_was_missed(*first)) {
      say("The bottleneck is {}: the run does not reach its target, and {} it does, after {}.", name(first->cause), words_of(first->cause),
          readable_seconds(*first->figures->time_to_target));
    } else {
      say("The bottleneck is {}: {} {} {} instead of {}, {} less.", name(first->cause), words_of(first->cause), takes(), taken(*first),
          readable_seconds(seconds), share_text(*first->share));
      const CauseRow& bandwidth = explained_.row(Cause::bandwidth);
      if (within_bandwidth())
        say("Unlimited bandwidth would save {} in all ({}), of which {} is contention.", readable_seconds(*bandwidth.seconds_saved),
            share_text(*bandwidth.share), share_text(*first->share / *bandwidth.share));
      who_holds_up();
      next_causes();
    }
    if (all.share && seconds > 0 && *all.share >= small_share)
      say("{}, {} {}: the rest, {}, is {}.", capital(words_of(Cause::all)), takes(), taken(all), share_text(1 - *all.share),
          kinds_of_work(*all.figures, 1 - *all.share));
  }

  /// "computing (24 %) and idle (5 %)": a share of the run's time, by the phases of workers.
  static std::string kinds_of_work(const Figures& figures, double share) {
    std::vector<std::string> kinds;
    for (const PhaseRow& row : phase_rows)
      if (const double part = share * figures.shares[row.phase]; part >= small_share / 2)
        kinds.push_back(fmt::format("{} ({})", row.title, share_text(part)));
    return kinds.empty() ? "computing" : kinds.size() == 1 ? kinds.front().substr(0, kinds.front().find(" (")) : ::straggler::listed(kinds);
  }

  void no_help() {
    std::vector<Said> useless, absent;
    for (const CauseRow* const row : rows_)
      if (std::abs(cost(*row)) < small_share) useless.push_back({name(row->cause)});
    if (!useless.empty())
      say("What would not help: {}; {} would {} less than {}.", listed(useless),
          useless.size() == 1 ? "its removal" : "the removal of each", explained_.by_rate() ? "raise samples per second by" : "save",
          share_text(small_share));
    for (const CauseRow* const row : rows_) {
      if (cost(*row) > -small_share) continue;
      const std::string without = capital(words_of(row->cause)), lost = readable_seconds(-row->seconds_saved.value_or(0));
      if (explained_.by_rate())
        say("{} the run handles {} fewer samples per second.", without, share_text(-cost(*row)));
      else if (explained_.by_target)
        say("{} the target is reached {} later.", without, lost);
      else
        say("{} the same work takes {} more.", without, lost);
    }
    std::vector<Said> unknown;
    for (const CauseRow& row : explained_.rows) {
      if (row.absent && row.cause < Cause::collectives) absent.push_back(Said(row.note));  // of others nobody asks
      if (!row.absent && !row.figures && row.note == measured_words()) unknown.push_back({name(row.cause)});
    }
    if (!unknown.empty()) say("What {} would do is not known: {}.", listed(unknown), measured_words());
    if (!absent.empty()) say("Not there: {}.", listed(absent));
  }

  /// Whether a row reaches the target that the run misses may be chance.
  void missed_by_chance() {
    if (!explained_.order_matters || explained_.by_target || own().time_to_target) return;
    if (std::ranges::any_of(explained_.rows, [](const CauseRow& row) { return row.figures && row.figures->time_to_target; }))
      say("Without a cause, updates come in another order, so whether the target is reached differs by chance too: one seed cannot tell.");
  }

  /// Of causes that change what is learned.
  void accuracy() {
    if (explained_.diverged)
      say("The run diverges. A row that diverges earlier does less work, and is empty; with --timing-only every row does the same work.");
    if (explained_.timing_only || explained_.by_target) return;  // all end where they reach the target
    for (const Cause cause : {Cause::staleness, Cause::compression}) {
      const CauseRow& row = explained_.row(cause);
      if (row.absent || !row.figures || !row.figures->final_test_accuracy) continue;
      const std::string without = capital(words_of(cause)), after = accuracy_text(*row.figures->final_test_accuracy);
      if (const std::optional<double>& before = own().final_test_accuracy)
        say("{}, the run would end at {} test accuracy instead of {}.", without, after, accuracy_text(*before));
      else if (explained_.diverged)
        say("{}, the loss would stay finite: after the same work the run would be at {} test accuracy.", without, after);
    }
  }

  void changes() {
    std::vector<const ChangeRow*> rows;
    for (const ChangeRow& row : explained_.changes)
      if (row.rate_change) rows.push_back(&row);
    std::ranges::stable_sort(rows, [](const ChangeRow* a, const ChangeRow* b) { return *a->rate_change > *b->rate_change; });
    Said helping;
    std::vector<Said> others, harming;
    for (const ChangeRow* const row : rows) {
      if (*row->rate_change <= -small_share / 2) {
        harming.push_back(worded("{}{} would lower the rate by {}", SaidName{row->change},
                                 row->place.empty() ? "" : " (" + row->place + ")", share_text(-*row->rate_change)));
        continue;
      }
      const bool helps = *row->rate_change >= small_share / 2;
      const Said change = worded("{} ({}{}{})", SaidName{row->change}, change_text(*row->rate_change), helps ? " samples per second" : "",
                                 row->target_change ? ", time to the target " + change_text(*row->target_change) : std::string());
      if (!helps)
        others.push_back(change);
      else
        helping.add(helping.empty() ? "" : ", then ").add(change);
    }
    if (!helping.empty()) say("Of small changes, what raises the rate most is {}.", helping);
    if (!others.empty()) say("Of small changes, {} would change the rate by less than {}.", listed(others), share_text(small_share / 2));
    if (!harming.empty()) say("Of small changes, {}.", listed(harming));
  }

  const Explained& explained_;
  const std::vector<const CauseRow*> rows_;
  std::vector<Said> out_;
};

/// "20 epochs or 400 updates, whichever comes first"
Said bounds_said(const SharedWork& work) {
  std::vector<Said> bounds;
  if (work.epochs) bounds.push_back(worded("{} epoch{}", format_number(*work.epochs), *work.epochs == 1 ? "" : "s"));
  if (work.updates) bounds.push_back(Said(updates_text(*work.updates)));
  Said said = joined(bounds, " or ");
  return bounds.size() > 1 ? said.add(", whichever comes first") : said;
}

}  // namespace

Said work_said(const Explained& explained) {
  const SharedWork& work = explained.work;
  const std::string target = work.target ? format_number(*work.target) : std::string();
  const std::string in_a_row = fmt::format("{} evaluations in a row", work.sustain);
  Said said;
  if (explained.by_target)
    said = worded("Each row takes the time to a test accuracy of {}{}.", target,
                  work.sustain > 1 ? ": to the first of " + in_a_row + " that reach it" : std::string());
  else if (work.made)
    said = worded("Each row makes the {} that the run made until {}.", updates_text(*work.updates),
                  work.ended ? fmt::format("it ended ({})", name_of(*work.ended)) : std::string("its simulated time was over"));
  else
    said = worded("Each row does the same work: {}.", bounds_said(work));
  if (work.target && explained.timing_only)
    said.add(worded(" Timing alone has no accuracies: the target of {} is left out.", target));
  else if (work.missed)
    said.add(worded(" The run does not reach its target of {}{}.", target, work.sustain > 1 ? " in " + in_a_row : std::string()));
  return said;
}

std::vector<Said> explain_said(const Explained& explained) { return ExplainSentences(explained).all(); }

std::vector<Said> slowdowns_said(const Slowdowns& slowdowns) {
  if (!slowdowns.note.empty()) return {worded("There are no slowdowns by worker: {}.", slowdowns.note)};
  const std::string updates = updates_text(slowdowns.updates), s = times_text(slowdowns.all());
  if (std::abs(slowdowns.all() - 1) < worth_telling - 1)
    return {worded("Workers are even: if all took the mean, {} would take as long (slowdown S = {}).", updates, s)};
  std::vector<Said> out{
      worded("Uneven workers: if each batch took the mean of all batches, {} would take {} instead of {} (slowdown S = {}).", updates,
             readable_seconds(slowdowns.ideal_seconds), readable_seconds(slowdowns.seconds), s)};
  std::vector<Said> even, uneven, workers;
  for (const Slowdowns::Kind& kind : slowdowns.kinds)
    if (kind.even)
      even.push_back({SaidName{name_of(kind.kind)}});
    else
      uneven.push_back(worded("{} {}", SaidName{name_of(kind.kind)}, times_text(kind.slowdown)));
  out.push_back(worded("Slowdown by kind of work, all others even (S_t): {}{}{}.", listed(uneven),
                       even.empty() ? "" : "; workers are alike in ", listed(even)));
  constexpr std::size_t most_named = 3;
  const std::vector<const Slowdowns::Worker*> ranked = slowdowns.ranked();
  for (const Slowdowns::Worker* const worker : ranked)
    if (workers.size() < most_named && worker->slowdown >= worth_telling)
      workers.push_back(worded("{} {}", SaidName{worker->name}, times_text(worker->slowdown)));
  if (!workers.empty()) out.push_back(worded("Slowdown by worker, all others even (S_w): {}.", listed(workers)));
  if (!slowdowns.slowest_share) return out;
  const double share = *slowdowns.slowest_share;
  const Said who =
      slowdowns.slowest == 1 ? Said{SaidName{ranked.front()->name}} : Said(fmt::format("the slowest {} workers", slowdowns.slowest));
  out.push_back(
      share > 1 ? worded("If only {} were even, the run would be faster than with all workers even (share of the lost time M_W = {}).", who,
                         times_text(share))
      : share < 0 ? worded("If only {} were even, the run would take longer (share of the lost time M_W = {}).", who, times_text(share))
                  : worded("If only {} were even, {} of the lost time would be saved (M_W).", who, fmt::format("{:.0f} %", 100 * share)));
  return out;
}

}  // namespace straggler
