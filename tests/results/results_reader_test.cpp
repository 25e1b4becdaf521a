#include <doctest/doctest.h>

#include <cmath>

#include "scenarios/results/comparison.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/word_vectors.hpp"
#include "tests/results/results_support.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;
using namespace straggler::results_test;
namespace fs = std::filesystem;

namespace {

fs::path written(const ScratchFolder& scratch, const RunRecord& record) {
  ResultFolder::Request request;
  request.out = scratch / "demo";
  request.scenario_name = record.name;
  ResultFolder folder(request);
  write_record(folder, record);
  folder.commit();
  return request.out;
}

std::string refusal(const fs::path& folder) {
  return test::error_of<ResultsError>([&] { read_run_result(folder); });
}

}  // namespace

TEST_CASE("a run's files are read back") {
  const ScratchFolder scratch;
  RunRecord record = sample_record();
  record.final_test_accuracy = 0.9;
  const RunResult run = read_run_result(written(scratch, record));
  CHECK(run.name == "demo");
  CHECK(run.scheme == "asgd");
  CHECK(run.outcome == Outcome::completed);
  CHECK(run.workers == 2);
  CHECK(run.simulated_seconds == 8);
  CHECK(run.samples_per_second == 24);
  CHECK(run.final_test_accuracy == 0.9);
  CHECK(run.shares[Phase::idle] == 0.3125);
  CHECK(run.staleness_max == 5);
  // Thresholds 0.5, 0.75, 0.95 and the target, 0.8, which is reached when 0.75 is: at 7 s, after 160 samples.
  REQUIRE(run.thresholds.size() == 4);
  CHECK(run.thresholds[2].threshold == 0.8);
  CHECK(run.thresholds[2].seconds == 7);
  CHECK(run.thresholds[2].samples == 160);
  CHECK(run.thresholds[1].epochs == 1.25);
  CHECK(run.thresholds[0].last_below_seconds == std::nullopt);
  CHECK_FALSE(run.thresholds[3].seconds);
}

TEST_CASE("a failed run whose numbers are lost does not count as timing alone") {
  for (const bool learned : {true, false}) {
    const ScratchFolder scratch;
    RunRecord record = sample_record();
    record.outcome = Outcome::aborted;
    record.target_accuracy.reset();
    record.thresholds.clear();
    for (CurvePoint& point : record.curve) {
      point.train_loss = point.test_loss = std::nullopt;
      if (learned) point.train_loss = point.test_loss = std::nan("");
    }
    const RunResult run = read_run_result(written(scratch, record));
    CHECK(run.with_math == learned);
    CHECK(timing_alone(run) == !learned);
  }
}

TEST_CASE("a run is measured if run.json says that it was of real ranks") {
  const ScratchFolder scratch;
  const fs::path out = written(scratch, sample_record());
  CHECK_FALSE(read_run_result(out).real);
  put(out / "run.json", R"({"threads": 1})");
  CHECK_FALSE(read_run_result(out).real);
  put(out / "run.json", R"({"real": {"ranks": 2, "compute": "real", "reduction": "ring"}})");
  CHECK(read_run_result(out).real);
  put(out / "run.json", "{");
  CHECK(has(refusal(out), "run.json: is not a JSON object"));
}

TEST_CASE("results of a later version are refused with both versions; those without one are of version 1") {
  const ScratchFolder scratch;
  const fs::path out = written(scratch, sample_record());
  CHECK(refusal(out).empty());  // no run.json
  for (const char* const text : {R"({"threads": 1})", R"({"results": 1})"}) {
    put(out / "run.json", text);
    CHECK(refusal(out).empty());
  }
  put(out / "run.json", R"({"results": 2})");
  put(out / "summary.json", R"({"what version 2 may have": []})");
  const std::string line = (out / "run.json").string() +
                           ": these results have version 2 of the format; this program reads version 1; use the straggler that wrote them, "
                           "or run the scenario again";
  CHECK(refusal(out) == line);
  CHECK(test::error_of<ResultsError>([&] { refuse_newer_results(out); }) == line);
  CHECK(test::error_of<ResultsError>([&] { read_word_vectors(out); }) == line);
  for (const char* const wrong : {"1.5", "\"1\"", "[]", "null"}) {
    put(out / "run.json", std::string("{\"results\": ") + wrong + "}");
    CHECK_MESSAGE(has(refusal(out), "have version " + std::string(wrong) + " of the format"), wrong);
  }
}

TEST_CASE("a folder says which program made its run, if that was another one") {
  const ScratchFolder scratch;
  CHECK(other_program(scratch.path()).empty());  // not known
  const auto with = [&](const std::string& other_version, const std::string& other_compiler) {
    put(scratch / "run.json", "{\"version\": \"" + other_version + "\", \"compiler\": \"" + other_compiler + "\"}");
    return other_program(scratch.path());
  };
  put(scratch / "run.json", run_json({}));
  CHECK(other_program(scratch.path()).empty());
  CHECK(with(version(), compiler()).empty());
  CHECK(with("0.0.1", compiler()) == (scratch / "run.json").string() + ": straggler 0.0.1 (" + compiler() +
                                         ") made this run; this is straggler " + version() + " (" + compiler() +
                                         "), whose bits may differ");
  CHECK(has(with(version(), "cc 1"), "straggler " + version() + " (cc 1) made this run"));
  put(scratch / "run.json", R"({"version": 3})");
  CHECK(other_program(scratch.path()).empty());
}

TEST_CASE("a target that is also a threshold is listed once") {
  const ScratchFolder scratch;
  RunRecord record = sample_record();
  record.target_accuracy = 0.75;
  CHECK(read_run_result(written(scratch, record)).thresholds.size() == 3);
}

TEST_CASE("model and data are read from scenario.yaml: the data, their split, and their place") {
  const ScratchFolder scratch;
  const fs::path out = written(scratch, sample_record());
  const auto with = [&](const std::string& data, const std::string& split) {
    put(out / "scenario.yaml",
        "straggler: 1\n"
        "devices: {node: {compute: {affine: {overhead: 2ms}}}}\n"
        "cluster: {workers: [{device: node}], network: {link: {bandwidth: 1Gbps, latency: 50us}}}\n"
        "workload: {model: {kind: mlp, hidden: [20]}, data: " +
            data +
            "}\n"
            "training: {scheme: ssgd, batch: {per_worker: 8}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {epochs: 1}, evaluate: "
            "{split: " +
            split + "}}\n");
    return read_run_result(out);
  };
  const RunResult plain = with("{kind: fashion_mnist, normalize: unit}", "test");
  CHECK(plain.data == "fashion_mnist normalize=unit");
  CHECK(plain.data_path.empty());
  CHECK(has(plain.model, "hidden=[20]"));
  const RunResult elsewhere = with("{kind: fashion_mnist, normalize: unit, path: mnist}", "validation");
  CHECK(elsewhere.data == "fashion_mnist normalize=unit split=validation");
  CHECK(elsewhere.data_path == (out / "mnist").string());
}

TEST_CASE("a folder without results is refused, naming the missing file") {
  const ScratchFolder scratch;
  CHECK(has(refusal(scratch / "nowhere"), "there is no such folder"));
  put(scratch / "file", "x");
  CHECK(has(refusal(scratch / "file"), "is not a folder"));
  CHECK(has(refusal(scratch.path()), "is not a result folder"));

  const fs::path out = written(scratch, sample_record());
  fs::remove(out / "thresholds.csv");
  CHECK(has(refusal(out), "thresholds.csv: is missing"));
  put(out / "order.csv", "");
  fs::remove(out / "summary.json");
  CHECK(has(refusal(out), "not complete"));
}

TEST_CASE("malformed results are refused with the place") {
  const ScratchFolder scratch;
  const fs::path out = written(scratch, sample_record());
  const std::string summary = get(out / "summary.json"), thresholds = get(out / "thresholds.csv");
  const auto with = [&](const std::string& file, std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    put(out / file, text);
    return refusal(out);
  };
  CHECK(has(with("summary.json", summary, "{", "["), "summary.json: is not JSON"));
  CHECK(has(with("summary.json", summary, "\"samples\"", "\"sample\""), "key 'samples' is missing"));
  CHECK(has(with("summary.json", summary, "\"updates\": 6", "\"updates\": \"six\""), "'updates' is \"six\"; it must be a number"));
  put(out / "summary.json", "3");
  CHECK(has(refusal(out), "is not a JSON object"));
  put(out / "summary.json", summary);
  CHECK(has(with("thresholds.csv", thresholds, "samples", "sample"), "thresholds.csv:1: column 'samples' is missing"));
  CHECK(has(with("thresholds.csv", thresholds, "0.75,7", "0.75,seven"), "thresholds.csv:3: time_s is 'seven'"));
  CHECK(has(with("thresholds.csv", thresholds, "0.95,,", "0.95,"), "thresholds.csv:4: has 6 cells; the header has 7"));
  put(out / "thresholds.csv", thresholds);
  CHECK(refusal(out).empty());
}
