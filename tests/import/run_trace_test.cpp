// The trace of a run of this program is imported, and the run repeated.
#include <doctest/doctest.h>

#include <string>

#include "scenarios/results/recorder.hpp"
#include "tests/import/imports.hpp"
#include "tests/support/text.hpp"

namespace import_run_traces {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

const std::string all_reduce = "ssgd", served = "{kind: ssgd, via: server}";

/// Three workers of 30 ms and one, number 2, of 45 ms; a model of four layers of 1 MB.
std::string scenario(const std::string& scheme, const std::string& jitter = "none") {
  const std::string network =
      scheme == all_reduce
          ? "  network: {link: {bandwidth: 4Gbps, latency: 5us}, collective: {algorithm: ring, bucket: 1B, overlap: true}}\n"
          : "  servers: {count: 1}\n  network: {topology: star, link: {bandwidth: 4Gbps, latency: 5us}}\n";
  return "straggler: 1\nname: round\ndevices:\n  usual: {compute: {affine: {per_sample: 3ms}}, jitter: " + jitter +
         "}\n  slow: {compute: {affine: {per_sample: 4.5ms}}, jitter: " + jitter +
         "}\nworkload: {cost: {model: {kind: even, parameters: 1M, layers: 4, flops: 1}}}\ntraining: {scheme: " + scheme +
         ", batch: {per_worker: 10}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 40}}\n"
         "cluster:\n  workers: [{count: 2, device: usual}, {count: 1, device: slow}, {count: 1, device: usual}]\n" +
         network;
}

struct Traced {
  double step = 0;  // seconds of an update
  std::string text;
};
Traced traced(const TemporaryFolder& folder, const std::string& yaml) {
  RunOptions options;
  options.timing_only = options.trace = true;
  Experiment experiment(read_scenario(folder.write("run.yaml", yaml)), options);
  const ResultFolder results({.out = folder / "run", .scenario_name = "round", .scenario_file = {}});
  Recorder recorder(results, false, true);
  const RunRecord record = experiment.run(&recorder, nullptr);
  recorder.finish(results, record.name, &record);
  std::ifstream file(results.temporary("trace.json"), std::ios::binary);
  return {record.end.seconds() / static_cast<double>(record.updates), {std::istreambuf_iterator<char>(file), {}}};
}

TEST_CASE("a run's trace gives its step, buckets and slow worker, and its replay the step again") {
  const TemporaryFolder folder;
  const Traced run = traced(folder, scenario(all_reduce));
  const ImportedJob job = import_paths({folder.write("trace.json", run.text)});
  CHECK(job.facts["format"] == "straggler_trace");
  CHECK(job.facts["workers"] == 4);
  CHECK(job.facts["step_s"].get<double>() == Approx(run.step).epsilon(1e-9));
  REQUIRE(job.facts["buckets"].size() == 4);
  for (const auto& bucket : job.facts["buckets"]) CHECK(bucket["bytes"] == 1'000'000);
  // A ring sends 2 (4 - 1)/4 of 1 MB through each link of 500 MB/s, beside some latencies.
  CHECK(job.facts["buckets"][1]["seconds"].get<double>() == Approx(3e-3).epsilon(0.2));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(job.facts["ranks"][rank]["work_s"].get<double>() == Approx(rank == 2 ? 45e-3 : 30e-3).epsilon(1e-6));
    CHECK(job.facts["waits_s"][rank].get<double>() == Approx(rank == 2 ? 0 : 15e-3).epsilon(1e-6));
    CHECK((job.facts["S_w"][rank].get<double>() > 1.2) == (rank == 2));
  }
  CHECK(replayed_step(folder, job) == Approx(run.step).epsilon(1e-3));
}

TEST_CASE("a run's trace with jitter, and with a server, repeats its step") {
  const TemporaryFolder folder;
  const Traced uneven = traced(folder, scenario(all_reduce, "{kind: gamma, shape: 4}"));
  const ImportedJob job = import_paths({folder.write("trace.json", uneven.text)});
  CHECK(job.facts["step_s"].get<double>() == Approx(uneven.step).epsilon(1e-9));
  CHECK(!job.file("jitter.csv").empty());
  CHECK(replayed_step(folder, job) == Approx(uneven.step).epsilon(0.02));  // when a bucket is ready is the mean

  const Traced by_server = traced(folder, scenario(served));
  const ImportedJob exchange = import_paths({folder.write("trace.json", by_server.text)});
  CHECK(exchange.facts["step_s"].get<double>() == Approx(by_server.step).epsilon(1e-9));
  CHECK(has(exchange.said(), "one exchange behind backward"));
  CHECK(replayed_step(folder, exchange) == Approx(by_server.step).epsilon(1e-3));
}

TEST_CASE("a run's trace that is no job of common steps, or damaged, is refused in a line") {
  const TemporaryFolder folder;
  const std::string late = traced(folder, scenario("asgd")).text, text = traced(folder, scenario(all_reduce)).text;
  const auto refused = [&](const std::string& bytes) { return refusal_of({folder.write("trace.json", bytes)}); };
  CHECK(has(refused(late), "is of a run without common steps"));
  CHECK(has(refused(text.substr(0, text.size() / 2)), "ends before its last event"));
  std::string negative = text;
  negative.replace(negative.find("\"dur\":") + 6, 1, "-");
  CHECK(has(refused(negative), "give trace.json as the run wrote it"));
  CHECK(has(refusal_of({folder.write("a.json", text), folder.write("b.json", text)}), "and others are a run each"));
  std::string empty = text.substr(0, text.find("{\"ph\":"));
  CHECK(has(refused(empty + "\n]}\n"), "has no worker that computes"));
}

}  // namespace import_run_traces
