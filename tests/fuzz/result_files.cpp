// Result folders, sketches, the state of a sweep and the store.
#include "models/data/dataset.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/replay.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "scenarios/sweep/sweep_state.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* replayed = R"(straggler: 1
name: replayed
devices: {node: {compute: {affine: {per_sample: 1ms}}}}
cluster: {workers: [{count: 3, device: node}], servers: {count: 1}, network: {link: {bandwidth: 1Gbps, latency: 50us}}}
workload: {model: {kind: softmax}, data: {kind: gaussian}}
training: {scheme: {kind: asgd}, batch: {per_worker: 8}, optimizer: {kind: sgd, learning_rate: 0.1}, stop: {updates: 10}}
)";

void replay(std::string_view input) {
  static const Scenario scenario = read_scenario_text(replayed, workplace() / "replayed.yaml");
  static const Blueprint blueprint(scenario, "generic");
  std::map<std::string, std::string> files =
      parts_of(input, "choices.csv", {"choices.csv", "scenario.yaml", "run.json", "summary.json", "order.csv"});
  files.try_emplace("scenario.yaml", replayed);
  const fs::path folder = write_folder(files);
  may_refuse<ScenarioErrors>([&] {
    may_refuse<DataError>([&] { read_replay(folder, scenario, blueprint, [](const auto&, const Scenario&) { return std::nullopt; }); });
  });
}
const AddTarget add_replay("replay", "a folder for --replay: choices.csv, then '--- NAME' and other files", replay);

void results(std::string_view input) {
  const fs::path folder = write_folder(
      parts_of(input, "summary.json", {"summary.json", "run.json", "thresholds.csv", "curve.csv", "scenario.yaml", "workers.csv"}));
  may_refuse<ResultsError>([&] { read_summary(folder / "summary.json"); });
  may_refuse<ResultsError>([&] { read_run_result(folder); });
  may_refuse<ResultsError>([&] { results_of_another_command(folder); });
}
const AddTarget add_results("results", "a result folder for compare and report: summary.json, then '--- NAME' and other files", results);

void sketch(std::string_view input) {
  may_refuse<ResultsError>([&] {
    const std::string text = written(read_sketch(std::string(input)));
    if (written(read_sketch(text)) != text) throw Find("a sketch changes when it is read from what was written");
  });
}
const AddTarget add_sketch("sketch", "a run's sketch in the state of a sweep", sketch);

/// Cells of the state's tables, separated by "--- NAME" lines.
void sweep_state(std::string_view input) {
  static const std::string file = [] {
    const std::string made = write_file("sweep.sqlite", "");
    fs::remove(made);
    SweepState state(made);
    return made;
  }();
  std::map<std::string, std::string> cells = parts_of(input, "fields", {"fields", "sketch", "labels", "line", "answer", "seed"});
  {
    Database database(file, "the state");
    Transaction transaction(database);
    database.run(
        "DELETE FROM points; DELETE FROM sketches; DELETE FROM places; DELETE FROM settings; DELETE FROM description;"
        "DELETE FROM answer");
    const auto put = [&](const char* sql, const std::string& text) { Statement(database, sql).bind(0, std::string_view(text)).run(); };
    put("INSERT INTO points (id, fields, wall) VALUES ('a', ?, 1)", cells["fields"]);
    put("INSERT INTO sketches (id, text) VALUES ('a', ?)", cells["sketch"]);
    put("INSERT INTO settings (number, labels, repeats) VALUES (0, ?, 2)", cells["labels"]);
    put("INSERT INTO places (number, repeat, seed, labels, id) VALUES (0, 0, ?1, ?1, ?1)", cells["seed"]);
    put("INSERT INTO description (text) VALUES (?)", cells["line"]);
    put("INSERT INTO answer (text) VALUES (?)", cells["answer"]);
    transaction.commit();
  }
  may_refuse<ResultsError>([&] {
    SweepState state = SweepState::to_read(file);
    state.placed();
    state.planned();
    state.description();
    state.answer();
    if (const std::optional<FinishedPoint> point = state.find("a")) result_of(point->fields, read_sketch(point->sketch));
  });
}
const AddTarget add_sweep_state("sweep_state", "cells in the state of a sweep: fields, then '--- NAME' and others", sweep_state);

/// A file without the log of an earlier input.
std::string database_file(const char* name, std::string_view input) {
  for (const char* end : {"-wal", "-shm", "-journal"}) fs::remove(workplace() / (std::string(name) + end));
  return write_file(name, input);
}

void store(std::string_view input) {
  const std::string file = database_file("store.sqlite", input);
  may_refuse<ResultsError>([&] {
    EvaluationFile store(file, EvaluationFile::default_cap, {}, 0);
    std::vector<float> floats(4);
    store.find({1, 2});
    for (const Key& key : store.values({1, 2})) store.find_value({1, 2}, key, floats);
    store.facts();
    store.keep({5, 6}, {1, 2});
    store.flush();
  });
}
const AddTarget add_store("store", "the file of a store", store);

void state_file(std::string_view input) {
  const std::string file = database_file("state.sqlite", input);
  may_refuse<ResultsError>([&] {
    SweepState state(file);
    state.placed();
    state.planned();
    state.description();
    state.find("a");
    state.points();
  });
}
const AddTarget add_state_file("state_file", "the file of a sweep's state", state_file);

}  // namespace
}  // namespace straggler::fuzz
