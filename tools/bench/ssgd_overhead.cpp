// The cost of simulating: a whole synchronous 8-worker run with math, against a plain loop that trains the same samples in the same batches
// with the same layers, and evaluates as often. One thread each, data loading included on both sides; the two alternate. Prints CPU seconds
// and their ratio, and checks that both end at the same loss.
//
// Usage: ssgd_overhead [SCENARIO.yaml [ROUNDS [PATH=VALUE]...]]
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"

namespace {

using namespace straggler;

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Gathers the samples of `at` into one contiguous block.
struct Block {
  std::vector<float> inputs, scale;
  std::vector<std::int32_t> labels;
  Rows rows(const DataSplit& data, std::size_t features, const std::vector<std::uint32_t>& at, float weight) {
    inputs.resize(at.size() * features);
    labels.resize(at.size());
    scale.assign(at.size(), weight);
    for (std::size_t i = 0; i < at.size(); ++i) {
      data.inputs.copy(at[i], inputs.data() + i * features);
      labels[i] = data.labels[at[i]];
    }
    return {at.size(), inputs.data(), labels.data(), scale.data()};
  }
};

double mean_loss(const Model& model, const std::vector<float>& weights, const DataSplit& data, std::size_t features, Workspace& workspace) {
  double loss = 0;
  std::uint64_t correct = 0;
  constexpr std::size_t chunk = 1000;
  std::vector<float> room(chunk * features);
  for (std::size_t at = 0; at < data.count(); at += chunk) {
    const std::size_t count = std::min(chunk, data.count() - at);
    const Rows rows{count, data.inputs.rows(at, count, room.data()), data.labels.data() + at, nullptr};
    loss += model.evaluate(weights.data(), rows, correct, workspace);
  }
  return loss / static_cast<double>(data.count());
}

/// Plain synchronous SGD without momentum; returns the final training loss.
double plain_loop(const Scenario& scenario) {
  const Blueprint blueprint(scenario, "auto");
  const Dataset data = blueprint.load_data(scenario, 1);
  PartitionRequest request = blueprint.partition_request(scenario);
  request.labels = data.train.labels;
  const auto partition = blueprint.partition_entry->make(scenario.workload.partition.parameters, request);
  const Model& model = *blueprint.model;
  const auto workspace = model.workspace();
  const std::size_t workers = request.workers, features = data.info.features, n = model.parameters();
  const double rate = scenario.training.optimizer.parameters.number("learning_rate");
  std::vector<float> weights(n), gradient(n);
  std::vector<std::uint64_t> position(workers);
  std::vector<std::uint32_t> at;
  Block block;
  model.initialize(scenario.seed, weights.data());
  for (std::uint64_t seen = 0; static_cast<double>(seen) < *scenario.training.stop.epochs * static_cast<double>(data.train.count());) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const std::uint64_t part = blueprint.streams.sizes[worker];
      Batch batch;
      batch.stream = static_cast<std::uint32_t>(worker);
      batch.position = position[worker];
      batch.size = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(static_cast<std::uint64_t>(blueprint.plan.batches.typical()), part - position[worker] % part));
      partition->samples(batch, at);
      const float weight = 1.0f / (static_cast<float>(workers) * static_cast<float>(batch.size));
      model.gradient(weights.data(), block.rows(data.train, features, at, weight), worker > 0, gradient.data(), *workspace);
      position[worker] += batch.size;
      seen += batch.size;
    }
    blueprint.kernels->descend(n, static_cast<float>(rate), weights.data(), gradient.data(), weights.data());
  }
  mean_loss(model, weights, data.test, features, *workspace);
  return mean_loss(model, weights, data.train, features, *workspace);
}

double simulated(const Scenario& scenario) {
  RunOptions options;
  options.threads = 1;
  Experiment experiment(scenario, options);
  return *experiment.run(nullptr, nullptr).final_train_loss;
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string file = count > 1 ? arguments[1] : "scenarios/quickstart.yaml";
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 5;
  // Like the plain loop: no scaling of the rate, and only the final evaluation, on the full sets.
  std::vector<std::string> sets = {"training.schedule=constant", "training.stop={epochs: 5}", "training.evaluate={train_samples: 1}",
                                   "training.scheme=ssgd"};
  for (int i = 3; i < count; ++i) sets.push_back(arguments[i]);
  const Scenario scenario = read_scenario(file, sets);
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double start = cpu_seconds();
    const double plain_loss = plain_loop(scenario);
    const double middle = cpu_seconds();
    const double loss = simulated(scenario);
    const double end = cpu_seconds();
    if (!(std::abs(loss - plain_loss) <= 1e-3 * std::abs(plain_loss))) {
      fmt::print(stderr, "the two do not compute the same: final training loss {} and {}\n", loss, plain_loss);
      return 1;
    }
    ratios.push_back((end - middle) / (middle - start));
    fmt::print("plain loop {:.3f} s, simulated run {:.3f} s of CPU time, ratio {:.3f} (final training loss {:.6f}, {:.6f})\n",
               middle - start, end - middle, ratios.back(), plain_loss, loss);
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("median ratio {:.3f}\n", ratios[ratios.size() / 2]);
  return 0;
} catch (const std::exception& problem) {
  fmt::print(stderr, "ssgd_overhead: {}\n", problem.what());
  return 2;
}
