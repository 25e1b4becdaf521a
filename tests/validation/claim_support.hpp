// A claim about a small asynchronous cluster, whose measured table the simulator itself wrote.
#pragma once
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/support/files.hpp"
#include "tests/support/scenarios.hpp"
#include "validation/compare/validate.hpp"

namespace straggler::test {

inline const std::string& asynchronous() {
  static const std::string text = scenario_text({.name = "asynchronous",
                                                 .node = "{compute: {affine: {overhead: 1ms, per_sample: 100us}}}",
                                                 .workers = equal_workers(1),
                                                 .servers = "{count: 1, per_message: 50us}",
                                                 .network = "{link: {bandwidth: 1Gbps, latency: 50us}}",
                                                 .scheme = "{kind: asgd}",
                                                 .stop = "{updates: 400}"});
  return text;
}

inline double simulated_seconds(const std::string& yaml, const std::vector<std::string>& sets) {
  RunOptions options;
  options.timing_only = true;
  return Experiment(read_scenario_text(yaml, "test.yaml", sets), options).run(nullptr, nullptr).end.seconds();
}

inline std::string digits(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

inline ClaimResult validate(const std::filesystem::path& claim) { return straggler::validate(read_claim(claim), {}); }

/// Everything that is checked before anything runs.
inline std::string refusal(const Files& files, const std::string& claim) {
  return said(files, [&] { check_claim(read_claim(files.write("claim.yaml", claim))); });
}

/// One worker, 10 updates, 1 ms a sample: a batch of b takes 0.01 b seconds.
inline const std::string& alone() {
  static const std::string text = scenario_text({.name = "alone",
                                                 .node = "{compute: {affine: {overhead: 0s, per_sample: 1ms}}}",
                                                 .workers = equal_workers(1),
                                                 .servers = "",
                                                 .network = "{link: {bandwidth: 1Gbps, latency: 0s}}"});
  return text;
}

}  // namespace straggler::test
