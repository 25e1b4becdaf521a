// --json prints one object and nothing else; it holds what the tables of the same command hold, as numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace json_test {

using namespace straggler::test;
using nlohmann::json;

namespace {

const std::string raced_scenario = small_cluster + R"(seed: 18446744073709551615
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 1200, test_samples: 300}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 20}
  optimizer: {kind: sgd, learning_rate: 0.5}
  stop: {epochs: 8, target_accuracy: 0.7, on_target: continue}
  evaluate: {every: {epochs: 0.25}, thresholds: [0.5, 0.99]}
)";

/// [rows][column]: a CSV without quoted cells.
std::vector<std::map<std::string, std::string>> csv_rows(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> head;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells(1);
    for (const char c : line)
      if (c == ',')
        cells.emplace_back();
      else
        cells.back().push_back(c);
    if (head.empty()) {
      head = cells;
      continue;
    }
    REQUIRE(cells.size() == head.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < head.size(); ++i) rows.back()[head[i]] = cells[i];
  }
  return rows;
}

/// A cell of a table: empty is null.
bool same(const json& value, const std::string& cell) {
  return cell.empty() || cell == "missed" ? value.is_null() : value.is_number() && value.get<double>() == std::stod(cell);
}

}  // namespace

TEST_CASE("compare --json holds all scalars and thresholds of each run, and what the table says") {
  const Workplace place;
  place.write("small.yaml", raced_scenario);
  for (const char* sets : {"name=asgd --set training.scheme=asgd", "name=ssgd --set training.scheme=ssgd"})
    REQUIRE(place.shell(std::string("straggler run small.yaml --quiet --set ") + sets).code == 0);
  place.write("results/try/validation.csv", "x\n");
  const std::string command = "straggler compare results/asgd results/ssgd results/try";
  const auto table = place.shell(command), typed = place.shell(command + " --json");
  REQUIRE(table.code == 0);
  CHECK(typed.code == 0);
  const json all = json::parse(typed.out);
  REQUIRE(all["runs"].size() == 2);
  for (const json& run : all["runs"]) {
    const std::string folder = run["folder"];
    CHECK(run["summary"] == place.summary(folder));
    CHECK(run["summary"]["seed"] == 18446744073709551615u);
    CHECK(run["measured"] == false);
    const auto rows = csv_rows(place.read(folder + "/thresholds.csv"));
    REQUIRE(run["thresholds"].size() == rows.size() + 1);  // and the target
    for (const auto& row : rows) {
      const auto at = std::find_if(run["thresholds"].begin(), run["thresholds"].end(),
                                   [&](const json& each) { return same(each["threshold"], row.at("threshold")); });
      REQUIRE(at != run["thresholds"].end());
      for (const auto& [key, cell] : row) {
        const auto& this_key = key;  // clang 14 captures no structured binding
        CAPTURE(this_key);
        CHECK(same((*at)[key], cell));
      }
    }
    CHECK(run["thresholds"].back()["time_s"].is_null());  // 0.99 is never reached
  }
  CHECK(all["reference"] == "ssgd");
  CHECK(all["runs"][1]["speed_up"] == 1.0);
  CHECK(all["speed_up_at"] == 0.7);
  CHECK(has(table.out, "time speed-up at 0.7"));
  CHECK(has(table.out, all["verdict"].get<std::string>() + "\n"));
  CHECK(all["winner"] == (all["runs"][0]["speed_up"] > 1.0 ? "asgd" : "ssgd"));
  for (const json& note : all["notes"]) CHECK(has(table.out, "note: " + note.get<std::string>() + "\n"));
  CHECK(all["left_out"] == json{"results/try: holds results of straggler validate"});
}

TEST_CASE("check shows the effect of compression on a message and on the time of an update") {
  const Workplace place;
  place.write("small.yaml", raced_scenario);
  // One worker of asgd: between two updates its gradient goes up at 1 MB/s, the whole answer comes, and the batch is computed.
  const std::string sets =
      " --set training.scheme=asgd --set cluster.workers[0].count=1 --set \"training.compression={kind: top_k, fraction: 0.1}\"";
  const auto lines = place.shell("straggler check small.yaml" + sets), typed = place.shell("straggler check small.yaml --json" + sets);
  REQUIRE_MESSAGE(lines.code == 0, lines.err);
  const json all = json::parse(typed.out);
  const double before = all["message_bytes"], after = all["compressed_bytes"];
  CHECK(after == 8 * std::round(0.1 * before / 4));
  CHECK(has(lines.out, "by top_k: " + std::to_string(static_cast<int>(before)) + " B before, " + std::to_string(static_cast<int>(after)) +
                           " B after\n"));
  CHECK(has(lines.out, "\n                  an update takes "));
  CHECK(has(lines.out, "an update         takes about "));
  CHECK(all["update_uncompressed_s"].get<double>() - all["update_s"].get<double>() ==
        doctest::Approx((before - after) / 1e6).epsilon(1e-3));
}

TEST_CASE("check --json holds times in seconds and sizes in bytes") {
  const Workplace place;
  place.write("small.yaml", raced_scenario);
  const auto lines = place.shell("straggler check small.yaml"), typed = place.shell("straggler check small.yaml --json --graph net.dot");
  REQUIRE(lines.code == 0);
  CHECK(typed.code == 0);
  CHECK(has(place.read("net.dot"), "graph"));
  const json all = json::parse(typed.out);
  CHECK(all["seed"] == 18446744073709551615u);
  CHECK(all["workers"] == 3);
  REQUIRE(all["groups"].size() == 1);
  const json& group = all["groups"][0];
  CHECK(group["device"] == "node");
  CHECK(group["batch_s"].get<double>() == doctest::Approx(0.020));  // 20 samples of 1 ms
  CHECK(group["link_bytes_per_second"] == 1e6);
  CHECK(group["link_latency_s"] == 1e-3);
  CHECK(group["memory_bytes"].is_null());
  CHECK(has(lines.out, "3 x node: a batch of 20 takes 20 ms"));
  CHECK(all["topology"]["hosts"] == 4);  // three workers and a server
  CHECK(all["topology"]["cables"] == 4);
  CHECK(all["topology"]["diameter_s"] == 2e-3);
  CHECK(all["engine"] == "panels");
  CHECK(has(lines.out, "\nengine            panels\n"));
  CHECK(all["updates_per_epoch"] == 60);  // 1200 samples by 20
  // Two inputs to 16 to two classes, or as many as the data have; FP32.
  const double classes = all["data"]["classes"];
  CHECK(has(lines.out, all["data"]["classes"].dump() + " classes"));
  CHECK(all["parameters"] == 2 * 16 + 16 + 16 * classes + classes);
  CHECK(all["message_bytes"] == 4 * all["parameters"].get<double>());
  CHECK(all["data"]["train_samples"] == 1200);
  CHECK(all["data"]["test_samples"] == 300);
  CHECK(all["data"]["partition"]["parts"] == 3);
  CHECK(all["data"]["partition"]["smallest_samples"] == 400);
  CHECK(all["compression"].is_null());
  CHECK(all["update_s"] == all["update_parts"]["seconds"]);
  const json& parts = all["update_parts"]["phases"];
  double sum = 0;
  for (const json& seconds : parts) sum += seconds.get<double>();
  CHECK(parts["compute_s"].get<double>() == doctest::Approx(0.020).epsilon(1e-3));
  // asgd on three equal workers: of three updates each worker makes one.
  CHECK(all["update_parts"]["of_own_contributions"] == true);
  CHECK(sum == doctest::Approx(3 * all["update_s"].get<double>()).epsilon(0.05));
  CHECK(has(lines.out, "\nbound by          "));
  CHECK(all["precision"] == "fp32");
  std::size_t warnings = 0;
  for (std::size_t at = lines.err.find("warning: "); at != std::string::npos; at = lines.err.find("\nwarning: ", at + 1)) ++warnings;
  CHECK(all["warnings"].size() == warnings);
  for (const json& warning : all["warnings"]) CHECK(has(lines.err, "warning: " + warning.get<std::string>() + "\n"));
  const auto timing = place.shell(
      "straggler check small.yaml --json --set workload=\"{cost: {model: resnet18}}\" --set training.stop=\"{updates: 5}\" "
      "--set training.evaluate.every=\"{updates: 5}\"");
  REQUIRE_MESSAGE(timing.code == 0, timing.err);
  const json alone = json::parse(timing.out);
  CHECK(alone["data"].is_null());
  CHECK(alone["memory_bytes"].is_null());
  double parameters = 0;
  for (const json& layer : alone["layers"]) parameters += layer["parameters"].get<double>();
  CHECK(alone["cost_parameters"] == parameters);
}

TEST_CASE("validate --json holds the rows of validation.csv and keeps the exit code") {
  const Workplace place;
  place.write("scenario.yaml", small_cluster + R"(workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates}
training:
  scheme: {kind: sequential}
  batch: {per_worker: 100}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 10}
)");
  // 10 updates of 10 samples of p take 0.2 s, so that p is 2 ms, and batches of 20 and 40 take 0.4 and 0.8 s.
  place.write("measured.csv", "batch,seconds\n10,0.2\n20,0.5\n40,0.8\n");
  const auto claim = [](const std::string& bound) {
    return "claim: 1\ntitle: made up\nscenario: scenario.yaml\nmeasured: measured.csv\nbind: {batch: training.batch.per_worker}\n"
           "set: {cluster.workers: [{count: 1, device: node}], cluster.servers: {count: 0}, devices.node.jitter: none}\n"
           "compare: {column: seconds, metric: simulated_seconds}\n"
           "fit: {parameters: [{path: devices.node.compute.affine.per_sample, from: 1us, to: 1s}], rows: [{batch: 10}]}\nbound: " +
           bound + "\n";
  };
  place.write("loose.yaml", claim("{mape: 11%, max: 21%}"));
  place.write("tight.yaml", claim("{mape: 9%}"));  // without max it counts in no case
  const auto good = place.shell("straggler validate loose.yaml --json --out v");
  CHECK_MESSAGE(good.code == 0, good.err);
  const json one = json::parse(good.out);
  CHECK(one["holding"] == 1);
  CHECK(one["not_tried"] == 0);
  const json& result = one["claims"][0];
  CHECK(result["holds"] == true);
  CHECK(result["counted"] == true);
  CHECK(result["not_counted"].empty());
  CHECK(result["bound_mape"] == 0.11);
  CHECK(result["held_out"]["rows"] == 2);
  CHECK(result["held_out"]["largest"].get<double>() == doctest::Approx(0.2));  // 0.4 predicted, 0.5 measured
  CHECK(result["held_out"]["mape"].get<double>() == doctest::Approx(0.1).epsilon(1e-5));
  CHECK(result["fitted_values"][0]["value"].get<double>() == doctest::Approx(2e-3));
  CHECK(result["fitted_values"][0]["is"] == "a time");
  CHECK(result["fitted_values"][0]["uncertainty"].is_null());
  CHECK(result["degrees_of_freedom"] == 0);
  const auto rows = csv_rows(place.read("v/validation.csv"));
  REQUIRE(result["rows"].size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const char* const key : {"measured", "predicted", "error", "interpolated", "interpolation_error"})
      CHECK(same(result["rows"][i][key], rows[i].at(key)));
    for (const char* const key : {"row", "set"}) CHECK(result["rows"][i][key] == rows[i].at(key));
  }
  const auto missed = place.shell("straggler validate loose.yaml tight.yaml --json --quiet --out v");
  CHECK(missed.code == 1);
  CHECK(json::parse(missed.out)["holding"] == 1);
  CHECK(json::parse(missed.out)["claims"][1]["holds"] == false);
  CHECK(json::parse(missed.out)["claims"][1]["counted"] == false);
  CHECK(json::parse(missed.out)["claims"][1]["not_counted"].size() == 1);
}

TEST_CASE("race --json holds the rows of race.csv, verdicts.csv and tuning.csv") {
  const Workplace place;
  place.write("small.yaml", raced_scenario);
  const std::string command =
      "straggler race small.yaml --schemes ssgd,asgd --tune learning_rate --budget 2 --seeds 3 --no-store --out r --set seed=7";
  const auto typed = place.shell(command + " --json"), table = place.shell(command);
  CHECK(typed.code == 0);
  CHECK_FALSE(has(typed.out, "results in"));
  const json all = json::parse(typed.out);
  CHECK(all["folder"] == "r");
  CHECK(all["entrants"][0]["seeds"] == json({7, 8, 9}));
  std::map<std::string, json> times, pairs;  // by finish and entrants
  for (const json& finish : all["finishes"]) {
    const std::string name = finish["finish"];
    CHECK(finish["accuracy"] == std::stod(name));
    CHECK(has(table.out, ": " + finish["verdict"].get<std::string>() + "\n"));
    for (const json& own : finish["times"]) times[name + own["entrant"].get<std::string>()] = own;
    for (const json& pair : finish["pairs"]) pairs[name + pair["a"].get<std::string>() + pair["b"].get<std::string>()] = pair;
  }
  const auto raced = csv_rows(place.read("r/race.csv"));
  REQUIRE(raced.size() == 2 * 3 * 3);  // entrants, seeds, finishes
  std::map<std::string, std::size_t> reached;
  for (const auto& row : raced) {
    const std::string key = row.at("threshold") + row.at("scheme");
    CHECK(same(times[key]["time_s"][std::stoul(row.at("seed")) - 7], row.at("time_s")));
    reached[key] += row.at("time_s") != "missed";
  }
  for (const auto& [key, count] : reached) CHECK(times[key]["reached"] == count);
  const auto verdicts = csv_rows(place.read("r/verdicts.csv"));
  CHECK(verdicts.size() == 3);
  for (const auto& row : verdicts) {
    const json& pair = pairs[row.at("threshold") + row.at("a") + row.at("b")];
    for (const char* const key : {"time_ratio", "low", "high", "confidence", "p", "p_holm", "p_10_percent", "p_10_percent_holm"})
      CHECK(same(pair[key], row.at(key)));
    CHECK(pair["test"] == row.at("test"));
    CHECK(pair["verdict"] == row.at("verdict"));
    CHECK(row.at("verdict").starts_with(row.at("faster")));
    CHECK(pair["faster"] == (row.at("faster") == "ssgd" || row.at("faster") == "asgd" ? json(row.at("faster")) : json()));
  }
  const auto tried = csv_rows(place.read("r/tuning.csv"));
  REQUIRE(all["tuning"]["candidates"].size() == tried.size());
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const json& candidate = all["tuning"]["candidates"][i];
    CHECK(candidate["entrant"] == tried[i].at("scheme"));
    CHECK(same(candidate["candidate"], tried[i].at("candidate")));
    CHECK(same(candidate["rank"], tried[i].at("rank")));
    CHECK(same(candidate["validation_loss"], tried[i].at("validation_loss")));
    CHECK(same(candidate["settings"]["training.optimizer.learning_rate"], tried[i].at("training.optimizer.learning_rate")));
    for (const json& level : candidate["levels"]) {
      const std::string name = level["finish"];
      CHECK(same(level["reached"], tried[i].at("reached_" + name)));
      CHECK(same(level["mean_s"], tried[i].at("time_to_" + name + "_s")));
    }
    if (candidate["rank"] == 1) CHECK(all["entrants"][i / 2]["tuned"] == candidate["settings"]);
  }
}

}  // namespace json_test
