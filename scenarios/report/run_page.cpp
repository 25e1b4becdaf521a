#include "scenarios/report/run_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "scenarios/report/charts.hpp"
#include "scenarios/report/figure.hpp"
#include "scenarios/report/page.hpp"
#include "scenarios/report/run_charts.hpp"
#include "scenarios/report/run_timeline.hpp"
#include "scenarios/report/units.hpp"
#include "scenarios/results/below_again.hpp"
#include "scenarios/results/endings.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/result_table.hpp"
#include "scenarios/results/summary.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/xml_text.hpp"
#include "sim/record/loss_warning.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_workers = 64, most_links = 16, most_stalenesses = 24;
constexpr std::size_t most_run_points = 2'500;  // of one curve of four

/// A run's folder. A missing scalar is empty or none; the page then says less.
struct RunFiles {
  fs::path folder;
  std::vector<SummaryField> summary;
  bool real = false;
  std::optional<Scenario> scenario = std::nullopt;  // none: of another version
  std::string unread = {};                          // why it is none, with its place

  std::string text(const char* key) const { return text_of(summary, key); }
  std::optional<double> number(std::string_view key) const { return scalar_of(summary, key).number(); }
  std::optional<std::uint64_t> count(const char* key) const { return scalar_of(summary, key).count(); }
  /// Not every run keeps its large tables.
  bool has(const char* file) const {
    std::error_code error;
    return fs::exists(folder / file, error);
  }
  bool with_math() const { return number("final_test_accuracy") || has_losses(folder); }
};

RunFiles run_files(const fs::path& folder, const Scenario* scenario) {
  const bool real = is_real_run(folder);  // refuses results of a later version first
  RunFiles run{folder, read_summary(folder / "summary.json"), real};
  try {
    run.scenario = scenario ? *scenario : read_scenario(folder / "scenario.yaml");
  } catch (const std::runtime_error& error) {
    run.unread = first_line_of(error);
  }
  return run;
}

/// A row of the table of facts; left out if it does not apply.
class Facts {
 public:
  void add(const std::string& what, const std::string& value) { rows_.push_back({what, value}); }
  void add(const std::string& what, std::optional<double> value, NumberText text) {
    if (value) add(what, text(*value));
  }
  void add(const std::string& what, std::optional<std::uint64_t> count) {
    if (count) add(what, readable_count(*count));
  }
  std::string html() const {
    std::string out = "<div class=\"wide\" tabindex=\"0\"><table class=\"facts\"><tbody>\n";
    for (const auto& [what, value] : rows_)
      out += fmt::format("<tr><th scope=\"row\" class=\"word\">{}</th><td class=\"word\">{}</td></tr>\n", xml_text(what), xml_text(value));
    return out + "</tbody></table></div>\n";
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

/// Where the initial weights were evaluated.
std::optional<std::string> warning_of_loss(const ResultTable& curve) {
  if (curve.rows() == 0 || curve.number(0, "update") != 0.0) return std::nullopt;
  const auto start = curve.number(0, "train_loss"), last = curve.number(curve.rows() - 1, "train_loss");
  return start && last ? loss_warning(*start, *last) : std::nullopt;
}

AccuracyCurve accuracies(const ResultTable& curve) {
  AccuracyCurve all;
  for (std::size_t row = 0; row < curve.rows(); ++row)
    if (const auto time = curve.number(row, "time_s"); time && !curve.text(row, "test_accuracy").empty())
      all.emplace_back(*time, curve.number(row, "test_accuracy").value_or(std::numeric_limits<double>::quiet_NaN()));
  return all;
}

/// Empty where this version does not read the run's scenario.
std::string held(const RunFiles& run) {
  if (!run.scenario) return {};
  const std::int64_t sustain = run.scenario->training.evaluate.sustain;
  return fmt::format(" and held for {} evaluation{}", sustain, sustain == 1 ? "" : "s");
}

/// " (3x slower)", or nothing.
std::string special(const RunFiles& run, const std::optional<WorkerNames>& names, std::size_t group) {
  if (!names || group >= run.scenario->cluster.workers.size()) return {};
  const std::string what = names->difference(group);
  return what.empty() ? what : " (" + what + ")";
}

std::string reached_sentence(const RunFiles& run, double target, double reached, const AccuracyCurve& curve) {
  const std::optional<double> below = below_again(curve, target, reached);
  return fmt::format("{} test accuracy is reached after {}{}{}.", readable_number(target), readable_seconds(reached), held(run),
                     below ? fmt::format("; after {} it falls below again", readable_seconds(*below)) : std::string());
}

/// The worker that the others waited for, and the busiest link; unknown facts are left out.
std::vector<std::string> reasons_of(const RunFiles& run) {
  std::vector<std::string> said;
  try {
    if (const std::string slow = read_run_result(run.folder, run.scenario ? &*run.scenario : nullptr).waited_for; !slow.empty())
      said.push_back("The others wait for " + slow + ".");
  } catch (const ResultsError&) {  // of another version
  }
  if (!run.has("links.csv")) return said;
  const ResultTable links(run.folder / "links.csv");
  double most = 0;
  std::string name;
  for (std::size_t row = 0; row < links.rows(); ++row)
    if (const double share = links.number(row, "utilization").value_or(0); share > most) {
      most = share;
      name = links.text(row, "link");
    }
  if (most > 0) said.push_back(fmt::format("The busiest link, {}, carries {} of its capacity.", name, share_text(most)));
  return said;
}

/// "Simulated: asynchronous SGD (asgd) on 8 workers, lenet5 on fashion_mnist, seed 1."
std::string what_ran(const RunFiles& run) {
  const std::string scheme = run.text("scheme");
  const SchemeEntry* const entry = Registry<SchemeEntry>::instance().find(scheme);
  const std::string title = entry ? entry->summary.substr(0, entry->summary.find_first_of(":,")) : std::string();
  const bool called = !title.empty() && title.size() < 40;
  const std::uint64_t workers = run.count("workers").value_or(0);
  std::string text = fmt::format("{}: {} on {} worker{}", run.real ? "Measured" : "Simulated",
                                 called ? fmt::format("{} ({})", title, scheme) : scheme, readable_count(workers), workers == 1 ? "" : "s");
  if (run.scenario && !run.scenario->workload.model.name.empty())
    text += fmt::format(", {} on {}", run.scenario->workload.model.name, run.scenario->workload.data.name);
  return fmt::format("{}, seed {}.", text, run.count("seed").value_or(0));
}

/// The answer in five seconds.
std::string numbers_html(const RunFiles& run, const AccuracyCurve& evaluations) {
  std::vector<LargeNumber> all;
  const std::optional<double> target = run.number("target_accuracy"), reached = run.number("time_to_target_s"),
                              accuracy = run.number("final_test_accuracy");
  const std::string time = readable_seconds(run.number("simulated_seconds").value_or(0));
  const bool keeps = !reached || !target || !below_again(evaluations, *target, *reached);
  if (target && reached)
    all.push_back({readable_seconds(*reached), "to " + readable_number(*target) + " test accuracy" + (keeps ? "" : ", not kept")});
  if (accuracy)
    all.push_back({readable_score(*accuracy), "test accuracy after " + time + (target && !reached ? ", target missed" : "")});
  else
    all.push_back({time, run.real ? "measured" : "simulated"});
  if (const auto rate = run.number("samples_per_second")) all.push_back({readable_number(*rate), "samples per second"});
  if (const auto share = run.number(share_key(Phase::compute))) all.push_back({readable_share(*share), "of the time computing"});
  if (const auto bytes = run.number("bytes_sent")) all.push_back({readable_bytes(*bytes), "sent"});
  add_price(all, run.summary);
  return html_numbers(all);
}

std::string findings_html(const RunFiles& run, const ResultTable& curve) {
  std::vector<std::string> said;
  const std::string time = readable_seconds(run.number("simulated_seconds").value_or(0));
  const std::optional<double> target = run.number("target_accuracy"), reached = run.number("time_to_target_s");
  if (target && reached)
    said.push_back(reached_sentence(run, *target, *reached, accuracies(curve)));
  else if (target && run.with_math())
    said.push_back(fmt::format("The target of {} test accuracy is not reached in {}.", readable_number(*target), time));
  if (const auto accuracy = run.number("final_test_accuracy"))
    said.push_back(fmt::format("The run stops after {} and {} epochs, at a test accuracy of {}.", time,
                               readable_number(run.number("epochs").value_or(0)), readable_score(*accuracy)));
  std::vector<std::pair<double, std::string>> shares;
  for (const PhaseRow& row : summary_phases)
    if (const auto share = run.number(share_key(row.phase)); share && *share >= 0.0005) shares.emplace_back(-*share, row.spent);
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string went;
  for (const auto& [share, word] : shares) went += fmt::format("{}{} {}", went.empty() ? "" : ", ", readable_share(-share), word);
  if (!went.empty()) said.push_back("Workers spend their time as follows: " + went + ".");
  for (const std::string& reason : reasons_of(run)) said.push_back(reason);
  if (const auto outcome = outcome_of(run.summary); outcome != Outcome::completed && outcome != Outcome::target_reached)
    said.push_back(fmt::format("Outcome: {}{}.", run.text("outcome"),
                               outcome == Outcome::diverged   ? fmt::format(", the loss is no longer finite; {}", loss_remedy)
                               : !run.text("stalled").empty() ? ": " + run.text("stalled")
                               : outcome == Outcome::overloaded
                                   ? ", more messages arrive at the server than it handles; give a shorter cluster.servers.per_message, "
                                     "fewer workers, larger batches, or a scheme whose workers wait for answers"
                                   : ""));
  for (const auto& warning : {warning_of_loss(curve), is_finished(run.summary) ? guess_warning(learned_of(run.summary)) : std::nullopt})
    if (warning) said.push_back("Warning: " + *warning + ".");
  return numbers_html(run, accuracies(curve)) + html_list(said, "findings");
}

std::string facts_html(const RunFiles& run, const ResultTable& curve) {
  Facts facts;
  facts.add("simulated time", run.number("simulated_seconds"), readable_seconds);
  facts.add("updates", run.count("updates"));
  facts.add("epochs", run.number("epochs"), readable_number);
  for (const char* key :
       {"samples_per_second", "samples_per_second_per_worker", "step_s", "exposed_communication_s", "scaling_efficiency"}) {
    const RunFigure& figure = *find_figure(key);
    facts.add(figure.title, run.number(key), text_of_unit(figure.unit));
  }
  facts.add("bytes sent", run.number("bytes_sent"), readable_bytes);
  for (const char* key : {"price", "price_to_target", "energy_joules", "energy_to_target_joules"}) {
    const RunFigure& figure = *find_figure(key);
    facts.add(figure.title, run.number(key), text_of_unit(figure.unit));
  }
  for (const char* const key : figures_of_failures) {
    const RunFigure& figure = *find_figure(key);
    facts.add(figure.title, run.number(key), text_of_unit(figure.unit));
  }
  facts.add("staleness, mean", run.number("staleness_mean"), readable_number);
  facts.add("staleness, most", run.count("staleness_max"));
  facts.add("test accuracy", run.number("final_test_accuracy"), readable_score);
  facts.add("test loss", run.number("final_test_loss"), readable_score);
  facts.add("test perplexity", run.number("final_test_perplexity"), readable_score);
  facts.add("train accuracy", run.number("final_train_accuracy"), readable_score);
  facts.add("updates skipped, gradient overflowed", run.count("skipped_updates"));
  facts.add("loss scale at the end", run.number("final_loss_scale"), number_text);
  const ResultTable thresholds(run.folder / "thresholds.csv");
  const AccuracyCurve evaluations = accuracies(curve);
  for (std::size_t row = 0; row < thresholds.rows() && run.with_math(); ++row) {
    const auto seconds = thresholds.number(row, "time_s"), threshold = thresholds.number(row, "threshold");
    std::string text = seconds ? readable_seconds(*seconds) : std::string("not reached");
    if (seconds && threshold)
      if (const auto below = below_again(evaluations, *threshold, *seconds))
        text += fmt::format("; below it again after {}", readable_seconds(*below));
    facts.add("time to " + thresholds.text(row, "threshold"), text);
  }
  return "<h2>Figures</h2>\n" + facts.html();
}

/// On each axis; empty: the run does not reach it.
std::vector<double> target_reached(const ResultTable& thresholds, double target, const std::vector<CurveAxis>& axes) {
  for (std::size_t row = 0; row < thresholds.rows(); ++row) {
    if (thresholds.number(row, "threshold") != target) continue;
    const ThresholdResult at{
        target, thresholds.number(row, "time_s"), {}, thresholds.number(row, "updates"), thresholds.number(row, "epochs"),
        {},     thresholds.number(row, "bytes")};
    return reached_at(at, axes).value_or(std::vector<double>());
  }
  return {};
}

/// Failures, rollbacks and checkpoints, by time; some of each kind where there are very many.
std::vector<LearningEvent> events_of(const RunFiles& run) {
  constexpr std::size_t most_lines = 60, most = 300;
  std::vector<LearningEvent> lines, ticks;
  if (!run.has("recovery.csv")) return lines;
  const ResultTable table(run.folder / "recovery.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double seconds = table.number(row, "time_s").value_or(0);
    const std::string event = table.text(row, "event"), update = table.text(row, "update");
    if (event == "checkpoint") {
      ticks.push_back({seconds, false, "update " + update + " saved"});
    } else if (event == "rollback" && !lines.empty() && lines.back().seconds == seconds) {
      lines.back().name += ", back to update " + update;
    } else {
      lines.push_back({seconds, true, event == "failure" ? table.text(row, "unit") + " failed" : "back to update " + update});
    }
  }
  const bool through = lines.size() <= most_lines;
  for (LearningEvent& event : lines) event.through = through;
  std::vector<LearningEvent> shown;
  for (const auto& all : {ticks, lines})
    for (std::size_t i = 0, step = all.size() / most + 1; i < all.size(); i += step) shown.push_back(all[i]);
  return shown;
}

std::string words_of(const std::vector<LearningEvent>& events, bool failures) {
  const bool lines = std::ranges::any_of(events, &LearningEvent::through), ticks = !std::ranges::all_of(events, &LearningEvent::through);
  std::string words = lines ? "Lines are failures" : "";
  if (ticks)
    words += lines      ? ", ticks on the axis checkpoints"
             : failures ? "Ticks on the axis are failures and checkpoints"
                        : "Ticks on the axis are checkpoints";
  return words + "; recovery.csv lists them.";
}

/// Accuracies, then losses and perplexities, each over all that a run uses up.
std::vector<Figure> learning_figures(const RunFiles& run, const ResultTable& curve) {
  std::vector<Figure> figures;
  const ResultTable thresholds(run.folder / "thresholds.csv");
  const std::vector<LearningEvent> events = events_of(run);
  for (const std::string what : {"accuracy", "loss", "perplexity"}) {
    const bool accuracy = what == "accuracy";
    if (what == "perplexity" && !curve.has("test_perplexity")) continue;  // the data are no symbols
    LearningChart chart;
    chart.label = "Test and train " + what;
    chart.y_title = what;
    chart.linear_y = accuracy;
    chart.crop = Crop::values;
    chart.events = events;
    std::vector<CurveAxis> axes = {{"time_s", "simulated time", readable_seconds},
                                   {"epoch", "epochs", readable_number},
                                   {"update", "updates", readable_number},
                                   {"bytes_sent", "bytes sent", readable_bytes}};
    for (const CurveAxis& axis : cost_axes)
      if (curve.has(axis.column)) axes.push_back(axis);
    // There are none if an epoch has no known number of samples.
    if (curve.rows() > 0 && !curve.number(curve.rows() - 1, "epoch")) axes.erase(axes.begin() + 1);
    for (const CurveAxis& axis : axes) chart.axes.emplace_back(axis.title, axis.text);
    std::size_t points = 0, drawn = 0;
    for (const char* const set : {"test", "train"}) {
      const std::vector<LearningPoint> all = learning_points(curve, axes, std::string(set) + "_" + what);
      if (all.size() < 2) continue;
      chart.curves.push_back(
          {std::string(set) + " " + what, std::string(set) == "test" ? std::size_t{0} : std::size_t{1}, thinned(all, most_run_points)});
      points += all.size();
      drawn += chart.curves.back().points.size();
    }
    if (chart.curves.empty()) continue;
    if (const auto target = run.number("target_accuracy"); target && accuracy) {
      chart.target = *target;
      chart.target_name = "target " + readable_number(*target);
      if (chart.curves.front().name.starts_with("test")) chart.curves.front().reached = target_reached(thresholds, *target, axes);
    }
    std::string caption = thinning_words(points, drawn, "curve.csv");
    if (!events.empty()) caption += (caption.empty() ? "" : " ") + words_of(events, run.count("failures").value_or(0) > 0);
    figures.push_back(figure_of(chart.label, caption, chart));
  }
  return figures;
}

/// The course of the run over time, from the timing simulated again.
std::string timeline_html(const RunFiles& run, const ResultTable& curve) {
  if (run.real) return {};
  if (!run.scenario) {
    const std::string folder = (run.folder / "").string();  // the page stays right where the folder moves
    return html_paragraph(
        fmt::format("There is no timeline: {}.", run.unread.starts_with(folder) ? run.unread.substr(folder.size()) : run.unread), "dim");
  }
  FinishedRun finished;
  finished.seconds = run.number("simulated_seconds").value_or(0);
  finished.updates = run.count("updates").value_or(0);
  finished.events = run.count("events").value_or(0);
  // Evaluations that are due by time, and the one at the stop, evaluate an earlier update.
  const auto lost = [&curve, known = curve.has("lost")](std::size_t row) { return known && curve.number(row, "lost") == 1.0; };
  const bool by_time = run.scenario->training.evaluate.every_simulated_time.has_value();
  for (std::size_t row = 0; row < curve.rows() && !by_time; ++row)
    if (const auto update = curve.number(row, "update"), time = curve.number(row, "time_s");
        update && time && *update > 0 && *time < finished.seconds && !lost(row))
      finished.times.emplace_back(static_cast<std::uint64_t>(*update), *time);
  RunTimeline made = run_timeline(*run.scenario, finished);
  return made.figure ? "<h2 id=\"timeline\">Timeline</h2>\n" + html_of(*made.figure) : html_paragraph(made.why_not, "dim");
}

std::optional<Figure> accounts_figure(const RunFiles& run, const ResultTable& workers) {
  // Workers of a group are equal: of large groups the page shows means.
  const bool groups = workers.rows() > most_workers;
  std::map<std::string, std::size_t> place;
  std::vector<std::string> rows;
  std::vector<ByPhase<double>> seconds;
  std::vector<double> counts;
  const auto names = run.scenario ? std::optional<WorkerNames>(*run.scenario) : std::nullopt;
  for (std::size_t row = 0; row < workers.rows(); ++row) {
    const std::string key = groups ? workers.text(row, "group") : workers.text(row, "worker");
    const auto group = static_cast<std::size_t>(workers.number(row, "group").value_or(0));
    const auto [at, fresh] = place.emplace(key, rows.size());
    if (fresh) {
      rows.push_back((groups ? "group " : "worker ") + key + special(run, names, group) + ", " + workers.text(row, "device"));
      seconds.emplace_back();
      counts.push_back(0);
    }
    ++counts[at->second];
    for (const PhaseRow& part : phase_rows)
      if (!part.of_recovery || workers.has(seconds_column(part.phase)))
        seconds[at->second][part.phase] += workers.number(row, seconds_column(part.phase)).value_or(0);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (const PhaseRow& part : phase_rows) seconds[i][part.phase] /= counts[i];
    if (groups) rows[i] += fmt::format(" ({})", counts[i]);
  }
  if (rows.size() > most_workers || rows.empty()) return std::nullopt;
  StackChart chart = time_split(rows, seconds);
  chart.title = "simulated time";
  chart.text = readable_seconds;
  chart.label = groups ? "Where the time went, means of groups of workers" : "Where the time of each worker went";
  return figure_of(chart.label, {}, chart);
}

std::optional<Figure> staleness_figure(const RunFiles& run) {
  if (!run.has("staleness.csv")) return std::nullopt;
  const ResultTable table(run.folder / "staleness.csv");
  if (table.rows() < 2) return std::nullopt;
  std::vector<std::pair<double, double>> all;
  for (std::size_t row = 0; row < table.rows(); ++row)
    all.emplace_back(table.number(row, "staleness").value_or(0), table.number(row, "count").value_or(0));
  const double wide = std::ceil((all.back().first + 1) / static_cast<double>(most_stalenesses));
  std::map<double, double> bins;
  for (const auto& [value, count] : all) bins[std::floor(value / wide)] += count;
  BarChart chart;
  chart.title = "contributions";
  chart.text = count_text;
  for (const auto& [bin, count] : bins) {
    const double first = bin * wide, last = first + wide - 1;
    chart.rows.push_back({wide == 1 ? count_text(first) : fmt::format("{} to {}", count_text(first), count_text(last)), 3, false, count, 0,
                          count_text(count)});
  }
  chart.label = "Staleness: updates applied between reading weights and applying the gradient";
  return figure_of(chart.label, {}, chart);
}

std::optional<Figure> links_figure(const RunFiles& run) {
  if (!run.has("links.csv")) return std::nullopt;
  const ResultTable table(run.folder / "links.csv");
  std::vector<std::pair<double, std::size_t>> busiest;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (const double share = table.number(row, "utilization").value_or(0); share > 0) busiest.emplace_back(-share, row);
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (busiest.empty()) return std::nullopt;
  BarChart chart;
  chart.title = "share of its capacity";
  chart.text = share_text;
  for (std::size_t i = 0; i < std::min(busiest.size(), most_links); ++i) {
    const std::size_t row = busiest[i].second;
    std::string said = fmt::format("{}, {}", share_text(-busiest[i].first), readable_bytes(table.number(row, "bytes").value_or(0)));
    if (table.has("longest_queue_bytes"))  // messages were packets
      said += fmt::format(", a queue of up to {}", readable_bytes(table.number(row, "longest_queue_bytes").value_or(0)));
    chart.rows.push_back({table.text(row, "link"), 5, false, -busiest[i].first, 0, std::move(said)});
  }
  chart.label =
      busiest.size() > most_links ? fmt::format("The {} busiest links of {}", most_links, table.rows()) : std::string("Links by use");
  return figure_of(chart.label, {}, chart);
}

PageParts page_of(const RunFiles& run) {
  const fs::path& folder = run.folder;
  const std::string name = run.text("name");
  std::string body = fmt::format("<h1>{}</h1>\n", xml_text(name)) + html_paragraph(what_ran(run));
  const ResultTable curve(folder / "curve.csv", std::numeric_limits<std::uintmax_t>::max());
  body += findings_html(run, curve);
  if (const std::vector<Figure> curves = learning_figures(run, curve); !curves.empty()) body += "<h2>Learning</h2>\n" + html_of(curves);
  body += timeline_html(run, curve);
  std::vector<Figure> figures;
  const auto add = [&](std::optional<Figure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  if (run.has("workers.csv")) {
    const ResultTable workers(folder / "workers.csv");
    if (workers.large())
      body += html_paragraph("There are too many workers to draw; workers.csv has them.", "dim");
    else
      add(accounts_figure(run, workers));
  }
  add(links_figure(run));
  add(staleness_figure(run));
  if (!figures.empty()) body += "<h2>Where the time went</h2>\n" + html_of(figures);
  body += facts_html(run, curve);
  body += "<details><summary>The scenario, with every default</summary>\n<pre>" + xml_text(file_text(folder / "scenario.yaml")) +
          "</pre></details>\n";
  return page_parts(name + " \u2013 a run", body);
}

}  // namespace

PageParts run_page_parts(const fs::path& folder, const Scenario* scenario) { return page_of(run_files(folder, scenario)); }

std::string run_page(const fs::path& folder, const std::function<void(const std::string&)>& warn) {
  const RunFiles run = run_files(folder, nullptr);
  if (warn && !run.unread.empty()) warn(run.unread);
  return page_of(run).text();
}

}  // namespace straggler
