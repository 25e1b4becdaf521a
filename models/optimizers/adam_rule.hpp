// The moments of adam and adamw: exponential averages of the gradient and of its square, each divided by its accumulated weight.
#pragma once
#include <memory>

#include "models/kernels/kernels.hpp"
#include "models/optimizers/optimizer.hpp"

namespace straggler {

/// The step along the moments whose weights (1 - beta^t) are these.
ScaledDescent adam_descent(double rate, double epsilon, double shrink, float first, float second);

/// `decoupled`: weights shrink by rate * weight_decay; otherwise weight_decay w joins the gradient.
std::unique_ptr<UpdateRule> make_adam(const Parameters& parameters, Schedule schedule, bool decoupled);
/// The parameters of both optimizers, except the weight decay.
std::vector<Parameter> adam_parameters(Parameter weight_decay);

}  // namespace straggler
