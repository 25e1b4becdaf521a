#include "scenarios/results/json.hpp"
#include "scenarios/results/verdict.hpp"

namespace straggler {

namespace {

Json run_of(const Comparison& comparison, std::size_t i) {
  const RunResult& run = comparison.runs[i];
  Json json{{"label", comparison.labels[i]}, {"folder", run.folder.string()}, {"measured", run.real}, {"timing_only", timing_alone(run)}};
  json["waited_for"] = text_or_null(run.waited_for);
  json["summary"] = json_of(run.summary);
  json["thresholds"] = Json::array();
  for (const ThresholdResult& row : run.thresholds)
    json["thresholds"].push_back({{"threshold", row.threshold},
                                  {"time_s", json_or_null(row.seconds)},
                                  {"last_below_s", json_or_null(row.last_below_seconds)},
                                  {"updates", count_or_null(row.updates)},
                                  {"epochs", json_or_null(row.epochs)},
                                  {"samples", count_or_null(row.samples)},
                                  {"bytes", count_or_null(row.bytes)}});
  return json;
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const std::vector<std::string>& left_out) {
  const std::optional<SpeedUps> speed_ups = speed_ups_of(comparison);
  Json json;
  json["runs"] = Json::array();
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    json["runs"].push_back(run_of(comparison, i));
    json["runs"].back()["speed_up"] = speed_ups ? json_or_null(speed_ups->ratios[i]) : Json();
  }
  json["reference"] = comparison.labels[comparison.reference];
  json["speed_up_at"] = speed_ups ? json_or_null(speed_ups->threshold) : Json();
  json["deciding_threshold"] = json_or_null(comparison.deciding);
  json["winner"] = comparison.winner ? Json(comparison.labels[*comparison.winner]) : Json();
  json["verdict"] = plain(verdict(comparison));
  json["notes"] = plain(comparison_notes(comparison));
  json["left_out"] = left_out;
  return json_document(json);
}

}  // namespace straggler
