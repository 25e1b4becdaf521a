// Pipelines against a replay by hand, and files that are no good.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "scenarios/import/xml_tree.hpp"
#include "tests/formats/onnx_writer.hpp"
#include "tests/import/imports.hpp"
#include "tests/support/text.hpp"

namespace import_pipelines {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

const std::string head = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

/// One rank, two stages, two micro-batches; the second stage takes twice as long. Forward and backward in turns on the last stage.
std::string two_stages() {
  std::string csv = head;
  const auto row = [&](int stage, const char* kind, int micro_batch, double begin, double seconds) {
    csv += fmt::format("0,{},0,7,{},{},{},0,0,{},0\n", stage, kind, begin, seconds, micro_batch);
  };
  row(0, "forward-compute", 0, 0, 1), row(0, "forward-compute", 1, 1, 1), row(0, "backward-compute", 0, 7, 2),
      row(0, "backward-compute", 1, 13, 2);
  row(1, "forward-compute", 0, 1, 2), row(1, "backward-compute", 0, 3, 4), row(1, "forward-compute", 1, 7, 2),
      row(1, "backward-compute", 1, 9, 4);
  return csv;
}

TEST_CASE("a pipeline of two stages: S, S_t, S_w, M_W and M_S by hand") {
  const TemporaryFolder folder;
  const ImportedJob job = import_paths({folder.write("trace.csv", two_stages())});
  // Recorded: the last backward of stage 1 ends at 13, that of stage 0 at 15. Even (1.5 forward, 3 backward): 1.5 + 1.5 + 3 + 1.5 + 3 + 3.
  const double even = 13.5;
  CHECK(job.facts["step_s"].get<double>() == Approx(15));
  CHECK(job.facts["even_step_s"].get<double>() == Approx(even));
  CHECK(job.facts["S"].get<double>() == Approx(15 / even));
  CHECK(job.facts["S_t"]["forward-compute"].get<double>() == Approx(14 / even));  // 1 + 2 + 3 + 2 + 3 + 3
  CHECK(job.facts["S_w"]["by_stage"][0].get<double>() == Approx(12 / even));      // 1 + 1.5 + 3 + 1.5 + 3 + 2
  CHECK(job.facts["S_w"]["by_stage"][1].get<double>() == Approx(16.5 / even));    // 1.5 + 2 + 4 + 2 + 4 + 3
  CHECK(job.facts["S_w"]["by_rank"][0].get<double>() == Approx(15 / even));
  CHECK(job.facts["M_S"].get<double>() == Approx((15 - 12) / (15 - even)));
  CHECK(job.facts["M_W"].get<double>() == Approx((15 - 12) / (15 - even)));
  CHECK(job.facts["slowest_workers"][0]["stage"] == 1);
}

TEST_CASE("a collective lasts from its last arrival; a step whose operations do not fit is left out") {
  const TemporaryFolder folder;
  // Two ranks: rank 1 comes 3 s later, and both end at 9. Even: computing 3.5, a transfer of 4.
  const std::string csv = head +
                          "0,0,0,1,forward-compute,0,2,0,0,0,0\n1,0,1,1,forward-compute,0,5,0,0,0,0\n"
                          "0,0,0,1,grads-reduce-scatter,2,7,0,0,-1,-1\n1,0,1,1,grads-reduce-scatter,5,4,0,0,-1,-1\n";
  const ImportedJob job = import_paths({folder.write("a.csv", csv)});
  CHECK(job.facts["step_s"].get<double>() == Approx(9));
  CHECK(job.facts["even_step_s"].get<double>() == Approx(7.5));
  const ImportedJob part =
      import_paths({folder.write("b.csv", csv + "0,1,0,2,forward-compute,0,2,0,0,0,0\n1,1,1,2,forward-compute,0,2,0,0,1,0\n")});
  CHECK(part.facts["steps_left_out"] == nlohmann::json::array({2}));
  CHECK(has(refusal_of({folder.write("c.csv", head + "0,1,0,2,forward-compute,0,2,0,0,0,0\n0,1,0,2,forward-compute,2,2,1,0,1,0\n")}),
            "has no step whose operations fit"));
  CHECK(has(refusal_of({folder.write("d.csv", head + "9999,0,0,1,forward-compute,0,2,0,0,0,0\n")}), "more workers than operations"));
  CHECK(has(refusal_of({folder.write("e.csv", head + "0,0,0,1,forward-compute,0,-2,0,0,0,0\n")}), "line 2: duration is '-2'"));
  CHECK(has(refusal_of({folder.write("f.csv", head + "0,0,0,1,forward-compute,nan,2,0,0,0,0\n")}), "line 2: start_ts is 'nan'"));
  CHECK(has(refusal_of({folder.write("g.csv", "stage,optype\n0,forward-compute\n")}), "without the column dp_rank"));
  CHECK(has(refusal_of({folder.write("h.csv", head)}), "has no row of an operation"));
  CHECK(has(refusal_of({folder.write("trace.parquet", std::string("PAR1\x15\x04", 6))}), "is a Parquet file; write it as CSV: python3 -c"));
}

std::string attribute(const std::string& name, int field, std::int64_t value) {
  return bytes_field(10, bytes_field(1, name) + number_field(field, value));
}
std::string message(const std::string& bytes) { return varint(bytes.size()) + bytes; }

TEST_CASE("Chakra in protobuf: kernels of a stream follow each other; those of the CPU are not counted") {
  // CPU operations 1 and 2 take 10 us each and issue kernels 3 (100 us), 4 (50 us) and an all-reduce 5 (80 us) that waits for 3.
  const auto made = [](int id, const std::string& name, int type, int us, const std::vector<int>& waits, bool cpu,
                       const std::string& more = {}) {
    std::string node = number_field(1, id) + bytes_field(2, name) + number_field(3, type);
    for (const int each : waits) node += number_field(5, each);
    return message(node + number_field(7, us) + attribute("is_cpu_op", 27, cpu) + more);
  };
  const std::string file = message(bytes_field(1, "0.0.4")) + made(1, "aten::conv2d", 4, 10, {}, true) +
                           made(2, "aten::convolution_backward", 4, 10, {1}, true) + made(3, "conv", 4, 100, {1}, false) +
                           made(4, "wgrad", 4, 50, {2}, false) +
                           made(5, "ncclKernel_AllReduce_RING_LL_Sum_float(x)", 7, 80, {3}, false,
                                attribute("comm_type", 13, 0) + attribute("comm_size", 13, 4000));
  const TemporaryFolder folder;
  const ImportedJob job = import_paths({folder.write("chakra.0.et", file)});
  CHECK(job.facts["format"] == "chakra");
  CHECK(job.facts["nodes"] == 5);
  CHECK(job.facts["gpu"]["computing_s"].get<double>() == Approx(150e-6));
  CHECK(job.facts["step_s"].get<double>() == Approx(190e-6));  // 10 + 100, then 80 of the all-reduce beside 50 of the kernel
  CHECK(job.facts["buckets"][0]["bytes"] == 4000);
  CHECK(job.facts["phases"]["backward_s"].get<double>() == Approx(50e-6));
  const ImportedJob alone =
      import_paths({folder.write("one.et", message("") + message(number_field(1, 7) + bytes_field(2, "AR") + number_field(3, 7) +
                                                                 attribute("comm_type", 13, 0) + attribute("comm_size", 13, 400)))});
  CHECK(alone.facts["collectives"][0]["bytes"] == 400);
  CHECK(alone.imported.next.empty());
  CHECK(has(alone.facts["missing"].dump(), "no node computes on the GPU"));
  CHECK(has(refusal_of({folder.write("cut.et", file.substr(0, file.size() - 3))}), "ends within a node, at byte"));
  CHECK(has(refusal_of({folder.write("late.json", R"({"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": -5}]})")}),
            "takes -5 microseconds"));
  CHECK(
      has(refusal_of({folder.write("word.json", R"({"workload_graph": [{"Id": "x", "NodeType": 4}]})")}), "an Id that is no whole number"));
}

TEST_CASE("MLPerf: a log that is cut off, of two benchmarks, or without a batch") {
  const TemporaryFolder folder;
  const auto line = [](const char* key, const std::string& value, long ms, const char* more = "{}") {
    return fmt::format(R"(0: :::MLLOG {{"time_ms": {}, "key": "{}", "value": {}, "metadata": {}}})", ms, key, value, more) + "\n";
  };
  const std::string set = line("submission_benchmark", "\"resnet\"", 0) + line("global_batch_size", "256", 0) +
                          line("number_of_nodes", "2", 0) + line("accelerators_per_node", "4", 0);
  const std::string run = line("run_start", "null", 1000) + line("throughput", "1000", 2000) + line("throughput", "3000", 3000) +
                          line("throughput", "2000", 4000);
  const ImportedJob job = import_paths({folder.write("a.txt", set + run + line("run_stop", "null", 61000, R"({"status": "success"})"))});
  CHECK(job.facts["runs"][0]["seconds"] == 60);
  CHECK(job.facts["runs"][0]["samples_per_second"] == 2000);  // the median
  CHECK(job.facts["step_s"].get<double>() == Approx(0.128));
  CHECK(replayed_step(folder, job) == Approx(0.128).epsilon(0.01));
  const ImportedJob cut = import_paths({folder.write("b.txt", set + run)});
  CHECK(cut.facts["runs"][0]["status"] == "unfinished");
  CHECK(cut.imported.next.empty());
  CHECK(has(refusal_of({folder.write("c.txt", set)}), "without a run"));
  const std::string other = line("submission_benchmark", "\"bert\"", 0) + run + line("run_stop", "null", 61000, R"({"status": "success"})");
  CHECK(has(refusal_of({folder / "a.txt", folder.write("d.txt", other)}), "benchmark bert, and others are of resnet"));
  CHECK(import_paths({folder / "d.txt"}).facts["step_s"].is_null());
}

TEST_CASE("topologies that are cut off, nested too deep, or unequal") {
  const TemporaryFolder folder;
  CHECK(has(refusal_of({folder.write("a.txt", "\tGPU0\tGPU1\nGPU0\tX\tNV4\n")}), "has no row of GPU1"));
  CHECK(has(refusal_of({folder.write("b.txt", "\tGPU0\tGPU1\nGPU0\tX\n")}), "line 2: has 1 cells for 2 devices"));
  CHECK(has(refusal_of({folder.write("c.txt", "\tGPU0\tGPU1\nGPU0\tX\tNV-1\nGPU1\tNV1\tX\n")}), "line 2: 'NV-1' is no link"));
  // As a terminal shows it, behind another line, with devices of any name and a legend.
  const ImportedJob shown =
      import_paths({folder.write("e.txt",
                                 "GPU0 is idle\n\t\x1b[4mGPU0\tGPU1\tbond0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
                                 "GPU0\t X \tNV18\tPIX\t0-7\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t8-15\t1\t\tN/A\n"
                                 "bond0\tPIX\tSYS\t X \n\nLegend:\n\n  X    = Self\n")});
  CHECK(shown.facts["nics"] == 1);
  CHECK(shown.facts["numa"]["GPU1"] == "1");
  CHECK(shown.facts["nvlinks_a_gpu"]["GPU0"] == 18);
  // Three GPUs, two of which share a switch with a NIC.
  const ImportedJob uneven = import_paths({folder.write("d.txt",
                                                        "\tGPU0\tGPU1\tGPU2\tNIC0\nGPU0\tX\tPIX\tSYS\tPIX\nGPU1\tPIX\tX\tSYS\tPIX\n"
                                                        "GPU2\tSYS\tSYS\tX\tSYS\nNIC0\tPIX\tPIX\tSYS\tX\n")});
  CHECK(uneven.facts["switch"].is_null());
  std::string deep = "<system><cpu numaid=\"0\">";
  for (int i = 0; i < 100; ++i) deep += "<pci busid=\"0\">";
  CHECK(has(refusal_of({folder.write("deep.xml", deep)}), "nested deeper than 64 levels"));
  CHECK(has(refusal_of({folder.write("cut.xml", "<system><cpu numaid=\"0\"><pci class=\"0x0302")}), "is not closed"));
  CHECK(has(refusal_of({folder.write("none.xml", "<system><cpu numaid=\"0\"/></system>")}), "without a GPU"));
  CHECK_THROWS_AS(xml_elements("<a><b></a>"), std::invalid_argument);
  CHECK(xml_elements("<!-- x --><a k='1'><b/></a>").size() == 2);
}

}  // namespace import_pipelines
