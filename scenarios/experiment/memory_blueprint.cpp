// Device memory that training takes, the batch that fits, and memory of this machine that a run takes.
#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/quantity.hpp"

namespace straggler {

std::size_t Blueprint::state_vectors() const {
  // Two dry steps tell.
  Lineage lineage(Math::none, Key{1, 1});
  std::vector<Handle> state;
  const Handle initial = lineage.initial();
  for (int i = 0; i < 2; ++i) plan.optimizer->step(lineage, initial, initial, 0, 1, state);
  return state.size();
}

double Blueprint::fixed_bytes() const {
  const double number = static_cast<double>(number_bytes());
  const double parameters = cost.layers.empty() ? static_cast<double>(model_bytes) / number : static_cast<double>(cost.parameters());
  // Master weights and state stay in fp32; the weights in use are a copy where they are not.
  const double copy = numerics.precision == Precision::fp32 ? 0 : number;
  const double residual = compression && compression->error_feedback ? 1 : 0;
  return parameters * (4 + copy + number + 4 * (static_cast<double>(state_vectors()) + residual));
}

double Blueprint::sample_bytes() const { return static_cast<double>(number_bytes()) / 4 * (cost.activation_bytes() + cost.input_bytes); }

// Measured (tests/program/memory_test.cpp): the program and its libraries, and each worker. Where workers are invited, each round may
// invite others than the rounds before.
std::size_t Blueprint::timing_bytes() const {
  const auto workers = static_cast<std::size_t>(plan.workers);
  std::size_t active = workers;
  if (const std::size_t invited = plan.invited ? static_cast<std::size_t>(*plan.invited) : workers; stop.updates && invited < workers)
    active = static_cast<std::size_t>(std::min<std::uint64_t>(workers / invited, *stop.updates) * invited);
  const std::size_t known = compression && compression->differences() ? 1'000 : 0;  // of the weights that others hold
  return 14'000'000 + (scheme_entry->worker_bytes + known) * active + scheme_entry->idle_bytes * (workers - active);
}

std::size_t Blueprint::math_bytes() const {
  const auto workers = static_cast<std::size_t>(plan.workers);
  const std::size_t held = scheme_entry->workers_hold == WorkersHold::same_version  ? 0
                           : scheme_entry->workers_hold == WorkersHold::own_version ? 1
                                                                                    : 1 + state_vectors();
  // Of a worker: what its messages carry; with error feedback what they leave out; weights that it and its receivers hold.
  const std::size_t compressed = !compression ? 0 : (compression->error_feedback ? 3 : 2) + (compression->of_weights ? 1 : 0);
  // The latest version, its state, and what an update and an evaluation need for a while.
  const std::size_t vectors = 7 + (held + scheme_entry->worker_vectors + compressed) * workers;
  const auto batch = static_cast<std::size_t>(plan.batch * (plan.fuse ? plan.workers : 1));
  // The data as floats with a label each, and three orders of the training samples.
  return timing_bytes() + vectors * 4 * model->length() + 4 * (data.features + 1) * (data.train + data.test) + 12 * data.train +
         model->workspace_bytes(batch);
}

double Blueprint::device_bytes() const { return fixed_bytes() + static_cast<double>(plan.minibatch_of(0)) * sample_bytes(); }

double Blueprint::largest_batch(double memory) const {
  const double left = memory - fixed_bytes();
  if (left < 0) return 0;
  // Rounding may have pushed the quotient over a whole number.
  const double batch = std::floor(left / sample_bytes());
  return fixed_bytes() + batch * sample_bytes() > memory ? batch - 1 : batch;
}

namespace {

/// "4.2 MB", rounded by `round`, so that what does not fit never looks as if it did.
std::string in_tenths(double bytes, double (*round)(double)) {
  constexpr std::array<const char*, 5> units = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  double scale = 1;
  for (; bytes >= 1000 * scale && unit + 1 < units.size(); ++unit) scale *= 1000;
  return format_number(unit == 0 ? round(bytes) : round(bytes / scale * 10) / 10) + units[unit];
}

}  // namespace

void Blueprint::check_memory(const Scenario& scenario) const {
  const double needed = device_bytes();
  const bool in_pieces = plan.minibatch > 0;
  const bool global = scenario.training.batch.global.has_value();
  for (const auto& [name, device] : scenario.devices) {
    const bool used = std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(),
                                  [&, key = &name](const WorkerGroup& group) { return group.device == *key; });
    if (!used || !device.memory || needed <= *device.memory) continue;
    const double samples = largest_batch(*device.memory);
    std::string remedy = "; not one sample fits: take a device with more memory, or a smaller model";
    if (samples >= 1) {
      remedy =
          "; a worker's " + std::string(in_pieces ? "minibatch" : "batch") + " may have " + format_number(samples) + " samples at most";
      if (global && !in_pieces) remedy += ", all workers' together " + format_number(samples * static_cast<double>(plan.workers));
    }
    const std::string counted =
        counts_activations()
            ? "weights, gradient, optimizer state and the activations of a batch"
            : "weights, gradient, optimizer state and the inputs of a batch, without activations, which workload.cost.bytes does not give";
    throw_error(scenario,
                in_pieces ? "training.scheme"
                : global  ? "training.batch.global"
                          : "training.batch.per_worker",
                "training takes " + in_tenths(needed, std::ceil) + " on a device (" + counted + "), and " + name + " has " +
                    in_tenths(*device.memory, std::floor) + remedy);
  }
}

}  // namespace straggler
