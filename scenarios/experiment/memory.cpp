#include "scenarios/experiment/memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/executor/executor_options.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

double fixed_bytes(const TrainingBlueprint& blueprint) {
  const double number = static_cast<double>(blueprint.number_bytes());
  const CostTable& cost = blueprint.cost;
  const double parameters =
      cost.layers.empty() ? static_cast<double>(blueprint.model_bytes) / number : static_cast<double>(cost.parameters());
  // Master weights and state stay in fp32; the weights in use are a copy where they are not.
  const double copy = blueprint.numerics.precision == Precision::fp32 ? 0 : number;
  const double residual = blueprint.compression && blueprint.compression->error_feedback ? 1 : 0;
  return parameters * (4 + copy + number + 4 * (static_cast<double>(blueprint.state_vectors()) + residual));
}

double sample_bytes(const WorkloadBlueprint& blueprint) {
  return static_cast<double>(blueprint.number_bytes()) / 4 * (blueprint.cost.activation_bytes() + blueprint.cost.input_bytes);
}

// Measured (tests/program/memory_test.cpp): the program and its libraries, and each worker. Where workers are invited, each round may
// invite others than the rounds before.
std::size_t timing_bytes(const TrainingBlueprint& blueprint) {
  const SchemeEntry& scheme = *blueprint.scheme_entry;
  const std::optional<std::uint64_t>& updates = blueprint.stop.updates;
  const auto workers = static_cast<std::size_t>(blueprint.plan.workers);
  std::size_t active = workers;
  if (const std::size_t invited = blueprint.plan.invited ? static_cast<std::size_t>(*blueprint.plan.invited) : workers;
      updates && invited < workers)
    active = static_cast<std::size_t>(std::min<std::uint64_t>(workers / invited, *updates) * invited);
  constexpr std::size_t idle_bytes = 300;  // of a worker that was not invited yet
  // Bytes of what a worker records of the weights that others hold.
  const std::size_t known = blueprint.compression && blueprint.compression->exchange.differences() ? 1'000 : 0;
  return 12'000'000 + (scheme.worker_bytes + known) * active + idle_bytes * (workers - active);
}

namespace {

/// "4.2 MB", rounded by `round`, so that a size beyond the limit never looks as if it fitted.
std::string in_tenths(double bytes, double (*round)(double)) {
  constexpr std::array<const char*, 5> units = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  double scale = 1;
  for (; bytes >= 1000 * scale && unit + 1 < units.size(); ++unit) scale *= 1000;
  return format_number(unit == 0 ? round(bytes) : round(bytes / scale * 10) / 10) + units[unit];
}

/// Samples, those that evaluations copy twice, and three orders of the training samples.
std::size_t data_bytes(const TrainingBlueprint& blueprint) {
  const DataInfo& data = blueprint.data;
  return data.shared_bytes + data.sample_bytes() * (data.train + data.test + blueprint.subset) + 12 * data.train;
}

/// The same while files are read: what evaluations copy is copied later.
std::size_t reading_bytes(const TrainingBlueprint& blueprint) {
  return data_bytes(blueprint) - blueprint.data.sample_bytes() * blueprint.subset + blueprint.data.reading;
}

/// Of all workers, with the gradients that wait for an update. Of c gradients that an update takes, workers share a version, and c - 1
/// wait.
std::size_t versions_held(const TrainingBlueprint& blueprint) {
  const auto workers = static_cast<double>(blueprint.plan.workers);
  const double taken = std::clamp(std::round(blueprint.gradients_an_update), 1.0, workers);
  return static_cast<std::size_t>(std::min(workers, std::ceil(workers / taken) + taken - 1));
}

}  // namespace

std::size_t math_bytes(const TrainingBlueprint& blueprint) {
  const SchemeEntry& scheme = *blueprint.scheme_entry;
  const TrainingPlan& plan = blueprint.plan;
  const Compression* const compression = blueprint.compression.get();
  const auto workers = static_cast<std::size_t>(plan.workers);
  const std::size_t held = scheme.workers_hold == WorkersHold::own_weights   ? (1 + blueprint.state_vectors()) * workers
                           : scheme.workers_hold == WorkersHold::own_version ? versions_held(blueprint)
                                                                             : 0;
  // Per worker: the content of its messages; with error feedback the residual; weights that it and its receivers hold.
  const std::size_t compressed = !compression ? 0 : (compression->error_feedback ? 3 : 2) + (compression->exchange.of_weights ? 1 : 0);
  // The latest version, its state, and the temporary vectors of an update and an evaluation.
  const std::size_t vectors = 7 + held + (scheme.worker_vectors + compressed) * workers;
  const auto batch = static_cast<std::size_t>(plan.batches.typical() * (plan.fuse ? plan.workers : 1));
  const std::size_t running = data_bytes(blueprint) + vectors * 4 * blueprint.model->length() + blueprint.model->workspace_bytes(batch);
  return timing_bytes(blueprint) + std::max(running, reading_bytes(blueprint));
}

std::size_t bytes_for_values(const TrainingBlueprint& blueprint, std::size_t most) {
  const std::size_t data = data_bytes(blueprint), read = std::max(data, reading_bytes(blueprint)), simulation = timing_bytes(blueprint);
  if (most > read + simulation) return most - data - simulation;
  const auto text = [](std::size_t bytes) { return in_tenths(static_cast<double>(bytes), std::ceil); };
  const std::string while_read = read > data ? fmt::format(" ({} while they are read)", text(read)) : "";
  throw MemoryBudgetExceeded(
      fmt::format("the memory budget of {} is too small: the data take {}{} and the simulation {}, before there is a weight; raise the "
                  "memory budget, or use fewer samples or workers",
                  text(most), text(data), while_read, text(simulation)));
}

std::int64_t largest_in_group(const Scenario& scenario, const TrainingBlueprint& blueprint, std::size_t group) {
  const TrainingPlan& plan = blueprint.plan;
  const auto of = [&plan](Rank worker) { return (plan.minibatch_of(worker) + plan.accumulate - 1) / plan.accumulate; };
  Rank first = 0;
  for (std::size_t g = 0; g < group; ++g) first += static_cast<Rank>(scenario.cluster.workers[g].count);
  if (!plan.batches.are_stated()) return of(0);
  std::int64_t most = 1;
  for (Rank i = 0; i < scenario.cluster.workers[group].count; ++i) most = std::max(most, of(first + i));
  return most;
}

double device_bytes(const TrainingBlueprint& blueprint, std::int64_t samples) {
  return fixed_bytes(blueprint) + static_cast<double>(samples) * sample_bytes(blueprint);
}

double largest_batch(const TrainingBlueprint& blueprint, double memory) {
  const double left = memory - fixed_bytes(blueprint);
  if (left < 0) return 0;
  // Rounding may have pushed the quotient over a whole number.
  const double batch = std::floor(left / sample_bytes(blueprint));
  return fixed_bytes(blueprint) + batch * sample_bytes(blueprint) > memory ? batch - 1 : batch;
}

void check_memory(const Scenario& scenario, const TrainingBlueprint& blueprint) {
  const bool in_pieces = blueprint.plan.minibatch > 0;
  const bool global = scenario.training.batch.global.has_value();
  for (const auto& [name, device] : scenario.devices) {
    std::int64_t held = 0;  // samples
    std::size_t largest = 0;
    for (std::size_t g = 0; g < scenario.cluster.workers.size() && device.memory; ++g)
      if (scenario.cluster.workers[g].device == name)
        if (const std::int64_t most = largest_in_group(scenario, blueprint, g); most > held) held = most, largest = g;
    const double needed = device_bytes(blueprint, held);
    if (held == 0 || needed <= *device.memory) continue;
    const double samples = largest_batch(blueprint, *device.memory);
    std::string remedy = "; not one sample fits: use a device with more memory, or a smaller model";
    if (samples >= 1) {
      remedy = "; a worker's " +
               std::string(in_pieces                       ? "minibatch"
                           : blueprint.plan.accumulate > 1 ? "micro-batch"
                                                           : "batch") +
               " may have " + format_number(samples) + " samples at most";
      if (global && !in_pieces && blueprint.plan.accumulate == 1)
        remedy += ", all workers' together " + format_number(samples * static_cast<double>(blueprint.plan.workers));
    }
    const std::string counted = counts_activations(blueprint)
                                    ? "weights, gradient, optimizer state and the activations of a batch"
                                    : fmt::format(
                                          "weights, gradient, optimizer state and the inputs of a batch, without activations, "
                                          "which workload.cost.{} does not give",
                                          blueprint.cost.layers.empty() ? "bytes" : "model");
    throw_error(scenario,
                in_pieces                                 ? "training.scheme"
                : scenario.cluster.workers[largest].batch ? "cluster.workers[" + std::to_string(largest) + "].batch"
                : global                                  ? "training.batch.global"
                                                          : "training.batch.per_worker",
                fmt::format("training takes {} on a device ({}), and {} has {}{}", in_tenths(needed, std::ceil), counted, name,
                            in_tenths(*device.memory, std::floor), remedy));
  }
}

}  // namespace straggler
