// Profiler traces: what is found in them, and that a run repeats it. Times are milliseconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "scenarios/import/trace_meetings.hpp"
#include "tests/import/imports.hpp"
#include "tests/import/trace_writer.hpp"
#include "tests/support/tar.hpp"
#include "tests/support/text.hpp"

namespace import_traces {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

const char* const all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// A DDP job whose host is far slower than its GPU.
struct HostBound {
  double before = 1, forward = 100, between = 0.5, backward = 110, update = 15;
  std::vector<std::int64_t> elements = {2'049'000, 7'875'584, 2'431'040};
  std::vector<double> issued = {5, 30, 90}, takes = {4, 3, 2};
  double step() const { return before + forward + between + backward + between + update; }

  std::string text(int steps, bool list = false) const {
    TraceWriter trace(0, 2);
    for (int s = 0; s < steps; ++s) {
      const double begin = 7 + s * step(), ahead = begin + before, back = ahead + forward + between, last = back + backward + between;
      trace.mark("ProfilerStep#" + std::to_string(s + 4), begin, step());
      trace.mark("DistributedDataParallel.forward", ahead, forward);
      trace.kernel("conv", 7, ahead + 5, ahead + 5.1, 12);
      for (double at = back; at < back + backward - 1; at += 10)
        trace.host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", at, 10, TraceWriter::backward_thread);
      for (std::size_t b = 0; b < elements.size(); ++b) {
        trace.host("cpu_op", "record_param_comms", back + issued[b] - 0.1, 0.3, TraceWriter::backward_thread,
                   TraceWriter::collective("allreduce", elements[b], "Float", 2));
        trace.kernel(all_reduce, 20, back + issued[b], back + issued[b] + 0.01, takes[b], TraceWriter::backward_thread);
      }
      trace.kernel("dgrad", 7, back + 20, back + 20.1, 20, TraceWriter::backward_thread);
      trace.mark("Optimizer.step#SGD.step", last, update);
      trace.kernel("adam", 7, last + 1, last + 1.1, 3);
    }
    return list ? trace.list() : trace.text();
  }
};

TEST_CASE("a trace of one rank: steps, phases and buckets, the host's where it is slower than the GPU") {
  const TemporaryFolder folder;
  const HostBound truth;
  const ImportedJob job = import_paths({folder.write("rank0.json", truth.text(3))});
  CHECK(job.facts["format"] == "kineto");
  CHECK(job.facts["step_s"].get<double>() == Approx(1e-3 * truth.step()).epsilon(1e-6));
  CHECK(job.facts["phases"]["forward_s"].get<double>() == Approx(1e-3 * truth.forward));
  CHECK(job.facts["phases"]["backward_s"].get<double>() == Approx(1e-3 * (truth.backward + truth.between)));
  CHECK(job.facts["phases"]["update_s"].get<double>() == Approx(1e-3 * truth.update));
  CHECK(job.facts["gpu"]["computing_s"].get<double>() == Approx(0.035));
  REQUIRE(job.facts["buckets"].size() == truth.elements.size());
  std::int64_t all = 0;
  for (std::size_t b = 0; b < truth.elements.size(); ++b) {
    const auto& bucket = job.facts["buckets"][b];
    all += truth.elements[b];
    CHECK(bucket["elements"] == truth.elements[b]);
    CHECK(bucket["bytes"] == 4 * truth.elements[b]);
    CHECK(bucket["seconds"].get<double>() == Approx(1e-3 * truth.takes[b]));
    CHECK(bucket["ready"].get<double>() == Approx(truth.issued[b] / (truth.backward + truth.between)));
  }
  CHECK(job.facts["parameters"] == all);
  // One rank cannot tell waiting from transfer.
  CHECK(has(job.said(), "contain waiting"));
  CHECK(has(job.file("scenario.yaml"), "kind: measured, path: collectives.csv"));
  CHECK(job.facts["waits_s"].is_null());
  CHECK(!job.facts.contains("S"));
  // All transfers end within backward, so a step takes what the host takes.
  CHECK(replayed_step(folder, job) == Approx(1e-3 * truth.step()).epsilon(1e-4));
}

TEST_CASE("a trace as a list, packed, and in an archive is the same job") {
  const TemporaryFolder folder;
  const HostBound truth;
  const std::string text = truth.text(3);
  write_packed(folder / "rank0.json.gz", text);
  folder.write("job.tar", tar_member("rank0.json", text) + tar_end());
  const std::string plain = import_paths({folder.write("rank0.json", text)}).facts["buckets"].dump();
  CHECK(import_paths({folder / "rank0.json.gz"}).facts["buckets"].dump() == plain);
  CHECK(import_paths({folder / "job.tar"}).facts["buckets"].dump() == plain);
  const ImportedJob list = import_paths({folder.write("list.json", truth.text(3, true))});
  CHECK(list.facts["buckets"].dump() == plain);
}

/// The host runs ahead: its steps are shorter than the GPU's at first.
TEST_CASE("where the host runs ahead, a step is the time between the first kernels of two steps") {
  const TemporaryFolder folder;
  TraceWriter trace(0, 8);
  const double period = 19, host = 12;
  const int steps = 4;
  // Launched before the trace: in no step.
  trace.mark("ProfilerStep#14", -0.5, 0.4);
  for (int s = 0; s < steps; ++s) {
    const double begin = s * host, gpu = 30 + s * period;
    trace.mark("ProfilerStep#" + std::to_string(15 + s), begin, host - 0.1);
    trace.kernel("forward", 0, begin + 1, gpu, 3);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 5, 4, TraceWriter::backward_thread);
    trace.kernel("backward", 0, begin + 5.5, gpu + 3, 2, TraceWriter::backward_thread);
    trace.kernel("ncclDevKernel_Generic(x)", 4, begin + 6, gpu + 5, 7, TraceWriter::backward_thread,
                 TraceWriter::collective("allreduce", 2'873'320, "BFloat16", 8));
    trace.kernel("backward", 0, begin + 7, gpu + 5, 2, TraceWriter::backward_thread);
    trace.kernel("ncclDevKernel_Generic(x)", 4, begin + 8.5, gpu + 12, 6, TraceWriter::backward_thread,
                 TraceWriter::collective("allreduce", 8'816'192, "BFloat16", 8));
    trace.mark("Optimizer.step#SGD.step", begin + 10, 1);
    trace.kernel("sgd", 0, begin + 10.5, gpu + 18, 1);
  }
  const ImportedJob job = import_paths({folder.write("rank0.json", trace.text())});
  CHECK(job.facts["step_s"].get<double>() == Approx(1e-3 * period));
  CHECK(job.facts["buckets"][0]["bytes"] == 5'746'640);
  CHECK(job.facts["buckets"][1]["bytes"] == 17'632'384);
  CHECK(job.facts["gpu"]["computing_s"].get<double>() == Approx(8e-3));
  CHECK(job.facts["gpu"]["exposed_s"].get<double>() == Approx(11e-3));
  CHECK(replayed_step(folder, job) == Approx(1e-3 * period).epsilon(0.001));
}

/// A DDP job of which one rank computes longer; all leave a collective together.
struct Straggling {
  int ranks = 4, late = 1;
  double extra = 200, loader = 2, forward = 60, backward = 120, update = 4;
  std::vector<std::int64_t> elements = {513'000, 7'213'056, 3'963'456};
  std::vector<double> takes = {1.25, 5.75, 3.5}, ready = {0.05, 0.55, 1};
  std::vector<double> shifts = {0, 3.25, -1.75, 40};
  double even() const { return loader + forward + backward + extra / ranks + takes[2] + update; }
  double step() const { return loader + forward + backward + extra + takes[2] + update; }

  std::vector<std::filesystem::path> write(const TemporaryFolder& folder) const {
    std::vector<TraceWriter> traces;
    for (int r = 0; r < ranks; ++r) traces.emplace_back(r, ranks, shifts[static_cast<std::size_t>(r)]);
    for (int s = 0; s < 4; ++s) {
      const double begin = 10 + s * step(), gpu = begin + loader, back = gpu + forward;
      std::vector<double> ends;
      for (std::size_t b = 0; b < elements.size(); ++b) {
        const double latest = back + ready[b] * backward + (b > 0 ? extra : 0);
        ends.push_back(std::max(latest, b > 0 ? ends.back() : 0) + takes[b]);
      }
      for (int r = 0; r < ranks; ++r) {
        TraceWriter& trace = traces[static_cast<std::size_t>(r)];
        trace.mark("ProfilerStep#" + std::to_string(s + 3), begin, step());
        trace.mark("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, loader);
        trace.mark("DistributedDataParallel.forward", gpu, 8);
        trace.kernel("forward", 7, gpu, gpu, forward);
        double from = back, freed = 0;
        for (std::size_t b = 0; b < elements.size(); ++b) {
          const double launch = gpu + 10 + 2 * static_cast<double>(b), full = back + ready[b] * backward + (r == late && b > 0 ? extra : 0);
          trace.host("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", launch - 1, 1, TraceWriter::backward_thread);
          trace.kernel("backward", 7, launch - 1, from, full - from, TraceWriter::backward_thread);
          const double starts = std::max(full, freed);
          trace.kernel(all_reduce, 20, launch, starts, ends[b] - starts, TraceWriter::backward_thread,
                       TraceWriter::collective("allreduce", elements[b], "Float", ranks));
          from = full;
          freed = ends[b];
        }
        trace.mark("Optimizer.step#SGD.step", gpu + 20, 1.5);
        trace.kernel("sgd", 7, gpu + 20, ends.back(), update);
      }
    }
    std::vector<std::filesystem::path> files;
    for (int r = 0; r < ranks; ++r)
      files.push_back(folder.write("rank" + std::to_string(r) + ".json", traces[static_cast<std::size_t>(r)].text()));
    return files;
  }
};

TEST_CASE("traces of all ranks: who comes last, who waits, and how much faster an even job is, whatever the clocks") {
  std::string waits;
  for (const std::vector<double>& shifts : {std::vector<double>{0, 3.25, -1.75, 40}, std::vector<double>{7, -900, 0, 0}}) {
    const TemporaryFolder folder;
    Straggling truth;
    truth.shifts = shifts;
    const ImportedJob job = import_paths(truth.write(folder));
    CHECK(job.facts["step_s"].get<double>() == Approx(1e-3 * truth.step()).epsilon(1e-6));
    CHECK(job.facts["S"].get<double>() == Approx(truth.step() / truth.even()).epsilon(1e-6));
    const std::vector<double> by_rank = job.facts["S_w"];
    for (std::size_t r = 0; r < by_rank.size(); ++r) CHECK(by_rank[r] == Approx(r == 1 ? truth.step() / truth.even() : 1).epsilon(1e-6));
    // Others wait for it at the second bucket; at the third until its last gradient, from the end of the second on.
    const double second = 200, third = truth.extra + 0.45 * truth.backward - (truth.extra + truth.takes[1]);
    for (std::size_t r = 0; r < 4; ++r) {
      const auto& collectives = job.facts["collectives"];
      CHECK(collectives[0]["waits_s"][r].get<double>() == Approx(0).epsilon(1e-6));
      CHECK(collectives[1]["waits_s"][r].get<double>() == Approx(r == 1 ? 0 : 1e-3 * second).epsilon(1e-6));
      CHECK(collectives[2]["waits_s"][r].get<double>() == Approx(r == 1 ? 0 : 1e-3 * third).epsilon(1e-6));
      CHECK(job.facts["clocks"]["offsets_s"][r].get<double>() == Approx(1e-3 * (shifts[r] - shifts[0])));
    }
    CHECK(job.facts["collectives"][1]["transfer_s"].get<double>() == Approx(1e-3 * truth.takes[1]));
    if (waits.empty()) waits = job.file("collectives.csv");
    CHECK(job.file("collectives.csv") == waits);
    CHECK(replayed_step(folder, job) == Approx(1e-3 * truth.step()).epsilon(1e-4));
    // The doctor's remedy: the late rank replaced by one like the others.
    CHECK(replayed_step(folder, job, {"cluster.workers=[{count: 4, device: rank}]"}) ==
          Approx(1e-3 * (truth.step() - truth.extra)).epsilon(1e-4));
  }
}

std::string bytes_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a part of the ranks: times contain waiting for the absent ones, and nobody is said to wait") {
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> files = Straggling().write(folder);
  const ImportedJob all = import_paths(files), part = import_paths({files[0], files[2]});
  CHECK(has(all.said(), "S "));
  CHECK(has(all.said(), "rank 1 waits least"));
  CHECK(has(part.facts["missing"].dump(), "contain waiting for ranks 1 and 3"));
  CHECK(!has(part.said(), "waits least"));
  CHECK(!has(part.said(), "S_w"));
  CHECK(part.facts["waits_s"].is_null());
  CHECK(!part.facts["collectives"][0].contains("transfer_s"));
  CHECK(has(part.file("scenario.yaml"), "its times contain waiting"));
  const ImportedJob three = import_paths({files[0], files[1], files[2]});
  CHECK(has(three.facts["missing"].dump(), "contain waiting for rank 3,"));
  CHECK(has(three.said(), "work  rank 1 works longest of the ranks that are there"));  // a run waits for it, too
  CHECK(!has(part.said(), "works longest"));
}

TEST_CASE("a rank that waits least though another works longest begins late") {
  const std::vector<TimedRank> ranks = {{.rank = 0, .forward = 1}, {.rank = 5, .forward = 3}, {.rank = 7, .forward = 2}};
  CHECK(has(late_begin(ranks, 2, {0, 0.001, 0.0075}), "rank 7 waits least since it begins 7.5 ms after the first rank"));
  CHECK(has(late_begin(ranks, 2, {0, 0.001, 0.0075}), "longest on rank 5"));
  CHECK(late_begin(ranks, 1, {0, 0.001, 0}).empty());
  CHECK(late_begin(ranks, 2, {0, 0.001, 0}).empty());
}

TEST_CASE("ranks of two jobs are refused with both files and what differs") {
  const TemporaryFolder folder, other;
  Straggling larger;
  larger.ranks = 5;
  larger.shifts.push_back(0);
  const std::string refused = refusal_of({Straggling().write(folder)[0], larger.write(other)[1]});
  CHECK(has(refused, (folder / "rank0.json").string()));
  CHECK(has(refused, (other / "rank1.json").string()));
  CHECK(has(refused, "are of two jobs: world size 4 and 5"));
  const std::vector<std::filesystem::path> files = Straggling().write(folder);
  for (const auto& [from, to, what] : {std::tuple("Test GPU", "Other GPU", "device Test GPU and Other GPU"),
                                       std::tuple("nccl\",\"rank", "gloo\",\"rank", "backend nccl and gloo")}) {
    std::string text = bytes_of_file(files[1]);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(from).size(), to);
    CHECK(has(refusal_of({files[0], other.write("b.json", text)}), what));
  }
}

TEST_CASE("a tar archive of traces that gzip packed is the same as the files, and a damaged one is refused") {
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> files = Straggling().write(folder);
  std::string tar, cut;
  for (const std::filesystem::path& file : files) {
    write_packed(folder / "packed.gz", bytes_of_file(file));
    const std::string packed = bytes_of_file(folder / "packed.gz");
    tar += tar_member("job/" + file.filename().string() + ".gz", packed);
    cut += tar_member(file.filename().string() + ".gz", packed.substr(0, packed.size() / 2));
  }
  const ImportedJob plain = import_paths(files), job = import_paths({folder.write("job.tar", tar + tar_end())});
  CHECK(job.facts["collectives"] == plain.facts["collectives"]);
  CHECK(job.facts["S_w"] == plain.facts["S_w"]);
  CHECK(job.facts["ranks"] == plain.facts["ranks"]);
  CHECK(job.imported.name == "job");  // of their folder
  write_packed(folder / "job.tar.gz", tar + tar_end());
  CHECK(import_paths({folder / "job.tar.gz"}).facts["ranks"] == plain.facts["ranks"]);
  CHECK(has(refusal_of({folder.write("cut.tar", cut + tar_end())}), "rank0.json.gz: is packed by gzip and cut off"));
}

TEST_CASE("a trace without step marks, of a loader that binds: its processes take turns") {
  const TemporaryFolder folder;
  // Batch k comes from process k mod P, which begins it when batch k - P was handed over; two are prepared in advance by each.
  const int processes = 4, steps = 41;
  const double batch = 1600, computing = 150;
  std::vector<double> ready(steps), taken(steps), done(steps);
  TraceWriter trace(0, 1);
  double now = 0;
  for (int k = 0; k < steps; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double begins =
        std::max(k >= processes ? ready[at - processes] : 0.0, k >= 2 * processes ? taken[at - 2 * processes] : -2 * batch);
    ready[at] = k < 2 * processes ? 0 : begins + batch + 20 * (k % processes);
    taken[at] = std::max(now, ready[at]);
    trace.mark("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", now, taken[at] - now);
    trace.kernel("forward", 7, taken[at] + 1, taken[at] + 1, computing / 3);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", taken[at] + 2, 1, TraceWriter::backward_thread);
    trace.kernel("backward", 7, taken[at] + 2, taken[at] + 1 + computing / 3, 2 * computing / 3 - 2, TraceWriter::backward_thread);
    trace.mark("Optimizer.step#SGD.step", taken[at] + computing - 3, 3);
    trace.kernel("sgd", 7, taken[at] + computing - 2, taken[at] + computing - 1, 2);
    now = taken[at] + computing;
  }
  const ImportedJob job = import_paths({folder.write("trace.json", trace.text())});
  const double each = batch + 30;  // the mean of the processes
  CHECK(job.facts["loader"]["processes"] == processes);
  CHECK(job.facts["loader"]["batch_s"].get<double>() == Approx(1e-3 * each).epsilon(0.05));
  CHECK(job.facts["step_s"].get<double>() == Approx(1e-3 * each / processes).epsilon(0.05));
  CHECK(job.facts["computing_s"].get<double>() == Approx(1e-3 * computing).epsilon(0.03));
  CHECK(replayed_step(folder, job) == Approx(job.facts["step_s"].get<double>()).epsilon(0.03));
  // More processes: the GPU binds.
  CHECK(replayed_step(folder, job, {"devices.rank.loader.workers=16"}) == Approx(1e-3 * computing).epsilon(0.03));
}

TEST_CASE("a sharded job: bytes of gathers and reductions, and the late rank") {
  const TemporaryFolder folder;
  const int world = 2;
  const std::int64_t elements = 8'000'000;
  std::vector<std::filesystem::path> files;
  for (int r = 0; r < world; ++r) {
    TraceWriter trace(r, world);
    const double work = r == 1 ? 75 : 50;
    for (int s = 0; s < 3; ++s) {
      const double begin = s * 100;
      trace.mark("ProfilerStep#" + std::to_string(s), begin, 100);
      trace.mark("FullyShardedDataParallel.forward", begin, 3);
      trace.kernel("ncclDevKernel_AllGather_RING_LL(x)", 20, begin + 0.1, begin + 0.2, 9.8, TraceWriter::main_thread,
                   TraceWriter::collective("_allgather_base", elements / world, "BFloat16", world));
      trace.kernel("forward", 7, begin + 1, begin + 10, work / 2);
      trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", begin + 2, 1, TraceWriter::backward_thread);
      trace.kernel("backward", 7, begin + 2.5, begin + 10 + work / 2, work / 2, TraceWriter::backward_thread);
      trace.kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", 20, begin + 3, begin + 10 + work, 100 - 10 - work,
                   TraceWriter::backward_thread, TraceWriter::collective("_reduce_scatter_base", elements, "Float", world));
    }
    files.push_back(folder.write("rank" + std::to_string(r) + ".json", trace.text()));
  }
  const ImportedJob job = import_paths(files);
  CHECK(job.facts["sharding"]["kind"] == "zero3");
  CHECK(job.facts["sharding"]["gathered_bytes"] == 2 * elements);
  CHECK(job.facts["sharding"]["reduced_bytes"] == 4 * elements);
  CHECK(job.facts["step_s"].get<double>() == Approx(0.1).epsilon(0.002));
  CHECK(job.facts["S_w"][1].get<double>() == Approx(0.1 / (0.1 - 0.0125)).epsilon(0.01));
  CHECK(job.facts["S_w"][0].get<double>() == Approx(1));
  CHECK(replayed_step(folder, job) == Approx(0.1).epsilon(0.002));
  CHECK(replayed_step(folder, job, {"cluster.workers=[{count: 2, device: rank}]"}) == Approx(0.075).epsilon(0.002));
}

TEST_CASE("traces that are refused say what they are, in one line") {
  const TemporaryFolder folder;
  const std::string text = HostBound().text(2);
  const auto refused = [&](const std::string& bytes) {
    const std::string line = refusal_of({folder.write("trace.json", bytes)});
    CHECK(line.find('\n') == std::string::npos);
    return line;
  };
  CHECK(has(refused(text.substr(0, text.size() / 2)), "is a trace that ends inside event"));
  std::string damaged = text;
  damaged[text.size() / 2] = '\x01';
  CHECK(has(refused(damaged), "is a trace that"));
  CHECK(has(
      refused(
          R"({"traceEvents": [{"ph": "X", "name": "RunTask", "cat": "toplevel", "ts": 1, "dur": 1, "tid": 1, "pid": "CrBrowserMain"}]})"),
      "is a Chrome trace of a browser"));
  CHECK(has(refused(R"({"deviceProperties": [], "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1}]})"),
            "is a trace without a whole step"));
  CHECK(has(refused(R"({"deviceProperties": [], "traceEvents": []})") +
                refused(R"({"schemaVersion": 1, "deviceProperties": [{"ph": 1}], "traceEvents": []})"),
            "is a trace without events"));
  std::string deep = R"({"deviceProperties": [], "traceEvents": [{"ph": "X", "args": )";
  deep += std::string(100, '[');
  CHECK(has(refused(deep), "nests lists and maps deeper than any trace"));
  const std::string trace = HostBound().text(3);
  CHECK(has(refusal_of({folder.write("a.json", trace), folder.write("b.json", trace)}), "two files are of the same rank"));
}

}  // namespace import_traces
