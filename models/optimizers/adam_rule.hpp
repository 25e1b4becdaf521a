// The moments that adam and adamw share: exponential averages of the gradient and of its square, each divided by the weight that it has
// gathered so far.
#pragma once
#include <memory>

#include "models/optimizers/optimizer.hpp"

namespace straggler {

/// `decoupled`: weights shrink by rate * weight_decay, instead of weight_decay w joining the gradient.
std::unique_ptr<UpdateRule> make_adam(const Parameters& parameters, Schedule schedule, bool decoupled);
/// Of both optimizers, but for the weight decay.
std::vector<Parameter> adam_parameters(Parameter weight_decay);

}  // namespace straggler
