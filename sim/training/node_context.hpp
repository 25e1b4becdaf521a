#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/training/algebra.hpp"
#include "sim/training/backend.hpp"
#include "sim/training/gradient_means.hpp"
#include "sim/training/plan.hpp"

namespace straggler {

/// The position of one worker, or of all of them together, in their sequence of samples.
struct SampleStream {
  std::uint64_t position = 0;
};

/// The common context of one back end's nodes; outlives them.
struct NodeContext {
  NodeContext(Backend& its_backend, Lineage& its_lineage, const TrainingPlan& its_plan)
      : backend(its_backend), lineage(its_lineage), plan(its_plan), algebra(its_lineage, its_plan) {}
  Backend& backend;
  Lineage& lineage;
  const TrainingPlan& plan;
  Algebra algebra;
  /// The draws of Node::sample_workers, for all nodes.
  struct SampledWorkers {
    std::int64_t count = -1;
    std::uint64_t round = 0;
    std::shared_ptr<const std::vector<Rank>> ranks;
  };
  std::array<SampledWorkers, 2> sampled;  // the last two draws requested: newcomers ask for the first round
  std::map<Rank, std::shared_ptr<const std::vector<Rank>>> first_clients;  // by the first worker of the drawn pool
  SampleStream shared_stream;                                              // where plan.shared_stream
  PushWeight::Pool push_weights;                                           // made on first use
  std::unique_ptr<GradientMeans> means;                                    // likewise, where workers share states
  /// The weights that training starts from: known to every node from the seed, without time or bytes.
  const Weights& initial_weights() {
    if (!initial->value.empty()) return initial;
    WeightsState& weights = initial.edit();
    weights.value = lineage.initial();
    weights.participants = plan.workers;
    return initial;
  }
  Weights initial;  // without value until it is first asked for
};

}  // namespace straggler
