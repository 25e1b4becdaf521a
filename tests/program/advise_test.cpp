// `straggler advise`: its table, on scenarios and on folders of imports, and what it refuses.
#include <doctest/doctest.h>

#include <regex>

#include "tests/program/workplace.hpp"

namespace straggler::test {
namespace {

TEST_CASE("advise writes its table, prints three lists, and is the same each time") {
  const Workplace place;
  place.write("small.yaml", small_cluster + R"(workload: {model: softmax, data: {kind: coordinates, samples: 1000, test_samples: 100}}
training:
  scheme: ssgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 40}
)");
  const auto done = place.shell("straggler advise small.yaml --timing-only");
  CHECK(done.code == 0);
  for (const char* const title : {"B. Same machines, other learning", "C. Other machines", "--set training.batch.per_worker="})
    CHECK_MESSAGE(done.out.find(title) != std::string::npos, title);
  const auto files = place.files("results/small-advise");
  CHECK(files.size() == 3);
  const auto json = nlohmann::json::parse(files.at("advise.json"));
  CHECK(json["noise_scale"].is_null());
  CHECK(json["remedies"].size() > 5);
  CHECK(files.at("advise.csv").find("left out") == std::string::npos);
  CHECK(place.shell("straggler advise small.yaml --timing-only --threads 1").out == done.out);
  const auto all = place.shell("straggler advise small.yaml --timing-only --all");
  CHECK(all.out.find("\nLeft out\n") != std::string::npos);
  CHECK(place.files("results/small-advise").at("advise.csv").find("left out: ") != std::string::npos);

  // With the math: the noise scale, and the race that shows what a remedy does to learning.
  const auto learned = place.shell("straggler advise small.yaml --only batch --json");
  CHECK(learned.code == 0);
  const auto facts = nlohmann::json::parse(learned.out);
  CHECK(facts["noise_scale"].get<double>() > 0);
  const std::string race = facts["remedies"][0]["race"];
  CHECK(race.starts_with("straggler race small.yaml --schemes ssgd --entrant "));
  CHECK(place.shell(race + " --seeds 2 --out race --no-store --quiet").code == 0);

  const auto by = place.shell("straggler advise small.yaml --timing-only --by price");
  CHECK(by.code == 2);
  CHECK(by.err.find("--by price: needs a price, and the scenario has none; write devices.") != std::string::npos);
  CHECK(place.shell("straggler advise small.yaml --timing-only --by time").code == 3);
  const auto only = place.shell("straggler advise small.yaml --only bach");
  CHECK(only.code == 2);
  CHECK(only.err.find("did you mean 'batch'?") != std::string::npos);
  CHECK(place.shell("straggler run small.yaml --out run --timing-only").code == 0);
  CHECK(place.shell("straggler advise small.yaml --timing-only --out run").code == 2);
}

TEST_CASE("advise takes the folder of an import: a slow rank, and a table that tells only who is late") {
  const Workplace place;
  place.write("ranks.csv", "rank,step,seconds\n0,1,1.0\n1,1,1.5\n2,1,1.0\n3,1,1.0\n");
  REQUIRE(place.shell("straggler import ranks.csv --out job").code == 0);
  const auto done = place.shell("straggler advise job");
  CHECK(done.code == 0);
  CHECK(done.out.find("First, replace_slow (worker 1 (rank1)): +50 % samples per second, an update takes 1 s instead of 1.5 s.\n") !=
        std::string::npos);
  // The table does not hold the exchange, so no sentence calls it measured. Remedies that lose say how much.
  CHECK(done.out.find("all-reduces are measured") == std::string::npos);
  CHECK(done.out.find("their times are measured") == std::string::npos);
  CHECK(done.out.find("Missing: what the ranks exchange") != std::string::npos);
  CHECK(done.out.find("What would not help: batch, accumulate and local_steps.\n") != std::string::npos);
  // Each import's folder has its advice, whatever the name in its scenario is.
  CHECK(done.out.find("results in results/job-advise\n") != std::string::npos);
  place.write("three.csv", "rank,step,seconds\n0,1,1.0\n1,1,1.4\n2,1,1.0\n");
  const auto other = place.shell("straggler import three.csv --out other-import && straggler advise other-import/");
  REQUIRE(other.code == 0);
  CHECK(std::regex_search(other.out, std::regex(R"(What would not help: .*wait_for_k \(-7\.6 %\)\.)")));
  CHECK(place.files("results/other-advise").contains("advise.csv"));
  CHECK(done.out.find("Slow workers bind") != std::string::npos);
  place.write("figures/import.json", R"({"format": "ranks", "waits_s": [13.3, 8.8, 0.0, 4.6], "collectives": [], "missing": ["a job"]})");
  const auto figures = place.shell("straggler advise figures");
  CHECK(figures.code == 0);
  CHECK(figures.out ==
        "Rank 2 comes last: it waits least for others. Without it they would wait 4.6 s less (next: rank 3).\nMissing: a job.\n");
  place.write("models/import.json", R"({"format": "onnx", "missing": []})");
  CHECK(place.shell("straggler advise models").err.find("tells of no job and of no ranks") != std::string::npos);
  CHECK(place.shell("straggler advise nowhere").code == 2);
  const auto as_json = nlohmann::json::parse(place.shell("straggler advise figures --json --out told").out);
  CHECK(as_json["words"].size() == 2);
  CHECK(as_json["step_s"].is_null());
  CHECK(place.files("told").size() == 3);

  // What is no job's: each in one line, with what would be right.
  const auto says = [&](const std::string& arguments, const std::string& words) {
    const auto refused = place.shell("straggler advise " + arguments);
    CHECK(refused.code != 0);
    CHECK_MESSAGE(refused.err.find(words) != std::string::npos, refused.err);
  };
  says("ranks.csv", "ranks.csv: is a table by rank");
  says("ranks.csv", "(straggler import ranks.csv --out DIR), then advise on DIR");
  says(".", "holds no scenario.yaml and no import.json");
  says("job --by time", "the scenario has no data");
  CHECK(place.shell("straggler advise job --only \"replace_slow, batch\"").code == 0);
  CHECK(
      place.shell("straggler advise job --only overlap,bucket").out.find("No remedy can be tried here: overlap: what the ranks exchange") !=
      std::string::npos);
}

}  // namespace
}  // namespace straggler::test
