#include "scenarios/experiment/failure_forms.hpp"

#include "scenarios/experiment/blueprint.hpp"

namespace straggler {

std::optional<FailureForms> failure_forms(const Scenario& scenario, const Blueprint& blueprint) {
  const RecoverySettings& policy = blueprint.recovery();
  if (!policy.rolls_back()) return std::nullopt;
  FailureForms forms;
  const Blueprint::Stops stops = blueprint.stops(scenario);
  forms.job = {stops.rate, stops.known + policy.restart.seconds()};
  if (!(forms.job.rate > 0)) return std::nullopt;
  forms.save = policy.snapshot.seconds();
  forms.every = policy.every.seconds();
  forms.every_updates = policy.every_updates;
  forms.regular = stops.regular;
  if (forms.regular || !(forms.save > 0)) return forms;
  forms.optimal = reliability::optimal_interval(forms.job.rate, forms.save);
  forms.young = reliability::young_interval(forms.job.rate, forms.save);
  forms.daly = reliability::daly_interval(forms.job.rate, forms.save);
  return forms;
}

}  // namespace straggler
