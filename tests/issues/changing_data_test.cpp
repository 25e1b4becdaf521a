// Files that are written to while a process runs on them: no run computes with other data than it is named by.
#include <doctest/doctest.h>

#include <fstream>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "sim/base/random.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// A table in two versions of the same length, of which one is there.
class Table {
 public:
  Table() { write(1); }
  void write(std::uint64_t version, std::size_t rows = 400) const {
    std::ofstream out(folder_.path() / "table.csv");
    RandomStream random(version, "table");
    for (std::size_t i = 0; i < rows; ++i)
      for (const char* end : {",", ",", "\n"}) out << (end[0] == '\n' ? i % 2 : 10 + random.below(90)) << end;
  }
  std::vector<std::string> sets(const char* rate) const {
    return {"training.batch.per_worker=10", "workload.model={kind: softmax}", std::string("training.optimizer.learning_rate=") + rate,
            "workload.data={kind: csv, path: " + (folder_.path() / "table.csv").string() + "}"};
  }

 private:
  TemporaryFolder folder_;
};

RunOptions options_of(DataCache* data, TrajectoryStore* store = nullptr) {
  RunOptions options;
  options.data = data;
  options.store = store;
  return options;
}

}  // namespace

TEST_CASE("runs that share data sets notice a changed file, of the same length or not") {
  const Table table;
  DataCache data;
  const std::vector<float> first = run(cluster(2), table.sets("0.1"), options_of(&data)).weights;
  table.write(2);
  const std::vector<float> second = run(cluster(2), table.sets("0.1"), options_of(&data)).weights;
  CHECK(second != first);
  CHECK(second == run(cluster(2), table.sets("0.1")).weights);
}

TEST_CASE("results of a changed file are not stored under the old file's name") {
  const Table table;
  EvaluationFile store(":memory:");
  DataCache data;
  run(cluster(2), table.sets("0.1"), options_of(nullptr, &store));
  // All from the store: the data are named and not read.
  REQUIRE(Experiment(read_scenario_text(cluster(2), "test.yaml", table.sets("0.1")), options_of(&data, &store))
              .run_from_store(nullptr)
              .record.has_value());
  table.write(2);
  const Result changed = run(cluster(2), table.sets("0.2"), options_of(&data, &store));
  CHECK(changed.weights == run(cluster(2), table.sets("0.2")).weights);
  table.write(1);
  const Result back = run(cluster(2), table.sets("0.2"), options_of(nullptr, &store)), alone = run(cluster(2), table.sets("0.2"));
  CHECK(back.weights == alone.weights);
  CHECK(back.record.final_test_loss == alone.record.final_test_loss);
  CHECK(back.weights != changed.weights);
}

TEST_CASE("an experiment depends on the parts in its name, not on their file") {
  const TemporaryFolder folder;
  const auto parts = [](int of_the_first) {
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += i < of_the_first ? "0\n" : "1\n";
    return lines;
  };
  const std::filesystem::path file = folder.write("parts.csv", parts(400));
  const std::vector<std::string> sets = {
      "workload.data={kind: coordinates, samples: 1000, partition: {kind: by_file, path: " + file.string() + "}}"};
  const Result first = run(cluster(2), sets);
  Experiment experiment(read_scenario_text(cluster(2), "test.yaml", sets), {});
  folder.write("parts.csv", parts(600));
  const RunRecord record = experiment.run(nullptr, nullptr);
  CHECK(record.weights_key == first.record.weights_key);
  CHECK(experiment.final_weights() == first.weights);
  CHECK(run(cluster(2), sets).weights != first.weights);
}

TEST_CASE("an experiment whose data change size between inspection and loading is refused") {
  const Table table;
  DataCache data;
  for (DataCache* const shared : {static_cast<DataCache*>(nullptr), &data}) {
    table.write(1);
    Experiment experiment(read_scenario_text(cluster(2), "test.yaml", table.sets("0.1")), options_of(shared));
    table.write(1, 100);
    const std::string said = error_of<std::exception>([&] { experiment.run(nullptr, nullptr); });
    CHECK(said.find("workload.data") != std::string::npos);
    CHECK(said.find("changed while they were read") != std::string::npos);
  }
}
