// Calibration of times whose devices and links are known: the simulator wrote them, or arithmetic did.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/quantity.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/validation/claim_support.hpp"
#include "validation/calibrate/calibration.hpp"
#include "validation/calibrate/lines.hpp"

using namespace straggler;
using test::digits;
using test::equal_workers;
using test::Files;
using test::scenario_text;

namespace {

/// One worker that asks one server for weights and sends a gradient, again and again: message after message over a star of two links,
/// next to no computation in between.
const std::string ping_pong = scenario_text({.name = "ping-pong",
                                             .node = "{compute: {affine: {overhead: 0.001ns, per_sample: 0s}}}",
                                             .workers = equal_workers(1),
                                             .network = "{link: {bandwidth: 10Gbps, latency: 1us}}",
                                             .scheme = "{kind: asgd}",
                                             .stop = "{updates: 1}"});

/// Seconds of one message of `bytes`: what 20 more updates take, by two messages each.
double message_seconds(double bytes, std::vector<std::string> sets) {
  sets.push_back("workload.cost.bytes=" + digits(bytes) + "B");
  const auto after = [&](const char* updates) {
    std::vector<std::string> all = sets;
    all.push_back(std::string("training.stop.updates=") + updates);
    return test::simulated_seconds(ping_pong, all);
  };
  return (after("21") - after("1")) / 40;
}

Calibration calibrate_text(const Files& files, const std::string& text) {
  const auto file = files.write("measured.csv", text);
  const Measurements measured = read_measured(file);
  if (std::holds_alternative<MessageTimes>(measured)) return calibrate(std::get<MessageTimes>(measured), file);
  return calibrate(std::get<BatchTimes>(measured));
}

std::string refusal(const std::string& text) {
  const Files files;
  return test::said(files, [&] { calibrate_text(files, text); });
}

YamlNode parsed(const std::string& yaml) {
  const Places places({"entries"});
  Problems problems(places);
  const std::optional<YamlNode> root = parse_yaml(yaml, 0, problems);
  problems.raise();
  return root.value();
}

double quantity(const YamlNode& node, std::initializer_list<const char*> path, Dimension dimension) {
  const YamlNode* at = &node;
  for (const char* key : path) {
    at = at->find(key);
    REQUIRE_MESSAGE(at != nullptr, key);
  }
  return parse_quantity(at->text, dimension);
}

std::string ping_pong_table(const std::vector<std::string>& sets, double most) {
  std::string table = "# seconds of one way\nbytes,seconds,repeats\n";
  for (double bytes = 8; bytes <= most; bytes *= 4) table += digits(bytes) + "," + digits(message_seconds(bytes, sets)) + ",100\n";
  return table;
}

}  // namespace

TEST_CASE("bandwidth and latency of a simulated ping-pong are recovered") {
  const Files files;
  const auto table = ping_pong_table({"cluster.network.link={bandwidth: 3Gbps, latency: 27us}"}, 1e7);
  const Calibration calibration = calibrate_text(files, table);
  const YamlNode entries = parsed(calibration.entries);
  CHECK(quantity(entries, {"network", "link", "bandwidth"}, Dimension::rate) == doctest::Approx(3e9 / 8).epsilon(1e-4));
  CHECK(quantity(entries, {"network", "link", "latency"}, Dimension::time) == doctest::Approx(27e-6).epsilon(1e-4));
  CHECK(entries.find("network")->find("protocol") == nullptr);
  CHECK(calibration.found.rfind("a ping-pong table, 11 times of 11 message sizes", 0) == 0);
}

TEST_CASE("only the rows of a ping-pong are times of one message") {
  const Files files;
  const std::string table = "mode,bytes,seconds,repeats,iqr_s\nping_pong,0,2e-5,9,0\nping_pong,1000000,1.002e-2,9,0\n";
  const Calibration plain = calibrate_text(files, table),
                    mixed = calibrate_text(files, table + "stream,0,1e-6,9,0\nexchange,1000000,2e-2,9,0\n");
  CHECK(quantity(parsed(plain.entries), {"network", "link", "bandwidth"}, Dimension::rate) == doctest::Approx(1e8));
  CHECK(quantity(parsed(plain.entries), {"network", "link", "latency"}, Dimension::time) == doctest::Approx(1e-5));
  CHECK(plain.entries == mixed.entries);
  CHECK(mixed.found.find("2 rows of other modes not used") != std::string::npos);
  CHECK(refusal("mode,bytes,seconds\nstream,0,1e-6\nstream,8,1e-6\n").find("measured.csv: has no row of mode ping_pong") == 0);
}

TEST_CASE("segments of a simulated protocol are recovered, and predict the table again") {
  const Files files;
  const std::vector<std::string> truth = {
      "cluster.network.link={bandwidth: 8Gbps, latency: 15us}",
      "cluster.network.protocol.segments=[{up_to: 2kB, bandwidth_factor: 0.2}, {up_to: 200kB, latency_factor: 3, bandwidth_factor: 0.6}, "
      "{latency_factor: 5}]"};
  std::string table = "bytes,seconds\n";
  for (double bytes = 2; bytes <= 3e7; bytes *= 2) table += digits(bytes) + "," + digits(message_seconds(bytes, truth)) + "\n";
  const Calibration calibration = calibrate_text(files, table);
  const YamlNode entries = parsed(calibration.entries);
  CHECK(quantity(entries, {"network", "link", "bandwidth"}, Dimension::rate) == doctest::Approx(1e9).epsilon(1e-3));
  CHECK(quantity(entries, {"network", "link", "latency"}, Dimension::time) == doctest::Approx(15e-6).epsilon(1e-3));
  const YamlNode& segments = *entries.find("network")->find("protocol")->find("segments");
  REQUIRE(segments.items.size() == 3);
  const double factors[][2] = {{1, 0.2}, {3, 0.6}, {5, 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(parse_number(segments.items[i].find("latency_factor")->text) == doctest::Approx(factors[i][0]).epsilon(2e-3));
    CHECK(parse_number(segments.items[i].find("bandwidth_factor")->text) == doctest::Approx(factors[i][1]).epsilon(2e-3));
  }
  // The entries, pasted.
  std::string network = calibration.entries.substr(calibration.entries.find('\n') + 1), pasted = ping_pong, indented = "  network:\n";
  for (std::size_t at = 0; at < network.size();) {
    const std::size_t end = network.find('\n', at);
    indented += "  " + network.substr(at, end - at) + "\n";
    at = end + 1;
  }
  const std::string before = "  network: {link: {bandwidth: 10Gbps, latency: 1us}}\n";
  pasted.replace(pasted.find(before), before.size(), indented);
  for (const double bytes : {100.0, 5e4, 5e6}) {
    const std::vector<std::string> one{"training.stop.updates=1", "workload.cost.bytes=" + digits(bytes) + "B"};
    std::vector<std::string> with_truth = truth;
    with_truth.insert(with_truth.end(), one.begin(), one.end());
    CHECK(test::simulated_seconds(pasted, one) == doctest::Approx(test::simulated_seconds(ping_pong, with_truth)).epsilon(1e-3));
  }
}

TEST_CASE("relative errors weigh small and large messages alike") {
  // Times 2 % above and below a line in turn: a fit of absolute errors would see the largest message alone.
  std::vector<TimedSize> points;
  double sign = 1;
  for (double bytes = 16; bytes < 2e7; bytes *= 2, sign = -sign) points.push_back({bytes, (50e-6 + bytes / 1e9) * (1 + 0.02 * sign)});
  const Line line = fit_line(points);
  CHECK(line.start == doctest::Approx(50e-6).epsilon(0.01));
  CHECK(line.slope == doctest::Approx(1e-9).epsilon(0.02));
  REQUIRE(line.start_error);
  CHECK(std::abs(line.start - 50e-6) < 3 * *line.start_error);
  CHECK(*line.start_error < 0.01 * line.start);
  CHECK(line.largest < 0.04);
}

TEST_CASE("a line is not taken below zero, nor split where it fits") {
  const std::vector<TimedSize> through_zero{{1, 1e-3}, {2, 2.1e-3}, {4, 4.5e-3}, {8, 9.3e-3}};
  CHECK(fit_line(through_zero).start == 0);
  CHECK(fit_line(through_zero).slope > 1e-3);
  const std::vector<TimedSize> falling{{1, 3e-3}, {2, 2.5e-3}, {4, 2e-3}};
  CHECK(fit_line(falling).slope == 0);
  std::vector<TimedSize> line;
  for (int i = 1; i <= 12; ++i) line.push_back({static_cast<double>(i), 1e-3 + i * 2e-3});
  CHECK(fit_pieces(line, 0.03).size() == 1);
  for (std::size_t i = 6; i < 12; ++i) line[i].seconds += 10e-3;
  const std::vector<Piece> pieces = fit_pieces(line, 0.03);
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[1].first == 6);
  CHECK(pieces[1].line.start == doctest::Approx(11e-3).epsilon(1e-6));
}

namespace {

std::string nccl(const std::string& hosts, double bus_factor, const char* operation, const char* root) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 67108864 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1\n#\n# Using devices\n";
  for (std::size_t rank = 0; rank < 4; ++rank)
    text += fmt::format("#  Rank  {} Group  0 Pid  10{} on  host{} device  {} [0x07] NVIDIA A100\n", rank, rank, hosts[rank], rank);
  text +=
      "#\n#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
  for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
    const double seconds = 6 * (7e-6 + bytes / 4 / 11e9);  // a ring of 4: 2 (4 - 1) steps of a quarter
    text += fmt::format("{:>12.0f} {:>12.0f} float {} {} {:.6f} {:.6f} {:.6f} 0 1.0 1.0 1.0 0\n", bytes, bytes / 4, operation, root,
                        seconds * 1e6, bytes / seconds / 1e9, bytes / seconds / 1e9 * bus_factor);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3\n";
}

}  // namespace

TEST_CASE("nccl-tests: a ring's steps become messages, within a host or between hosts") {
  const Files files;
  const YamlNode within = parsed(calibrate_text(files, nccl("aaaa", 1.5, "sum", "-1")).entries);
  CHECK(quantity(within, {"network", "intra", "bandwidth"}, Dimension::rate) == doctest::Approx(11e9).epsilon(1e-3));
  CHECK(quantity(within, {"network", "intra", "latency"}, Dimension::time) == doctest::Approx(7e-6).epsilon(1e-3));
  const YamlNode between = parsed(calibrate_text(files, nccl("abcd", 1.5, "sum", "-1")).entries);
  CHECK(quantity(between, {"network", "link", "latency"}, Dimension::time) == doctest::Approx(3.5e-6).epsilon(1e-3));
  // Send and receive: every time is one message's.
  const YamlNode pairs = parsed(calibrate_text(files, nccl("abcd", 1, "none", "-1")).entries);
  CHECK(quantity(pairs, {"network", "link", "latency"}, Dimension::time) == doctest::Approx(6 * 3.5e-6).epsilon(1e-3));
  CHECK(refusal(nccl("abcd", 0.5, "sum", "-1")).find("an operation that does not determine a link") != std::string::npos);
  CHECK(refusal(nccl("abcd", 1, "none", "0")).find("an operation that does not determine a link") != std::string::npos);
  std::string cut = nccl("abcd", 1.5, "sum", "-1");
  cut.resize(cut.find("1.0 1.0", cut.find("4096 ")));
  CHECK(refusal(cut).find(":13:1: has 9 fields where the first row has 13") != std::string::npos);
}

TEST_CASE("OSU latency: microseconds of one way, the empty message too") {
  const Files files;
  std::string text = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n";
  text += "0 12.000000\n";
  for (double bytes = 1; bytes <= 4194304; bytes *= 2) text += fmt::format("{:.0f} {:.6f}\n", bytes, 12 + bytes / 2.5e3);
  const YamlNode entries = parsed(calibrate_text(files, text).entries);
  CHECK(quantity(entries, {"network", "link", "latency"}, Dimension::time) == doctest::Approx(6e-6).epsilon(1e-3));
  CHECK(quantity(entries, {"network", "link", "bandwidth"}, Dimension::rate) == doctest::Approx(2.5e9).epsilon(1e-3));
  CHECK(refusal("# OSU MPI Latency Test v7.1\n# Size Latency (us)\n1 2.0\n2 x\n") ==
        "measured.csv:4:1: latency: 'x' is not a number; write a plain number such as 0.5");
  CHECK(refusal("# OSU MPI Latency Test v7.1\n1 2.0\n2\n").find("measured.csv:3:1: has a size and no latency") == 0);
}

TEST_CASE("times of batches: a line where one fits, a table where not, one device each") {
  const Files files;
  std::string text = "model,precision,batch,seconds,iqr_s,memory_bytes,device\n";
  for (const int batch : {1, 4, 16, 64, 256}) {
    text += fmt::format("resnet18,fp32,{},{},,,Xeon (2 cores)\n", batch, 2.5e-3 + 0.4e-3 * batch);
    text += fmt::format("mlp,fp16,{},{},,,Xeon (2 cores)\n", batch, std::max(3e-3, 0.1e-3 * batch));
  }
  const Calibration calibration = calibrate_text(files, text);
  const YamlNode entries = parsed(calibration.entries);
  REQUIRE(entries.find("devices")->keys.size() == 2);
  const YamlNode& affine = *entries.find("devices")->find("xeon-2-cores-resnet18-fp32");
  CHECK(quantity(affine, {"compute", "affine", "overhead"}, Dimension::time) == doctest::Approx(2.5e-3).epsilon(1e-4));
  CHECK(quantity(affine, {"compute", "affine", "per_sample"}, Dimension::time) == doctest::Approx(0.4e-3).epsilon(1e-4));
  CHECK(affine.find("jitter") == nullptr);
  const YamlNode& table = *entries.find("devices")->find("xeon-2-cores-mlp-fp16");
  CHECK(quantity(table, {"compute", "table", "16"}, Dimension::time) == doctest::Approx(3e-3));
  CHECK(quantity(table, {"compute", "table", "256"}, Dimension::time) == doctest::Approx(25.6e-3));
  // The entries are those of a scenario.
  std::string scenario = test::asynchronous();
  const std::size_t from = scenario.find("devices:"), to = scenario.find("cluster:");
  scenario.replace(from, to - from, calibration.entries);
  CHECK(test::simulated_seconds(scenario, {"cluster.workers[0].device=xeon-2-cores-resnet18-fp32", "training.batch.per_worker=100"}) > 0);
}

TEST_CASE("a device whose name is YAML's word for nothing gets another") {
  const Files files;
  const YamlNode entries = parsed(calibrate_text(files, "batch,seconds,device\n8,0.1,Null\n").entries);
  CHECK(entries.find("devices")->find("device-null") != nullptr);
}

TEST_CASE("the spread of repeats becomes a jitter of mean 1 and the time its mean") {
  const Files files;
  // Two batch sizes, each at exp(-d), 1 and exp(d) times its median: the pooled variance of the logarithms is 4 d² / 4.
  const double d = 0.2, medians[] = {0.010, 0.030};
  std::string text = "batch,seconds\n";
  for (int i = 0; i < 2; ++i)
    for (const double log : {-d, 0.0, d}) text += fmt::format("{},{}\n", i == 0 ? 10 : 30, digits(medians[i] * std::exp(log)));
  const YamlNode repeated = parsed(calibrate_text(files, text).entries);
  const YamlNode& node = *repeated.find("devices")->find("node");
  CHECK(parse_number(node.find("jitter")->find("sigma")->text) == doctest::Approx(d));
  CHECK(quantity(node, {"compute", "table", "10"}, Dimension::time) == doctest::Approx(0.010 * std::exp(d * d / 2)).epsilon(1e-4));
  // A lognormal's quartiles are exp(±0.6745 sigma) times its median.
  const double sigma = 0.1, range = std::exp(0.67449 * sigma) - std::exp(-0.67449 * sigma);
  text = fmt::format("batch,seconds,iqr_s\n10,0.01,{}\n30,0.03,{}\n", digits(0.01 * range), digits(0.03 * range));
  const YamlNode ranges = parsed(calibrate_text(files, text).entries);
  CHECK(parse_number(ranges.find("devices")->find("node")->find("jitter")->find("sigma")->text) == doctest::Approx(sigma).epsilon(1e-3));
}

TEST_CASE("outputs that are cut off anywhere give entries or an error, and nothing else") {
  const Files files;
  std::string osu = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n0 12.0\n64 12.5\n4096 20.0\n1048576 500.0\n";
  for (const std::string& text : {nccl("abcd", 1.5, "sum", "-1"), osu, std::string("batch,seconds,device\n1,0.1,a\n2,0.2,\"b, c\"\n")}) {
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      const std::string part = text.substr(0, cut);
      CAPTURE(part);
      CHECK_NOTHROW(refusal(part));
    }
  }
}

TEST_CASE("tables that cannot be calibrated from") {
  CHECK(refusal("bytes,time\n1,2\n") ==
        fmt::format("measured.csv: cannot be calibrated: its columns are bytes, time; give {}", fmt::join(measured_formats(), ", or ")));
  CHECK(refusal("bytes,seconds\n1,1e-6\n2,fast\n") ==
        "measured.csv:3:3: seconds: 'fast' is not a number; write a plain number such as 0.5");
  CHECK(refusal("bytes,seconds\n1,1e-6\n2,0\n") == "measured.csv:3:3: seconds: is not above 0; write what was measured");
  CHECK(refusal("batch,seconds\n1.5,1e-6\n").find("measured.csv:2:1: batch: is not a whole number") == 0);
  CHECK(refusal("bytes,seconds\n8,1e-6\n8,2e-6\n").find("measured.csv: has one message size") == 0);
  CHECK(refusal("bytes,seconds\n8,3e-6\n16,2e-6\n32,1e-6\n").find("measured.csv: shows no bandwidth") == 0);
  CHECK(refusal("bytes,seconds\n8,3e-6\n16") ==
        "measured.csv:3:1: the row has 1 cell and the header 2 columns; write one cell for each column (the "
        "file may be cut off)");
}

TEST_CASE("an exact fit has no uncertainty to print, a rough one has") {
  const Files files;
  std::string exact = "bytes,seconds\n", rough = exact;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    const double seconds = 100e-6 + bytes / 1e9;
    exact += digits(bytes) + "," + digits(seconds) + "\n";
    rough += digits(bytes) + "," + digits(seconds * (bytes == 1e4 ? 1.02 : 1)) + "\n";
  }
  const Calibration calibration = calibrate_text(files, exact);
  CHECK(calibration.table.find("alpha 100 us (exact to rounding), bandwidth 1 GB/s (exact to rounding);") != std::string::npos);
  CHECK(calibration.warnings.empty());
  CHECK(calibrate_text(files, rough).table.find("us +- ") != std::string::npos);
}

TEST_CASE("calibrations that cannot be trusted come with a warning") {
  const Files files;
  const auto warned = [&](const std::string& text) {
    std::string all;
    for (const std::string& warning : calibrate_text(files, "bytes,seconds\n" + text).warnings) all += warning + "\n";
    return all;
  };
  // Microseconds, 50 + bytes / 1000, taken for seconds.
  const std::string micros = warned("1000,51\n10000,60\n100000,150\n");
  CHECK(micros.find("a latency of 50 s: are the times in seconds?") == 0);
  // 0.5 s and 2 s a kilobyte.
  CHECK(warned("1000,2.5\n10000,20.5\n100000,200.5\n").find("a bandwidth of 500 B/s: are the sizes in bytes") != std::string::npos);
  const std::string jump = warned("1000,1e-4\n10000,1.1e-4\n100000,9e-4\n1000000,1.1e-3\n");
  CHECK(jump.find("no line fits these times: ") == 0);
  CHECK(std::count(jump.begin(), jump.end(), '\n') == 1);
}
