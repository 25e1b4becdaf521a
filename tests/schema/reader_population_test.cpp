// Population files: what their rows mean, and what is wrong with them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "scenarios/schema/writer.hpp"
#include "tests/schema/reader_fixture.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using namespace straggler::test;

namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, with one file in it.
struct Population {
  const TemporaryFolder scratch;
  const fs::path& folder = scratch.path();
  const fs::path file = folder / "devices.csv";
  explicit Population(const std::string& text) { scratch.write("devices.csv", text); }

  Scenario read(std::vector<std::string> sets = {}) const {
    sets.insert(sets.begin(), "cluster.workers=[{device: node, population: " + file.string() + "}]");
    return test::read(good, sets);
  }
  std::vector<std::string> errors(std::vector<std::string> sets = {}, const ReadOptions& with = options()) const {
    sets.insert(sets.begin(), "cluster.workers=[{device: node, population: " + file.string() + "}]");
    try {
      read_scenario_text(good, "dir/good.yaml", sets, with);
    } catch (const ScenarioErrors& refused) {
      return refused.lines();
    }
    return {};
  }
};

/// What is wrong with that file, without the place in the scenario and the file's folder: "3:1: slowdown: …".
std::vector<std::string> wrong(const std::string& text, const std::vector<std::string>& sets = {}, const ReadOptions& with = options()) {
  const Population population(text);
  std::vector<std::string> all = population.errors(sets, with);
  const std::string place = ": cluster.workers[0].population: " + population.file.string();
  for (std::string& line : all) {
    const std::size_t at = line.find(place);
    REQUIRE_MESSAGE(at != std::string::npos, line);
    CHECK(line.starts_with("--set cluster.workers=["));
    CHECK(line.find("; ") != std::string::npos);
    line = line.substr(at + place.size() + 1);
  }
  return all;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("one row a worker, with units as in the scenario, and the count from the file") {
  const Population population(
      "\xef\xbb\xbf# a population\r\n"
      "\r\n"
      "slowdown, per_sample ,bandwidth,latency   # names\r\n"
      "1.5,0.1ms,10Mbps,20ms\r\n"
      "  # nothing\r\n"
      " 2 , 200 us, 1MB/s,\r\n"
      ",,,");  // no line end
  const Scenario s = population.read();
  const WorkerGroup& group = s.cluster.workers[0];
  CHECK(group.count == 3);
  CHECK(s.workers() == 3);
  CHECK(group.population == population.file);
  REQUIRE(group.rows.size() == 3);
  // The overhead is the device's: `node` is affine with 2 ms. Links stand on the network's: 1 Gbps, 50 us.
  DeviceRow first;
  first.slowdown = 1.5;
  first.overhead = 2e-3;
  first.per_sample = 1e-4;
  first.link = link(10e6 / 8, 20e-3);
  CHECK(group.rows[0] == first);
  DeviceRow second;
  second.slowdown = 2;
  second.overhead = 2e-3;
  second.per_sample = 2e-4;
  second.link = link(1e6, 50e-6);
  CHECK(group.rows[1] == second);
  CHECK(group.rows[2] == DeviceRow{});  // as the group
  CHECK(population.read({"cluster.workers[0].count=7"}).cluster.workers[0].count == 7);
  CHECK(population.read({"cluster.workers[0].count=7"}).cluster.workers[0].rows.size() == 3);
}

TEST_CASE("rows build on the group's own device and link") {
  const Population population("per_sample,up\n1ms,5Mbps\n,\n");
  const Scenario s = population.read(
      {"cluster.workers[0].device=v100", "cluster.workers[0].link={bandwidth: 20Mbps, latency: 10ms, burst: 64KiB, peak: 1Gbps}"});
  const WorkerGroup& group = s.cluster.workers[0];
  CHECK(group.rows[0].overhead == 0.0);  // a table has none to keep
  CHECK(group.rows[0].per_sample == 1e-3);
  REQUIRE(group.rows[0].link);
  LinkSpec expected = *group.link;
  expected.up = 5e6 / 8;
  CHECK(group.rows[0].link == expected);
  CHECK(expected.down == 20e6 / 8);
  CHECK(group.rows[1] == DeviceRow{});
}

TEST_CASE("a population round-trips by its file") {
  const Population population("slowdown,overhead,down\n1,5ms,1Gbps\n3,,\n");
  const Scenario s = population.read({"cluster.workers[0].count=5"});
  const std::string text = write_scenario(s, vocabulary());
  CHECK(text.find("- {count: 5, device: node, slowdown: 1, per_host: 1, waiting: yield, population: \"" + population.file.string() +
                  "\"}") != std::string::npos);
  const Scenario again = test::read(text);
  CHECK(again == s);
  CHECK(write_scenario(again, vocabulary()) == text);
}

TEST_CASE("a relative path starts from the folder of the scenario") {
  const Population population("slowdown\n2\n");
  std::string text = good;
  text.replace(text.find("{count: 6, device: node}"), 24, "{device: node, population: ./devices.csv}");
  const Scenario s = read_scenario_text(text, population.folder / "scenario.yaml", {}, options());
  CHECK(s.cluster.workers[0].count == 1);
  CHECK(s.cluster.workers[0].rows[0].slowdown == 2);
  CHECK(s.cluster.workers[0].population == population.file);
}

TEST_CASE("wrong files are refused with line, column and name") {
  CHECK(wrong("slowdown,bandwidth\n1,10\n") == Lines{"2:3: bandwidth: 10 has no unit; write 10B/s, 10kB/s, 10MB/s, 10GB/s, 10TB/s, "
                                                     "10KiB/s, 10MiB/s, 10GiB/s, 10bps, 10kbps, 10Mbps, "
                                                     "10Gbps or 10Tbps"});
  CHECK(wrong("# x\nslowdown\n\n  -1\n") == Lines{"4:3: slowdown: -1 is out of range; it must be at least 1e-6, at most 1e6"});
  CHECK(wrong("slowdown\n1\nabc\n0\n").size() == 2);
  CHECK(wrong("slowdown\nnan\n") == Lines{"2:1: slowdown: 'nan' is not finite; write a plain number such as 0.5"});
  CHECK(wrong("overhead,per_sample\n1ms,-1us\n") == Lines{"2:5: per_sample: '-1us' is negative; write a time of 0 or more"});
  CHECK(wrong("slowdown,latency\n1\n") ==
        Lines{"2:1: has 1 fields where the header has 2; write one for each column, empty where the group's value holds"});
  CHECK(wrong("slowdown\n1,2\n") ==
        Lines{"2:1: has 2 fields where the header has 1; write one for each column, empty where the group's value holds"});
  CHECK(wrong("slowdown,bandwith\n1,1Gbps\n") ==
        Lines{"1:10: unknown column 'bandwith'; did you mean 'bandwidth'? known: bandwidth, batch, slowdown and 5 more"});
  CHECK(wrong("1,2\n3,4\n").size() == 2);  // no header
  CHECK(wrong("slowdown,up,slowdown\n1,1Gbps,1\n") == Lines{"1:13: the column slowdown stands there twice; keep one"});
  CHECK(wrong("overhead,per_sample\n0s,0s\n") == Lines{"2:1: a batch takes no time at all; write an overhead or a per_sample above 0s"});
  CHECK(wrong("bandwidth,up,down\n1Gbps,1Gbps,1Gbps\n") ==
        Lines{"2:1: has bandwidth beside up and down, which already give both directions; keep bandwidth, or up and down"});
  CHECK(wrong("bandwidth,up,down\n1Gbps,1Gbps,\n").empty());
  CHECK(wrong("up\n1Mbps\n", {"cluster.network.link.duplex=half"}) ==
        Lines{"2:1: has up 1Mbps and down 1Gbps, and with duplex: half both directions share one bandwidth; write bandwidth alone"});
  CHECK(wrong("bandwidth\n5Gbps\n", {"cluster.network.link.burst=1MiB", "cluster.network.link.peak=2Gbps"}) ==
        Lines{"2:1: the bandwidth is not below the peak of the group's link; write a lower one, or a higher peak there"});
  const Lines nothing = {" has no rows; write a header such as slowdown,bandwidth and one row a worker below it"};
  CHECK(wrong("") == nothing);
  CHECK(wrong("# slowdown\n") == nothing);
  CHECK(wrong("slowdown\n\n# 1\n") == nothing);
}

TEST_CASE("hostile files are refused within bounds") {
  std::string many = "slowdown\n";
  for (int i = 0; i < 1000; ++i) many += "x\n";
  const Lines lines = wrong(many);
  CHECK(lines.size() == 21);
  CHECK(lines.back() == " there may be more errors than these 20; correct them first");
  CHECK(wrong("slowdown\n" + std::string(20'000, '1') + "\n") ==
        Lines{"2:10000: the line is longer than 10000 bytes; write one row a line"});
  CHECK(wrong(std::string("slowdown\n1\0 2\n", 14)) ==
        Lines{"2:1: slowdown: '1\\x00 2' is not a plain number; write it without '\\x00 2'"});
  std::string header = "a";
  for (int i = 0; i < 3000; ++i) header += ",a";
  CHECK(wrong(header + "\n1\n").size() <= 21);
  ReadOptions little = options();
  little.memory = 100 * sizeof(DeviceRow);
  little.bytes_per_worker = 1;
  std::string rows = "slowdown\n";
  for (int i = 0; i < 100; ++i) rows += "1\n";
  CHECK(wrong(rows, {}, little).empty());
  rows += "1\n";
  const Lines full = wrong(rows, {}, little);
  REQUIRE(full.size() == 1);
  CHECK(full[0].starts_with("102:1: there are more rows than memory holds ("));
  CHECK(full[0].ends_with("; write at most 100"));
  little.bytes_per_worker = 2 * sizeof(DeviceRow);  // the workers that the file stands for must fit too
  const Population half(rows.substr(0, rows.size() - 2 * 41));
  const Lines workers = half.errors({}, little);
  REQUIRE(workers.size() == 1);
  CHECK(workers[0].find("cluster.workers[0].count: 60 workers would take at least") != std::string::npos);
}

TEST_CASE("a scenario's populations have a million rows at most, in all files together") {
  std::string rows = "slowdown\n";
  for (int i = 0; i < 600'000; ++i) rows += "1\n";
  CHECK(wrong(rows).empty());
  // Rows 2 to 600,001 of each file are devices; the second file may have 400,000, so the next one stands in its line 400,002.
  const Population population(rows);
  const std::string group = "{device: node, population: " + population.file.string() + "}";
  const Lines refused = population.errors({"cluster.workers=[" + group + ", " + group + "]"});
  REQUIRE(refused.size() == 1);
  CHECK(
      refused[0].ends_with(":400002:1: there are more than 1000000 rows in the scenario's populations; write fewer, and a count of "
                           "workers, for which rows repeat"));
}

TEST_CASE("a population file has 256 MiB at most, whatever is in it") {
  std::string comments;
  const std::string comment = "#" + std::string(9'998, 'c') + "\n";  // 10,000 bytes
  // 268,435,456 / 10,000 = 26,843.5: line 26,844 goes beyond.
  comments.reserve(26'850 * comment.size());
  for (int i = 0; i < 26'850; ++i) comments += comment;
  CHECK(wrong(comments) == Lines{"26844:1: the file is larger than 256 MiB; leave out what is no device"});
}

TEST_CASE("paths that are no files") {
  const auto of = [](const std::string& path) {
    const Lines lines = errors(good, {"cluster.workers[0].population=" + path});
    REQUIRE(lines.size() == 1);
    return lines[0].substr(("--set cluster.workers[0].population=" + path + ": cluster.workers[0].population: ").size());
  };
  CHECK(of("/no/such.csv") == "/no/such.csv: cannot be read: No such file or directory; give the path of a CSV file with one device a row");
  CHECK(of("/") == "/: is a folder; give the path of a CSV file with one device a row");
  CHECK(of("''") == "is not a path; write the path of a file or folder");
  CHECK(of("[a]") == "is a list; write a path");
  CHECK(of("/dev/zero").find("the line is longer than 10000 bytes") != std::string::npos);
}
