// All-reduces whose times are given: `collective: {kind: measured, path: FILE}`.
#include <doctest/doctest.h>

#include <string>

#include "scenarios/schema/writer.hpp"
#include "tests/import/imports.hpp"
#include "tests/support/text.hpp"

namespace measured_collectives {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

/// Two buckets of 1000 and 3000 parameters; backward is two thirds of 300 ms, and through the second layer after a quarter of that.
std::string scenario(const std::string& collective) {
  return "straggler: 1\nname: measured\n"
         "devices: {node: {compute: {affine: {overhead: 300ms}}}}\n"
         "cluster:\n  workers: [{count: 2, device: node}, {count: 1, device: node, slowdown: 2}]\n"
         "  network: {link: {bandwidth: 1Gbps, latency: 50us}, collective: " +
         collective +
         "}\n"
         "workload: {cost: {model: {kind: sizes, layers: [{name: a, parameters: 3000, flops: 3}, {name: b, parameters: 1000, flops: "
         "1}]}}}\n"
         "training: {scheme: ssgd, batch: {per_worker: 1}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 10}}\n";
}

RunRecord run_of(const std::filesystem::path& file) {
  RunOptions options;
  options.timing_only = true;
  Experiment experiment(read_scenario(file), options);
  return experiment.run(nullptr, nullptr);
}

std::string refused(const std::filesystem::path& file) {
  try {
    run_of(file);
  } catch (const ScenarioErrors& errors) {
    return errors.what();
  }
  return "(none)";
}

TEST_CASE("measured all-reduces take their times from when the last rank is ready, and move nothing") {
  const TemporaryFolder folder;
  folder.write("times.csv", "bucket,bytes,seconds\n1,4000,0.5\n2,12000,0.07\n2,12000,0.09\n");
  const RunRecord whole = run_of(folder.write("overlap.yaml", scenario("{kind: measured, path: times.csv, bucket: 1B, overlap: true}")));
  // The slow rank: forward 0.2 s, backward 0.4 s. Its first bucket is ready at 0.3 s and done at 0.8 s; the second follows.
  CHECK(whole.end.seconds() == Approx(10 * (0.3 + 0.5 + 0.08)));
  CHECK(whole.bytes_sent == 0);
  const RunRecord behind = run_of(folder.write("behind.yaml", scenario("{kind: measured, path: times.csv, bucket: 1B}")));
  CHECK(behind.end.seconds() == Approx(10 * (0.6 + 0.5 + 0.08)));
}

TEST_CASE("what is wrong with measured times is said at its place") {
  const TemporaryFolder folder;
  const auto of = [&](const std::string& collective) { return refused(folder.write("wrong.yaml", scenario(collective))); };
  folder.write("times.csv", "bytes,seconds\n4000,0.5\n");
  CHECK(has(of("{kind: measured, path: times.csv, bucket: 1B}"), "has no time of an all-reduce of 12,000 bytes"));
  CHECK(has(of("{kind: measured, path: nowhere.csv}"), "cluster.network.collective.path: "));
  CHECK(has(of("{kind: measured, path: nowhere.csv}"), "no such file"));
  CHECK(has(of("{kind: measured}"), "cluster.network.collective.kind: measured needs the times; add path: FILE"));
  CHECK(has(of("{path: times.csv}"), "cluster.network.collective.path: is used with kind: measured only"));
  CHECK(has(of("{kind: measured, path: times.csv, algorithm: ring}"), "cluster.network.collective.algorithm: has no effect"));
  CHECK(has(of("{kind: measured, path: times.csv, fidelity: stepwise}"), "cluster.network.collective.fidelity: stepwise sends messages"));
  for (const char* bad : {"bytes\n4000\n", "bytes,seconds\n4000,-1\n", "bytes,seconds\n4000,x\n", "bytes,seconds\n", "bytes,seconds\n0,1\n",
                          "bytes,seconds\n4000\n"}) {
    folder.write("times.csv", bad);
    CHECK(has(of("{kind: measured, path: times.csv}"), "times.csv: "));
  }
}

TEST_CASE("a written scenario keeps them") {
  const TemporaryFolder folder;
  folder.write("times.csv", "bytes,seconds\n16000,0.5\n");
  const Scenario read = read_scenario(folder.write("a.yaml", scenario("{kind: measured, path: times.csv}")));
  const std::string text = write_scenario(read);
  CHECK(has(text, "kind: measured"));
  CHECK(read_scenario_text(text, folder / "b.yaml").cluster.network.collective == read.cluster.network.collective);
}

}  // namespace measured_collectives
