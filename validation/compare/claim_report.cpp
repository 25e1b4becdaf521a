#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/readable.hpp"
#include "sim/base/xml_text.hpp"
#include "validation/compare/claim_results.hpp"

namespace straggler {

namespace {

/// ", ms"; for ratios, ", ratio"; else "".
std::string unit_of(const Claim& claim) {
  if (claim.compare.relative_to) return ", ratio";
  return claim.compare.unit.empty() ? "" : ", " + xml_text(claim.compare.unit);
}

std::string scores_html(const char* what, const Scores& scores) {
  if (scores.rows == 0) return {};
  return fmt::format("<li>{}: MAPE {:.3g} %, largest {:.3g} %, signs of the errors {}</li>\n", what, 100 * scores.mape, 100 * scores.max,
                     scores.signs);
}

/// Measured to the right, predicted upwards, both by logarithms where nothing is below 0; on the diagonal they agree.
class Picture {
 public:
  explicit Picture(const ClaimResult& result) : unit_(unit_of(result.claim)) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const RowResult& row : result.rows)
      for (const double value : {row.measured, row.predicted}) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    logs_ = low > 0;
    low_ = scaled(low);
    high_ = scaled(high);
    const double margin = std::max(0.05 * (high_ - low_), 1e-3 * std::max(std::abs(high_), 1e-3));
    low_ -= margin;
    high_ += margin;
    shown_low_ = low;
    shown_high_ = high;
    for (const RowResult& row : result.rows) add(row);
  }

  std::string svg() const {
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 {0} {0}\" width=\"{0}\" height=\"{0}\" role=\"img\"><rect x=\"{1}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" "
        "class=\"frame\"/><line x1=\"{1}\" y1=\"{3}\" x2=\"{3}\" y2=\"{1}\" class=\"diagonal\"/>",
        size, edge, size - 2 * edge, size - edge);
    out += points_;
    out += fmt::format(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">measured{4}, {2} to {3}, {5}</text><text transform=\"translate(16 {0}) "
        "rotate(-90)\" "
        "text-anchor=\"middle\">predicted{4}, {5}</text></svg>",
        size / 2, size - 12, readable_number(shown_low_), readable_number(shown_high_), unit_, logs_ ? "logarithmic" : "linear");
    return out;
  }

 private:
  static constexpr int size = 320, edge = 36;

  double scaled(double value) const { return logs_ ? std::log10(value) : value; }
  double place(double value) const { return edge + (scaled(value) - low_) / (high_ - low_) * (size - 2 * edge); }
  void add(const RowResult& row) {
    points_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"{}\"><title>{}: {}</title></circle>", place(row.measured),
                           size - place(row.predicted), row.row.use == RowUse::held_out ? "held" : "fitted", xml_text(row.row.label),
                           error_text(row.error));
  }

  std::string unit_;
  bool logs_ = true;
  double low_ = 0, high_ = 0, shown_low_ = 0, shown_high_ = 0;
  std::string points_;
};

std::string row_html(const ClaimResult& result, const RowResult& row) {
  std::string out = fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{:.6g}</td><td>{:.6g}</td><td>{}</td>",
                                row.row.use == RowUse::held_out ? "held" : "fitted", name_of(row.row.use), xml_text(row.row.label),
                                row.measured, row.predicted, error_text(row.error));
  if (result.interpolation) out += fmt::format("<td>{}</td>", row.interpolated ? error_text(*row.interpolated / row.measured - 1) : "");
  return out + "</tr>\n";
}

std::string section(const ClaimResult& result) {
  const Claim& claim = result.claim;
  std::string out = fmt::format("<section><h2 class=\"{}\">{}</h2>\n<p>{}</p>\n", result.holds() ? "holds" : "missed",
                                xml_text(claim.title), xml_text(claim_line(result)));
  if (!claim.source.empty()) out += fmt::format("<p>Source: {}</p>\n", xml_text(claim.source));
  out += fmt::format("<p>{}: {}{} of {}, measured in {}</p>\n", xml_text(claim.file.string()), claim.compare.metric,
                     claim.compare.divide_by.empty() ? "" : " by " + claim.compare.divide_by, xml_text(claim.scenario.string()),
                     xml_text(claim.measured.string()));
  const std::string unit = unit_of(claim);
  out += Picture(result).svg();
  out += fmt::format("<table><tr><th>set</th><th>row</th><th>measured{0}</th><th>predicted{0}</th><th>error</th>{1}</tr>\n", unit,
                     result.interpolation ? "<th>interpolation</th>" : "");
  for (const RowUse use : {RowUse::reference, RowUse::fitted, RowUse::held_out})
    for (const RowResult& row : result.rows)
      if (row.row.use == use) out += row_html(result, row);
  out += "</table>\n<ul>";
  for (const FittedValue& value : result.fitted_values) out += fmt::format("<li>{}</li>\n", xml_text(fitted_text(value)));
  if (const std::string others = other_values_text(result); !others.empty()) out += fmt::format("<li>{}</li>\n", xml_text(others));
  out += scores_html("fitted", result.fitted) + scores_html("held out", result.held_out);
  if (result.interpolation)
    out += scores_html("interpolation of the fitted rows", *result.interpolation);
  else if (claim.fit)
    out += fmt::format("<li>interpolation: none, since {}</li>\n", xml_text(result.no_interpolation));
  out += fmt::format("<li>bound: {}</li>\n", bound_text(claim));
  for (const std::string& warning : claim_warnings(result)) out += fmt::format("<li>warning: {}</li>\n", xml_text(warning));
  return out + "</ul></section>\n";
}

}  // namespace

std::string validation_html(const std::vector<ClaimResult>& results) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Predicted against measured</title><style>\n"
      "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}\n"
      "table{border-collapse:collapse}th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\n"
      "td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}tr.fitted{color:#777}\n"
      "h2.holds::before{content:'\\2713  ';color:#2a7}h2.missed::before{content:'\\2717  ';color:#c33}\n"
      "svg .frame{fill:none;stroke:#999}svg .diagonal{stroke:#bbb}svg .held{fill:#26c}svg circle.fitted{fill:none;stroke:#777}\n"
      "svg text{font-size:12px;fill:#555}\n</style></head><body>\n<h1>Predicted against measured</h1>\n";
  out += fmt::format(
      "<p>{}. Filled points are held out: no value was fitted to them. Hollow ones are fitted. On the line, prediction and "
      "measurement agree.</p>\n",
      xml_text(claims_summary(results)));
  for (const ClaimResult& result : results) out += section(result);
  return out + "</body></html>\n";
}

}  // namespace straggler
