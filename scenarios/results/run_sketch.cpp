#include "scenarios/results/run_sketch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>

#include "scenarios/results/json.hpp"
#include "scenarios/results/link_samples.hpp"
#include "scenarios/results/thinned.hpp"
#include "scenarios/results/waited_for.hpp"
#include "sim/base/json_depth.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_links_looked_at = 20'000;

std::vector<SketchPoint> curve_of(const std::vector<CurvePoint>& curve) {
  std::vector<SketchPoint> points;
  for (const CurvePoint& each : curve) {
    if (!each.test_accuracy && !each.test_loss) continue;
    points.push_back({each.time.seconds(), static_cast<double>(each.update), static_cast<double>(each.samples),
                      static_cast<double>(each.bytes_sent), std::isnan(each.epoch) ? std::nullopt : std::optional(each.epoch),
                      each.test_accuracy, each.test_loss});
  }
  return points;
}

std::vector<SketchPoint> thinned_curve(const std::vector<SketchPoint>& points) {
  if (points.size() <= most_sketched) return points;
  std::vector<double> values;
  for (const SketchPoint& point : points) values.push_back(point.test_accuracy ? *point.test_accuracy : *point.test_loss);
  std::vector<SketchPoint> kept;
  for (const std::size_t i : thinned(values, most_sketched)) kept.push_back(points[i]);
  return kept;
}

std::vector<ThresholdResult> thresholds_of(const RunRecord& record) {
  std::set<double> all(record.thresholds.begin(), record.thresholds.end());
  if (record.target_accuracy) all.insert(*record.target_accuracy);
  std::vector<ThresholdResult> rows;
  for (const double threshold : all) {
    ThresholdResult row{threshold, {}, {}, {}, {}, {}, {}};
    if (const Reached when = reached(record.curve, threshold, record.sustain); when.at) {
      row.seconds = nearest_seconds(when.at->time);
      row.updates = static_cast<double>(when.at->update);
      if (!std::isnan(when.at->epoch)) row.epochs = when.at->epoch;
      row.samples = static_cast<double>(when.at->samples);
      row.bytes = static_cast<double>(when.at->bytes_sent);
      row.price = when.at->costs.price;
      row.joules = when.at->costs.joules;
    }
    rows.push_back(row);
  }
  return rows;
}

/// Whole numbers as they are, others with eight digits, enough for a picture.
Json rounded(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return {};
  const auto whole = [](double number) { return number == std::floor(number) && std::abs(number) < 1e15; };
  const double near = whole(*value) ? *value : std::strtod(fmt::format("{:.8g}", *value).c_str(), nullptr);
  return whole(near) ? Json(static_cast<std::int64_t>(near)) : Json(near);
}

std::optional<double> optional(const Json& json) { return json.is_null() ? std::nullopt : std::optional(json.get<double>()); }

/// The mean over those that have a value.
template <class Get>
std::optional<double> mean(const std::vector<RunResult>& runs, const Get& get) {
  double sum = 0, count = 0;
  for (const RunResult& run : runs)
    if (const std::optional<double> value = get(run)) {
      sum += *value;
      ++count;
    }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

RunSketch sketch_of(const Scenario& scenario, const RunRecord& record) {
  RunSketch sketch;
  const std::vector<SketchPoint> all = curve_of(record.curve);
  sketch.evaluations = all.size();
  sketch.curve = thinned_curve(all);
  sketch.thresholds = thresholds_of(record);
  sketch.waited_for = waited_for(scenario, idle_of_groups(record));
  if (record.links.size <= most_links_looked_at)
    for (const std::size_t link : busiest_links(record.links, record.end, 1)) {
      const LinkRecord row = record.links.row(link);
      sketch.busiest_link = row.name;
      sketch.busiest_use = row.bytes / (row.bytes_per_second * record.end.seconds());
    }
  return sketch;
}

std::string written(const RunSketch& sketch) {
  Json json = {{"evaluations", sketch.evaluations}, {"curve", Json::array()}, {"thresholds", Json::array()}};
  for (const SketchPoint& point : sketch.curve)
    json["curve"].push_back({rounded(point.time_s), rounded(point.update), rounded(point.samples), rounded(point.bytes_sent),
                             rounded(point.epoch), rounded(point.test_accuracy), rounded(point.test_loss)});
  for (const ThresholdResult& row : sketch.thresholds) {
    json["thresholds"].push_back({row.threshold, json_or_null(row.seconds), json_or_null(row.updates), json_or_null(row.epochs),
                                  json_or_null(row.samples), json_or_null(row.bytes)});
    if (row.price || row.joules)
      for (const std::optional<double>& cost : {row.price, row.joules}) json["thresholds"].back().push_back(json_or_null(cost));
  }
  if (!sketch.waited_for.empty()) json["waited_for"] = sketch.waited_for;
  if (!sketch.busiest_link.empty()) {
    json["busiest_link"] = sketch.busiest_link;
    json["busiest_use"] = rounded(sketch.busiest_use);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunSketch read_sketch(const std::string& text) {
  RunSketch sketch;
  if (text.empty()) return sketch;
  const ResultsError damaged("the sketch of the run is damaged");
  if (nests_deeper(text)) throw damaged;
  try {
    const Json json = Json::parse(text);
    if (!json.at("evaluations").is_number_unsigned()) throw damaged;
    sketch.evaluations = json.at("evaluations").get<std::uint64_t>();
    for (const Json& row : json.at("curve"))
      sketch.curve.push_back({row.at(0).get<double>(), row.at(1).get<double>(), row.at(2).get<double>(), row.at(3).get<double>(),
                              optional(row.at(4)), optional(row.at(5)), optional(row.at(6))});
    for (const Json& row : json.at("thresholds")) {
      sketch.thresholds.push_back({row.at(0).get<double>(), optional(row.at(1)), std::nullopt, optional(row.at(2)), optional(row.at(3)),
                                   optional(row.at(4)), optional(row.at(5))});
      if (row.size() <= 6) continue;
      sketch.thresholds.back().price = optional(row.at(6));
      sketch.thresholds.back().joules = optional(row.at(7));
    }
    sketch.waited_for = json.value("waited_for", std::string());
    sketch.busiest_link = json.value("busiest_link", std::string());
    sketch.busiest_use = json.value("busiest_use", 0.0);
  } catch (const Json::exception&) {
    throw damaged;
  }
  return sketch;
}

RunResult result_of(const std::vector<SummaryField>& fields, const RunSketch& sketch) {
  RunResult run = result_of(fields);
  run.with_math = !sketch.curve.empty();
  run.waited_for = sketch.waited_for;
  run.thresholds = sketch.thresholds;
  return run;
}

RunResult mean_of(const std::vector<RunResult>& runs) {
  std::vector<RunResult> finished;
  std::ranges::copy_if(runs, std::back_inserter(finished), [](const RunResult& run) { return is_finished(run.outcome); });
  if (!finished.empty() && finished.size() < runs.size()) return mean_of(finished);
  RunResult all = runs.front();
  if (runs.size() == 1) return all;
  for (const auto& figure : result_counts)
    all.*figure.second = *mean(runs, [&](const RunResult& run) { return std::optional(run.*figure.second); });
  for (const auto& figure : result_numbers) all.*figure.second = mean(runs, [&](const RunResult& run) { return run.*figure.second; });
  for (std::size_t phase = 0; phase < phase_count; ++phase)
    all.shares[phase] = mean(runs, [phase](const RunResult& run) { return run.shares[phase]; });
  for (ThresholdResult& row : all.thresholds)
    for (std::optional<double> ThresholdResult::*const value :
         {&ThresholdResult::seconds, &ThresholdResult::updates, &ThresholdResult::epochs, &ThresholdResult::samples,
          &ThresholdResult::bytes, &ThresholdResult::price, &ThresholdResult::joules})
      row.*value = mean(runs, [&](const RunResult& run) {
        const auto at = std::find_if(run.thresholds.begin(), run.thresholds.end(),
                                     [&](const ThresholdResult& each) { return each.threshold == row.threshold; });
        return at == run.thresholds.end() ? std::optional<double>() : (*at).*value;
      });
  for (const RunResult& run : runs)
    if (all.waited_for.empty()) all.waited_for = run.waited_for;
  all.summary.clear();
  return all;
}

std::optional<RunResult> mean_result(const std::vector<StudyRun>& runs) {
  std::vector<RunResult> results;
  for (const StudyRun& run : runs)
    if (!run.fields.empty()) results.push_back(result_of(run.fields, read_sketch(run.sketch)));
  return results.empty() ? std::nullopt : std::optional(mean_of(results));
}

}  // namespace straggler
