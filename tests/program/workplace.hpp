// A folder to try the program in.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include "tests/support/folder.hpp"

namespace straggler::test {

/// The first half of a scenario; workload and training are to follow.
inline const std::string small_cluster = R"(straggler: 1
name: small
devices:
  node: {compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}}
cluster:
  workers: [{count: 3, device: node}]
  servers: {count: 1}
  network: {topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}
)";

/// A scenario on that cluster: an MLP with one hidden layer on generated points, asynchronous SGD in batches of 20. `rest`: the lines of
/// `training` that follow, such as "  stop: {epochs: 1}\n".
inline std::string on_small_cluster(int hidden, int samples, int test_samples, const std::string& rest) {
  return small_cluster + "workload:\n  model: {kind: mlp, hidden: [" + std::to_string(hidden) +
         "]}\n  data: {kind: coordinates, samples: " + std::to_string(samples) + ", test_samples: " + std::to_string(test_samples) + R"(}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 20}
  optimizer: {kind: sgd, learning_rate: 0.1}
)" + rest;
}

/// A folder of its own in which the program is run.
class Workplace : public TemporaryFolder {
 public:
  const std::filesystem::path& folder() const { return path(); }

  struct Done {
    int code;
    std::string out, err;
  };
  /// Runs a shell command line in the folder; `straggler` stands for the program.
  Done shell(const std::string& command) const {
    const std::string whole =
        "cd " + folder().string() + " && straggler() { " STRAGGLER_PROGRAM " \"$@\"; }; { " + command + "; } >out.txt 2>err.txt";
    const int status = std::system(("bash -c '" + whole + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out.txt"), read("err.txt")};
  }
  nlohmann::json summary(const std::string& run) const { return nlohmann::json::parse(read(run + "/summary.json")); }
  std::map<std::string, std::string> files(const std::string& run) const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder() / run))
      all[entry.path().filename().string()] = read(entry.path());
    return all;
  }
};

}  // namespace straggler::test
