// The moments that adam and adamw share: exponential averages of the gradient and of its square, each divided by the weight that it has
// gathered so far.
#pragma once
#include <memory>

#include "models/optimizers/optimizer.hpp"

namespace straggler {

struct AdamSetting {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // weights shrink by rate * weight_decay, instead of weight_decay w joining the gradient
};

std::unique_ptr<UpdateRule> make_adam(const AdamSetting& setting, Schedule schedule);
/// Of both optimizers, but for the weight decay.
std::vector<Parameter> adam_parameters(Parameter weight_decay);
AdamSetting adam_setting(const Parameters& parameters, bool decoupled);

}  // namespace straggler
