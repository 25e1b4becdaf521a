#include <algorithm>

#include "scenarios/results/json.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

Json scores_json(const Scores& scores) {
  if (scores.rows == 0) return {};
  return {{"rows", scores.rows}, {"mape", scores.mape}, {"largest", scores.max}, {"signs", scores.signs}};
}

Json row_json(const RowResult& row) {
  Json json{{"row", row.row.label},       {"set", name_of(row.row.use)}, {"measured", row.measured},
            {"predicted", row.predicted}, {"error", row.error},          {"interpolated", json_or_null(row.interpolated)}};
  json["interpolation_error"] = row.interpolated ? Json(*row.interpolated / row.measured - 1) : Json();
  json["low"] = json_or_null(row.low);
  json["high"] = json_or_null(row.high);
  json["outside"] = row.outside;
  json["seeds"] = row.seeds ? row.seeds->runs : 1;
  json["seed_deviation"] = row.seeds ? Json(row.seeds->deviation) : Json();
  json["standard_error"] = row.seeds ? Json(row.seeds->error()) : Json();
  json["noise"] = json_or_null(row.row.noise);
  json["weight"] = row.row.weight;
  return json;
}

/// Values in SI units: seconds, bytes, bytes per second, FLOPS.
Json fitted_json(const ClaimResult& result) {
  Json fitted = Json::array();
  for (std::size_t i = 0; i < result.fitted_values.size(); ++i) {
    const FittedValue& value = result.fitted_values[i];
    fitted.push_back({{"paths", value.paths},
                      {"is", noun_of(value.dimension)},
                      {"value", value.value},
                      {"uncertainty", json_or_null(value.uncertainty)},
                      {"fits_as_well", i < result.other_values.size() ? Json(result.other_values[i]) : Json()},
                      {"at_bound", value.at_bound},
                      {"no_effect", value.no_effect}});
  }
  return fitted;
}

Json claim_json(const ClaimResult& result) {
  const Claim& claim = result.claim;
  Json json{{"claim", claim.title},
            {"source", text_or_null(claim.source)},
            {"file", claim.file.string()},
            {"scenario", claim.scenario.string()},
            {"measured", claim.measured.string()},
            {"metric", claim.compare.metric},
            {"divide_by", text_or_null(claim.compare.divide_by)},
            {"unit", claim.compare.relative_to ? Json() : text_or_null(claim.compare.unit)}};
  json["kind"] = claim.kind == Claim::Kind::replay ? "replay" : "prediction";
  json["attempt"] = claim.attempt;
  json["seeds"] = claim.seeds;
  json["set"] = Json::array();
  for (const FixedSet& set : claim.set)
    json["set"].push_back({{"path", set.path}, {"value", set.yaml}, {"source", text_or_null(set.source)}});
  json["holds"] = result.holds();
  json["counted"] = counts(result);
  json["not_counted"] = not_counted(result);
  json["misses"] = misses(result);
  json["bound_mape"] = json_or_null(claim.bound_mape);
  json["bound_largest"] = json_or_null(claim.bound_max);
  json["rows"] = Json::array();
  for (const RowResult& row : result.rows) json["rows"].push_back(row_json(row));
  json["held_out"] = scores_json(result.held_out);
  json["fitted"] = scores_json(result.fitted);
  json["interpolation"] = result.interpolation ? scores_json(*result.interpolation) : Json();
  json["no_interpolation"] = text_or_null(result.no_interpolation);
  json["ruler"] = result.interpolation ? Json(result.linear_scaling ? "linear scaling" : "interpolation") : Json();
  json["inside"] = result.no_band.empty() ? Json(result.inside) : Json();
  json["no_interval"] = text_or_null(result.no_band);
  json["outside"] = result.outside;
  json["noise_floor"] = json_or_null(result.noise_floor);
  json["fitted_values"] = fitted_json(result);
  json["degrees_of_freedom"] = claim.fit ? Json(result.degrees_of_freedom) : Json();
  json["converged"] = claim.fit ? Json(result.converged) : Json();
  json["runs"] = result.runs;
  json["warnings"] = claim_warnings(result);
  return json;
}

}  // namespace

std::string validation_json(const std::vector<ClaimResult>& results, std::size_t not_tried) {
  Json json;
  json["claims"] = Json::array();
  for (const ClaimResult& result : results) json["claims"].push_back(claim_json(result));
  json["holding"] =
      std::count_if(results.begin(), results.end(), [](const ClaimResult& result) { return counts(result) && result.holds(); });
  json["not_tried"] = not_tried;
  return json_document(json);
}

}  // namespace straggler
