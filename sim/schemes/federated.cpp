#include "sim/schemes/federated.hpp"

namespace straggler {

std::vector<Parameter> FederatedRounds::parameters() {
  std::vector<Parameter> all = {{.name = "fraction",
                                 .type = ValueType::fraction,
                                 .fallback = "1",
                                 .meaning = "C, the share of the clients that take part in a round",
                                 .range = Range::above_to(0, 1)},
                                {.name = "clients",
                                 .type = ValueType::count,
                                 .meaning = "that take part in a round, as a number; stands above fraction",
                                 .range = Range::at_least(1)}};
  for (Parameter& local : local_parameters()) all.push_back(std::move(local));
  return all;
}

std::vector<Parameter> FederatedRounds::local_parameters() {
  return {{.name = "local_epochs",
           .type = ValueType::count,
           .fallback = "1",
           .meaning = "E, passes over its own data that a client makes in a round",
           .range = Range::at_least(1)},
          {.name = "local_steps",
           .type = ValueType::count,
           .meaning = "batches that a client takes in a round, whole passes or not; stands above local_epochs",
           .range = Range::at_least(1)}};
}

double FederatedRounds::per_epoch(const TrainingPlan& plan) const {
  double samples = 0;  // of a round of all clients
  for (Rank worker = 0; worker < plan.workers; ++worker)
    samples += local_steps_ ? static_cast<double>(*local_steps_ * plan.batch_of(worker))
                            : static_cast<double>(plan.drawn_of(worker, plan.part_samples(worker))) * static_cast<double>(local_epochs_);
  return static_cast<double>(plan.epoch_samples) / (static_cast<double>(clients_of(plan.workers)) / plan.workers * samples);
}

namespace {
bool nobody_is_in(const Node& node) {
  for (Rank rank = 0; rank < node.workers(); ++rank)
    if (node.is_member(rank)) return false;
  return true;
}
}  // namespace

Task<std::vector<Weights>> FederatedRounds::contributions(Node& node, const Weights& weights) const {
  const std::vector<Rank> first = *invited(node, weights->version);  // if one of them comes back, it takes part by itself
  std::vector<Weights> parts = co_await gather<Weights>(node, weights->version, first, GatherUntil::nobody_left);
  while (parts.empty()) {
    std::vector<Rank> others;
    for (Rank rank = 0; rank < node.workers(); ++rank)
      if (node.is_member(rank) && !std::binary_search(first.begin(), first.end(), rank)) others.push_back(rank);
    node.broadcast(weights, others);
    std::vector<Rank> asked = first;
    asked.insert(asked.end(), others.begin(), others.end());
    parts = co_await gather<Weights>(node, weights->version, asked, GatherUntil::first_lives);
    if (parts.empty() && nobody_is_in(node)) co_await node.receive<MembershipNotice>();
  }
  co_return parts;
}

std::vector<double> FederatedRounds::shares_of_samples(const Node& node, const std::vector<Weights>& parts) {
  std::vector<double> shares;
  double total = 0;
  for (const Weights& part : parts) {
    shares.push_back(static_cast<double>(node.part_samples(part->made().front().worker)));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace straggler
