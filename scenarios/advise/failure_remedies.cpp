// What makes failures cost less: how often to save (list A), and spares (list C).
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/advise/remedy.hpp"
#include "scenarios/experiment/failure_forms.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

/// Empty: failures roll the job back.
std::string why_no_rollback(const AdvisedJob& job) {
  const std::optional<RecoverySpec>& recovery = job.scenario.training.recovery;
  return recovery && recovery->kind == RecoverySpec::Kind::rollback ? std::string() : "no failure rolls the job back";
}

/// The mean over all draws of failures, of which a run has one.
std::string in_the_mean(const FailureForms& forms, double interval) {
  return fmt::format("in the mean over many runs goodput is {:.3f}", reliability::long_run_goodput(interval, forms.save, forms.job));
}

Attempts checkpoint_interval(const AdvisedJob& job) {
  if (std::string why = why_no_rollback(job); !why.empty()) return left_out(std::move(why));
  if (!job.scenario.training.recovery->checkpoint)
    return left_out("nothing is saved: training.recovery.checkpoint would say what it costs");
  const std::optional<FailureForms> forms = failure_forms(job.scenario, job.blueprint);
  if (!forms) return left_out("no failures come at a rate, so no interval is known to be better");
  if (forms->regular) return left_out("failures come at constant times: what is best depends on when, not on how often");
  if (!(forms->optimal > 0)) return left_out("saving takes no time, so to save after every update is best");
  Attempts out;
  const auto add = [&](const char* name, double seconds) {
    const std::string time = format_quantity(seconds, Dimension::time);
    out.all.push_back({.setting = fmt::format("{} ({})", name, readable_seconds(seconds)),
                       .sets = {"training.recovery.checkpoint.every=" + time},
                       .note = in_the_mean(*forms, seconds)});
  };
  out.all.push_back({.setting = fmt::format("optimal ({})", readable_seconds(forms->optimal)),
                     .sets = {"training.recovery.checkpoint.every=optimal"},
                     .note = in_the_mean(*forms, forms->optimal)});
  add("twice as often", forms->optimal / 2);
  add("half as often", 2 * forms->optimal);
  return out;
}

Attempts spares(const AdvisedJob& job) {
  if (std::string why = why_no_rollback(job); !why.empty()) return left_out(std::move(why));
  const std::vector<FaultSpec>& faults = job.scenario.cluster.faults;
  if (!std::ranges::any_of(faults, changes_members)) return left_out("no worker fails");
  const std::int64_t now = job.scenario.training.recovery->spares;
  Attempts out;
  for (const std::int64_t more : {1, 2, 4})
    out.all.push_back({.setting = fmt::format("{} spare{}", now + more, now + more == 1 ? "" : "s"),
                       .sets = {fmt::format("training.recovery.spares={}", now + more)},
                       .note = fmt::format("{} more worker{} to pay for", more, more == 1 ? "" : "s")});
  return out;
}

}  // namespace

Remedy checkpoint_interval_remedy() { return {RemedyList::same_learning, "checkpoint_interval", "the same", true, checkpoint_interval}; }
Remedy spares_remedy() { return {RemedyList::other_machines, "spares", "the same", true, spares}; }

}  // namespace straggler
