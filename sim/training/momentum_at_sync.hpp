// The effect of a synchronization on the optimizer state of workers that take local steps.
#pragma once
#include "sim/training/momentum_mode.hpp"
#include "sim/training/node.hpp"

namespace straggler {

class MomentumAtSync {
 public:
  using Mode = MomentumMode;
  static constexpr const ChoiceTable<Mode>& choice = momentum_modes;
  MomentumAtSync(Mode mode) : mode_(mode) {}  // NOLINT: a mode is all of it
  explicit MomentumAtSync(const Parameters& parameters) : MomentumAtSync(choice.of(parameters)) {}
  /// The declaration that a scheme adds to its parameters.
  static Parameter parameter(Mode fallback) {
    return choice.parameter(fallback, "what a synchronization does to the workers' optimizer state");
  }
  /// Of a scheme whose messages of weights are these.
  static UpdateTraffic traffic(const UpdateTraffic& of_weights) {
    return {.text = of_weights.text, .bytes = [of_weights](const Parameters& parameters, const TrainingPlan& plan) {
              std::optional<UpdateBytes> bytes = of_weights.bytes(parameters, plan);
              const double all = vectors_with_momentum(parameters);
              return bytes ? std::optional<UpdateBytes>({all * bytes->update, all * bytes->dropped}) : bytes;
            }};
  }
  bool averages() const { return mode_ == Mode::average; }
  /// A worker's contribution.
  Weights outgoing(const Node& node, Weights weights) const {
    if (mode_ == Mode::average) node.attach_optimizer(weights);
    return weights;
  }
  /// The received average, or the weights that a worker begins from, where a server sends it those: applies the optimizer state and returns
  /// only the parameters.
  Weights incoming(Node& node, Weights weights) const {
    if (mode_ == Mode::reset) node.reset_optimizer();
    if (mode_ == Mode::average) node.adopt_optimizer(weights);
    if (!weights->attached().empty()) weights.edit().more.edit().attached.clear();
    return weights;
  }

 private:
  Mode mode_;
};

}  // namespace straggler
