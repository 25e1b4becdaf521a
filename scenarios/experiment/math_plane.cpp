#include "scenarios/experiment/math_plane.hpp"

#include <cmath>
#include <span>

#include "scenarios/schema/reader.hpp"

namespace straggler {
namespace {

/// All that was resolved goes by the sizes that were seen first.
void check_sizes(const Scenario& scenario, const DataInfo& expected, const DataInfo& read) {
  if (read.features != expected.features || read.classes != expected.classes || read.train != expected.train || read.test != expected.test)
    throw_error(scenario, "workload.data", files_changed);
}

}  // namespace

MathPlane::MathPlane(const Blueprint& its_blueprint, const Scenario& its_scenario, unsigned threads, DataCache* cache)
    : blueprint(its_blueprint),
      scenario(its_scenario),
      data(cache ? cache->load(blueprint, scenario, threads) : std::make_shared<const Dataset>(blueprint.load_data(scenario, threads))) {
  check_sizes(scenario, blueprint.data, data->info);
  PartitionRequest request = blueprint.partition_request(scenario);
  request.labels = data->train.labels;
  request.sizes = &blueprint.streams;
  partition = blueprint.partition_entry->make(scenario.workload.partition.parameters, request);
}

std::unique_ptr<Executor> MathPlane::executor(Lineage& lineage, ExecutorOptions options) const {
  options.train_subset = static_cast<std::size_t>(scenario.training.evaluate.train_samples);
  options.seed = scenario.seed;
  options.numerics = blueprint.numerics;
  options.exchange_statistics = scenario.workload.exchange_statistics;
  options.initial_weights = blueprint.start.values;
  return std::make_unique<Executor>(lineage, *blueprint.model, *data, *partition, *blueprint.kernels, options);
}

void name_record(RunRecord& record, const Scenario& scenario, const Blueprint& blueprint) {
  record.name = scenario.name;
  record.scheme = scenario.training.scheme.name;
  record.seed = scenario.seed;
  if (!blueprint.start_note.empty()) record.warnings.push_back(blueprint.start_note);
  record.worker_groups = blueprint.group_of;
  for (const WorkerGroup& group : scenario.cluster.workers) record.group_devices.push_back(group.device);
}

void evaluate_final(RunRecord& record, Evaluator& evaluator, const Handle& weights) {
  const Evaluation train = evaluator.evaluate(weights, EvaluationSet::train);
  const Evaluation test = evaluator.evaluate(weights, EvaluationSet::test);
  record.final_train_loss = train.loss;
  record.final_train_accuracy = train.accuracy;
  record.final_test_loss = test.loss;
  record.final_test_accuracy = test.accuracy;
  if (!std::isfinite(train.loss) && record.outcome == Outcome::completed) record.outcome = Outcome::diverged;
}

}  // namespace straggler
