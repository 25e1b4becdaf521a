// fedavg kept the list of a round's clients in every worker's frame: memory grew with the square of the workers.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/support/run.hpp"
#include "tests/support/scenarios.hpp"

namespace straggler::test {

namespace {

/// A field of /proc/self/status, in bytes.
double status(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(field + ":", 0) == 0) return 1024 * std::stod(line.substr(field.size() + 1));
  return 0;
}

}  // namespace

TEST_CASE("fedavg takes memory in proportion to its workers") {
  constexpr int workers = 8000;
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak of resident memory starts anew
  const double before = status("VmRSS");
  const Result result = run_timing(scenario_text({.name = "many",
                                                  .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}}",
                                                  .workers = equal_workers(workers),
                                                  .network = "{link: {bandwidth: 1Gbps, latency: 50us}}",
                                                  .model = "{kind: mlp, hidden: [8]}",
                                                  .data = "{kind: coordinates, samples: 16000, test_samples: 100}",
                                                  .scheme = "{kind: fedavg, fraction: 1}",
                                                  .batch = "{per_worker: 2}",
                                                  .optimizer = "{kind: sgd, learning_rate: 0.05}",
                                                  .stop = "{updates: 2}"}));
  CHECK(result.record.updates == 2);
  const double taken = status("VmHWM") - before;
  // A list of all ranks in each frame: 4 bytes for each pair of workers, 256 MB. Now 1 kB a worker, some kilobytes under sanitizers.
  CAPTURE(taken);
  CHECK(taken < 8192.0 * workers);
}

}  // namespace straggler::test
