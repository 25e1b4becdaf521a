#include "scenarios/reasons/failure_text.hpp"

#include <fmt/format.h>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

/// "goodput 0.912 (first order 0.911)"
std::string goodput_text(const FailureForms& forms, double interval) {
  if (forms.regular) return "goodput is known where failures come at random; these come at constant times";
  return fmt::format("goodput {:.3f} (first order {:.3f})", reliability::long_run_goodput(interval, forms.save, forms.job),
                     reliability::first_order_goodput(interval, forms.save, forms.job));
}

}  // namespace

FailureText failure_text(const FailureForms& forms, double update_seconds) {
  FailureText text;
  text.failures = fmt::format("one in {} stops the job, in the mean, which then takes {} to continue", readable_seconds(1 / forms.job.rate),
                              readable_seconds(forms.job.recovery));
  const std::optional<double> interval = forms.interval(update_seconds);
  if (interval)
    text.checkpoints = fmt::format("after {} of work, {} each: {}", readable_seconds(*interval), readable_seconds(forms.save),
                                   goodput_text(forms, *interval));
  else if (forms.every_updates > 0)
    text.checkpoints = fmt::format("after {} updates, {} each", readable_count(forms.every_updates), readable_seconds(forms.save));
  else
    text.checkpoints = "none but the initial weights: a failure loses all work";
  if (forms.optimal > 0)
    text.best = fmt::format("optimal: after {} of work: {}; by Young {}, by Daly {}", readable_seconds(forms.optimal),
                            goodput_text(forms, forms.optimal), readable_seconds(forms.young), readable_seconds(forms.daly));
  return text;
}

}  // namespace straggler
