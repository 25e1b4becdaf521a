// What jobs leave behind: traces, logs and tables.
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/import/import_format.hpp"
#include "scenarios/schema/reader.hpp"
#include "sim/base/text_lines.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

/// A job's step is a time, and its scenario can be read.
void import_as(const char* format, const std::string& bytes) {
  const std::string file = write_file("given", bytes);
  may_refuse<DataError>([&] {
    const Imported imported = import_files({.files = {file}, .format = format, .options = {}});
    std::map<std::string, std::string> files(imported.files.begin(), imported.files.end());
    const nlohmann::json facts = nlohmann::json::parse(files.at("import.json"));
    if (imported.next.empty()) return;
    if (!facts.at("step_s").is_number() || !(facts.at("step_s").get<double>() > 0)) throw Find("a step that takes no time");
    try {
      read_scenario(write_folder(files) / imported.next);
    } catch (const std::exception& error) {
      throw Find(std::string("a scenario that cannot be read: ") + error.what());
    }
  });
}

/// In front of what marks a trace, whatever follows.
void kineto(std::string_view input) { import_as("kineto", R"({"deviceProperties":[],"traceEvents":[{"ph":"i"})" + std::string(input)); }
const AddTarget add_kineto("kineto", "the rest of a trace of PyTorch's profiler", kineto);

void torch_cpu(std::string_view input) { import_as("torch_cpu", R"([{"ph":"i","pid":"CPU functions"})" + std::string(input)); }
const AddTarget add_torch_cpu("torch_cpu", "the rest of a trace of PyTorch's profiler without Kineto", torch_cpu);

void nccl_tests(std::string_view input) { import_as("nccl_tests", "# nThread 1\n" + std::string(input)); }
const AddTarget add_nccl_tests("nccl_tests", "output of nccl-tests", nccl_tests);

void osu(std::string_view input) { import_as("osu", "# OSU MPI " + std::string(input)); }
const AddTarget add_osu("osu", "output of an OSU micro-benchmark", osu);

void ranks(std::string_view input) { import_as("ranks", std::string(input)); }
const AddTarget add_ranks("ranks", "a table by rank", ranks);

void steplog(std::string_view input) { import_as("steplog", std::string(input)); }
const AddTarget add_steplog("steplog", "a log with step times", steplog);

void straggler_trace(std::string_view input) {
  import_as("straggler_trace", "{\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"seen\": 1},\n\"traceEvents\": [\n" + std::string(input));
}
const AddTarget add_straggler_trace("straggler_trace", "the rest of a trace of this program", straggler_trace);

void whatif(std::string_view input) {
  import_as("whatif", "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n" + std::string(input));
}
const AddTarget add_whatif("whatif", "operations of a pipeline, behind the names of their columns", whatif);

void mlperf(std::string_view input) { import_as("mlperf", ":::MLLOG {}\n" + std::string(input)); }
const AddTarget add_mlperf("mlperf", "the rest of a log of MLPerf", mlperf);

/// Behind the metadata and a first node, or of the JSON form.
void chakra(std::string_view input) {
  const bool json = input.starts_with('{');
  import_as("chakra", json ? R"({"workload_graph": [{"NodeType": 4, "Id": 1})" + std::string(input.substr(1))
                           : std::string("\x02\x0a\x00\x09\x08\x01\x12\x03"
                                         "abc\x18\x04",
                                         13) +
                                 std::string(input));
}
const AddTarget add_chakra("chakra", "the rest of an execution trace of Chakra", chakra);

void pytorch_et(std::string_view input) {
  import_as("pytorch_et", R"({"schema": "1", "nodes": [{"id": 1, "ctrl_deps": 0, "name": "x"})" + std::string(input));
}
const AddTarget add_pytorch_et("pytorch_et", "the rest of an execution trace of PyTorch", pytorch_et);

/// What they write is part of a scenario.
void topology_as(const char* format, const std::string& bytes) {
  const std::string file = write_file("given", bytes);
  may_refuse<DataError>([&] {
    const Imported imported = import_files({.files = {file}, .format = format, .options = {}});
    std::string scenario =
        "straggler: 1\ndevices: {d: {compute: {affine: {per_sample: 1ms}}}}\n"
        "workload: {cost: {model: {kind: even, parameters: 1M, layers: 1, flops: 1}}}\n"
        "training: {scheme: ssgd, batch: {per_worker: 1}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 1}}\n"
        "cluster:\n  workers: [{count: 2, device: d}]\n  network:\n";
    for (const auto& [name, text] : imported.files) {
      if (name != "topology.yaml") continue;
      TextLines lines(text);
      for (std::string_view line; lines.next(line);) scenario += "    " + std::string(line) + "\n";
    }
    try {
      read_scenario_text(scenario, "topology.yaml");
    } catch (const std::exception& error) {
      throw Find(std::string("a topology that cannot be read: ") + error.what());
    }
  });
}

void topo_m(std::string_view input) { topology_as("topo_m", std::string(input)); }
const AddTarget add_topo_m("topo_m", "output of nvidia-smi topo -m", topo_m);

void nccl_topology(std::string_view input) {
  topology_as("nccl_topology", "<system version=\"1\"><cpu numaid=\"0\">" + std::string(input));
}
const AddTarget add_nccl_topology("nccl_topology", "the rest of a topology of NCCL", nccl_topology);

}  // namespace
}  // namespace straggler::fuzz
