// `straggler run --replay`: which weights it gives, and what it refuses.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/program/small_scenario.hpp"
#include "tests/program/workplace.hpp"

namespace replay_program_test {

namespace fs = std::filesystem;
using straggler::test::small;
using straggler::test::Workplace;

TEST_CASE("a replay on another cluster has the weights of the run it replays; with a swapped pair of choices it has not") {
  const Workplace place;
  place.write("small.yaml", small);
  for (const char* scheme : {"asgd", "{kind: nonblocking, minibatch: 16}"}) {
    CAPTURE(scheme);
    const std::string set = " --set \"training.scheme=" + std::string(scheme) + "\"";
    REQUIRE(place.shell("straggler run small.yaml --out first --force" + set).code == 0);
    const std::string faster = set + " --set cluster.workers[1].slowdown=1 --set cluster.network.link.bandwidth=10Mbps";
    REQUIRE(place.shell("straggler run small.yaml --out other --force" + faster).code == 0);
    const auto replayed = place.shell("straggler run small.yaml --out replay --force --replay first" + faster);
    REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
    CHECK(place.summary("first")["weights_key"] == place.summary("replay")["weights_key"]);
    CHECK(place.read("first/model.safetensors") == place.read("replay/model.safetensors"));
    CHECK(place.summary("first")["weights_key"] != place.summary("other")["weights_key"]);
    CHECK(place.summary("first")["simulated_seconds"] != place.summary("replay")["simulated_seconds"]);
  }
  // Swap the server's first two arrivals that differ.
  REQUIRE(place.shell("straggler run small.yaml --out first --force").code == 0);
  std::istringstream lines(place.read("first/choices.csv"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  std::size_t previous = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].rfind("4,", 0) != 0) continue;
    if (previous > 0 && rows[previous] != rows[i]) {
      std::swap(rows[previous], rows[i]);
      break;
    }
    previous = i;
  }
  std::string swapped;
  for (const std::string& row : rows) swapped += row + "\n";
  place.write("first/choices.csv", swapped);
  const std::string key = place.summary("first")["weights_key"];
  REQUIRE(place.shell("straggler run small.yaml --out replay --force --replay first").code == 0);
  CHECK(place.summary("replay")["weights_key"] != key);
}

TEST_CASE("a replay of another program's run warns, and one of results of a later version is refused") {
  const Workplace place;
  place.write("small.yaml", small);
  REQUIRE(place.shell("straggler run small.yaml --out first --quiet").code == 0);
  const std::string again = "straggler run small.yaml --out replay --force --replay first";
  nlohmann::json info = nlohmann::json::parse(place.read("first/run.json"));
  CHECK(info["results"] == 1);
  CHECK(place.shell(again).err.find("warning") == std::string::npos);
  info["version"] = "0.0.1";
  place.write("first/run.json", info.dump());
  const auto warned = place.shell(again);
  CHECK(warned.code == 0);
  CHECK_MESSAGE(warned.err.find("warning: first/run.json: straggler 0.0.1 (") != std::string::npos, warned.err);
  CHECK(place.shell(again + " --quiet").err.empty());
  info["results"] = 2;
  place.write("first/run.json", info.dump());
  for (const std::string& command : {again + " --quiet", std::string("straggler report first"), std::string("straggler compare first")}) {
    const auto refused = place.shell(command);
    CHECK(refused.code == 2);
    CHECK(refused.err ==
          "straggler: first/run.json: these results have version 2 of the format; this program reads version 1; use the straggler that "
          "wrote them, or "
          "run the scenario again\n");
  }
}

TEST_CASE("a replay of another scenario is refused") {
  const Workplace place;
  place.write("small.yaml", small);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out first").code == 0);
  const auto done = place.shell("straggler run small.yaml --replay first --out r --set seed=4");
  CHECK(done.code == 2);
  CHECK(done.err.find("its seed differs") != std::string::npos);
  CHECK_FALSE(fs::exists(place.folder() / "r"));
  // A branch that a wait of two does not have.
  const std::string nonblocking = " --set \"training.scheme={kind: nonblocking, minibatch: 16}\"";
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out waits" + nonblocking).code == 0);
  place.write("waits/choices.csv", "process,choice\n0,3\n");
  const auto branch = place.shell("straggler run small.yaml --timing-only --replay waits --out r" + nonblocking);
  CHECK(branch.code == 2);
  CHECK_MESSAGE(branch.err.find("worker 0 is to take branch 3 of two") != std::string::npos, branch.err);
  CHECK_FALSE(fs::exists(place.folder() / "r"));
  place.write("first/choices.csv", "process,choice\n4,x\n");
  const auto broken = place.shell("straggler run small.yaml --replay first --out r");
  CHECK(broken.code == 2);
  CHECK(broken.err.find("choices.csv:2: '4,x' is not a choice") != std::string::npos);
}

TEST_CASE("a replay of a real run follows what its run.json says, and refuses what it cannot follow") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string ssgd = " --set training.scheme=ssgd";
  REQUIRE(place.shell("straggler run small.yaml --out first" + ssgd).code == 0);
  nlohmann::json info = nlohmann::json::parse(place.read("first/run.json"));
  CHECK_FALSE(info.contains("real"));
  const auto replay = [&](const nlohmann::json& said) {
    place.write("first/run.json", said.dump());
    return place.shell("straggler run small.yaml --out replay --force --replay first" + ssgd);
  };
  REQUIRE(replay(info).code == 0);
  CHECK(place.summary("replay")["weights_key"] == place.summary("first")["weights_key"]);

  // As if by real ranks: gradients one by one, summed around the ring, so that the final weights have another name.
  info["real"] = {{"ranks", 4}, {"compute", "emulated"}, {"reduction", "ring"}};
  REQUIRE(replay(info).code == 0);
  CHECK(place.summary("replay")["weights_key"] != place.summary("first")["weights_key"]);
  CHECK(place.summary("replay")["updates"] == place.summary("first")["updates"]);

  const auto refused = [&](const nlohmann::json& said, const std::string& why) {
    const auto done = replay(said);
    CHECK(done.code == 2);
    CHECK_MESSAGE(done.err.find(why) != std::string::npos, done.err);
  };
  nlohmann::json wrong = info;
  wrong["kernels"] = "abacus";
  refused(wrong, "was computed by the kernel set 'abacus'");
  wrong = info;
  wrong["real"]["reduction"] = "tree";
  refused(wrong, "real.reduction is 'tree'; a replay can follow 'ring'");
  wrong["real"] = {{"ranks", 4}};
  refused(wrong, "does not have the settings of the real run");
  place.write("first/run.json", "{");
  const auto broken = place.shell("straggler run small.yaml --out replay --force --replay first" + ssgd);
  CHECK(broken.code == 2);
  CHECK(broken.err.find("run.json: is not a JSON object") != std::string::npos);
}

TEST_CASE("a replay of a run that was stopped by its clock takes as many updates, if it was a real one") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string stop = " --set \"training.stop={simulated_time: 0.2s}\"";
  REQUIRE(place.shell("straggler run small.yaml --out first" + stop).code == 0);
  nlohmann::json info = nlohmann::json::parse(place.read("first/run.json"));
  info["real"] = {{"ranks", 5}, {"compute", "real"}, {"reduction", "ring"}};
  place.write("first/run.json", info.dump());
  REQUIRE(place.shell("straggler run small.yaml --out replay --replay first --set cluster.workers[0].slowdown=2" + stop).code == 0);
  CHECK(place.summary("replay")["updates"] == place.summary("first")["updates"]);
  CHECK(place.summary("replay")["weights_key"] == place.summary("first")["weights_key"]);
}

TEST_CASE("a replay of a real run that was interrupted ends where that did") {
  const Workplace place;
  place.write("small.yaml", small);
  const std::string stop = " --set training.stop.updates=";
  REQUIRE(place.shell("straggler run small.yaml --out first" + stop + "7").code == 0);
  nlohmann::json info = nlohmann::json::parse(place.read("first/run.json"));
  info["real"] = {{"ranks", 5}, {"compute", "emulated"}, {"reduction", "ring"}};
  place.write("first/run.json", info.dump());
  const std::string again = "straggler run small.yaml --out replay --force --replay first" + stop;
  REQUIRE(place.shell(again + "60").code == 0);
  CHECK(place.summary("replay")["updates"] == 7);
  CHECK(place.summary("replay")["weights_key"] == place.summary("first")["weights_key"]);
  REQUIRE(place.shell(again + "3").code == 0);
  CHECK(place.summary("replay")["updates"] == 3);

  // Without its last choices the replay would be free, and end elsewhere: it says so.
  const auto warned = [&] { return place.shell(again + "7").err.find("ends with other weights than the real run") != std::string::npos; };
  CHECK_FALSE(warned());
  place.write("first/choices.csv", "process,choice\n4,2\n4,0\n");
  CHECK(warned());

  nlohmann::json none = place.summary("first");
  none["updates"] = 0;
  place.write("first/summary.json", none.dump());
  const auto empty = place.shell(again + "60");
  CHECK(empty.code == 2);
  CHECK_MESSAGE(empty.err.find("ended before its first update") != std::string::npos, empty.err);
}

}  // namespace replay_program_test
