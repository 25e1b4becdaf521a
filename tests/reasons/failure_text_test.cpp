#include "scenarios/reasons/failure_text.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace straggler;

namespace {

/// Once an hour; saving takes 20 s, to continue 3 min.
FailureForms hourly() {
  FailureForms forms;
  forms.job = {1 / 3600.0, 180};
  forms.save = 20;
  forms.every = 900;
  forms.optimal = reliability::optimal_interval(forms.job.rate, forms.save);
  forms.young = std::sqrt(2 * 20 * 3600.0);
  forms.daly = reliability::daly_interval(forms.job.rate, forms.save);
  return forms;
}

}  // namespace

TEST_CASE("check says how often a failure comes, what checkpoints leave, and which interval would be best") {
  const FailureText text = failure_text(hourly(), 0);
  CHECK(text.failures == "one in 1 h 00 min stops the job, in the mean, which then takes 180 s to continue");
  // 1 - 20/900 - (180 + 450)/3600 = 0.8028; λτ e^(-λTr) / (e^(λ(τ + Ts)) - 1) = 0.25 · 0.95123 / 0.29117 = 0.8167.
  CHECK(text.checkpoints == "after 900 s of work, 20 s each: goodput 0.817 (first order 0.803)");
  CHECK(text.best.find("optimal: after ") == 0);
  CHECK(text.best.find("by Young 379 s, by Daly ") != std::string::npos);
}

TEST_CASE("an interval in updates needs the time of an update") {
  FailureForms forms = hourly();
  forms.every = 0;
  forms.every_updates = 300;
  CHECK(forms.interval(3) == 900);
  CHECK(failure_text(forms, 3).checkpoints == failure_text(hourly(), 0).checkpoints);
  CHECK(failure_text(forms, 0).checkpoints == "after 300 updates, 20 s each");
  forms.every_updates = 0;
  CHECK(!forms.interval(3));
  CHECK(failure_text(forms, 3).checkpoints == "none but the initial weights: a failure loses all work");
  forms.optimal = 0;
  CHECK(failure_text(forms, 3).best.empty());
}

TEST_CASE("the goodput of failures at random is not said of those at constant times") {
  FailureForms forms = hourly();
  forms.regular = true;
  forms.optimal = forms.young = forms.daly = 0;
  const FailureText text = failure_text(forms, 0);
  CHECK(text.checkpoints == "after 900 s of work, 20 s each: goodput is known where failures come at random; these come at constant times");
  CHECK(text.best.empty());
}
