// `straggler quantize` as users meet it.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <cstring>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"

namespace quantize_test {

using straggler::test::equal_workers;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string scenario = scenario_text({.name = "spiral",
                                            .seed = 3,
                                            .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}}",
                                            .workers = equal_workers(1),
                                            .servers = "",
                                            .network = "{link: {bandwidth: 100Mbps, latency: 50us}}",
                                            .model = "{kind: mlp, hidden: [24, 16]}",
                                            .data = "{kind: coordinates, samples: 3000, test_samples: 500}",
                                            .scheme = "sequential",
                                            .batch = "{per_worker: 30}",
                                            .optimizer = "{kind: sgd, learning_rate: 0.1, momentum: 0.9}",
                                            .stop = "{epochs: 15}"});

/// Rows of cells.
std::vector<std::vector<std::string>> table(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

void train(const Workplace& place) {
  place.write("spiral.yaml", scenario);
  const auto trained = place.shell("straggler run spiral.yaml --out trained");
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
}

}  // namespace

TEST_CASE("quantize: every step beside the accuracy before it, and all files, for any number of threads") {
  const Workplace place;
  train(place);
  std::map<std::string, std::string> first;
  for (const char* threads : {"1", "3"}) {
    const auto done = place.shell("straggler quantize trained/model.safetensors --scenario spiral.yaml --bits 8,4 --out q --threads " +
                                  std::string(threads));
    REQUIRE_MESSAGE(done.code == 0, done.err);
    const auto files = place.files("q");
    for (const char* name : {"quantization.csv", "ranges.csv", "weights_hist.csv", "weights_hist.svg", "activations_hist.csv",
                             "activations_hist.svg", "quantized-w8a8.safetensors", "quantized-w4a4.safetensors"})
      CHECK_MESSAGE(files.count(name) == 1, name);
    CHECK(files.size() == 8);
    if (first.empty()) first = files;
    CHECK(first == files);
    CHECK(done.out.find("integer") != std::string::npos);
  }
  const auto rows = table(first["quantization.csv"]);
  REQUIRE(rows.size() == 1 + 1 + 2 * 4);
  CHECK(rows[0][7] == "test_accuracy_before");
  CHECK(std::stod(rows[1][8]) == place.summary("trained")["final_test_accuracy"].get<double>());
  CHECK(std::stod(rows[1][9]) == doctest::Approx(place.summary("trained")["final_test_loss"].get<double>()).epsilon(1e-6));
  CHECK(rows[1][11] == std::to_string(4 * (2 * 24 + 24 + 24 * 16 + 16 + 16 * 4 + 4)));
  for (std::size_t row = 2; row < rows.size(); ++row) {
    CAPTURE(row);
    CHECK(rows[row][0] == std::vector<std::string>{"weights", "activations", "biases", "integer"}[(row - 2) % 4]);
    CHECK(rows[row][7] == ((row - 2) % 4 == 0 ? rows[1][8] : rows[row - 1][8]));
    CHECK(std::stod(rows[row][11]) < std::stod(rows[1][11]));
  }
  CHECK(std::stod(rows[5][8]) > std::stod(rows[1][8]) - 0.02);  // 8 bits
  // Fewer bits into the same folder: what the other run left of its own goes, what is not ours stays.
  place.write("q/notes.txt", "mine");
  const auto again = place.shell(
      "straggler quantize trained/model.safetensors --scenario spiral.yaml --weights --weight-bits 5 --granularity tensor --scheme affine "
      "--ranges mse --out q --quiet");
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(again.err.empty());
  const auto files = place.files("q");
  CHECK(files.count("quantized-w5.safetensors") == 1);
  CHECK(files.count("quantized-w8a8.safetensors") == 0);
  CHECK(files.count("notes.txt") == 1);
  CHECK(table(files.at("quantization.csv")).size() == 3);
}

TEST_CASE("quantize: bad usage and files that do not fit are one line each, exit 2, and nothing is written") {
  const Workplace place;
  train(place);
  const std::string model = place.read("trained/model.safetensors");
  place.write("short.safetensors", model.substr(0, model.size() - 8));
  place.write("text.safetensors", "this is not a model at all");
  // Finite numbers that no training gives: sums of them are not finite. Behind the length of the header, 8 bytes, and the header.
  std::uint64_t header = 0;
  std::memcpy(&header, model.data(), sizeof header);
  std::string damaged = model;
  const float large = 9e29f;
  for (std::size_t at = sizeof header + header; at < damaged.size(); at += sizeof large) std::memcpy(&damaged[at], &large, sizeof large);
  place.write("damaged.safetensors", damaged);
  std::filesystem::create_directories(place.folder() / "taken");
  place.write("taken/thesis.txt", "mine");
  const std::string good = "trained/model.safetensors --scenario spiral.yaml ";
  const std::pair<std::string, const char*> cases[] = {
      {"", "MODEL.safetensors is missing"},
      {"trained/model.safetensors", "--scenario is missing"},
      {"nothing.safetensors --scenario spiral.yaml", "nothing.safetensors: no such file"},
      {"trained/model.safetensors --scenario nothing.yaml", "nothing.yaml"},
      {"short.safetensors --scenario spiral.yaml", "short.safetensors: tensor "},
      {"text.safetensors --scenario spiral.yaml", "text.safetensors: its header would have"},
      {"damaged.safetensors --scenario spiral.yaml", "straggler: damaged.safetensors: the output of its layer '"},
      {good + "--set workload.model.hidden=[24,17]", "tensor '2.weight' has shape [16, 24], the model's has [17, 24]"},
      {good + "--set workload.model=softmax", "tensor '0.weight' has shape [24, 2], the model's has [4, 2]"},
      {good + "--set workload.model.hidden=[24,16,4]", "has no tensor '6.weight' of shape [4, 4]"},
      {good + "--set workload.model.hidden=[24]", "'2.weight' has shape"},
      {good + "--bits 9", "--bits is '9'; it must be a whole number from 2 to 8"},
      {good + "--bits 1", "from 2 to 8"},
      {good + "--bits 8,", "--bits is ''"},
      {good + "--bits 8,8", "--bits names 8 twice"},
      {good + "--bits eight", "from 2 to 8"},
      {good + "--weight-bits 16", "--weight-bits is '16'"},
      {good + "--bits 8,4 --weight-bits 4 --activation-bits 8", "have no effect with both --weight-bits and --activation-bits"},
      {good + "--scheme affin", "did you mean 'affine'?"},
      {good + "--granularity row", "unknown --granularity 'row'"},
      {good + "--ranges entropy", "unknown --ranges 'entropy'"},
      {good + "--percentile 99", "--percentile needs --ranges percentile"},
      {good + "--ranges percentile --percentile 20", "above 50 and at most 100"},
      {good + "--ranges percentile --percentile nan", "above 50 and at most 100"},
      {good + "--calibration-samples 0", "--calibration-samples is '0'"},
      {good + "--calibration-samples 3001", "there are 3000 training samples"},
      {good + "--out taken", "taken: holds something else than results of straggler quantize"},
      {good + "--out spiral.yaml", "spiral.yaml: is a file"},
      {good + "--kernels abacus", "unknown --kernels 'abacus'"},
      {good + "--weigths", "did you mean '--weights'?"},
      {good + "more", "unexpected argument 'more'"},
  };
  for (const auto& one : cases) {
    const std::string arguments = one.first;
    const std::string fault = one.second;
    CAPTURE(arguments);
    const std::string folder = arguments.find("--out") == std::string::npos ? " --out q" : "";
    const auto done = place.shell("straggler quantize " + arguments + folder);
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(done.out.empty());
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
    CHECK(done.err.find(fault) != std::string::npos);
    CHECK(!std::filesystem::exists(place.folder() / "q"));
  }
  CHECK(place.read("taken/thesis.txt") == "mine");
  const auto forced = place.shell("straggler quantize " + good + "--out taken --force");
  CHECK_MESSAGE(forced.code == 0, forced.err);
  CHECK(place.read("taken/thesis.txt") == "mine");
}

}  // namespace quantize_test
