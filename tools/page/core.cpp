// The simulator as its page calls it, in a worker: a question's name and JSON in, JSON out. Files stand in the worker's memory.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/packet_events.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/check_text.hpp"
#include "scenarios/reasons/explain.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/picture.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/results/comparison.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/tables.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "scenarios/serve/what_if.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/readable.hpp"
#include "tools/page/math_bits.hpp"

namespace straggler {

// The page itself holds the scripts and styles of charts. Those of this project are here the names of their files: assemble.mjs reads them,
// and puts the files into the page in this order.
namespace resources {
std::string_view echarts() { return "of the page"; }
std::string_view echarts_licences() { return {}; }
std::string_view format_script() { return "format"; }
std::string_view axes_script() { return "axes"; }
std::string_view table_script() { return "table"; }
std::string_view chart_script() { return "chart"; }
std::string_view kinds_script() { return "kinds"; }
std::string_view cells_script() { return "cells"; }
std::string_view arranged_script() { return "arranged"; }
std::string_view notes_script() { return "notes"; }
std::string_view lines_script() { return "lines"; }
std::string_view timeline_script() { return "timeline"; }
std::string_view selection_script() { return "selection"; }
std::string_view page_script() { return "page"; }
std::string_view page_style() { return {}; }
}  // namespace resources

extern "C" __attribute__((import_module("page"), import_name("progress"))) void page_progress(double fraction, double accuracy);

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// More would be slow, and at a million near the 4 GiB that a page has.
constexpr std::int64_t most_workers = 200'000;
constexpr std::size_t math_memory = std::size_t{1} << 30;  // bytes

/// What is asked of the page alone.
ChangedScenario given(const Json& question) {
  const std::string file = question.value("file", "/page/scenario.yaml");
  ChangedScenario asked =
      changed_by(read_scenario_text(question.at("yaml").get<std::string>(), file), question.value("settings", Json::object()));
  for (const Scenario* each : {&asked.base, &asked.changed})
    if (each->workers() > most_workers)
      throw_error(*each, "cluster.workers",
                  "has " + readable_count(static_cast<std::uint64_t>(each->workers())) + " workers, and a page simulates at most " +
                      readable_count(static_cast<std::uint64_t>(most_workers)) +
                      "; write fewer, or take the scenario home: the program simulates a million");
  return asked;
}

RunOptions options_of(const Json& question) {
  RunOptions options;
  options.timing_only = !question.value("math", false);
  options.threads = 1;
  options.kernels = question.value("kernels", "auto");
  options.memory_budget = math_memory;
  return options;
}

/// Of one of several runs, a few times a second.
class Told final : public ProgressListener {
 public:
  Told(double from, double share) : from_(from), share_(share) {}
  void progress(const State& state) override {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    page_progress(from_ + share_ * state.fraction, state.test_accuracy.value_or(-1));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double from_, share_;
  Clock::time_point next_{};
};

/// The tables of a run, in a folder of the worker's memory.
void write_tables(const fs::path& folder, const Scenario& scenario, const RunRecord& record) {
  fs::create_directories(folder);
  const auto table = [&](const char* name, void (*write)(const RunRecord&, OutFile&)) {
    fs::remove(folder / name);
    OutFile file(folder / name, name);
    write(record, file);
    file.close();
  };
  const auto text = [&](const char* name, const std::string& whole) {
    fs::remove(folder / name);
    OutFile file(folder / name, name, whole);
    file.close();
  };
  table("curve.csv", write_curve);
  table("thresholds.csv", write_thresholds);
  table("staleness.csv", write_staleness);
  table("epochs.csv", write_epochs);
  table("workers.csv", write_workers);
  table("links.csv", write_links);
  if (record.recovery.there) table("recovery.csv", write_recovery);
  text("summary.json", summary_json(summarize(record)));
  text("scenario.yaml", write_scenario(scenario));
}

struct Finished {
  RunRecord record;
  std::string kernels;
};
Finished run_into(const fs::path& folder, const Scenario& scenario, const RunOptions& options, Told& told) {
  Experiment experiment(scenario, options);
  Finished done{experiment.run(nullptr, &told), experiment.kernels()};
  write_tables(folder, scenario, done.record);
  return done;
}

/// One run, and its tables.
Json run(const Json& question) {
  const ChangedScenario asked = given(question);
  Told told(0, 1);
  const auto start = std::chrono::steady_clock::now();
  const Finished done = run_into(question.at("folder").get<std::string>(), asked.changed, options_of(question), told);
  return {{"kernels", done.kernels},
          {"events", done.record.events},
          {"warnings", done.record.warnings},
          {"wall_s", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
}

/// Test accuracy over time, epochs, updates and bytes.
Json learning(const std::vector<RunResult>& runs, std::optional<double> target) {
  LearningFigure wanted;
  wanted.word = "test accuracy";
  wanted.target = target;
  std::vector<CurveAxis> axes = {{"time_s", "simulated time", readable_seconds},
                                 {"epoch", "epochs", readable_number},
                                 {"update", "updates", readable_number},
                                 {"bytes_sent", "bytes sent", readable_bytes}};
  std::vector<ResultTable> curves;
  for (const RunResult& each : runs) curves.emplace_back(each.folder / "curve.csv");
  if (std::ranges::any_of(curves, [](const ResultTable& curve) { return curve.rows() > 0 && !curve.number(curve.rows() - 1, "epoch"); }))
    axes.erase(axes.begin() + 1);
  for (const CurveAxis& axis : axes) wanted.axes.emplace_back(axis.title, axis.text);
  for (std::size_t i = 0; i < runs.size(); ++i)
    wanted.curves.push_back({i == 0 ? "as it is" : "changed", i, {learning_points(curves[i], axes, "test_accuracy")}});
  const std::optional<Figure> figure = learning_figure(wanted);
  return figure ? drawn(*figure) : Json();
}

/// The scenario as it is, and changed: trained, compared.
Json learn(const Json& question) {
  const ChangedScenario asked = given(question);
  const auto start = std::chrono::steady_clock::now();
  DataCache data;
  RunOptions options = options_of(question);
  options.timing_only = false;
  options.data = &data;
  const double share = asked.as_it_is() ? 1 : 0.5;
  const fs::path folder = question.at("folder").get<std::string>();
  Scenario changed = asked.changed;
  changed.name += "-changed";
  std::vector<RunResult> runs;
  const auto add = [&](const Scenario& scenario, const char* name) {
    Told told(share * static_cast<double>(runs.size()), share);
    run_into(folder / name, scenario, options, told);
    runs.push_back(read_run_result(folder / name, &scenario));
  };
  add(asked.base, "as-it-is");
  if (!asked.as_it_is()) add(changed, "changed");
  Json answer = {{"chart", learning(runs, asked.base.training.stop.target_accuracy)}};
  const Comparison comparison = compare(runs);
  if (runs.size() > 1) {
    answer["verdict"] = plain(verdict(comparison));
    answer["notes"] = plain(comparison_notes(comparison));
  }
  answer["table"] = comparison_table(comparison);
  answer["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

/// The output of `straggler check --timing-only`.
Json check(const Json& question) {
  const ChangedScenario asked = given(question);
  const Scenario& scenario = asked.changed;
  const Experiment experiment(scenario, options_of(Json::object()));
  const Explanation explanation = experiment.explain();
  return {{"text", check_text(scenario, explanation, experiment.collective_times(), update_times(scenario), update_parts(scenario),
                              packet_events(scenario), {})},
          {"warnings", check_warnings(explanation, true)}};
}

/// The output of `straggler explain --timing-only`.
Json explain_it(const Json& question) {
  constexpr std::int64_t most_apart = 64;  // workers, each of which is a run
  const ChangedScenario asked = given(question);
  ExplainOptions options;
  options.run = options_of(Json::object());
  options.slowdowns = asked.changed.workers() <= most_apart;
  options.tell = [](std::size_t number, std::size_t count, const std::string&) {
    page_progress(static_cast<double>(number - 1) / static_cast<double>(count), -1);
  };
  const Explained explained = explain(asked.changed, options);
  return {{"text", explain_text(explained)}, {"warnings", explained.warnings}};
}

/// The scenario with its changes, and that it can be read.
Json scenario(const Json& question) {
  const ChangedScenario asked = given(question);
  return {{"name", asked.base.name},
          {"workers", asked.changed.workers()},
          {"changed", !asked.as_it_is()},
          {"yaml", write_scenario(asked.changed)}};
}

Json preview(const Json& question) {
  static WhatIfPage what_if;
  const auto wall = question.contains("budget") ? std::chrono::milliseconds(question["budget"].get<int>()) : WhatIfPage::budget;
  return *what_if.answer(question.at("yaml").get<std::string>(), given(question), wall, {});
}

/// For the script that puts the page together.
Json about(const Json& /*question*/) {
  const std::vector<std::string_view> scripts = page_scripts();  // the first is text, the others names (resources)
  return {{"version", version()},
          {"phases", scripts.front()},
          {"scripts", std::vector(scripts.begin() + 1, scripts.end())},
          {"style", picture_style() + std::string(page_style())}};
}

/// For tests: math_bits.hpp.
Json bits(const Json& /*question*/) {
  Json all;
  for (const auto& [name, words] : math_bits()) all[name] = words;
  return all;
}

constexpr std::pair<std::string_view, Json (*)(const Json&)> questions[] = {{"about", about},     {"bits", bits},   {"scenario", scenario},
                                                                            {"preview", preview}, {"check", check}, {"explain", explain_it},
                                                                            {"run", run},         {"learn", learn}};

Json problems_of(const ScenarioErrors& errors) {
  Json rows = Json::array();
  for (const Problem& problem : errors.problems)
    rows.push_back({{"line", problem.place.line}, {"column", problem.place.column}, {"text", problem.about()}});
  return rows;
}

Json answer_of(const std::string& name, const std::string& text) {
  constexpr const char* no_memory =
      "the page's memory is exhausted; use fewer workers, a smaller model or less data, or take the scenario home";
  const auto problem = [](const std::string& words) { return Json{{"problems", {{{"line", 0}, {"column", 0}, {"text", words}}}}}; };
  try {
    for (const auto& [known, answer] : questions)
      if (known == name) return answer(Json::parse(text));
    return problem("the page asked for '" + name + "', which its core does not know; build both anew");
  } catch (const ScenarioErrors& errors) {
    return {{"problems", problems_of(errors)}};
  } catch (const std::bad_alloc&) {
    return problem(no_memory);
  } catch (const std::exception& wrong) {
    return problem(problem_text(wrong));
  }
}

}  // namespace
}  // namespace straggler

extern "C" {

__attribute__((export_name("take"))) char* page_take(std::size_t bytes) { return static_cast<char*>(std::malloc(bytes)); }
__attribute__((export_name("give"))) void page_give(char* place) { std::free(place); }
/// Texts end with a 0. The answer's is for page_give().
__attribute__((export_name("answer"))) char* page_answer(const char* name, const char* question) {
  const std::string text = straggler::answer_of(name, question).dump(-1, ' ', false, straggler::Json::error_handler_t::replace);
  char* const out = page_take(text.size() + 1);
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}
}
