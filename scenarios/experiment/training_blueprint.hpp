// How a workload is trained, resolved: the scheme, batches, optimizers, compression, when a run evaluates and stops.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/compression/compressor.hpp"
#include "models/optimizers/optimizer.hpp"
#include "scenarios/experiment/what_if.hpp"
#include "scenarios/experiment/workload_blueprint.hpp"
#include "sim/record/run_recorder.hpp"
#include "sim/training/node.hpp"

namespace straggler {

struct TrainingBlueprint : WorkloadBlueprint {
  WhatIf what_if;
  const SchemeEntry* scheme_entry = nullptr;
  const CompressorEntry* compressor = nullptr;  // `none`: gradients travel as they are
  std::unique_ptr<Scheme> scheme;
  std::unique_ptr<UpdateRule> optimizer;
  std::unique_ptr<UpdateRule> outer_optimizer;  // null: the scheme has none
  std::unique_ptr<Compression> compression;     // null: gradients travel as they are
  TrainingPlan plan;                            // its aggregation and clients: once the cluster is resolved
  double gradients_an_update = 1;               // on average, if the scheme's workers send gradients and it is fixed
  std::size_t subset = 0;                       // training samples that evaluations copy; 0: they take all
  StopRule stop;
  EvaluationRule evaluation;

  /// Throws as WorkloadBlueprint does.
  TrainingBlueprint(const Scenario& scenario, const std::string& kernel_set, const WhatIf& changes);

  /// Bytes of a compressed message from a worker; a gossip message is the difference from an estimate. Only if the run compresses.
  std::uint64_t message_bytes_compressed() const {
    return compression->exchange.gossips ? compression->tracking.bytes : compression->bytes;
  }
  /// Vectors of optimizer state, of four bytes a parameter, where updates are applied.
  std::size_t state_vectors() const;

 private:
  void refuse_epochs(const Scenario& scenario) const;
  std::vector<std::uint64_t> whole_passes(const Scenario& scenario) const;
  void refuse_accumulation(const Scenario& scenario) const;
  void resolve_rebalancing(const Scenario& scenario);
  bool parts_follow_batches(const Scenario& scenario) const;
  void resolve_scheme(const Scenario& scenario);
  void resolve_samples(const Scenario& scenario);
  void resolve_optimizers(const Scenario& scenario);
  void refuse_cut_tensors(const Scenario& scenario) const;
  void resolve_stop(const Scenario& scenario);
  void resolve_compression(const Scenario& scenario);
  void resolve_factors(const Scenario& scenario, const VectorLayout& priced);
};

}  // namespace straggler
