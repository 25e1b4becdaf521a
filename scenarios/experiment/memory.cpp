#include "scenarios/experiment/memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/executor/executor_options.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

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
  return 12'000'000 + (scheme.worker_bytes + known + scheme.pair_bytes * (active - 1)) * active + idle_bytes * (workers - active);
}

std::string in_tenths(double bytes, double (*round)(double)) {
  constexpr std::array<const char*, 5> units = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  double scale = 1;
  for (; bytes >= 1000 * scale && unit + 1 < units.size(); ++unit) scale *= 1000;
  return format_number(unit == 0 ? round(bytes) : round(bytes / scale * 10) / 10) + units[unit];
}

namespace {

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

}  // namespace straggler
