#include "scenarios/experiment/math_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <span>

#include "scenarios/schema/reader.hpp"
#include "sim/record/guess_warning.hpp"
#include "sim/record/loss_warning.hpp"

namespace straggler {
namespace {

/// Everything was resolved with the sizes that were seen first.
void check_sizes(const Scenario& scenario, const DataInfo& expected, const DataInfo& read) {
  if (read.features != expected.features || read.classes != expected.classes || read.symbols != expected.symbols ||
      read.train != expected.train || read.test != expected.test)
    throw_error(scenario, "workload.data", files_changed);
}

/// Evaluate the initial weights for this warning alone only if the final loss is suspicious, that much worse than a guess: drawn weights
/// guess, and guessing one of two classes costs ln 2.
constexpr double suspicious_loss = far_worse * std::numbers::ln2;

void warn_of_loss(RunRecord& record, Evaluator& evaluator, Lineage& lineage, bool drawn) {
  // An interrupted run was not evaluated at its end.
  if (record.curve.empty() || !record.curve.back().train_loss || record.curve.back().update != record.updates) return;
  if (!std::isfinite(*record.curve.back().train_loss)) return;
  const CurvePoint& first = record.curve.front();
  const double last = *record.curve.back().train_loss;
  std::optional<double> start;
  if (first.update == 0)
    start = first.train_loss;
  else if (!drawn || last > suspicious_loss)
    start = evaluator.evaluate(lineage.initial(), EvaluationSet::train_subset).loss;
  if (const std::optional<std::string> warning = start ? loss_warning(*start, last) : std::nullopt) record.warnings.push_back(*warning);
}

/// Where the loss stopped being finite, and a remedy.
void warn_of_divergence(RunRecord& record, const Numerics& numerics) {
  const auto finite = [](const CurvePoint& point) {
    return !(point.train_loss && !std::isfinite(*point.train_loss)) && !(point.test_loss && !std::isfinite(*point.test_loss));
  };
  const auto first = std::find_if_not(record.curve.begin(), record.curve.end(), finite);
  std::string text = "the loss is no longer finite";
  if (first != record.curve.end()) text += " at update " + std::to_string(first->update);
  if (first != record.curve.end() && first != record.curve.begin() && std::prev(first)->test_loss)
    text += fmt::format(" (it was {:.3g} at update {})", *std::prev(first)->test_loss, std::prev(first)->update);
  text += std::string("; ") + loss_remedy;
  if (numerics.precision == Precision::fp16 && !numerics.dynamic())
    text += "; in FP16, which overflows beyond 65,504, so does workload.precision: mixed or bf16";
  record.warnings.push_back(text);
}

}  // namespace

MathPlane::MathPlane(const WorkloadBlueprint& its_blueprint, const Scenario& its_scenario, unsigned threads, DataCache* cache)
    : blueprint(its_blueprint),
      scenario(its_scenario),
      data(cache ? cache->load(blueprint, scenario, threads) : std::make_shared<const Dataset>(blueprint.load_data(scenario, threads))) {
  check_sizes(scenario, blueprint.data, data->info);
  PartitionRequest request = blueprint.partition_request(scenario);
  request.labels = data->train.labels;
  request.sizes = &blueprint.streams;
  partition = blueprint.partition_entry->make(scenario.workload.partition.parameters, request);
}

std::optional<double> guessing_accuracy(const Dataset& data) {
  const DataSplit& test = data.test;
  const std::size_t count = test.count(), places = test.places();
  if (data.info.classes < 2 || data.info.vocabulary || count == 0) return std::nullopt;
  std::vector<std::size_t> times(data.info.classes);
  for (std::size_t sample = 0; sample < count; ++sample)
    for (const std::int32_t label : std::span(test.labels_of(sample), places)) ++times[static_cast<std::size_t>(label)];
  return static_cast<double>(*std::max_element(times.begin(), times.end())) / static_cast<double>(count * places);
}

std::unique_ptr<Executor> MathPlane::executor(Lineage& lineage, ExecutorOptions options) const {
  options.train_subset = static_cast<std::size_t>(scenario.training.evaluate.train_samples);
  options.seed = scenario.seed;
  options.numerics = blueprint.numerics;
  options.exchange_statistics = scenario.workload.exchange_statistics;
  options.initial_weights = blueprint.start.values;
  return std::make_unique<Executor>(lineage, *blueprint.model, *data, *partition, *blueprint.kernels, options);
}

namespace {

/// What of its own parameters a scheme can do about wasted work. Empty: nothing.
std::string_view waste_remedy(const SchemeEntry& scheme) {
  struct Remedy {
    std::string_view parameter, words;
  };
  static constexpr Remedy remedies[] = {{"counters", "give a smaller training.scheme.minibatch, or counters: reset"},
                                        {"backups", "give fewer training.scheme.backups, so that an update waits for more workers"},
                                        {"k", "give a larger training.scheme.k, so that an update waits for more gradients"},
                                        {"batch", "give a larger training.scheme.batch, so that an update waits for more gradients"},
                                        {"max_delay", "give a larger training.scheme.max_delay"},
                                        {"timeout", "give a longer training.scheme.timeout"},
                                        {"over_select", "give a smaller training.scheme.over_select, or a longer deadline"}};
  for (const Remedy& remedy : remedies)
    if (std::ranges::any_of(scheme.parameters, [&](const Parameter& own) { return own.name == remedy.parameter; })) return remedy.words;
  return {};
}

void warn_of_waste(RunRecord& record, const SchemeEntry& scheme) {
  const auto wasteful = std::ranges::count_if(record.workers, [](const WorkerRecord& worker) {
    // A crash wastes the work in progress, too, and says nothing about the scheme.
    return worker.split[Phase::wasted] > worker.split[Phase::compute] && worker.split[Phase::down] == Time();
  });
  if (wasteful == 0) return;
  const std::string_view remedy = waste_remedy(scheme);
  record.warnings.push_back(
      fmt::format("{} of {} workers wasted more computation than went into the model: work of slow workers is "
                  "cancelled, or arrives too late to count{}{}",
                  wasteful, record.workers.size(), remedy.empty() ? "" : "; ", remedy));
}

}  // namespace

void name_record(RunRecord& record, const Scenario& scenario, const Blueprint& blueprint) {
  record.name = scenario.name;
  record.scheme = scenario.training.scheme.name;
  record.seed = scenario.seed;
  record.symbols = blueprint.data.symbols > 0;
  const auto sent = static_cast<double>(record.bytes_sent);
  if (blueprint.compression && sent > 0) record.compression_ratio = (sent + record.spared_bytes) / sent;
  warn_of_waste(record, *blueprint.scheme_entry);
  record.warnings.insert(record.warnings.end(), blueprint.notes.begin(), blueprint.notes.end());
  record.worker_groups = blueprint.group_of;
  for (const WorkerGroup& group : scenario.cluster.workers) record.group_devices.push_back(group.device);
}

void evaluate_final(RunRecord& record, Evaluator& evaluator, Lineage& lineage, const Handle& weights, const WorkloadBlueprint& blueprint) {
  const Evaluation train = evaluator.evaluate(weights, EvaluationSet::train);
  const Evaluation test = evaluator.evaluate(weights, EvaluationSet::test);
  record.final_train_loss = train.loss;
  record.final_train_accuracy = train.accuracy;
  record.final_test_loss = test.loss;
  record.final_test_accuracy = test.accuracy;
  if (const std::optional<LossScale> scale = evaluator.loss_scale(weights)) {
    record.skipped_updates = scale->skipped;
    record.final_loss_scale = scale->scale;
  }
  record.warnings.insert(record.warnings.end(), blueprint.training_notes.begin(), blueprint.training_notes.end());
  const bool finite = std::isfinite(train.loss) && std::isfinite(test.loss);
  if (!finite && record.outcome == Outcome::completed) record.outcome = Outcome::diverged;
  if (record.outcome == Outcome::diverged) warn_of_divergence(record, blueprint.numerics);
  warn_of_loss(record, evaluator, lineage, blueprint.start.values.empty());
}

void compare_with_guessing(RunRecord& record, std::optional<double> guess) {
  record.guessing_accuracy = guess;
  if (!is_finished(record.outcome)) return;
  double staleness = 0, contributions = 0;
  for (const auto& [updates, count] : record.staleness) {
    staleness += static_cast<double>(updates) * static_cast<double>(count);
    contributions += static_cast<double>(count);
  }
  const Learned learned{record.scheme,
                        record.final_test_accuracy,
                        guess,
                        std::isnan(record.epochs) ? std::nullopt : std::optional(record.epochs),
                        contributions > 0 ? std::optional(staleness / contributions) : std::nullopt,
                        record.compression_ratio.has_value()};
  if (const std::optional<std::string> warning = guess_warning(learned)) record.warnings.push_back(*warning);
}

}  // namespace straggler
