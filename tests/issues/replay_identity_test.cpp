// A replay is of the run whose choices it takes: every key of the scenario that enters the names of values must be as it was there.
#include <doctest/doctest.h>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

using Sets = std::vector<std::string>;

/// A table of two features and a label.
std::string table(const TemporaryFolder& folder, const std::string& name, int first) {
  std::string rows;
  for (int i = 0; i < 60; ++i)
    rows += std::to_string((first + 7 * i) % 50) + "," + std::to_string(3 * i % 11) + "," + std::to_string(i % 2) + "\n";
  return folder.write(name, rows).string();
}

Sets with_also(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// The folder of a run, as far as a replay reads it.
void keep(const TemporaryFolder& folder, const Result& result, const Sets& sets) {
  std::string choices = "process,choice\n";
  for (const auto& [process, choice] : result.sink.choices) choices += std::to_string(process) + "," + std::to_string(choice) + "\n";
  folder.write("choices.csv", choices);
  folder.write("scenario.yaml", write_scenario(read_scenario_text(cluster(2), "test.yaml", sets)));
}

/// What is said of it; empty: it runs.
std::string refusal(const TemporaryFolder& folder, const Sets& sets, bool timing_only = false, const std::string& kernels = "auto") {
  RunOptions options;
  options.replay = folder.path();
  options.timing_only = timing_only;
  options.kernels = kernels;
  return error_of<DataError>([&] { run(cluster(2), sets, options); });
}

}  // namespace

TEST_CASE("a replay refuses each key that enters the root of all names") {
  const TemporaryFolder folder;
  const Sets sets = {"training.scheme=asgd", "training.batch.per_worker=10", "training.stop={updates: 4}"};
  keep(folder, run(cluster(2), sets), sets);
  CHECK(refusal(folder, sets) == "");
  CHECK(refusal(folder, with_also(sets, {"cluster.network.link={bandwidth: 1MB/s, latency: 1ms}"})) == "");
  const std::pair<Sets, std::string> others[] = {{{"seed=2"}, "seed"},
                                                 {{"workload.data.samples=5000"}, "workload.data"},
                                                 {{"workload.data.partition={kind: shards, per_worker: 2}"}, "workload.data.partition"},
                                                 {{"workload.data.reshuffle=false"}, "workload.data.reshuffle"},
                                                 {{"workload.model.hidden=[17]"}, "workload.model"},
                                                 {{"workload.precision=bf16"}, "workload.precision"},
                                                 {{"training.optimizer.learning_rate=0.2"}, "training.optimizer"},
                                                 {{"training.batch.per_worker=11"}, "training.batch"},
                                                 {{"training.compression=top_k"}, "training.compression"},
                                                 {{"training.evaluate.split=validation"}, "training.evaluate.split"}};
  for (const auto& other : others) {
    const auto& change = other.first;
    const std::string& place = other.second;
    CAPTURE(place);
    for (const bool timing_only : {false, true})
      CHECK_MESSAGE(has(refusal(folder, with_also(sets, change), timing_only), "its " + place + " differs"),
                    refusal(folder, with_also(sets, change), timing_only));
  }
}

TEST_CASE("a replay refuses other augmentation of its images") {
  const TemporaryFolder folder;
  const auto sets = [&](const std::string& augment) {
    return Sets{"training.scheme=asgd", "training.batch.per_worker=10", "training.stop={updates: 4}", "workload.model={kind: softmax}",
                "workload.data={kind: synthetic_images, height: 4, width: 4, samples: 200, test_samples: 50" + augment + "}"};
  };
  const Sets first = sets(", augment: {crop: 1}");
  keep(folder, run(cluster(2), first), first);
  CHECK(refusal(folder, first) == "");
  for (const char* const other : {", augment: {crop: 2}", ", augment: {crop: 1, flip: true}", ""}) {
    for (const bool timing_only : {false, true})
      CHECK_MESSAGE(has(refusal(folder, sets(other), timing_only), "its workload.data.augment differs"),
                    refusal(folder, sets(other), timing_only));
  }
}

TEST_CASE("a replay identifies data files by their content") {
  const TemporaryFolder folder;
  const auto sets = [&](const std::string& file) {
    return Sets{"training.scheme=asgd", "training.batch.per_worker=10", "training.stop={updates: 4}", "workload.model={kind: softmax}",
                "workload.data={kind: csv, path: " + file + "}"};
  };
  const Sets first = sets(table(folder, "table.csv", 1));
  keep(folder, run(cluster(2), first), first);
  CHECK(refusal(folder, first) == "");
  CHECK(refusal(folder, sets(table(folder, "copy/table.csv", 1))) == "");
  CHECK(has(refusal(folder, sets(table(folder, "other.csv", 2))), "its workload.data differs"));
}

TEST_CASE("a replay of a simulated run asks for its kernel set, too") {
  const TemporaryFolder folder;
  const Sets sets = {"training.scheme=asgd", "training.batch.per_worker=10", "training.stop={updates: 4}"};
  RunOptions options;
  options.kernels = "generic";
  keep(folder, run(cluster(2), sets, options), sets);
  folder.write("run.json", R"({"kernels": "generic"})");
  CHECK(refusal(folder, sets, false, "generic") == "");
  folder.write("run.json", R"({"kernels": "another"})");
  CHECK(has(refusal(folder, sets, false, "generic"), "'another', this would be by 'generic', whose sums differ; add --kernels another"));
}

TEST_CASE("data with held-out validation samples have one key for all users") {
  const auto names = [](const Sets& sets) {
    const Scenario scenario = read_scenario_text(cluster(2), "test.yaml", sets);
    return std::pair(WorkloadBlueprint(scenario, "auto").data_content(scenario), Blueprint(scenario, "auto").data_content(scenario));
  };
  const auto [alone, whole] = names({"training.evaluate.split=validation"});
  CHECK(alone == whole);
  CHECK(alone != names({}).first);
}
