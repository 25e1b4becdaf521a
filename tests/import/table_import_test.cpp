// Tables and logs: what is found in them, and what cannot be told.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "scenarios/import/measured_tables.hpp"
#include "tests/import/imports.hpp"
#include "tests/support/text.hpp"

namespace import_tables {

using namespace straggler;
using namespace straggler::test;
using doctest::Approx;

/// As nccl-tests prints it, of p ranks; seconds = alpha + bytes / rate.
std::string nccl_log(const std::string& redop, int ranks, double laps, bool noisy = false) {
  std::string text = "some launcher's line\n# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 2(factor)\n# Using devices\n";
  for (int r = 0; r < ranks; ++r)
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on  host-{} device  0 [0x8f] NVIDIA H200\n", r, 100 + r, r);
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  int row = 0;
  for (double bytes = 1024; bytes <= 1073741824; bytes *= 4, ++row) {
    double us = 20 + bytes / 30e3;
    if (noisy && row == 3) us *= 5;
    const double rate = bytes / us / 1e3, bus = rate * laps * (ranks - 1) / ranks;
    text += fmt::format("{:12.0f} {:13.0f} {:>9} {:>7} {:>7} {:8.4g} {:7.2f} {:7.2f} {:>6} {:8.4g} {:7.2f} {:7.2f} {:>6}\n", bytes,
                        bytes / 4, "float", redop, -1, us, rate, bus, 0, us, rate, bus, 0);
    if (row == 2) text += "NCCL WARN something between rows\n";
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 15.5188\n";
}

TEST_CASE("nccl-tests: the operation, ranks and times, with other lines between; a noisy one with a warning") {
  const TemporaryFolder folder;
  const ImportedJob job = import_paths({folder.write("log.txt", nccl_log("sum", 2, 2))});
  CHECK(job.facts["yields"] == "collectives");
  const auto& table = job.facts["collectives"][0];
  CHECK(table["collective"] == "all_reduce");
  CHECK(table["ranks"] == 2);
  CHECK(table["hosts"] == 2);
  CHECK(table["devices"][0] == "NVIDIA H200");
  REQUIRE(table["rows"].size() == 11);
  CHECK(table["rows"][10]["bytes"] == 1073741824);
  CHECK(table["rows"][10]["seconds"].get<double>() == Approx(20e-6 + 1073741824 / 30e9).epsilon(1e-3));
  CHECK(job.facts["warnings"].empty());
  CHECK(job.imported.next.empty());
  CHECK(has(job.file("collectives.csv"), "bytes,seconds\n1024,"));
  CHECK(has(job.facts["missing"].dump(), "a job"));
  const ImportedJob noisy = import_paths({folder.write("noisy.txt", nccl_log("sum", 2, 2, true))});
  CHECK(has(noisy.facts["warnings"].dump(), "noisy"));
}

TEST_CASE("nccl-tests of broadcast and all-to-all: by root, and by the program's name") {
  const TemporaryFolder folder;
  std::string broadcast = nccl_log("none", 4, 4.0 / 3), all_to_all = nccl_log("none", 4, 1);  // bus over algorithm bandwidth: 1 and 3/4
  for (std::size_t at = broadcast.find("     -1 "); at != std::string::npos; at = broadcast.find("     -1 ", at))
    broadcast.replace(at, 8, "      0 ");
  for (const char* title : {"", "# Collective test starting: broadcast_perf\n"}) {
    const ImportedJob job = import_paths({folder.write("broadcast.txt", title + broadcast)});
    CHECK(job.facts["collectives"][0]["collective"] == "broadcast");
    CHECK(job.facts["collectives"][0]["ranks"] == 4);
    CHECK(job.facts["collectives"][0]["rows"][10]["seconds"].get<double>() == Approx(20e-6 + 1073741824 / 30e9).epsilon(1e-3));
  }
  const ImportedJob named = import_paths({folder.write("alltoall.txt", "# Collective test starting: alltoall_perf\n" + all_to_all)});
  CHECK(named.facts["collectives"][0]["collective"] == "alltoall");
  CHECK(named.facts["collectives"][0]["ranks"] == 4);
  // Its columns are those of an all-gather, so without its name it is one.
  CHECK(import_paths({folder.write("unnamed.txt", all_to_all)}).facts["collectives"][0]["collective"] == "all_gather");
}

TEST_CASE("OSU tables: each as what it is; lines of a scheduler behind them are passed over") {
  const TemporaryFolder folder;
  const std::string behind = "\n{\"version\": 1, \"resources\": [{\"type\": \"node\"}]}\n17 tasks done\n";
  const std::filesystem::path latency = folder.write(
      "latency.out", "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n0   15.53\n1024  16.5\n4194304   971.97\n" + behind);
  const std::filesystem::path rate =
      folder.write("bw.out", "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1   0.78\n4194304   10560.66\n" + behind);
  const std::filesystem::path reduce =
      folder.write("allreduce.out",
                   "\n# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n4    258.27\n1048576     2616.71\n" + behind);
  const ImportedJob link = import_paths({latency, rate});
  CHECK(link.facts["link"]["latency_s"].get<double>() == Approx(15.53e-6));
  CHECK(link.facts["link"]["bytes_per_s"].get<double>() == Approx(10560.66e6));
  // A message crosses two links.
  CHECK(link.facts["link"]["link_latency_s"].get<double>() == Approx(15.53e-6 / 2));
  CHECK(has(link.file("topology.yaml"), ", latency: 7765ns}\n"));
  CHECK(has(link.said(), "link  10.6 GB/s, latency 7.76 us"));
  CHECK(!has(link.facts["missing"].dump(), "bandwidth of a stream"));
  const ImportedJob one_by_one = import_paths({latency});
  CHECK(one_by_one.facts["link"]["bytes_per_s"].get<double>() == Approx(4194304 / (971.97e-6 - 15.53e-6)));
  CHECK(has(one_by_one.facts["missing"].dump(), "bandwidth of a stream: osu_latency sends one message at a time"));
  const ImportedJob alone = import_paths({rate});
  CHECK(alone.facts["link"]["latency_s"].is_null());
  CHECK(has(alone.facts["missing"].dump(), "osu_latency"));
  const ImportedJob collective = import_paths({reduce});
  CHECK(collective.facts["link"].is_null());
  CHECK(collective.facts["collectives"][0]["collective"] == "allreduce");
  CHECK(collective.facts["collectives"][0]["rows"][1]["seconds"].get<double>() == Approx(2616.71e-6));
  CHECK(has(collective.facts["missing"].dump(), "give --ranks"));
  Parameters ranks;
  ranks.set("ranks", std::int64_t{3072});
  CHECK(import_paths({reduce}, ranks).facts["collectives"][0]["ranks"] == 3072);
}

TEST_CASE("seconds by rank and step: a run repeats them, and who is slow is named") {
  const TemporaryFolder folder;
  const std::vector<std::vector<double>> seconds = {{1.0, 1.5, 1.1, 1.0}, {1.2, 1.4, 1.0, 1.1}};  // [steps][ranks]
  std::string csv = "# a comment\nrank,step,seconds\n";
  double step = 0;
  for (std::size_t s = 0; s < seconds.size(); ++s) {
    for (std::size_t r = 0; r < 4; ++r) csv += fmt::format("{},{},{}\n", r, s, seconds[s][r]);
    step += *std::ranges::max_element(seconds[s]) / 2;
  }
  const ImportedJob job = import_paths({folder.write("ranks.csv", csv)});
  CHECK(job.facts["step_s"].get<double>() == Approx(step));
  CHECK(job.facts["ranks"][1]["work_s"].get<double>() == Approx(1.45));
  CHECK(job.facts["waits_s"][0].get<double>() == Approx((0.5 + 0.2) / 2));
  CHECK(job.facts["waits_s"][1].get<double>() == Approx(0));
  const std::vector<double> alone = job.facts["S_w"];
  CHECK(std::ranges::max_element(alone) - alone.begin() == 1);
  CHECK(!job.file("jitter.csv").empty());
  CHECK(replayed_step(folder, job) == Approx(step).epsilon(0.002));
}

TEST_CASE("a matrix of seconds, either way round, is the same as rows") {
  const TemporaryFolder folder;
  const std::string rows = "rank,step,seconds\n0,1,1.0\n1,1,1.5\n0,2,1.2\n1,2,1.1\n";
  const std::string steps = import_paths({folder.write("a.csv", rows)}).facts["ranks"].dump();
  for (const char* matrix : {"step,rank0,rank1\n1,1.0,1.5\n2,1.2,1.1\n", "step,0,1\n1,1.0,1.5\n2,1.2,1.1\n",
                             "rank 0,rank 1\n1.0,1.5\n1.2,1.1\n", "rank,step1,step2\n0,1.0,1.2\n1,1.5,1.1\n"}) {
    CAPTURE(matrix);
    CHECK(import_paths({folder.write("b.csv", matrix)}).facts["ranks"].dump() == steps);
  }
}

TEST_CASE("rows of ranks: alike, missing, twice, with a host or an iteration") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& csv) {
    const std::string line = refusal_of({folder.write("a.csv", csv)});
    CHECK(line.size() < 250 + (folder / "a.csv").string().size());
    return line;
  };
  const ImportedJob alike = import_paths({folder.write("b.csv", "rank,step,seconds\n0,1,1\n1,1,1.001\n0,2,2\n1,2,2.001\n")});
  CHECK(alike.imported.next == "scenario.yaml");
  CHECK(has(alike.facts["missing"].dump(), "who is slow: seconds is the same on all ranks in each step"));
  CHECK(has(refused("rank,step,seconds\n0,1,1\n1,1,2\n0,2,1\n"), "has no row of rank 1 in step 2; add it"));
  CHECK(has(refused("rank,seconds\n0,1\n1,2\n0,1\n"), "has 1 row of rank 1 and 2 of another"));
  CHECK(has(refused("rank,step,seconds\n0,1,1\n1,1,2\n0,1,1.5\n"), "line 4: gives rank 0 in step 1 again, after line 2"));
  CHECK(has(refused("rank,step,seconds\n0,1,1\n1,1,\n"), "line 3: has no seconds"));
  // Rows may come in any order.
  const ImportedJob plain = import_paths({folder.write("b.csv", "rank,step,seconds\n0,1,1\n1,1,3\n0,2,2\n1,2,2\n")});
  CHECK(plain.facts["step_s"].get<double>() == Approx((3 + 2) / 2.0));
  for (const char* same :
       {"rank,step,seconds\n0,2,2\n0,1,1\n1,1,3\n1,2,2\n", "host,rank,step,seconds\na,0,1,1\nb,1,1,3\na,0,2,2\nb,1,2,2\n",
        "rank,iteration,step_time,loss\n0,1,1,7\n1,1,3,7\n0,2,2,6\n1,2,2,6\n"}) {
    CAPTURE(same);
    CHECK(import_paths({folder.write("b.csv", same)}).facts["ranks"] == plain.facts["ranks"]);
  }
}

TEST_CASE("tables that are nearly by rank: what is wrong with their columns") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& csv) { return refusal_of({folder.write("a.csv", csv)}); };
  CHECK(has(refused("Rank,Step,Seconds\n0,1,1\n"), "has no column rank, but Rank"));
  CHECK(has(refused("rank;step;seconds\n0;1;1\n"), "separates its columns by ';'"));
  CHECK(has(refused("rank\tstep\tseconds\n0\t1\t1\n"), "separates its columns by tabs"));
  CHECK(has(refused("rank,step\n0,1\n"), "has no column of times"));
  CHECK(!has(refused("name,value\n0,1\n"), "rank"));
}

TEST_CASE("what a table cannot tell is said, not guessed") {
  const TemporaryFolder folder;
  const ImportedJob alike = import_paths({folder.write("a.csv", "rank,backward_ms\n0,293.0\n1,292.2\n2,293.0\n3,293.1\n")});
  CHECK(has(alike.facts["missing"].dump(), "cannot be told from this table"));
  CHECK(has(alike.facts["missing"].dump(), "rank 1 has the least"));
  CHECK(alike.imported.next.empty());
  const ImportedJob parts = import_paths(
      {folder.write("b.csv", "scenario,rank,input_wait_ms,optimizer_ms\nslow,0,201.6,\nslow,1,1.4,\nother,0,,33.1\nother,1,,14.5\n")});
  for (const auto& part : parts.facts["parts"]) {
    if (part["part"] == "input_wait_ms") CHECK(part["more_s"].get<double>() == Approx(0.2002));
    if (part["part"] == "optimizer_ms") CHECK(part["times"].get<double>() == Approx(33.1 / 14.5));
  }
  CHECK(parts.facts["parts"].size() == 2);
}

TEST_CASE("a step that waited for data: what it takes without, and the ranks that waited") {
  const TemporaryFolder folder;
  const ImportedJob job =
      import_paths({folder.write("steps.csv", "step,rank,data_time,step_time\n173,144,332.5,48.5\n173,145,332.0,49.0\n173,160,0,381\n")});
  CHECK(job.facts["step_s"].get<double>() == Approx(381));
  CHECK(job.facts["without_waiting_for_data_s"].get<double>() == Approx(48.5));
  CHECK(has(job.said(), "step_time is taken to be"));
  CHECK(has(job.file("scenario.yaml"), "device: rank160") != has(job.file("scenario.yaml"), "device: rank144"));
  CHECK(!has(job.file("scenario.yaml"), "device: rank2"));
  CHECK(job.facts["ranks"][0]["rank"] == 144);
  CHECK(job.facts["parts"][1]["part"] == "step_time");
  CHECK(has(job.said(), "the rank with least"));
  CHECK(job.facts["workers_are_ranks"] == nlohmann::json::array({144, 145, 160}));
  CHECK(replayed_step(folder, job) == Approx(381).epsilon(2e-3));  // ranks that differ by less than 1 % are one group
}

TEST_CASE("seconds beside waiting for data are each rank's own where the sums differ by rank") {
  const TemporaryFolder folder;
  const std::string rows = "rank,step,seconds,data_time\n0,1,1.0,0.1\n1,1,1.4,0.1\n2,1,1.0,0.9\n0,2,1.0,0.1\n1,2,1.4,0.1\n2,2,1.0,0.9\n";
  const ImportedJob job = import_paths({folder.write("a.csv", rows)});
  CHECK(job.facts["step_s"].get<double>() == Approx(1.9));  // rank 2: 1.0 + 0.9
  CHECK(job.facts["steps"].size() == 2);
  CHECK(job.facts["ranks"][1]["work_s"].get<double>() == Approx(1.5));
  CHECK(job.facts["ranks"][2]["loader_s"].get<double>() == Approx(0.9));
  CHECK(job.facts["waits_s"][0].get<double>() == Approx(0.8));
  CHECK(job.facts["S"].get<double>() == Approx(1.9 / 1.5));
  CHECK(!has(job.said(), "is late"));
  CHECK(has(job.said(), "the sum differs by rank"));
  CHECK(replayed_step(folder, job) == Approx(1.9).epsilon(1e-3));
  // Without the wait for data rank 1 stays.
  CHECK(replayed_step(folder, job, {"devices.rank2.loader.workers=1"}) == Approx(1.5).epsilon(1e-2));

  // Rank 1 waits in one of three steps: a run repeats each step, though a loader takes as long in all.
  const ImportedJob stall =
      import_paths({folder.write("b.csv", "rank,step,seconds,data_time\n0,1,1,0\n0,2,2,0\n0,3,1,0\n1,1,1,0\n1,2,1,3\n1,3,1.5,0\n")});
  CHECK(stall.facts["step_s"].get<double>() == Approx((1 + 4 + 1.5) / 3));
  CHECK(has(stall.facts["assumed"].dump(), "in some steps alone"));
  CHECK(replayed_step(folder, stall) == Approx((1 + 4 + 1.5) / 3).epsilon(5e-3));

  // The trainer's step_time holds the waiting of all, so it is alike: nobody is named, and that is said.
  const ImportedJob alike = import_paths({folder.write("c.csv", "rank,step,step_time,data_time\n0,1,2,0.1\n1,1,2,0.8\n")});
  CHECK(has(alike.facts["missing"].dump(), "contain waiting for the others and for data"));
}

TEST_CASE("S counts ranks that are slow in turn") {
  const TemporaryFolder folder;
  const ImportedJob job = import_paths({folder.write("a.csv", "rank,step,seconds\n0,1,1\n1,1,3\n0,2,3\n1,2,1\n")});
  CHECK(job.facts["step_s"].get<double>() == Approx(3));
  CHECK(job.facts["even_step_s"].get<double>() == Approx(2));
  CHECK(job.facts["S"].get<double>() == Approx(1.5));
  for (const auto& alone : job.facts["S_w"]) CHECK(alone.get<double>() == Approx((2 + 3) / 2.0 / 2));
}

TEST_CASE("figures that no job has are refused, or left out of what is written") {
  const TemporaryFolder folder;
  // The largest message takes no longer than the smallest: no bandwidth.
  const ImportedJob flat = import_paths({folder.write("flat.out", "# OSU MPI Latency Test v5.8\n1 20\n4194304 20\n")});
  CHECK(flat.facts["link"]["bytes_per_s"].is_null());
  CHECK(flat.file("topology.yaml").empty());
  // A step of no time is the smallest factor that jitter takes.
  const ImportedJob zero = import_paths({folder.write("zero.csv", "rank,step,seconds\n0,0,1\n1,0,2\n0,1,1e-300\n1,1,2\n")});
  CHECK(replayed_step(folder, zero) == Approx(2).epsilon(0.01));
  CHECK(has(refusal_of({folder.write("far.csv", "rank,step,seconds\n0,0,1e12\n1,0,2e12\n")}), "has steps of "));
}

TEST_CASE("TraceLens: waits by rank, transfers and parameters") {
  const TemporaryFolder folder;
  // Two steps of two units and a root on two ranks; rank 1 comes last at the units' reductions.
  std::string csv = "rank,Process Group Ranks,Collective name,Group size,dtype,In msg nelems,dur_sum,dur_min,operation_count\n";
  csv +=
      "0,\"[0, 1]\",_reduce_scatter_base,2,Float,1000000,4000000,900000,4\n1,\"[0, "
      "1]\",_reduce_scatter_base,2,Float,1000000,40000,9000,4\n";
  csv += "0,\"[0, 1]\",_reduce_scatter_base,2,Float,500000,10000,5000,2\n1,\"[0, 1]\",_reduce_scatter_base,2,Float,500000,10000,5000,2\n";
  const ImportedJob job = import_paths({folder.write("by_rank.csv", csv)});
  CHECK(job.facts["last_rank"] == 1);
  CHECK(job.facts["waits_s"][0].get<double>() == Approx(3.96));
  CHECK(job.facts["waits_s"][1] == 0);
  CHECK(job.facts["parameters"] == 2 * 1'000'000 + 500'000);
  for (const auto& each : job.facts["collectives"])
    CHECK(each["transfer_s"].get<double>() == Approx(each["elements"] == 1'000'000 ? 0.01 : 0.005));
}

TEST_CASE("scores are relative, and a table with a wrong cell is refused with its line") {
  const TemporaryFolder folder;
  const ImportedJob job =
      import_paths({folder.write("report.log", "GPU relative performance:\n  Rank=0 Node=a Score=0.95\n  Rank=1 Node=a Score=1.00\n")});
  CHECK(job.facts["scores"][0]["ranks"][0]["slower"].get<double>() == Approx(1 / 0.95 - 1));
  const ImportedJob own = import_paths({folder.write("own.log", "GPU individual performance:\n  Rank=0 Node=a Score=0.98\n")});
  CHECK(has(own.said(), "more time than its own best"));
  CHECK(own.facts["scores"][0]["than"] == "own best");
  CHECK(has(job.said(), "5.3 % more time than the best rank"));
  CHECK(has(refusal_of({folder.write("a.csv", "rank,step,seconds\n0,0,1\n0,1,x\n")}), "line 3: seconds is 'x'"));
  CHECK(has(refusal_of({folder.write("a.csv", "rank,step,seconds\n0,0\n")}), "line 2: has 2 fields"));
  CHECK(has(refusal_of({folder.write("a.csv", "rank,step,seconds\n-1,0,1\n")}), "line 2: rank is no whole number"));
}

TEST_CASE("step logs: start-up and stalls are left out of the step, and named") {
  const TemporaryFolder folder;
  std::string megatron;
  for (int i = 1; i <= 12; ++i)
    megatron += fmt::format(
        " iteration {:8}/      12 | consumed samples: {} | elapsed time per iteration (ms): {:.1f} | global batch size:  2048 |\n", i,
        2048 * i,
        i == 1   ? 306130.5
        : i == 2 ? 6600.0
        : i == 7 ? 6700.0
                 : 6400.0);
  const ImportedJob log = import_paths({folder.write("train.log", megatron)});
  CHECK(log.facts["trainer"] == "Megatron-LM");
  CHECK(log.facts["steps"].size() == 10);
  CHECK(log.facts["step_s"].get<double>() == Approx((9 * 6.4 + 6.7) / 10));
  CHECK(log.facts["spikes"] == nlohmann::json::array({7.0}));
  CHECK(log.facts["left_out"].size() == 2);
  CHECK(has(log.file("scenario.yaml"), "per_worker: 2048"));
  CHECK(replayed_step(folder, log) == Approx(log.facts["step_s"].get<double>()).epsilon(1e-3));

  const ImportedJob titan =
      import_paths({folder.write("titan.log",
                                 "[rank0]:[titan] 2025-06-16 23:59:50,500 - root - INFO - step: 200  memory: 1GiB  tps: 5,856\n"
                                 "[rank0]:[titan] 2025-06-17 00:00:04,500 - root - INFO - step: 210  memory: 1GiB  tps: 5,850\n"
                                 "[rank0]:[titan] 2025-06-17 00:00:18,500 - root - INFO - step: 220  memory: 1GiB  tps: 5,852\n")});
  CHECK(titan.facts["step_s"].get<double>() == Approx(1.4));
  CHECK(titan.facts["tokens_per_second_per_gpu"] == 5852);

  // A checkpoint between two lines is none of their steps; steps that are as uneven as each other are.
  const auto titan_log = [](const std::vector<double>& seconds) {
    std::string text;
    double at = 36000;
    for (std::size_t i = 0; i <= seconds.size(); ++i) {
      const int whole = static_cast<int>(at);
      text += fmt::format("[titan] 2025-06-16 {:02}:{:02}:{:02},{:03} - root - INFO - step: {}  tps: 5,850\n", whole / 3600,
                          whole / 60 % 60, whole % 60, static_cast<int>(std::lround(1e3 * (at - whole))), 10 * i);
      if (i < seconds.size()) at += seconds[i];
    }
    return text;
  };
  const ImportedJob spike = import_paths({folder.write("spike.log", titan_log({14, 14.6, 13.98, 14, 14.02}))});
  CHECK(spike.facts["step_s"].get<double>() == Approx(1.4));
  CHECK(spike.facts["spikes"] == nlohmann::json::array({20.0}));
  CHECK(spike.facts["steps"].size() == 4);
  CHECK(has(spike.said(), "not in the mean"));
  const ImportedJob uneven = import_paths({folder.write("uneven.log", titan_log({14, 14.6, 13.5, 14.1, 13.8}))});
  CHECK(uneven.facts["step_s"].get<double>() == Approx(1.4));
  CHECK(uneven.facts["steps"].size() == 5);

  std::string lines;
  for (int i = 1; i <= 6; ++i)
    lines += fmt::format("05/07 12:12:00 - mmengine - INFO - Iter(train) [{}/2046]  time: {}  data_time: {}\n", 1000 + 10 * i,
                         i == 4 ? 18.9 : 2.9, i == 4 ? 16.0 : 0.02);
  const ImportedJob engine = import_paths({folder.write("mm.log", lines)});
  CHECK(engine.facts["step_s"].get<double>() == Approx(2.9));
  CHECK(engine.facts["stalls"] == nlohmann::json::array({1040.0}));
  CHECK(engine.facts["loader_share"].get<double>() == Approx((16.0 + 5 * 0.02) / (18.9 + 5 * 2.9)));
}

TEST_CASE("tables of benchmarks, for a comparison with what is expected") {
  const TemporaryFolder folder;
  const std::vector<MeasuredTable> tables = read_measured_tables(folder.write("log.txt", nccl_log("none", 4, 1)));
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].collective == "all_gather");
  CHECK(tables[0].ranks == 4);
  CHECK(tables[0].hosts == 4);
  CHECK_THROWS_AS(read_measured_tables(folder.write("a.csv", "rank,seconds\n0,1\n")), DataError);
}

}  // namespace import_tables
