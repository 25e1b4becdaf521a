#include "scenarios/experiment/without_learning.hpp"

namespace straggler {

Scenario without_learning(Scenario scenario) {
  TrainingSpec& training = scenario.training;
  const EvaluateSpec::Split split = training.evaluate.split;
  training.evaluate = {};
  training.evaluate.split = split;
  training.schedule.kind = Kind{"constant", {}};
  training.stop.target_accuracy.reset();
  training.stop.on_target = StopSpec().on_target;
  return scenario;
}

}  // namespace straggler
