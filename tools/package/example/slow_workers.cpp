// How much does one slow worker cost under synchronous and asynchronous SGD? A simulation built from C++, in timing alone.
#include <cstdio>
#include <string>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"

namespace {

constexpr const char* text = R"(straggler: 1
name: from-cpp
devices:
  node: {compute: {affine: {overhead: 2ms, per_sample: 1ms}}}
cluster:
  workers: [{count: 4, device: node}]
  servers: {count: 1}
  network: {topology: star, link: {bandwidth: 1Gbps, latency: 50us}}
workload:
  model: {kind: mlp, hidden: [128]}
  data: {kind: coordinates, samples: 8000, test_samples: 100}
training:
  scheme: ssgd
  batch: {per_worker: 20}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {epochs: 1}
)";

}  // namespace

int main() {
  for (const std::string scheme : {"ssgd", "asgd"}) {
    for (const double slowdown : {1.0, 2.0, 4.0}) {
      straggler::Scenario scenario = straggler::read_scenario_text(text, "from-cpp.yaml", {"training.scheme=" + scheme});
      straggler::WorkerGroup slow = scenario.cluster.workers.front();
      scenario.cluster.workers.front().count = 3;
      slow.count = 1;
      slow.slowdown = slowdown;
      scenario.cluster.workers.push_back(slow);
      straggler::RunOptions options;
      options.timing_only = true;
      const straggler::RunRecord record = straggler::Experiment(scenario, options).run(nullptr, nullptr);
      std::printf("%s, one worker %g times slower: %.3f s for %llu updates\n", scheme.c_str(), slowdown, record.end.seconds(),
                  static_cast<unsigned long long>(record.updates));
    }
  }
}
