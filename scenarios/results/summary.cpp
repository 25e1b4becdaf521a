#include "scenarios/results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/results/figures.hpp"
#include "scenarios/results/text.hpp"

namespace straggler {

std::string time_to(double accuracy, bool target) { return fmt::format("time to {}{}", number_text(accuracy), target ? " (target)" : ""); }

std::vector<SummaryField> summarize(const RunRecord& record) {
  std::vector<SummaryField> fields;
  for (const RunFigure& figure : run_figures())
    if (!figure.there || figure.there(record)) fields.push_back({figure.key, value_of(figure, record)});
  return fields;
}

const Scalar& scalar_of(const std::vector<SummaryField>& fields, std::string_view key) {
  static const Scalar none;
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const SummaryField& each) { return each.key == key; });
  return at == fields.end() ? none : at->value;
}

std::string text_of(const std::vector<SummaryField>& fields, std::string_view key) {
  const std::string* const text = scalar_of(fields, key).text();
  return text ? *text : std::string();
}

std::optional<Outcome> outcome_of(const std::vector<SummaryField>& fields) {
  const std::string text = text_of(fields, "outcome");
  for (const Outcome outcome : {Outcome::completed, Outcome::target_reached, Outcome::diverged, Outcome::interrupted, Outcome::aborted,
                                Outcome::all_workers_down, Outcome::stalled, Outcome::overloaded})
    if (text == name_of(outcome)) return outcome;
  return std::nullopt;
}

bool is_finished(const std::vector<SummaryField>& fields) {
  if (scalar_of(fields, "outcome").is_none()) return true;
  const std::optional<Outcome> outcome = outcome_of(fields);
  return outcome && is_finished(*outcome);
}

bool holds_text(std::string_view key) {
  const RunFigure* const figure = find_figure(key);
  return figure && figure->unit == RunFigure::Unit::text;
}

bool needs_math(std::string_view key) {
  const RunFigure* const figure = find_figure(key);
  return figure && figure->learned;
}

std::string summary_json(const std::vector<SummaryField>& fields) {
  std::string out = "{";
  for (const SummaryField& field : fields)
    out += fmt::format("{}\n  {}: {}", out.size() > 1 ? "," : "", json_text(field.key), field.value.json());
  return out + "\n}\n";
}

}  // namespace straggler
