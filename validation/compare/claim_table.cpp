#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {


std::string value_text(double value) { return fmt::format("{:.6g}", value); }

std::string scores_text(const char* what, const Scores& scores) {
  return fmt::format("{:<10} {} row{}: MAPE {}, largest {}, signs {}\n", what, scores.rows, scores.rows == 1 ? "" : "s", share(scores.mape),
                     share(scores.max), scores.signs);
}

std::string row_table(const ClaimResult& result) {
  const std::string unit = result.claim.compare.unit.empty() || result.claim.compare.relative_to ? "" : ", " + result.claim.compare.unit;
  std::vector<std::vector<std::string>> rows{{"set", "row", "measured" + unit, "predicted" + unit, "error"}};
  if (result.interpolation) rows.front().emplace_back("interpolation");
  // Fitted rows stand apart from those that say something.
  for (const RowUse use : {RowUse::reference, RowUse::fitted, RowUse::held_out}) {
    for (const RowResult& row : result.rows) {
      if (row.row.use != use) continue;
      rows.push_back({name_of(use), row.row.label, value_text(row.measured), value_text(row.predicted), error_text(row.error)});
      if (result.interpolation) rows.back().push_back(row.interpolated ? error_text(*row.interpolated / row.measured - 1) : std::string());
    }
  }
  return aligned(rows, 2);
}

}  // namespace

const char* name_of(RowUse use) {
  switch (use) {
    case RowUse::fitted:
      return "fitted";
    case RowUse::held_out:
      return "held out";
    case RowUse::reference:
      return "reference";
  }
  return "";
}

std::string error_text(std::optional<double> error) { return error ? fmt::format("{:+.2f} %", 100 * *error) : "-"; }

std::string bound_text(const Claim& claim) {
  std::string text;
  if (claim.bound_mape) text += "MAPE at most " + share(*claim.bound_mape);
  if (claim.bound_max) text += (text.empty() ? "" : ", ") + std::string("largest at most ") + share(*claim.bound_max);
  return text;
}

std::string fitted_text(const FittedValue& value) {
  std::string paths;
  for (const std::string& path : value.paths) paths += (paths.empty() ? "" : ", ") + path;
  std::string text = paths + " = " + readable_amount(value.value, value.dimension);
  constexpr double rounding = 1e-6;  // the search goes no further than 1e-8 of a residual
  if (!value.uncertainty)
    text += ", uncertainty not determined";
  else if (*value.uncertainty < rounding * std::abs(value.value))
    text += " (exact to rounding)";
  else
    text += " +- " + readable_amount(*value.uncertainty, value.dimension);
  if (value.no_effect) text += "; it changes no fitted row";
  if (value.at_bound) text += "; at the end of its range";
  return text;
}

std::string other_values_text(const ClaimResult& result) {
  if (result.other_values.empty()) return {};
  std::string text = "the fitted rows do not tell these values from others, which fit as well:";
  for (std::size_t i = 0; i < result.other_values.size(); ++i)
    text += fmt::format("{} {} = {}", i == 0 ? "" : ",", result.fitted_values[i].paths.front(),
                        readable_amount(result.other_values[i], result.fitted_values[i].dimension));
  return text;
}

std::string claim_table(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string out = fmt::format("{}\n", claim.title);
  if (!claim.source.empty()) out += fmt::format("source: {}\n", claim.source);
  out += fmt::format("{}: {} of {}{}\n\n", claim.file.string(), claim.compare.metric, claim.scenario.filename().string(),
                     claim.compare.divide_by.empty() ? "" : ", by " + claim.compare.divide_by);
  out += row_table(result) + "\n";
  for (const FittedValue& value : result.fitted_values) out += fitted_text(value) + "\n";
  if (const std::string others = other_values_text(result); !others.empty()) out += others + "\n";
  if (claim.fit)
    out += fmt::format("{} degree{} of freedom, {} runs{}\n", result.degrees_of_freedom, result.degrees_of_freedom == 1 ? "" : "s",
                       result.runs, result.converged ? "" : "; the fit did not come to rest: its values may not be the best");
  if (result.fitted.rows > 0) out += scores_text("fitted", result.fitted);
  out += scores_text("held out", result.held_out);
  if (result.interpolation)
    out += scores_text("a line's", *result.interpolation);
  else if (claim.fit)
    out += fmt::format("{:<10} -, since {}\n", "a line's", result.no_interpolation);
  out += fmt::format("bound: {}: {}\n", bound_text(claim), result.holds() ? "holds" : "MISSED");
  for (const std::string& warning : claim_warnings(result)) out += fmt::format("warning: {}\n", warning);
  return out;
}

std::string claim_line(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string line = fmt::format("{:<6}  {}: MAPE {}", result.holds() ? "holds" : "MISSED", claim.title, share(result.held_out.mape));
  if (claim.bound_mape) line += fmt::format(" (bound {})", share(*claim.bound_mape));
  line += fmt::format(", largest {}", share(result.held_out.max));
  if (claim.bound_max) line += fmt::format(" (bound {})", share(*claim.bound_max));
  line += fmt::format("; {} held out, {} fitted", result.held_out.rows, result.fitted.rows);
  if (claim.fit) line += fmt::format(", {} degree{} of freedom", result.degrees_of_freedom, result.degrees_of_freedom == 1 ? "" : "s");
  if (claim.fit) line += fmt::format("; interpolation {}", result.interpolation ? share(result.interpolation->mape) : "-");
  return line;
}

std::string claims_summary(const std::vector<ClaimResult>& results) {
  const auto holding = std::count_if(results.begin(), results.end(), [](const ClaimResult& result) { return result.holds(); });
  return fmt::format("{} of {} claim{} hold{}", holding, results.size(), results.size() == 1 ? "" : "s", results.size() == 1 ? "s" : "");
}

std::string validation_csv(const std::vector<ClaimResult>& results) {
  std::string out = "claim,row,set,measured,predicted,error,interpolated,interpolation_error,unit\n";
  for (const ClaimResult& result : results) {
    const std::string unit = result.claim.compare.relative_to ? "" : result.claim.compare.unit;
    for (const RowResult& row : result.rows) {
      out += fmt::format("{},{},{},{},{},{},", csv_text(result.claim.title), csv_text(row.row.label), name_of(row.row.use),
                         number_text(row.measured), number_text(row.predicted), number_text(row.error));
      if (row.interpolated)
        out += fmt::format("{},{}", number_text(*row.interpolated), number_text(*row.interpolated / row.measured - 1));
      else
        out += ",";
      out += "," + unit + "\n";
    }
  }
  return out;
}

}  // namespace straggler
