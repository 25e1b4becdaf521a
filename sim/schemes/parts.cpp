#include "sim/schemes/parts.hpp"

#include <utility>
#include <vector>

namespace straggler::schemes {

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
  using NewWeights = FirstGradients::NewWeights;
  Weights weights = node.initial_weights();
  const auto late = [&](const From<Gradient>& gradient) {
    node.discard<Gradient>(gradient);
    return rule.new_weights == NewWeights::to_round ? answers->send(node, gradient.sender, weights) : Answer();
  };
  for (;;) {
    std::vector<From<Gradient>> first;
    if (rule.at_this_version)
      first = co_await gather_first<Gradient>(node, weights->version, rule.count, late);
    else
      first = co_await gather_first<Gradient>(node, rule.count);
    const Gradient mean = node.mean(payloads(first));
    weights = co_await node.step(weights, mean);
    weights = co_await node.publish(weights);
    if (rule.new_weights == NewWeights::to_all) node.broadcast(weights);
    if (rule.new_weights == NewWeights::to_round)
      for (const From<Gradient>& gradient : first) node.post(gradient.sender, weights);
    if (rule.new_weights != NewWeights::to_averaged) continue;
    std::vector<Answer> leaving;
    for (const From<Gradient>& gradient : first) leaving.push_back(answers->send(node, gradient.sender, weights));
    for (Answer& answer : leaving) co_await answer;
  }
}

Process average_from_any(Node& node, FromAny rule, std::optional<Answers> answers) {
  Weights weights = node.initial_weights();
  std::vector<From<Gradient>> parts;
  for (;;) {
    const From<Gradient> arrived = co_await node.receive<Gradient>();
    if (rule.at_this_version && arrived->version() != weights->version)
      node.discard<Gradient>(arrived);
    else
      parts.push_back(arrived);
    if (std::ssize(parts) == rule.count) {
      sort_by_rank(parts);
      std::vector<Gradient> gradients = payloads(parts);
      parts.clear();
      for (Gradient& gradient : gradients)
        if (const double counts = rule.damping ? rule.damping(Node::staleness(weights, gradient)) : 1; counts != 1)
          gradient = node.algebra().scaled(gradient, counts);
      const Gradient mean = node.mean(gradients);
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      if (!answers) node.broadcast(weights);
    }
    if (answers) co_await answers->send(node, arrived.sender, weights);
  }
}

}  // namespace straggler::schemes
