// A language model as users meet it: perplexity in every output with a loss, the example, and runs that continue or are replayed.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/text.hpp"

namespace language_program_test {

namespace fs = std::filesystem;
using straggler::test::has;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string scenario = scenario_text(
    {.name = "language",
     .node = "{compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.4}}",
     .workers = "[{count: 3, device: node}]",
     .model = "{kind: layers, engine: reference, layers: [{embedding: 8, rows: vocabulary, positions: learned}, {dropout: 0.2}, {residual: "
              "[layer_norm, {attention: {heads: 2, causal: true}}]}, {linear: vocabulary}]}",
     .data = "{kind: characters, path: text, context: 8}",
     .scheme = "{kind: asgd}",
     .batch = "{per_worker: 4}",
     .optimizer = "{kind: adam, learning_rate: 0.01}",
     .stop = "{updates: 60}",
     .evaluate = "{every: {updates: 10}}"});

std::string counting() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * i) + " ";
  return text;
}

/// Rows of a table, by column.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& table) {
  std::istringstream lines(table);
  std::vector<std::string> columns;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> all;
    for (std::string cell; std::getline(cells, cell, ',');) all.push_back(cell);
    if (columns.empty()) {
      columns = all;
      continue;
    }
    rows.emplace_back();
    for (std::size_t i = 0; i < all.size(); ++i) rows.back()[columns.at(i)] = all[i];
  }
  return rows;
}

}  // namespace

TEST_CASE("perplexity is e to the loss, in the summary, the curve, the page and the comparison, and nowhere without symbols") {
  const Workplace place;
  place.write("text", counting());
  place.write("language.yaml", scenario);
  place.write("other.yaml", scenario_text({.stop = "{updates: 3}"}));
  const auto ran = place.shell("straggler run language.yaml --out run");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(has(ran.out + ran.err, "test perplexity "));
  const auto summary = place.summary("run");
  for (const std::string set : {"train", "test"})
    CHECK(summary["final_" + set + "_perplexity"].get<double>() ==
          doctest::Approx(std::exp(summary["final_" + set + "_loss"].get<double>())).epsilon(1e-12));
  const auto curve = rows_of(place.read("run/curve.csv"));
  CHECK(curve.size() == 7);
  for (const auto& row : curve)
    for (const std::string set : {"train", "test"})
      CHECK(std::stod(row.at(set + "_perplexity")) == doctest::Approx(std::exp(std::stod(row.at(set + "_loss")))).epsilon(1e-9));
  CHECK(has(place.read("run/report.html"), "test perplexity"));
  REQUIRE(place.shell("straggler run other.yaml --out other").code == 0);
  for (const auto& file : place.files("other")) CHECK_MESSAGE(!has(file.second, "perplexity"), file.first);
  const auto compared = place.shell("straggler compare run other");
  CHECK(has(compared.out, "final test perplexity"));
}

TEST_CASE("while it trains, a language model's progress is its perplexity") {
  const Workplace place;
  place.write("text", counting());
  place.write("language.yaml", scenario);
  const auto stopped = place.shell("timeout --foreground -s INT 3 " STRAGGLER_PROGRAM
                                   " run language.yaml --set training.stop.updates=100000000 --progress plain --out run");
  CHECK(has(stopped.err, " left  perplexity "));
  CHECK(!has(stopped.err, " left  accuracy "));
}

TEST_CASE("a decoder with dropout ends with the same bytes on any number of threads, resumed, and replayed") {
  const Workplace place;
  place.write("text", counting());
  place.write("language.yaml", scenario);
  const auto whole = place.shell("straggler run language.yaml --out whole --threads 1");
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  const auto same = [&](const std::string& run) {
    auto expected = place.files("whole"), files = place.files(run);
    expected.erase("run.json");
    files.erase("run.json");
    CHECK(files.size() == expected.size());
    for (const auto& file : expected)
      if (!file.first.ends_with("report.html")) CHECK_MESSAGE(files[file.first] == file.second, file.first);
  };
  REQUIRE(place.shell("straggler run language.yaml --out threads --threads 3").code == 0);
  same("threads");
  // Killed as soon as there is a checkpoint.
  const std::string longer = " run language.yaml --set training.stop.updates=1500 ";
  REQUIRE(place.shell("straggler" + longer + "--out whole --force").code == 0);
  place.shell("( " + std::string(STRAGGLER_PROGRAM) + longer + "--out resumed --checkpoint-every 10ms & p=$!; for i in {1..2000}; do " +
              "sleep 0.002; [ -e resumed.checkpoint ] && break; done; kill -KILL $p; wait $p )");
  REQUIRE(fs::exists(place.folder() / "resumed.checkpoint"));
  const auto resumed = place.shell("straggler" + longer + "--out resumed --resume --threads 2");
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(has(resumed.err, "continues from resumed.checkpoint"));
  same("resumed");
  const auto replayed = place.shell("straggler" + longer + "--out replayed --replay whole");
  REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
  CHECK(place.read("replayed/model.safetensors") == place.read("whole/model.safetensors"));
  CHECK(place.summary("replayed")["final_test_loss"] == place.summary("whole")["final_test_loss"]);
}

TEST_CASE("the example learns more of a licence than how frequent each character is") {
  const fs::path text = "/usr/share/common-licenses/GPL-3";  // of Debian's base-files
  if (!fs::exists(text)) return;
  std::ifstream file(text, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const std::size_t to_train = all.size() * 9 / 10;
  // The entropy of the characters to test on: no guess that looks at none before has a lower loss.
  std::map<char, double> times;
  for (std::size_t i = to_train; i < all.size(); ++i) ++times[all[i]];
  double unigram = 0;
  for (const auto& [character, count] : times) {
    const double share = count / static_cast<double>(all.size() - to_train);
    unigram -= share * std::log(share);
  }
  const Workplace place;
  const auto ran = place.shell("straggler run " STRAGGLER_SOURCE_DIR "/scenarios/examples/tiny_gpt.yaml --out run");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(place.summary("run")["final_test_loss"].get<double>() < unigram - 0.3);
}

TEST_CASE("weights of another context are refused in one line with both contexts") {
  const Workplace place;
  place.write("text", counting());
  place.write("language.yaml", scenario);
  REQUIRE(place.shell("straggler run language.yaml --set training.stop.updates=1 --out run").code == 0);
  const std::string check = "straggler check language.yaml --set workload.model.weights=run/model.safetensors";
  CHECK(place.shell(check).code == 0);
  const auto refused = place.shell(check + " --set workload.data.context=6");
  CHECK(refused.code != 0);
  CHECK(has(refused.err, "is for samples of 8 places, and those of these data have 6; of a text set workload.data.context to 8"));
}

TEST_CASE("in the study DiLoCo sends exactly a fiftieth of the bytes of synchronous steps on the same samples") {
  if (!fs::exists("/usr/share/common-licenses/GPL-3")) return;
  const Workplace place;
  const std::string run = "straggler run " STRAGGLER_SOURCE_DIR "/scenarios/studies/diloco_tiny_gpt.yaml --timing-only --out ";
  REQUIRE(place.shell(run + "rounds").code == 0);
  REQUIRE(place.shell(run + "steps --set training.scheme=ssgd --set training.stop.updates=1000").code == 0);
  const auto rounds = place.summary("rounds"), steps = place.summary("steps");
  CHECK(rounds["samples"] == steps["samples"]);
  CHECK(rounds["bytes_sent"].get<std::int64_t>() > 0);
  CHECK(50 * rounds["bytes_sent"].get<std::int64_t>() == steps["bytes_sent"].get<std::int64_t>());
}

}  // namespace language_program_test
