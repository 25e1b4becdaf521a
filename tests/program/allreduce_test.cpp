// `straggler allreduce` against the closed forms of docs/model.md, and nccl-tests' definition of its bandwidths.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace allreduce_test {

using namespace straggler::test;

namespace {

struct Cell {
  double us, algbw, busbw;
};
/// [algorithm][bytes]; every count is checked to be bytes / 4.
using Table = std::map<std::string, std::map<double, Cell>>;

Table table_of(const std::string& out) {
  Table table;
  std::vector<std::string> algorithms;
  std::istringstream lines(out);
  std::string before, line;
  for (; std::getline(lines, line); before = line) {
    std::istringstream words(line);
    if (has(line, "# ") && has(line, " size ") && has(line, " count ")) {
      algorithms.clear();
      std::istringstream names(before.substr(1));
      for (std::string name; names >> name;) algorithms.push_back(name);
    }
    if (line.empty() || line[0] == '#') continue;
    double bytes = 0, count = 0;
    words >> bytes >> count;
    CHECK(count == bytes / 4);
    for (const std::string& name : algorithms) {
      Cell cell{};
      words >> cell.us >> cell.algbw >> cell.busbw;
      CHECK(bool(words));
      table[name][bytes] = cell;
    }
  }
  return table;
}

// Message latency: two links of 5 us; bytes: 100 Gbit/s; inside a host 2 us and 100 GB/s (see allreduce --help).
constexpr double a = 10e-6, b = 1 / 12.5e9, ai = 2e-6, bi = 1 / 100e9;

}  // namespace

TEST_CASE("16 ranks on links of their own: the closed forms to 1 %, bandwidths as nccl-tests defines them") {
  const Workplace place;
  for (const char* more : {"", " --set cluster.network.collective.fidelity=stepwise"}) {
    const auto done = place.shell("straggler allreduce --ranks 16 --sizes 4B..64MiB" + std::string(more));
    REQUIRE_MESSAGE(done.code == 0, done.err);
    Table table = table_of(done.out);
    CHECK(table.at("ring").size() == 25);
    CHECK_FALSE(table.contains("parameter_server"));
    CHECK(has(done.out, "# left out: parameter_server, which needs"));
    const std::map<std::string, double (*)(double)> forms = {
        {"ring", [](double n) { return 30 * a + 2 * 15.0 / 16 * n * b; }},
        {"halving_doubling", [](double n) { return 8 * a + 2 * 15.0 / 16 * n * b; }},
        {"recursive_doubling", [](double n) { return 4 * (a + n * b); }},
        {"binomial_tree", [](double n) { return 8 * (a + n * b); }},
    };
    for (const auto& [name, seconds] : forms)
      for (const auto& [bytes, cell] : table.at(name)) {
        const auto& this_name = name;  // clang 14 captures no structured binding
        CAPTURE(this_name);
        const auto& this_bytes = bytes;  // clang 14 captures no structured binding
        CAPTURE(this_bytes);
        CHECK(cell.us == doctest::Approx(1e6 * seconds(bytes)).epsilon(0.01));
        const double algbw = bytes / (cell.us * 1e-6) / 1e9, half_a_cent = 0.0051;
        CHECK(std::abs(cell.algbw - algbw) < half_a_cent + 1e-3 * algbw);
        CHECK(std::abs(cell.busbw - algbw * 2 * 15 / 16) < half_a_cent + 1e-3 * algbw);
      }
  }
}

TEST_CASE("an all-gather or a reduce-scatter: half of an all-reduce's steps and of its busbw") {
  const Workplace place;
  const double p = 16;
  for (const std::string collective : {"all_gather", "reduce_scatter"}) {
    for (const char* more : {"", " --set cluster.network.collective.fidelity=stepwise"}) {
      const auto done = place.shell("straggler allreduce --ranks 16 --sizes 4B..64MiB --collective " + collective + more);
      CAPTURE(collective);
      REQUIRE_MESSAGE(done.code == 0, done.err);
      CHECK(done.out.starts_with(collective == "all_gather" ? "# all-gather (float) of 16 ranks on 16 hosts, "
                                                            : "# reduce-scatter (float, sum) of 16 ranks on 16 hosts, "));
      CHECK(has(done.out, "# nccl takes PAT, Simple from 4 B; ring, Simple from "));  // one rank a host
      Table table = table_of(done.out);
      CHECK(table.size() == 5);
      const std::map<std::string, double> rounds = {{"ring", 15}, {"hierarchical", 15}, {"halving_doubling", 4}, {"bruck", 4}};
      for (const auto& [name, count] : rounds)
        for (const auto& [n, cell] : table.at(name)) {
          CHECK(cell.us == doctest::Approx(1e6 * (count * a + (p - 1) / p * n * b)).epsilon(0.01));
          const double algbw = n / (cell.us * 1e-6) / 1e9;
          CHECK(std::abs(cell.busbw - algbw * (p - 1) / p) < 0.0051 + 1e-3 * algbw);
        }
    }
  }
  const auto six = place.shell("straggler allreduce --ranks 6 --collective all_gather --sizes 1MiB");
  CHECK(has(six.out, "# left out: halving_doubling, which needs a number of workers that is a power of two, not 6; bruck takes any\n"));
}

TEST_CASE("64 ranks, eight a host: a ring runs at the hosts' links, hierarchical as its formula says") {
  const Workplace place;
  const auto done = place.shell("straggler allreduce --ranks 64 --per-host 8 --sizes 1MiB..1GiB --algorithms ring,hierarchical");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(has(done.out, "# all-reduce (float, sum) of 64 ranks on 8 hosts, each as one flow\n"));
  Table table = table_of(done.out);
  REQUIRE(table.size() == 2);
  const double p = 64, g = 8, m = 8;
  for (const auto& [n, cell] : table.at("ring"))
    CHECK(cell.us == doctest::Approx(1e6 * (2 * (p - 1) * a + 2 * (p - 1) / p * n * b)).epsilon(0.01));
  for (const auto& [n, cell] : table.at("hierarchical"))
    CHECK(cell.us ==
          doctest::Approx(1e6 * (2 * (g - 1) * ai + 2 * (g - 1) / g * n * bi + 2 * (m - 1) * a + 2 * (m - 1) / m * n * b)).epsilon(0.01));
  // On large messages the bus bandwidth of a ring is that of the slowest link.
  CHECK(table.at("ring").at(1073741824.0).busbw == doctest::Approx(12.5).epsilon(0.01));
}

TEST_CASE("racks with a core of their own bandwidth and latency: a ring runs at the core, in both fidelities") {
  const Workplace place;
  const double core = 125e6, core_latency = 1e-3, n = 44'695'848, p = 4;  // ranks 0 and 1 in one rack, 2 and 3 in the other
  for (const char* const fidelity : {"fluid", "stepwise"}) {
    const auto done = place.shell(
        "straggler allreduce --ranks 4 --sizes 44695848 --algorithms ring --set cluster.network.collective.fidelity=" +
        std::string(fidelity) + " --set \"cluster.network.topology={kind: two_level, racks: 2, bandwidth: 1Gbps, latency: 1ms}\"");
    CAPTURE(fidelity);
    REQUIRE_MESSAGE(done.code == 0, done.err);
    // Each round's slowest message goes over two cards of 5 us and both cables of the core.
    CHECK(table_of(done.out).at("ring").at(n).us ==
          doctest::Approx(1e6 * 2 * (p - 1) * (a + 2 * core_latency + n / p / core)).epsilon(0.01));
  }
}

TEST_CASE("sizes in options count bytes without a unit") {
  const Workplace place;
  const std::string command = "straggler allreduce --ranks 8 --algorithms ring --sizes ";
  const std::pair<const char*, const char*> same[] = {{"44695848", "44695848B"}, {"1000..4000", "1kB..4kB"}, {"1e6", "1MB"}};
  for (const auto& [plain, with_unit] : same) {
    const auto one = place.shell(command + plain), other = place.shell(command + with_unit);
    REQUIRE_MESSAGE(one.code == 0, one.err);
    CHECK(one.out == other.out);
  }
  place.write("small.yaml", small_cluster + R"(workload: {model: {kind: mlp, hidden: [8]}, data: {kind: coordinates, samples: 100}}
training: {scheme: ssgd, batch: {per_worker: 5}, optimizer: {learning_rate: 0.1}, stop: {updates: 2}}
)");
  CHECK(place.shell("straggler run small.yaml --out enough --memory 200000000").code == 0);
  const auto refused = place.shell("straggler run small.yaml --out less --memory 1000");
  CHECK(refused.code == 3);
  CHECK(has(refused.err, "the memory budget of 1 kB is too small"));
}

TEST_CASE("a scenario gives the cluster, with its workers or another number, under any training") {
  const Workplace place;
  place.write("small.yaml", small_cluster + R"(workload: {model: mlp, data: {kind: fashion_mnist, path: nowhere}}
training: {scheme: {kind: nonsense}}
)");
  const auto own = place.shell("straggler allreduce --scenario small.yaml --sizes 1MB --algorithms ring");
  REQUIRE_MESSAGE(own.code == 0, own.err);
  // Three workers at 1 MB/s, 2 ms a message: 4 rounds of a third.
  CHECK(table_of(own.out).at("ring").at(1e6).us == doctest::Approx(1e6 * (4 * 2e-3 + 4.0 / 3)).epsilon(0.01));
  const auto five = place.shell("straggler allreduce --scenario - --ranks 5 --sizes 1MB --algorithms ring,parameter_server < small.yaml");
  REQUIRE_MESSAGE(five.code == 0, five.err);
  CHECK(table_of(five.out).at("ring").at(1e6).us == doctest::Approx(1e6 * (8 * 2e-3 + 8.0 / 5)).epsilon(0.01));
  CHECK(table_of(five.out).at("parameter_server").at(1e6).us == doctest::Approx(1e6 * 2 * (2e-3 + 5)).epsilon(0.01));  // one server's link
}

TEST_CASE("wrong arguments of allreduce get one line") {
  const Workplace place;
  const std::pair<const char*, const char*> wrong[] = {
      {"", "--ranks N is missing; or name a cluster with --scenario FILE"},
      {"--ranks 1", "--ranks is '1'; it must be a whole number of at least 2"},
      {"--ranks 8 --per-host 16", "--per-host is 16; it must be at most --ranks, 8"},
      {"--ranks 8 --sizes 1GiB..1MiB", "--sizes 1GiB..1MiB: ends below its beginning; write the smaller size first"},
      {"--ranks 8 --sizes 1..2", "--sizes 1..2: 1 is out of range"},
      {"--ranks 8 --sizes 1e6x", "--sizes 1e6x: '1e6x' has an unknown unit"},
      {"--ranks 8 --sizes -5", "--sizes -5: "},
      {"--ranks 8 --sizes 1B", "--sizes 1B: 1B is out of range"},
      {"--ranks 8 --algorithms rings", "did you mean"},
      {"--ranks 8 --collective all_gather --algorithms binomial_tree", "--algorithms"},
      {"--ranks 8 --collective allgather", "did you mean 'all_gather'?"},
      {"--ranks 9 --per-host 2 --algorithms hierarchical", "--algorithms: hierarchical "},
  };
  for (const auto& [arguments, says] : wrong) {
    const auto done = place.shell("straggler allreduce " + std::string(arguments));
    const auto& this_arguments = arguments;  // clang 14 captures no structured binding
    CAPTURE(this_arguments);
    CHECK(done.code == 2);
    CHECK(done.out == "");
    CHECK_MESSAGE(has(done.err, says), done.err);
    CHECK(count(done.err, "\n") == 1);
  }
}

TEST_CASE("check shows a library's choice, and the time of every algorithm") {
  const Workplace place;
  place.write("small.yaml", small_cluster + R"(
workload: {model: {kind: mlp, hidden: [16]}, data: {kind: coordinates, samples: 1200, test_samples: 300}}
training: {scheme: ssgd, batch: {per_worker: 20}, optimizer: {kind: sgd, learning_rate: 0.5}, stop: {epochs: 1}}
)");
  const std::string sets = " --set cluster.network.collective.algorithm=nccl";
  const auto lines = place.shell("straggler check small.yaml" + sets), typed = place.shell("straggler check small.yaml --json" + sets);
  REQUIRE_MESSAGE(lines.code == 0, lines.err);
  const nlohmann::json all = nlohmann::json::parse(typed.out);
  const std::string told = all["all_reduce"];
  CHECK(told.starts_with("nccl: "));
  CHECK(has(lines.out, "all-reduce        " + told + "\n"));
  CHECK(all["all_reduce_bytes"] == all["message_bytes"]);
  double last = 0;
  std::size_t libraries = 0;
  for (const nlohmann::json& each : all["all_reduce_alone"]) {
    CHECK(has(lines.out, "\n    " + each["name"].get<std::string>() + " "));
    CHECK(each["alone_s"] >= last);
    last = each["alone_s"];
    if (each["choice"].is_null()) continue;
    ++libraries;
    if (each["name"] == "nccl") CHECK("nccl: " + each["choice"].get<std::string>() == told);
  }
  CHECK(libraries == 4);
  const auto wrong = place.shell("straggler check small.yaml --set cluster.network.collective.algorithm=ncl");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "did you mean 'nccl'?"));
  const auto table = place.shell("straggler allreduce --ranks 4 --sizes 4B..256MiB --algorithms nccl,openmpi");
  CHECK(has(table.out, "# nccl takes "));
  CHECK(has(table.out, " from 4 B; "));
  CHECK(has(table.out, "# openmpi takes recursive_doubling from 4 B; halving_doubling from 8192 B\n"));
}

TEST_CASE("allreduce --measured: expected, measured, their ratio, and what limits them") {
  const Workplace place;
  // Half of 80 Gbit/s: twice the expected time.
  place.write("bw.out", "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1048576  5000.00\n4194304  5000.00\nwall time 3 s\n");
  const auto done = place.shell("straggler allreduce --measured bw.out --set cluster.network.link.bandwidth=80Gbps");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(has(done.out, "       1048576        209.7        104.9     2.00   links between hosts\n"));
  CHECK(has(done.out, "from 1 MiB on: takes 2.00 times as long as expected, from 2.00 ("));
  CHECK(!has(done.out, "assumed"));
  const auto guessed = place.shell("straggler allreduce --measured bw.out").out;
  CHECK(has(guessed, "# between hosts: 12.5 GB/s, latency 10 us; assumed: give yours"));
  CHECK(!has(guessed, "the cluster that is expected"));
  // Messages of less than a latency: what the model does not have.
  place.write("small.out", "# OSU MPI Bandwidth Test v5.8\n1 0.78\n1024 700\n524288 10000.00\n");
  const auto small = place.shell("straggler allreduce --measured small.out --set cluster.network.link.bandwidth=80Gbps").out;
  CHECK(has(small, "2 sizes below the latency of a message: no verdict\nbelow 1 MiB: is as expected (ratio 1.00)\n"));
  // A median that does not speak for a row.
  place.write("mixed.out", "# OSU MPI Bandwidth Test v5.8\n1048576 10000\n2097152 10000\n4194304 5000\n");
  CHECK(has(place.shell("straggler allreduce --measured mixed.out --set cluster.network.link.bandwidth=80Gbps").out,
            "in the median, from 1.00 (1048576 B) to 2.00 (4194304 B)"));
  place.write("sum.out", "# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n1048576     2616.71\n");
  const auto unknown = place.shell("straggler allreduce --measured sum.out");
  CHECK(unknown.code == 2);
  CHECK(has(unknown.err, "--ranks N is missing: the table does not say how many made it"));
  CHECK(
      has(place.shell("straggler allreduce --measured sum.out --ranks 16 --per-host 8 --machine dgx_a100").out, "of 16 ranks on 2 hosts"));
  CHECK(has(place.shell("straggler allreduce --measured sum.out --ranks 16").out, "a rank on each host; give --per-host N"));
  CHECK(has(place.shell("straggler allreduce --measured bw.out --machine h100").err, "known: dgx_h100, "));
  CHECK(place.shell("straggler allreduce --measured bw.out --sizes 1MiB").code == 2);
  // Its bandwidths are those of 16 ranks; where they were, no line says.
  place.write("ranks.log",
              "# nThread 1 nGpus 1\n#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
              "16777216 262144 float none -1 100.0 167.77 157.29 0 100.0 167.77 157.29 0\n");
  const auto placed = place.shell("straggler allreduce --measured ranks.log --machine dgx_h100").out;
  CHECK(has(placed, "all-gather of 16 ranks on 1 host"));
  CHECK(has(placed, "# assumed: all ranks on one host, since the table names none; give --per-host N\n"));
  CHECK(!has(place.shell("straggler allreduce --measured ranks.log --machine dgx_h100 --per-host 8").out, "all ranks on one host"));
  place.write("none.txt", "nothing\n");
  CHECK(has(place.shell("straggler allreduce --measured none.txt").err, "none.txt: has no table of nccl-tests"));
}

}  // namespace allreduce_test
