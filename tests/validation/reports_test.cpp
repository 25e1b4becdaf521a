// Reports of other benchmarks, as logs hold them: with the tags of launchers, lines of other programs, or parts missing. Expected links
// come from the formula that made the times.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "sim/base/quantity.hpp"
#include "sim/base/text_lines.hpp"
#include "tests/support/text.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/calibrate/calibration.hpp"

namespace straggler::test::reports {
namespace {

Calibration calibrated(const std::string& text) {
  const Files files;
  const auto file = files.write("report.txt", text);
  return calibrate(std::get<MessageTimes>(read_measured(file)), file);
}

std::string refused(const std::string& text) {
  const Files files;
  return test::said(files, [&] {
    const auto file = files.write("report.txt", text);
    calibrate(std::get<MessageTimes>(read_measured(file)), file);
  });
}

/// The value behind "KEY: " in the entries.
double value(const Calibration& calibration, const std::string& key, Dimension dimension) {
  const std::size_t at = calibration.entries.find(key + ": ");
  REQUIRE_MESSAGE(at != std::string::npos, key);
  const std::size_t begin = at + key.size() + 2;
  return parse_quantity(calibration.entries.substr(begin, calibration.entries.find_first_of(",}", begin) - begin), dimension);
}

/// `text` with a tag in front of every line.
std::string tagged(const std::string& text, const std::function<std::string(std::size_t)>& tag) {
  std::string out;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) out += tag(lines.number()) + std::string(line) + "\n";
  return out;
}

/// A link of 7 us and 11 GB/s a message.
constexpr double alpha = 7e-6, bandwidth = 11e9;

struct Nccl {
  int ranks = 16, per_host = 8;
  const char* redop = "sum";
  int laps = 2;           // of a ring: 2 (n - 1) steps or n - 1
  bool per_rank = false;  // `count`
  int decimals = 2;       // of bandwidths, as the program prints them
};

std::string rank_lines(const Nccl& nccl) {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < nccl.ranks; ++rank)
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on host-{} device {:>2} [0x1b] NVIDIA A100\n", rank, 100 + rank,
                        rank / nccl.per_host, rank % nccl.per_host);
  return text + "#\n";
}

std::string rows(const Nccl& nccl) {
  std::string text =
      "#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  const int n = nccl.ranks;
  for (double bytes = 65536; bytes < 3e9; bytes *= 4) {
    const double seconds = nccl.laps * (n - 1) * (alpha + bytes / n / bandwidth), algorithm = bytes / seconds / 1e9;
    const std::string rates = fmt::format("{:.2f} {:.{}f} {:.{}f} 0", seconds * 1e6, algorithm, nccl.decimals,
                                          algorithm * nccl.laps * (n - 1) / n, nccl.decimals);
    text += fmt::format("{:>12.0f} {:>12.0f} float {} -1 {} {}\n", bytes, bytes / 4 / (nccl.per_rank ? n : 1), nccl.redop, rates, rates);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3\n";
}

std::string output(const Nccl& nccl) { return "# nThread 1 nGpus 1 minBytes 65536\n#\n" + rank_lines(nccl) + rows(nccl); }

const Nccl all_gather{16, 8, "none", 1, true}, reduce_scatter{16, 8, "sum", 1, true};

bool is_the_link(const Calibration& calibration, const char* place = "link") {
  const double latency = std::string(place) == "link" ? alpha / 2 : alpha;
  CAPTURE(calibration.entries);
  CHECK(has(calibration.entries, fmt::format("  {}: {{", place)));
  CHECK(value(calibration, "bandwidth", Dimension::rate) == doctest::Approx(bandwidth).epsilon(2e-3));
  CHECK(value(calibration, "latency", Dimension::time) == doctest::Approx(latency).epsilon(0.02));
  return true;
}

std::string osu(const std::string& title, const std::string& value_of = "Latency (us)") {
  std::string text = fmt::format("# OSU {} v7.1\n# Size          {}\n", title, value_of);
  const bool rate = value_of != "Latency (us)";
  for (double bytes = 1; bytes <= 4194304; bytes *= 2) {
    const double micros = 1e6 * (alpha + bytes / bandwidth);
    text += fmt::format("{:.0f} {:.6f}\n", bytes, rate ? bytes / micros : micros);
  }
  return text;
}

}  // namespace

TEST_CASE("OSU: only osu_latency and osu_bw give a link; a table of another test does not") {
  is_the_link(calibrated(osu("MPI Latency Test")));
  is_the_link(calibrated(osu("MPI-CUDA Latency Test")));
  for (const char* title : {"MPI Allreduce Latency Test", "MPI-CUDA Allreduce Latency Test", "MPI Bcast Latency Test",
                            "MPI Alltoall Latency Test", "MPI Barrier Latency Test", "MPI All-to-All Personalized Exchange Latency Test",
                            "MPI Multi Latency Test", "MPI Multi-threaded Latency Test", "MPI_Put Latency Test",
                            "MPI One Sided MPI_Get latency Test", "OpenSHMEM Put Test", "MPI Bi-Directional Bandwidth Test"}) {
    CAPTURE(title);
    CHECK(has(refused(osu(title)), fmt::format("report.txt: 'OSU {} v7.1' has no times of one message", title)));
  }
  // A job's log with several tests.
  const Calibration both = calibrated(osu("MPI Allreduce Latency Test") + osu("MPI Latency Test"));
  is_the_link(both);
  CHECK(has(both.found, "('OSU MPI Allreduce Latency Test v7.1' not used)"));
}

TEST_CASE("osu_bw: the highest rate is the bandwidth; osu_latency adds the latency, from the same file or another") {
  const std::string rates = osu("MPI Bandwidth Test", "Bandwidth (MB/s)");
  const double bytes = 4194304, highest = bytes / (alpha + bytes / bandwidth);
  const Calibration alone = calibrated(rates);
  CHECK(value(alone, "bandwidth", Dimension::rate) == doctest::Approx(highest).epsilon(1e-4));
  CHECK(!has(alone.entries, "latency:"));
  // Single messages that reach a third of it.
  std::string slow = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n";
  for (double size = 1; size <= 4194304; size *= 2) slow += fmt::format("{:.0f} {:.6f}\n", size, 1e6 * (alpha + 3 * size / bandwidth));
  const Files files;
  const auto first = files.write("latency.out", slow), second = files.write("bw.out", rates);
  const auto times = [](const std::filesystem::path& file) { return std::get<MessageTimes>(read_measured(file)); };
  for (const Calibration& both : {calibrated(slow + rates), calibrate(joined_times(times(first), times(second), second), first),
                                  calibrate(joined_times(times(second), times(first), first), second)}) {
    CHECK(value(both, "bandwidth", Dimension::rate) == doctest::Approx(highest).epsilon(1e-4));
    CHECK(value(both, "latency", Dimension::time) == doctest::Approx(alpha / 2).epsilon(1e-3));
    REQUIRE(both.warnings.size() == 1);  // 4 MiB alone take three times as long
    CHECK(has(both.warnings.front(), "missed by"));
  }
  CHECK(has(test::said(files, [&] { joined_times(times(first), times(first), first); }), "latency.out: does not complete the other file"));
}

TEST_CASE("nccl-tests: all-gather and reduce-scatter are rings of n - 1 steps") {
  for (const Nccl& nccl : {Nccl{}, all_gather, reduce_scatter}) {
    CAPTURE(nccl.redop);
    CAPTURE(nccl.laps);
    is_the_link(calibrated(output(nccl)));
    Nccl one_host = nccl;
    one_host.per_host = nccl.ranks;
    is_the_link(calibrated(output(one_host)), "intra");
  }
  // The same columns, but another operation, which newer versions name.
  CHECK(has(refused("# Collective test starting: alltoall_perf\n" + output(all_gather)),
            "is nccl-tests output of 'alltoall_perf', which does not determine a link"));
  is_the_link(calibrated("# Collective test starting: all_gather_perf\n" + output(all_gather)));
}

TEST_CASE("nccl-tests: the number of ranks does not come from the number of lines") {
  const std::string whole = output({});
  const std::string first = "#  Rank  0 Group", last = "#  Rank 15 Group";
  std::string no_mark = whole, lost = whole;
  no_mark.replace(no_mark.find(first), 1, "");
  is_the_link(calibrated(no_mark));
  CHECK(has(calibrated(no_mark).found, "16 ranks on 2 host(s)"));
  CHECK(calibrated(no_mark).warnings.empty());
  const std::size_t at = lost.find(last);
  lost.erase(at, lost.find('\n', at) + 1 - at);
  is_the_link(calibrated(lost));  // the bandwidths say 16
  CHECK(has(calibrated(lost).warnings.front(), "its list of ranks has 15 of 16 lines"));
}

TEST_CASE("nccl-tests: without a list of ranks the bandwidths tell how many there are, or that they do not") {
  for (const Nccl& nccl : {Nccl{}, all_gather, reduce_scatter, Nccl{2, 1}, Nccl{3, 1}, Nccl{64, 8, "none", 1, true}}) {
    CAPTURE(nccl.ranks);
    CAPTURE(nccl.laps);
    const Calibration calibration = calibrated("# nThread 1 nGpus 1\n" + rows(nccl));
    is_the_link(calibration);
    CHECK(has(calibration.found, fmt::format("{} ranks,", nccl.ranks)));
    CHECK(has(calibration.warnings.front(), "does not say whether all were on one host"));
  }
  // Bus over algorithm bandwidth of 1000 and 1001 ranks differ by 2e-6, less than the digits show.
  const Nccl many{1000, 8};
  CHECK(has(refused("# nThread 1 nGpus 1\n" + rows(many)), "leave open how many ranks made the all-reduce"));
  is_the_link(calibrated(output(many)));
  // A rank alone sends nothing.
  std::string alone = output({2, 1});
  alone.erase(alone.find("#  Rank  1"), alone.find("#\n#    ") - alone.find("#  Rank  1"));
  CHECK(has(calibrated(alone).warnings.front(), "1 of 2 lines"));
}

TEST_CASE("nccl-tests: tables of different runs in one log are not mixed") {
  is_the_link(calibrated(output({}) + output({})));  // repeats of one
  for (const std::string& other : {output(reduce_scatter), output(all_gather), output({8, 8})})
    CHECK(has(refused(output({}) + other), "is a row of another operation, or of another number of ranks"));
}

TEST_CASE("tags of launchers and lines of other programs are passed over") {
  const std::string noise = "Authorization required, but no authorization protocol specified\n3 total processes killed (some by mpirun)\n";
  const std::string behind = "START OF JOBSPEC\n{\"resources\": [{\"count\": 32}]}\n2024-08-22T02:22:00Z done\n";
  for (const std::string& text : {output({}), osu("MPI Latency Test")}) {
    is_the_link(calibrated(noise + text + behind));
    for (const char* tag : {"[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", "00: ", " 0: ", "[0] ", "[pod/launcher-x7/nccl] ", "    "}) {
      CAPTURE(tag);
      const std::string all = tagged(text, [&](std::size_t) { return std::string(tag); });
      is_the_link(calibrated("[1,0]<stderr>:" + noise + all + "1: 128 bytes from rank 1\n" + behind));
    }
    is_the_link(
        calibrated(tagged(text, [](std::size_t line) { return fmt::format("2024-08-22T02:{:02}:{:02}.123Z ", line / 60, line % 60); })));
  }
  // A row that is cut off is no noise.
  CHECK(has(refused(osu("MPI Latency Test") + "8388608"), "has a size and no latency"));
  std::string cut = output({});
  cut.resize(cut.rfind(" 0 ", cut.find("# Out of bounds")));
  CHECK(has(refused(cut), "fields where the first row has 13"));
}

TEST_CASE("times that fall with the size are named") {
  const auto warned = [](double last) {
    const Files files;
    const auto file = files.write("p.csv", fmt::format("bytes,seconds\n1000,1e-3\n10000,2e-3\n100000,{}\n1000000,9e-3\n", last));
    std::string all;
    for (const std::string& warning : calibrate(std::get<MessageTimes>(read_measured(file)), file).warnings) all += warning + "\n";
    return all;
  };
  CHECK(!has(warned(1.7e-3), "larger messages are faster"));
  CHECK(has(warned(1.5e-3), "10 kB take 2 ms and 100 kB 1.5 ms: larger messages are faster"));
}

TEST_CASE("batches that take longer than a step are doubted: milliseconds taken for seconds") {
  const Files files;
  const auto warned = [&](double unit) {
    const auto file = files.write("steps.csv", fmt::format("batch,seconds\n8,{}\n16,{}\n", 0.02 * unit, 0.04 * unit));
    return calibrate(std::get<BatchTimes>(read_measured(file))).warnings;
  };
  CHECK(warned(1).empty());
  REQUIRE(warned(1000).size() == 1);
  CHECK(has(warned(1000).front(), "node: a batch of 8 takes 20 s: are the times in seconds?"));
}

TEST_CASE("a trace of a profiler is told from a table") {
  for (const char* text :
       {"{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n    {\"ph\": \"X\", \"name\": \"gemm\", \"ts\": 10.0}\n  ]\n}\n",
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"dur\":5}]\n"}) {
    const std::string said = refused(text);
    CHECK(has(said, "report.txt: is a Chrome trace"));
    CHECK(said.find('\n') == std::string::npos);
    for (const std::string& format : measured_formats()) CHECK(has(said, format));
  }
  CHECK(has(refused("{\"a\": [1, 2]}\n"), "report.txt: cannot be calibrated: it is no table"));
}

}  // namespace straggler::test::reports
