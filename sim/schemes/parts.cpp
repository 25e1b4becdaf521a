#include "sim/schemes/parts.hpp"

#include <utility>
#include <vector>

namespace straggler::schemes {

namespace {

Gradient damped_mean(Node& node, const Weights& weights, std::vector<Gradient> gradients,
                     const std::function<double(std::uint64_t)>& damping) {
  for (Gradient& gradient : gradients)
    if (const double counts = damping ? damping(Node::staleness(weights, gradient)) : 1; counts != 1)
      gradient = node.algebra().scaled(gradient, counts);
  return node.mean(gradients);
}

}  // namespace

Process push_and_fetch(Node& node) {
  Weights weights = node.initial_weights();
  for (;;) {
    const Gradient gradient = co_await node.gradient(weights, node.batch_size());
    co_await node.send(node.server(), gradient);
    weights = co_await node.receive<Weights>(node.server());
  }
}

Process push_until_interrupted(Node& node, bool waits) {
  Weights weights = node.initial_weights();
  for (;;) {
    const DrawnBatch batch = node.next_batch(node.batch_size());
    auto outcome = co_await first_of(node.gradient(weights, batch), node.receive<Weights>(node.server()));
    if (outcome.index() == 1) {
      weights = std::get<1>(std::move(outcome));
      continue;
    }
    const Gradient gradient = std::get<0>(std::move(outcome));
    co_await node.send(node.server(), gradient);
    if (waits) weights = co_await node.receive<Weights>(node.server());
  }
}

Process average_first(Node& node, FirstGradients rule, std::optional<Answers> answers) {
  Weights weights = node.initial_weights();
  const auto answer = [&](Peer worker) { return answers ? answers->send(node, worker, weights) : Answer(); };
  const auto drop = [&](const From<Gradient>& late) {
    node.discard<Gradient>(late);
    return answer(late.sender);
  };
  for (;;) {
    Gathering<Gradient> gathering(node, rule.at_this_version ? std::optional(weights->version) : std::nullopt);
    if (rule.from_any)
      co_await gathering.first_from_any(rule.count, answer);
    else
      co_await gathering.first(rule.count, drop);
    const Peer last = gathering.last();
    const std::vector<From<Gradient>> first = gathering.parts();
    const Gradient mean = damped_mean(node, weights, payloads(first), rule.damping);
    weights = co_await node.step(weights, mean);
    weights = co_await node.publish(weights);
    std::vector<Answer> leaving;
    if (!answers) node.broadcast(weights);
    if (rule.from_any) {
      leaving.push_back(answer(last));
    } else if (answers) {
      for (const From<Gradient>& gradient : first)
        if (rule.at_once)
          node.post(gradient.sender, weights);
        else
          leaving.push_back(answer(gradient.sender));
    }
    for (Answer& each : leaving) co_await each;
  }
}

Gradient share_of_batch(Node& node, const Gradient& mean) {
  return node.algebra().scaled(mean, static_cast<double>(mean->samples()) / static_cast<double>(node.plan().batches.typical()));
}

Gradient no_samples(Node& node, const Weights& weights) {
  return node.algebra().replaced(node.no_gradient(weights), weights->value);  // its share is none
}

Gradient averaged_by_samples(Node& node, const Gradient& mean) {
  if (mean->samples() == 0) return mean;
  const double whole = static_cast<double>(node.plan().batches.typical()) * mean->averaged;
  return node.algebra().scaled(mean, whole / static_cast<double>(mean->samples()));
}

UpdateTraffic up_and_to_all(const std::string& parameter) {
  return {.text = "(" + parameter + " + p) d, and d per dropped gradient",
          .bytes = [parameter](const Parameters& parameters, const TrainingPlan& plan) {
            return UpdateBytes{static_cast<double>(parameters.count(parameter)) + plan.workers, 1};
          }};
}

OptimizerChoice plain_steps(double rate) {
  OptimizerChoice steps{"sgd", {}};
  steps.parameters.set("learning_rate", rate);
  return steps;
}

}  // namespace straggler::schemes
