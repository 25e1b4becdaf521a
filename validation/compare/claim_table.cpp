#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "scenarios/results/text.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "validation/compare/bands.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

std::string value_text(double value) { return fmt::format("{:.6g}", value); }

std::string scores_text(const char* what, const Scores& scores) {
  return fmt::format("{:<10} {} row{}: MAPE {}, largest {}, signs {}\n", what, scores.rows, scores.rows == 1 ? "" : "s", share(scores.mape),
                     share(scores.max), scores.signs);
}

const char* ruler(const ClaimResult& result) { return result.linear_scaling ? "scaling" : "interpolation"; }

std::string row_table(const ClaimResult& result) {
  const std::string unit = result.claim.compare.unit.empty() || result.claim.compare.relative_to ? "" : ", " + result.claim.compare.unit;
  std::vector<std::vector<std::string>> rows{{"set", "row", "measured" + unit, "predicted" + unit, "error"}};
  const bool bands = std::any_of(result.rows.begin(), result.rows.end(), [](const RowResult& row) { return row.low.has_value(); });
  if (bands)
    rows.front().insert(rows.front().end(),
                        {fmt::format("low ({:.0f} %)", 100 * band_confidence), fmt::format("high ({:.0f} %)", 100 * band_confidence)});
  const std::vector<std::string> of_seeds = seed_heads(result);
  rows.front().insert(rows.front().end(), of_seeds.begin(), of_seeds.end());
  if (result.interpolation) rows.front().emplace_back(ruler(result));
  if (result.outside > 0) rows.front().emplace_back("outside of what was fitted");
  // Fitted rows are listed separately from those that test the claim.
  for (const RowUse use : {RowUse::reference, RowUse::fitted, RowUse::held_out}) {
    for (const RowResult& row : result.rows) {
      if (row.row.use != use) continue;
      rows.push_back({name_of(use), row.row.label, value_text(row.measured), value_text(row.predicted), error_text(row.error)});
      std::vector<std::string>& cells = rows.back();
      if (bands) cells.insert(cells.end(), {row.low ? value_text(*row.low) : "", row.high ? value_text(*row.high) : ""});
      const std::vector<std::string> more = seed_cells(row);
      cells.insert(cells.end(), more.begin(), more.end());
      if (result.interpolation) cells.push_back(row.interpolated ? error_text(*row.interpolated / row.measured - 1) : std::string());
      if (result.outside > 0) cells.push_back(fmt::format("{}", fmt::join(row.outside, ", ")));
    }
  }
  return aligned(rows, 2);
}

/// Sources of the fixed values.
std::string sets_text(const Claim& claim) {
  std::string out;
  for (const FixedSet& set : claim.set)
    out += fmt::format("set: {} = {}{}\n", set.path, set.yaml, set.source.empty() ? "" : " (" + set.source + ")");
  return out;
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

std::vector<std::string> misses(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::vector<std::string> all;
  const auto add = [&](const char* rows, const char* what, double value, std::optional<double> bound) {
    if (bound && value > *bound) all.push_back(fmt::format("{}: {} {} (bound {})", rows, what, share(value), share(*bound)));
  };
  add("held out", "MAPE", result.held_out.mape, claim.bound_mape);
  add("held out", "largest", result.held_out.max, claim.bound_max);
  add("fitted rows", "MAPE", result.fitted.mape, claim.bound_mape);
  add("fitted rows", "largest", result.fitted.max, claim.bound_max);
  for (const FittedValue& value : result.fitted_values)
    if (value.at_bound) all.push_back(value.paths.front() + " is at the end of its range");
  return all;
}

std::string inside_text(const ClaimResult& result) {
  if (!result.no_band.empty()) return "-, since " + result.no_band;
  return fmt::format("{} of {} held-out row{} in the {:g} % interval", result.inside, result.held_out.rows,
                     result.held_out.rows == 1 ? " lies" : "s lie", 100 * band_confidence);
}

std::vector<std::string> seed_heads(const ClaimResult& result) {
  if (result.claim.seeds == 1) return {};
  return {"between seeds", "standard error"};
}

std::vector<std::string> seed_cells(const RowResult& row) {
  if (!row.seeds) return {};
  if (row.seeds->runs == 1) return {"-", "-"};
  return {share(row.seeds->deviation / row.measured), share(row.seeds->error() / row.measured)};
}

std::string seeds_text(const ClaimResult& result) {
  double squares = 0, largest = 0;
  std::size_t random = 0;
  for (const RowResult& row : result.rows) {
    if (row.row.use != RowUse::held_out || !row.seeds) continue;
    const double error = row.seeds->error() / row.measured;
    squares += error * error / static_cast<double>(result.held_out.rows);
    largest = std::max(largest, error);
    random += row.seeds->runs > 1;
  }
  return fmt::format("{} runs of {} held-out row{}, whose errors have standard errors of {} (root mean square), at most {}",
                     result.claim.seeds,
                     random == result.held_out.rows ? std::string("each") : fmt::format("{} of {}", random, result.held_out.rows),
                     random == result.held_out.rows || result.held_out.rows == 1 ? "" : "s", share(std::sqrt(squares)), share(largest));
}

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
  constexpr double rounding = 1e-6;  // the search stops at residuals of 1e-8
  if (!value.uncertainty)
    text += ", uncertainty not determined";
  else if (*value.uncertainty < rounding * std::abs(value.value))
    text += " (exact to rounding)";
  else
    text += " +- " + readable_amount(*value.uncertainty, value.dimension);
  if (value.no_effect)
    text += "; it changes no fitted row";
  else if (value.flat)
    text += "; values near it fit the rows as well";
  if (value.at_bound) text += "; at the end of its range";
  return text;
}

std::string other_values_text(const ClaimResult& result) {
  if (result.other_values.empty()) return {};
  std::string text = "other values fit the fitted rows as well:";
  for (std::size_t i = 0; i < result.other_values.size(); ++i)
    text += fmt::format("{} {} = {}", i == 0 ? "" : ",", result.fitted_values[i].paths.front(),
                        readable_amount(result.other_values[i], result.fitted_values[i].dimension));
  return text;
}

namespace {
std::string attempt_text(const Claim& claim) { return claim.attempt > 1 ? fmt::format("; attempt {}", claim.attempt) : std::string(); }
}  // namespace

std::string claim_table(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string out = fmt::format("{}\n", claim.title);
  if (!claim.source.empty()) out += fmt::format("source: {}\n", claim.source);
  out += fmt::format("{}: {} of {}{}{}\n", claim.file.string(), claim.compare.metric, claim.scenario.filename().string(),
                     claim.compare.divide_by.empty() ? "" : ", by " + claim.compare.divide_by, attempt_text(claim));
  out += sets_text(claim) + "\n";
  out += row_table(result) + "\n";
  for (const FittedValue& value : result.fitted_values) out += fitted_text(value) + "\n";
  if (const std::string others = other_values_text(result); !others.empty()) out += others + "\n";
  if (claim.fit)
    out += fmt::format("{} degree{} of freedom, {} runs{}\n", result.degrees_of_freedom, result.degrees_of_freedom == 1 ? "" : "s",
                       result.runs, result.converged ? "" : "; the fit did not converge: its values may not be the best");
  if (result.fitted.rows > 0) out += scores_text("fitted", result.fitted);
  out += scores_text("held out", result.held_out);
  if (claim.seeds > 1) out += fmt::format("{:<10} {}\n", "seeds", seeds_text(result));
  if (result.interpolation)
    out += scores_text(result.linear_scaling ? "scaling's" : "a line's", *result.interpolation);
  else if (claim.fit)
    out += fmt::format("{:<10} -, since {}\n", "a line's", result.no_interpolation);
  if (claim.fit) out += fmt::format("{:<10} {}\n", "intervals", inside_text(result));
  if (result.outside > 0)
    out += fmt::format("{:<10} {} of {} held-out rows lie outside of what was fitted\n", "beyond", result.outside, result.held_out.rows);
  if (result.noise_floor)
    out += fmt::format("{:<10} MAPE {} of the held-out rows is noise of the measurement\n", "noise", share(*result.noise_floor));
  if (claim.kind == Claim::Kind::replay)
    out += fmt::format("a replay, no prediction: the scenario's figures come from what was measured; replayed within {} (bound: {}): {}\n",
                       share(result.held_out.max), bound_text(claim), result.holds() ? "holds" : "MISSED");
  else
    out += fmt::format("bound, of held-out rows, to which nothing was fitted: {}: {}\n", bound_text(claim),
                       result.holds() ? "holds" : "MISSED");
  for (const std::string& miss : misses(result)) out += fmt::format("missed: {}\n", miss);
  for (const std::string& warning : claim_warnings(result)) out += fmt::format("warning: {}\n", warning);
  return out;
}

std::string claim_line(const ClaimResult& result) {
  const Claim& claim = result.claim;
  if (claim.kind == Claim::Kind::replay)
    return fmt::format("{:<6}  {}: replayed within {}; not counted", result.holds() ? "replay" : "MISSED", claim.title,
                       share(result.held_out.max));
  std::string line = fmt::format("{:<6}  {}: MAPE {}", result.holds() ? "holds" : "MISSED", claim.title, share(result.held_out.mape));
  if (claim.bound_mape) line += fmt::format(" (bound {})", share(*claim.bound_mape));
  line += fmt::format(", largest {}", share(result.held_out.max));
  if (claim.bound_max) line += fmt::format(" (bound {})", share(*claim.bound_max));
  line += fmt::format("; {} held out, {} fitted", result.held_out.rows, result.fitted.rows);
  if (claim.fit) line += fmt::format(", {} degree{} of freedom", result.degrees_of_freedom, result.degrees_of_freedom == 1 ? "" : "s");
  if (claim.fit) line += fmt::format("; {} {}", ruler(result), result.interpolation ? share(result.interpolation->mape) : "-");
  if (claim.fit) line += result.no_band.empty() ? "; " + inside_text(result) : "; no interval";
  line += attempt_text(claim);
  if (!result.fitted_hold)
    line += fmt::format("; the fitted rows miss the bound: MAPE {}, largest {}", share(result.fitted.mape), share(result.fitted.max));
  for (const FittedValue& value : result.fitted_values)
    if (value.at_bound) line += fmt::format("; {} is at the end of its range", value.paths.front());
  if (!counts(result)) line += "; not counted";
  return line;
}

std::string claims_summary(const std::vector<ClaimResult>& results) {
  std::size_t claims = 0, holding = 0, replays = 0, others = 0;
  for (const ClaimResult& result : results) {
    if (result.claim.kind == Claim::Kind::replay) {
      ++replays;
    } else if (!counts(result)) {
      ++others;
    } else {
      ++claims;
      holding += result.holds() ? 1 : 0;
    }
  }
  std::vector<std::string> parts;
  if (claims > 0 || results.empty())
    parts.push_back(fmt::format("{} of {} claim{} hold{}", holding, claims, claims == 1 ? "" : "s", claims == 1 ? "s" : ""));
  if (others > 0) parts.push_back(fmt::format("{} claim{} not counted", others, others == 1 ? " is" : "s are"));
  if (replays > 0)
    parts.push_back(fmt::format("{} replay{}, which count{} as no claim", replays, replays == 1 ? "" : "s", replays == 1 ? "s" : ""));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string validation_csv(const std::vector<ClaimResult>& results) {
  std::string out =
      "claim,row,set,measured,predicted,error,interpolated,interpolation_error,unit,low,high,outside,seeds,seed_deviation,standard_error\n";
  for (const ClaimResult& result : results) {
    const std::string unit = result.claim.compare.relative_to ? "" : result.claim.compare.unit;
    for (const RowResult& row : result.rows) {
      out += fmt::format("{},{},{},{},{},{},", csv_text(result.claim.title), csv_text(row.row.label), name_of(row.row.use),
                         number_text(row.measured), number_text(row.predicted), number_text(row.error));
      if (row.interpolated)
        out += fmt::format("{},{}", number_text(*row.interpolated), number_text(*row.interpolated / row.measured - 1));
      else
        out += ",";
      out += fmt::format(",{},{},{},{}", unit, row.low ? number_text(*row.low) : "", row.high ? number_text(*row.high) : "",
                         csv_text(fmt::format("{}", fmt::join(row.outside, "; "))));
      out += row.seeds ? fmt::format(",{},{},{}\n", row.seeds->runs, number_text(row.seeds->deviation), number_text(row.seeds->error()))
                       : std::string(",1,,\n");
    }
  }
  return out;
}

}  // namespace straggler
