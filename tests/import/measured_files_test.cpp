// Files of others (tests/import/files), and what their sources or a count by hand say of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "sim/base/text_lines.hpp"
#include "tests/import/imports.hpp"
#include "tests/support/text.hpp"

namespace import_measured_files {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

std::filesystem::path given(const std::string& name) { return std::filesystem::path(STRAGGLER_SOURCE_DIR) / "tests/import/files" / name; }
std::filesystem::path mlperf(int nodes, int run) { return given(fmt::format("mlperf/dell_resnet_nodes{:02}_result{}.txt.gz", nodes, run)); }

/// A scenario whose cluster.network is this fragment.
Scenario scenario_with(const std::string& network) {
  std::string text =
      "straggler: 1\ndevices: {d: {compute: {affine: {per_sample: 1ms}}}}\nworkload: {cost: {model: {kind: even, parameters: 1M, layers: "
      "1, "
      "flops: 1}}}\ntraining: {scheme: ssgd, batch: {per_worker: 1}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}\n"
      "cluster:\n  workers: [{count: 16, device: d, per_host: 8}]\n  network:\n";
  TextLines lines(network);
  for (std::string_view line; lines.next(line);) text += "    " + std::string(line) + "\n";
  return read_scenario_text(text, "fragment.yaml");
}

TEST_CASE("two gloo processes as PyTorch 1.13 records them: steps, waits and exchange, and a replay of the step") {
  const ImportedJob job = import_paths({given("gloo_rank0.json.gz"), given("gloo_rank1.json.gz")});
  CHECK(job.facts["format"] == "torch_cpu");
  CHECK(job.facts["workers"] == 2);
  // Counted in the files: from the end of Optimizer.step to the next one, of each step the longer.
  const std::vector<double> steps = job.facts["steps"], counted = {171.759e-3, 152.288e-3, 151.873e-3, 155.137e-3, 154.843e-3};
  REQUIRE(steps.size() == counted.size());
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(steps[i] == Approx(counted[i]).epsilon(1e-9));
  CHECK(job.facts["step_s"].get<double>() == Approx(157.18e-3).epsilon(1e-9));
  REQUIRE(job.facts["buckets"].size() == 2);
  CHECK(job.facts["buckets"][0]["bytes"].is_null());
  CHECK(has(job.said(), "bytes of all-reduces: give a torchinfo summary"));
  CHECK(job.facts["waits_s"].size() == 2);
  const TemporaryFolder folder;
  CHECK(replayed_step(folder, job) == Approx(157.18e-3).epsilon(0.05));
}

TEST_CASE("a pipeline: who slows whom is as its source publishes it") {
  const ImportedJob job = import_paths({given("bytedance_ST_8_gpus.csv.gz")});
  CHECK(job.facts["S"].get<double>() == Approx(1.1787).epsilon(0.01));
  CHECK(job.facts["step_s"].get<double>() == Approx(2.1727).epsilon(0.01));
  CHECK(job.facts["even_step_s"].get<double>() == Approx(1.8433).epsilon(0.01));
  CHECK(job.facts["recorded_step_s"].get<double>() == Approx(2.2144).epsilon(0.001));
  const std::vector<double> stages = job.facts["S_w"]["by_stage"], ranks = job.facts["S_w"]["by_rank"];
  const std::vector<double> published_stages = {0.998, 0.983, 0.983, 1.2323}, published_ranks = {1.173, 1.178};
  REQUIRE(stages.size() == 4);
  REQUIRE(ranks.size() == 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK(stages[i] == Approx(published_stages[i]).epsilon(0.01));
  for (std::size_t i = 0; i < 2; ++i) CHECK(ranks[i] == Approx(published_ranks[i]).epsilon(0.01));
  CHECK(job.facts["S_t"]["forward-compute"].get<double>() == Approx(1.0875).epsilon(0.01));
  CHECK(job.facts["S_t"]["backward-compute"].get<double>() == Approx(1.0742).epsilon(0.01));
  CHECK(std::abs(job.facts["M_W"].get<double>() - 0.031) < 0.03);
  CHECK(std::abs(job.facts["M_S"].get<double>() - 1.219) < 0.03);
  CHECK(job.facts["S_w"]["workers"].size() == 8);
  CHECK(job.facts["steps_replayed"] == 32);
  CHECK(job.imported.next.empty());
  CHECK(has(job.said(), "stage 3 alone 1.2"));
}

TEST_CASE("MLPerf logs: times, batches and rates of each setting; aborted runs are counted, not averaged") {
  std::vector<std::filesystem::path> files;
  for (const int nodes : {1, 2, 4, 8})
    for (int run = 0; run < 5; ++run) files.push_back(mlperf(nodes, run));
  const ImportedJob job = import_paths(files);
  CHECK(job.facts["target"] == 0.759);
  CHECK(job.facts["aborted"] == 2);
  CHECK(job.imported.name == "dell_resnet_nodes08_result0");  // the setting that the scenario has
  CHECK(job.facts["runs"].size() == 20);
  struct Row {
    int nodes, reached, batch;
    double shortest, longest, learning_rate, images, step_ms;  // minutes
  };
  for (const Row& row : {Row{1, 4, 1024, 62.20, 62.22, 6.0, 12119, 84.5}, Row{2, 4, 1632, 33.38, 33.51, 7.3, 22633, 72.1},
                         Row{4, 5, 3264, 17.00, 17.12, 10.5, 44930, 72.6}, Row{8, 5, 3264, 9.72, 9.83, 10.5, 77806, 41.95}}) {
    CAPTURE(row.nodes);
    const nlohmann::json* found = nullptr;
    for (const auto& setting : job.facts["settings"])
      if (setting["nodes"] == row.nodes && setting["batch"] == row.batch) found = &setting;
    REQUIRE(found);
    CHECK((*found)["accelerators"] == 4 * row.nodes);
    CHECK((*found)["reached"] == row.reached);
    CHECK((*found)["learning_rate"] == row.learning_rate);
    CHECK((*found)["warmup_epochs"] == 2);
    CHECK((*found)["epochs"] == 35);
    CHECK((*found)["samples_per_second"].get<double>() == Approx(row.images).epsilon(1e-3));
    CHECK((*found)["step_s"].get<double>() * 1e3 == Approx(row.step_ms).epsilon(1e-3));
    const std::vector<double> minutes = (*found)["minutes"];
    CHECK(std::abs(*std::ranges::min_element(minutes) - row.shortest) < 1.0 / 60);
    CHECK(std::abs(*std::ranges::max_element(minutes) - row.longest) < 1.0 / 60);
  }
  // The aborted run on one node had another batch: a setting of its own, without a step.
  for (const auto& setting : job.facts["settings"])
    if (setting["batch"] == 816) CHECK(setting["step_s"].is_null());
  const TemporaryFolder folder;
  CHECK(replayed_step(folder, job) == Approx(0.04195).epsilon(0.1));
}

TEST_CASE("Chakra: bytes of collectives, and a step of kernels one behind the other") {
  const ImportedJob job = import_paths({given("chakra_resnet50_ddp.et.gz")});
  CHECK(job.facts["nodes"] == 3664);
  CHECK(job.facts["data_dependencies"] == 181878);
  CHECK(job.facts["gpu"]["kernels"] == 1209);
  CHECK(job.facts["gpu"]["computing_s"].get<double>() == Approx(0.29283).epsilon(1e-4));
  const std::vector<std::int64_t> bytes = {8196000, 31502336, 26255360, 26550272, 9724160};
  const std::vector<double> ms = {5.57, 9.09, 8.51, 8.18, 5.33};
  REQUIRE(job.facts["buckets"].size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(job.facts["buckets"][i]["bytes"] == bytes[i]);
    CHECK(job.facts["buckets"][i]["seconds"].get<double>() * 1e3 == Approx(ms[i]).epsilon(2e-3));
  }
  std::vector<std::int64_t> broadcasts;
  for (const auto& each : job.facts["collectives"])
    if (each["kind"] == "broadcast") broadcasts.push_back(each["bytes"]);
  CHECK(broadcasts == std::vector<std::int64_t>{212480, 424});
  for (const double step : {job.facts["step_s"].get<double>(), replayed_step(TemporaryFolder(), job)}) {
    CHECK(step >= 0.2928);
    CHECK(step <= 0.2928 + 0.0367);
  }
  const ImportedJob small = import_paths({given("chakra_small.json")});
  CHECK(small.facts["nodes"] == 7);
  CHECK(small.facts["gpu"]["computing_s"].get<double>() == Approx(4e-6));
  REQUIRE(small.facts["collectives"].size() == 1);  // those of the CPU are the same again
  CHECK(small.facts["collectives"][0]["bytes"].is_null());
}

TEST_CASE("topologies become cluster.network: switches, cards, NVLinks by kind") {
  const ImportedJob ndv4 = import_paths({given("nccl_topo_azure_ndv4_8xA100.xml")});
  CHECK(ndv4.facts["gpus"] == 8);
  CHECK(ndv4.facts["nics"] == 8);
  CHECK(ndv4.facts["processors"] == 4);
  CHECK(has(ndv4.facts["missing"].dump(), "NVLinks"));
  const Scenario azure = scenario_with(ndv4.file("topology.yaml"));
  REQUIRE(azure.cluster.network.intra->pcie_switch);
  CHECK(azure.cluster.network.intra->pcie_switch->workers == 2);
  CHECK(azure.cluster.network.intra->card->workers == 1);
  CHECK(azure.cluster.network.intra->card->at == CardSpec::At::pcie_switch);
  CHECK(has(ndv4.file("topology.yaml"), "bandwidth: 24GB/s   # PCIe of 16 GT/s x16"));

  const ImportedJob dgx = import_paths({given("topo_m_dgx_a100.txt")});
  CHECK(dgx.facts["machine"] == "dgx_a100");
  CHECK(dgx.facts["nics"] == 12);
  CHECK(dgx.facts["pairs"]["NV12"] == 28);
  CHECK(dgx.facts["nvlinks_a_gpu"]["GPU3"] == 12);  // in all, not of a pair
  CHECK(dgx.facts["nearest_nics"]["GPU4"] == nlohmann::json::array({"mlx5_6", "mlx5_7"}));
  CHECK(dgx.facts["nics_far_from_all"] == nlohmann::json::array({"mlx5_4", "mlx5_5", "mlx5_10", "mlx5_11"}));
  CHECK(dgx.facts["card"]["workers"] == 2);
  CHECK(dgx.facts["card"]["nics"] == 2);
  const Scenario nvswitch = scenario_with(dgx.file("topology.yaml"));
  CHECK(nvswitch.cluster.network.intra->card->workers == 2);

  const ImportedJob mesh = import_paths({given("topo_m_8xV100_mesh.txt")});
  CHECK(mesh.facts["machine"] == "dgx1");
  CHECK(mesh.facts["pairs"] == nlohmann::json{{"NV1", 8}, {"NV2", 8}, {"SYS", 12}});
  CHECK(mesh.facts["nvlinks_a_gpu"]["GPU5"] == 6);
  CHECK(mesh.facts["nearest_nics"]["GPU0"] == nlohmann::json::array({"mlx5_0"}));
  CHECK(mesh.facts["card"]["workers"] == 4);
  CHECK(scenario_with(mesh.file("topology.yaml")).cluster.network.intra->card->workers == 4);
  CHECK(mesh.imported.next.empty());
}

TEST_CASE("TraceLens by rank alone: transfers to 1 % of those that the traces of all ranks give") {
  const ImportedJob job = import_paths({given("tracelens_llama70b_fsdp_8xMI300X_by_rank.csv")});
  std::map<std::int64_t, double> transfers;  // milliseconds, by elements
  for (const auto& each : job.facts["collectives"]) transfers[each["elements"]] = 1e3 * each["transfer_s"].get<double>();
  CHECK(transfers.at(106956800) == Approx(6.07).epsilon(0.01));
  CHECK(transfers.at(855654400) == Approx(11.67).epsilon(0.01));
  CHECK(transfers.at(2101354496) == Approx(22.99).epsilon(0.01));
  CHECK(transfers.at(262669312) == Approx(11.92).epsilon(0.01));
  CHECK(job.facts["last_rank"] == 4);
  const std::vector<double> waits = job.facts["waits_s"], seconds = {13.29, 8.81, 5.46, 6.96, 0, 4.55, 9.77, 9.37};
  for (std::size_t r = 0; r < 8; ++r) CHECK(std::abs(waits[r] - seconds[r]) < 0.1);
}

}  // namespace import_measured_files
