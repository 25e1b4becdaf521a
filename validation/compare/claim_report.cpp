#include <fmt/format.h>
#include <fmt/ranges.h>

#include "scenarios/report/page.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"
#include "validation/compare/claim_figures.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

std::string rows_html(const ClaimResult& result) {
  const std::string unit = unit_of(result.claim);
  std::vector<std::string> head{"set", "row", "measured" + unit, "predicted" + unit, "error"};
  if (result.no_band.empty()) head.emplace_back("90 % interval");
  const std::vector<std::string> of_seeds = seed_heads(result);
  head.insert(head.end(), of_seeds.begin(), of_seeds.end());
  if (result.interpolation) head.emplace_back(result.linear_scaling ? "linear scaling" : "interpolation");
  if (result.outside > 0) head.emplace_back("outside of what was fitted");
  std::vector<std::vector<std::string>> rows;
  for (const RowUse use : {RowUse::reference, RowUse::fitted, RowUse::held_out})
    for (const RowResult& row : result.rows) {
      if (row.row.use != use) continue;
      rows.push_back(
          {name_of(use), row.row.label, fmt::format("{:.6g}", row.measured), fmt::format("{:.6g}", row.predicted), error_text(row.error)});
      if (result.no_band.empty()) rows.back().push_back(row.low ? fmt::format("{:.6g} to {:.6g}", *row.low, *row.high) : "");
      const std::vector<std::string> more = seed_cells(row);
      rows.back().insert(rows.back().end(), more.begin(), more.end());
      if (result.interpolation) rows.back().push_back(row.interpolated ? error_text(*row.interpolated / row.measured - 1) : "");
      if (result.outside > 0) rows.back().push_back(fmt::format("{}", fmt::join(row.outside, ", ")));
    }
  return html_table(head, rows, 2, rows.size());
}

std::vector<std::string> notes_on(const ClaimResult& result) {
  std::vector<std::string> notes;
  const auto scores = [&](const char* what, const Scores& of) {
    if (of.rows > 0)
      notes.push_back(
          fmt::format("{}: MAPE {:.3g} %, largest {:.3g} %, signs of the errors {}", what, 100 * of.mape, 100 * of.max, of.signs));
  };
  for (const FittedValue& value : result.fitted_values) notes.push_back(fitted_text(value));
  if (const std::string others = other_values_text(result); !others.empty()) notes.push_back(others);
  scores("fitted", result.fitted);
  scores("held out", result.held_out);
  if (result.claim.seeds > 1) notes.push_back("seeds: " + seeds_text(result));
  if (result.interpolation)
    scores(result.linear_scaling ? "linear scaling of the fitted row" : "interpolation of the fitted rows", *result.interpolation);
  else if (result.claim.fit)
    notes.push_back("interpolation: none, since " + result.no_interpolation);
  if (result.claim.fit) notes.push_back("intervals: " + inside_text(result));
  if (result.outside > 0)
    notes.push_back(fmt::format("{} of {} held-out rows lie outside of what was fitted", result.outside, result.held_out.rows));
  if (result.noise_floor)
    notes.push_back(fmt::format("noise of the measurement: MAPE {} of the held-out rows", share(*result.noise_floor)));
  for (const FixedSet& set : result.claim.set)
    notes.push_back(fmt::format("set: {} = {}, {}", set.path, set.yaml, set.source.empty() ? "without a source" : "source: " + set.source));
  notes.push_back("in one line: " + claim_line(result));
  for (const std::string& miss : misses(result)) notes.push_back("missed: " + miss);
  for (const std::string& warning : claim_warnings(result)) notes.push_back("warning: " + warning);
  return notes;
}

std::vector<LargeNumber> numbers_of(const ClaimResult& result) {
  const auto allowed = [](const std::optional<double>& bound) { return bound ? ", at most " + share(*bound) + " claimed" : std::string(); };
  if (result.held_out.rows == 0) return {};
  return {{share(result.held_out.mape), "mean error" + allowed(result.claim.bound_mape)},
          {share(result.held_out.max), "largest error" + allowed(result.claim.bound_max)},
          {std::to_string(result.held_out.rows), result.held_out.rows == 1 ? "measurement" : "measurements"}};
}

/// What the numbers mean: the rows, what was fitted, and how often it was tried.
std::string meaning(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string text = claim.kind == Claim::Kind::replay ? "A replay, no prediction: the scenario's figures come from what was measured."
                     : result.holds()                  ? "The claim holds."
                                                       : "The claim is missed.";
  if (claim.kind != Claim::Kind::replay)
    text += result.fitted.rows > 0 ? fmt::format(" {} other measurements were used to fit {} value{}; none of these.", result.fitted.rows,
                                                 result.fitted_values.size(), result.fitted_values.size() == 1 ? "" : "s")
                                   : " Nothing was fitted to any measurement.";
  if (claim.attempt > 1)
    text += fmt::format(" It is attempt {}: {} of it or of its model {} tested on these rows before.", claim.attempt,
                        claim.attempt == 2 ? "one version" : fmt::format("{} versions", claim.attempt - 1),
                        claim.attempt == 2 ? "was" : "were");
  return text;
}

std::string section(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string out = fmt::format("<section><h2>{} {}</h2>\n", result.holds() ? "\u2713" : "\u2717", xml_text(claim.title));
  out += html_numbers(numbers_of(result)) + html_paragraph(meaning(result), "answer");
  if (!claim.source.empty()) out += html_paragraph("Source: " + claim.source);
  const auto beside = [&](const fs::path& file) {
    return fs::absolute(file).lexically_proximate(fs::absolute(claim.file).parent_path()).generic_string();
  };
  out += html_paragraph(
      fmt::format("{}: {}{} of {}, measured in {}", claim.file.filename().string(), claim.compare.metric,
                  claim.compare.divide_by.empty() ? "" : " by " + claim.compare.divide_by, beside(claim.scenario), beside(claim.measured)),
      "dim");
  return out + html_of(claim_figures(result)) + rows_html(result) + html_list(notes_on(result)) + "</section>\n";
}

}  // namespace

std::string validation_html(const std::vector<ClaimResult>& results) {
  std::string body = "<h1>Predicted against measured</h1>\n" +
                     html_paragraph(claims_summary(results) + ". A claim is about held-out rows: no value was fitted to them.");
  for (const ClaimResult& result : results) body += section(result);
  return html_page("Predicted against measured", body);
}

}  // namespace straggler
