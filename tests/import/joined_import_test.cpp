// Files that belong together: a trace and what it misses, a log and a topology, a run and another that is held out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/import/imports.hpp"
#include "tests/import/trace_writer.hpp"
#include "tests/support/text.hpp"

namespace import_joined {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

/// Times are milliseconds; kernels do not say what they move.
std::string plain_trace(int buckets) {
  TraceWriter trace(0, 2);
  for (int s = 0; s < 3; ++s) {
    const double begin = 10 + 100.0 * s;
    trace.mark("ProfilerStep#" + std::to_string(s), begin, 100);
    trace.mark("DistributedDataParallel.forward", begin + 1, 30);
    trace.kernel("conv", 7, begin + 2, begin + 3, 5);
    trace.host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", begin + 35, 45, TraceWriter::backward_thread);
    for (int b = 0; b < buckets; ++b)
      trace.kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", 20, begin + 40 + 10 * b, begin + 40.1 + 10 * b, 3,
                   TraceWriter::backward_thread);
    trace.mark("Optimizer.step#SGD.step", begin + 85, 10);
  }
  return trace.text();
}

std::string node(int id, const std::string& name, const std::string& shapes, const std::string& types, const std::string& values = "[]") {
  return fmt::format(R"({{"id": {}, "name": "{}", "ctrl_deps": 1, "inputs": {{"values": {}, "shapes": {}, "types": {}}}, )"
                     R"("outputs": {{"values": [], "shapes": [], "types": []}}, "attrs": []}})",
                     id, name, values, shapes, types);
}
/// Two iterations of two all-reduces.
std::string execution_trace() {
  std::string nodes = node(2, "## process_group:init ##", "[[]]", R"(["String"])", R"(["[{\"pg_name\": \"0\", \"group_size\": 2}]"])");
  for (int i = 0; i < 2; ++i) {
    const int id = 100 * (i + 1);
    nodes += ",\n" + node(id + 1, "aten::conv2d", "[[8, 3, 16, 16], [4, 3, 3, 3]]", R"x(["Tensor(float)", "Tensor(float)"])x");
    nodes += ",\n" + node(id + 5, "nccl:all_reduce", "[[700000]]", R"x(["Tensor(float)"])x");
    nodes += ",\n" + node(id + 4, "nccl:all_reduce", "[[300000]]", R"x(["Tensor(float)"])x");
    nodes += ",\n" + node(id + 6, "torch::autograd::AccumulateGrad", "[[1000, 1000]]", R"x(["Tensor(float)"])x");
    nodes += ",\n" + node(id + 7, "Optimizer.step#SGD.step", "[]", "[]");
  }
  return R"({"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [)" + nodes + R"(], "finish_ts": 1})";
}

TEST_CASE("an execution trace alone: bytes, batch and gradients, without times; with the profiler's trace, what that misses") {
  const TemporaryFolder folder;
  const std::filesystem::path shapes = folder.write("et.json", execution_trace()), times = folder.write("rank0.json", plain_trace(2));
  const ImportedJob alone = import_paths({shapes});
  CHECK(alone.facts["format"] == "pytorch_et");
  CHECK(alone.facts["batch"] == 8);
  CHECK(alone.facts["parameters"] == 1'000'000);
  CHECK(alone.facts["iterations"] == 2);
  CHECK(alone.facts["world_size"] == 2);
  CHECK(alone.facts["buckets"][0]["bytes"] == 4 * 300'000);  // in the order of ids
  CHECK(alone.facts["buckets"][1]["bytes"] == 4 * 700'000);
  CHECK(alone.facts["step_s"].is_null());
  CHECK(has(alone.facts["missing"].dump(), "times: an execution trace has none"));
  CHECK(alone.imported.next.empty());

  const ImportedJob unknown = import_paths({times});
  CHECK(unknown.facts["buckets"][0]["bytes"].is_null());
  CHECK(unknown.facts["batch"].is_null());
  const ImportedJob both = import_paths({times, shapes});
  CHECK(both.facts["format"] == "kineto");
  CHECK(both.facts["step_s"] == unknown.facts["step_s"]);
  CHECK(both.facts["buckets"][1]["bytes"] == 4 * 700'000);
  CHECK(both.facts["parameters"] == 1'000'000);
  CHECK(both.facts["batch"] == 8);
  CHECK(has(both.said(), "with  et.json"));
  CHECK(replayed_step(folder, both) == Approx(both.facts["step_s"].get<double>()).epsilon(0.02));
  const ImportedJob other = import_paths({folder.write("rank0.json", plain_trace(3)), shapes});
  CHECK(has(other.facts["missing"].dump(), "et.json has 2 of them in a step, and the trace 3"));
}

/// A model of rows x 1000 numbers.
std::filesystem::path model_file(const TemporaryFolder& folder, std::int64_t rows) {
  const std::string header =
      fmt::format(R"({{"a.weight":{{"dtype":"F32","shape":[{0},1000],"data_offsets":[0,{1}]}}}})", rows, 4000 * rows);
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 2; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return folder.write(fmt::format("model{}.safetensors", rows), file + header + std::string(static_cast<std::size_t>(4000 * rows), '\0'));
}

TEST_CASE("an execution trace or a model of other numbers than the trace exchanges is refused with both") {
  const TemporaryFolder folder;
  const std::filesystem::path shapes = folder.write("et.json", execution_trace());  // 1,000,000 gradients
  const auto trace = [&](std::int64_t first, std::int64_t second) {
    TraceWriter writer(0, 2);
    for (int s = 0; s < 3; ++s) {
      const double begin = 10 + 100.0 * s;
      writer.mark("ProfilerStep#" + std::to_string(s), begin, 100);
      writer.mark("DistributedDataParallel.forward", begin + 1, 30);
      writer.kernel("conv", 7, begin + 2, begin + 3, 5);
      writer.host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", begin + 35, 45, TraceWriter::backward_thread);
      for (int b = 0; b < 2; ++b) {
        writer.host("cpu_op", "record_param_comms", begin + 39.9 + 10 * b, 0.3, TraceWriter::backward_thread,
                    TraceWriter::collective("allreduce", b == 0 ? first : second, "Float", 2));
        writer.kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)", 20, begin + 40 + 10 * b, begin + 40.1 + 10 * b, 3,
                      TraceWriter::backward_thread);
      }
      writer.mark("Optimizer.step#SGD.step", begin + 85, 10);
    }
    return folder.write("rank0.json", writer.text());
  };
  const std::filesystem::path same = trace(300'000, 700'000);
  CHECK(import_paths({same, shapes}).facts["batch"] == 8);
  CHECK(import_paths({same, model_file(folder, 1000)}).facts["parameters"] == 1'000'000);
  CHECK(
      has(refusal_of({same, model_file(folder, 500)}), "model500.safetensors: has 500,000 parameters, and rank0.json exchanges 1,000,000"));
  const std::filesystem::path other = trace(300'000, 200'000);
  CHECK(has(refusal_of({other, shapes}), "et.json: has 1,000,000 gradients, and rank0.json exchanges 500,000 gradients in a step"));
}

/// As PyTorch writes it without Kineto: two all-reduces a step.
std::string gloo_trace() {
  std::string events = R"([{"ph": "i", "pid": "CPU functions"})";
  const auto span = [&](const char* name, double begin, double length, int thread = 1) {
    events += fmt::format(R"(,{{"name": "{}", "ph": "X", "ts": {}, "dur": {}, "tid": {}, "pid": "CPU functions", "args": {{}}}})", name,
                          1e3 * begin, 1e3 * length, thread);
  };
  for (int s = 0; s < 4; ++s) {
    const double begin = 100.0 * s;
    span("DistributedDataParallel.forward", begin + 1, 30);
    span("autograd::engine::evaluate_function: AddmmBackward0", begin + 32, 40, 2);
    span("gloo:all_reduce", begin + 40, 12, 3);
    span("gloo:all_reduce", begin + 71, 12, 3);
    span("Optimizer.step#SGD.step", begin + 85, 10);
  }
  return events + "]";
}

TEST_CASE("a trace of gloo takes the bytes of its all-reduces from the model, by DistributedDataParallel's rule") {
  const TemporaryFolder folder;
  // 4 B x (300 x 4000 + 4000) = 4.8 MB behind the last layer's 1.6 MB, which is the first bucket, of at least 1 MiB.
  const std::filesystem::path trace = folder.write("rank0.json", gloo_trace());
  const std::string header = R"({"first.weight":{"dtype":"F32","shape":[4000,300],"data_offsets":[0,4800000]},)"
                             R"("first.bias":{"dtype":"F32","shape":[4000],"data_offsets":[4800000,4816000]},)"
                             R"("last.weight":{"dtype":"F32","shape":[100,4000],"data_offsets":[4816000,6416000]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size() & 0xFF), file[1] = static_cast<char>(header.size() >> 8);
  const std::filesystem::path model = folder.write("model.safetensors", file + header + std::string(6'416'000, '\0'));
  const ImportedJob alone = import_paths({trace});
  CHECK(alone.facts["format"] == "torch_cpu");
  REQUIRE(alone.facts["buckets"].size() == 2);
  CHECK(alone.facts["buckets"][0]["bytes"].is_null());
  const ImportedJob both = import_paths({trace, model});
  REQUIRE(both.facts["buckets"].size() == 2);
  CHECK(both.facts["buckets"][0]["bytes"] == 1'600'000);
  CHECK(both.facts["buckets"][1]["bytes"] == 4'816'000);
  CHECK(both.facts["parameters"] == 1'604'000);
  CHECK(has(both.facts["assumed"].dump(), "from model.safetensors"));
  CHECK(!has(both.facts["missing"].dump(), "bytes of all-reduces"));
}

std::string megatron_log(double milliseconds, int batch) {
  std::string text;
  for (int i = 10; i < 20; ++i)
    text += fmt::format(" iteration {}/ 100 | elapsed time per iteration (ms): {:.1f} | global batch size: {} |\n", i, milliseconds, batch);
  return text;
}

TEST_CASE("a log and a topology are one import; two kinds of jobs are not") {
  const TemporaryFolder folder;
  const std::filesystem::path log = folder.write("train.log", megatron_log(400, 64));
  const std::filesystem::path topology = folder.write("topo.txt", "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n");
  const ImportedJob job = import_paths({log, topology});
  CHECK(job.facts["format"] == "steplog");
  CHECK(has(job.file("topology.yaml"), "bandwidth: 72GB/s"));  // 4 NVLinks of 18 GB/s
  CHECK(job.imported.next == "scenario.yaml");
  CHECK(has(job.said(), "hosts  the scenario does not use topo.txt: its one worker exchanges nothing"));
  CHECK(has(refusal_of({log, folder.write("ranks.csv", "rank,step,seconds\n0,1,1\n1,1,2\n")}), "can each be imported alone"));
  CHECK(has(refusal_of({log, folder.write("et.json", execution_trace())}), "can each be imported alone"));
}

TEST_CASE("a job of several ranks runs on the hosts of a topology; measured times stay what they are") {
  const TemporaryFolder folder;
  std::string rows = "rank,step,seconds\n";
  for (int r = 0; r < 6; ++r) rows += fmt::format("{},1,{}\n", r, r == 2 ? 1.5 : 1.0);
  const std::filesystem::path ranks = folder.write("ranks.csv", rows);
  const std::filesystem::path topology = folder.write("topo.txt",
                                                      "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tNV4\tNV4\tNV4\nGPU1\tNV4\tX\tNV4\tNV4\n"
                                                      "GPU2\tNV4\tNV4\tX\tNV4\nGPU3\tNV4\tNV4\tNV4\tX\n");
  const ImportedJob job = import_paths({ranks, topology});
  CHECK(job.facts["hosts"]["gpus"] == 4);
  CHECK(has(job.facts["assumed"].dump(), "hosts of 4 GPUs from topo.txt"));
  CHECK(replayed_step(folder, job) == replayed_step(folder, import_paths({ranks})));
  for (const auto& [name, text] : job.imported.files) folder.write("hosts/" + name, text);
  const Scenario hosts = read_scenario(folder / "hosts/scenario.yaml", {});
  REQUIRE(hosts.cluster.network.intra);
  CHECK(hosts.cluster.network.intra->up == Approx(12 * 20e9));  // NVLinks of a GPU, by NCCL's source
  REQUIRE(hosts.cluster.workers.size() == 3);
  CHECK(hosts.cluster.workers[0].per_host == 4);
  CHECK(hosts.cluster.workers[2].same_host);
  const ImportedJob held{import_files({.files = {ranks, topology},
                                       .format = {},
                                       .options = {},
                                       .held_out = {folder.write("eight.csv", "rank,step,seconds\n0,1,1\n1,1,1\n2,1,1\n")}}),
                         {}};
  CHECK(has(held.file("scenario.yaml"), "per_host: 4"));

  // Behind a full host begins a new one.
  std::string five = "rank,step,seconds\n";
  for (int r = 0; r < 6; ++r) five += fmt::format("{},1,{}\n", r, r == 4 ? 1.5 : 1.0);
  const ImportedJob full = import_paths({folder.write("five.csv", five), topology});
  CHECK(has(full.file("scenario.yaml"), "{count: 1, device: rank4, per_host: 4}"));
  CHECK(has(full.file("scenario.yaml"), "{count: 1, device: rank, same_host: true}"));
  CHECK(replayed_step(folder, full) == Approx(1.5));

  // A model runs on them, too.
  const std::filesystem::path model = model_file(folder, 1000);
  const ImportedJob on = import_paths({model, topology});
  CHECK(on.facts["yields"] == "model");
  CHECK(has(on.file("scenario.yaml"), "per_host: 4"));
  CHECK(!has(on.file("scenario.yaml"), "dgx_h100"));
  CHECK(has(on.facts["assumed"].dump(), "in hosts of 4 as in topo.txt"));
  for (const auto& [name, text] : on.imported.files) folder.write("model/" + name, text);
  CHECK(read_scenario(folder / "model/scenario.yaml", {}).cluster.network.intra->up == hosts.cluster.network.intra->up);
}

TEST_CASE("--hold-out: the claim predicts another batch, or another number of ranks") {
  const TemporaryFolder folder;
  const std::filesystem::path small = folder.write("small.log", megatron_log(400, 64)),
                              large = folder.write("large.log", megatron_log(790, 128));
  ImportedJob job{import_files({.files = {small}, .format = {}, .options = {}, .held_out = {large}}), {}};
  CHECK(has(job.file("claim.yaml"), "predicts " + large.string()));
  CHECK(!has(job.file("claim.yaml"), "kind: replay"));
  CHECK(has(job.file("claim.yaml"), "bind: {batch: training.batch.per_worker}"));
  CHECK(has(job.file("measured.csv"), "held_out,1,128,0.79"));
  // In proportion to the batch.
  CHECK(replayed_step(folder, job, {"training.batch.per_worker=128"}) == Approx(0.8).epsilon(1e-3));

  const std::filesystem::path two = folder.write("two.csv", "rank,step,seconds\n0,1,1\n1,1,1.5\n"),
                              four = folder.write("four.csv", "rank,step,seconds\n0,1,1\n1,1,1\n2,1,1\n3,1,1.1\n");
  ImportedJob ranks{import_files({.files = {two}, .format = {}, .options = {}, .held_out = {four}}), {}};
  CHECK(has(ranks.file("claim.yaml"), "cluster.workers: {value: [{count: 4, device: rank}]"));
  CHECK(has(ranks.file("import.json"), "all-reduces take as long on another number of ranks"));
  const auto refused = [&](const std::filesystem::path& file, const std::filesystem::path& held) {
    try {
      import_files({.files = {file}, .format = {}, .options = {}, .held_out = {held}});
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("(none)");
  };
  CHECK(has(refused(small, two), "give a log with step times"));
  const std::filesystem::path topology = folder.write("topo.txt", "\tGPU0\tGPU1\nGPU0\tX\tPIX\nGPU1\tPIX\tX\n");
  CHECK(has(refused(topology, topology), "describes no job that runs"));
}

}  // namespace import_joined
