#include "validation/compare/rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

#include "sim/base/suggest.hpp"
#include "validation/compare/noise.hpp"
#include "validation/tables/csv_table.hpp"

namespace straggler {

namespace {

std::optional<double> as_number(const std::string& text) {
  try {
    return parse_number(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

bool same_cell(const std::string& a, const std::string& b) { return a == b || MeasuredCell(a).like(MeasuredCell(b)); }

bool any_of_them(const std::string& cell, const std::vector<std::string>& values) {
  return std::any_of(values.begin(), values.end(), [&](const std::string& value) { return same_cell(cell, value); });
}

bool meets(const std::string& cell, const Condition& condition) {
  if (!condition.values.empty() && !any_of_them(cell, condition.values)) return false;
  if (any_of_them(cell, condition.excluded)) return false;
  if (!condition.from && !condition.to && !condition.above && !condition.below) return true;
  const std::optional<double> number = as_number(cell);
  return number && !(condition.from && *number < *condition.from) && !(condition.to && *number > *condition.to) &&
         !(condition.above && *number <= *condition.above) && !(condition.below && *number >= *condition.below);
}

bool matches(const CsvTable& table, const CsvRow& row, const RowPattern& pattern) {
  return std::all_of(pattern.conditions.begin(), pattern.conditions.end(),
                     [&](const Condition& condition) { return meets(row.cells[*table.find(condition.column)].text, condition); });
}

bool matches_any(const CsvTable& table, const CsvRow& row, const std::vector<RowPattern>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const RowPattern& pattern) { return matches(table, row, pattern); });
}

std::string text_of_table(const Claim& claim) {
  std::string header;
  for (const Bind& bind : claim.bind) header += bind.column + ",";
  try {
    return read_measured_text(claim.measured, header + claim.compare.column);
  } catch (const ScenarioErrors& errors) {
    throw named_by_claim(claim, claim.measured_place, "measured", claim.measured, errors);
  }
}

class RowReader {
 public:
  explicit RowReader(const Claim& claim) : claim_(claim), table_(text_of_table(claim), claim.measured) {}

  std::vector<ClaimRow> read() {
    check_columns();
    raise();
    for (const CsvRow& row : table_.rows())
      if (matches_any(table_, row, claim_.where)) used_.push_back(&row);
    check_where();
    for (const CsvRow* row : used_) rows_.push_back(read_row(*row));
    raise();
    name_rows();
    if (claim_.compare.relative_to) find_references(*claim_.compare.relative_to);
    if (claim_.fit) mark_fitted(*claim_.fit);
    if (claim_.fit) check_apart();
    check_enough();
    raise();
    add_noise(rows_, deviations_, repeats_);
    return std::move(rows_);
  }

 private:
  void problem(Place place, const std::string& path, const std::string& what) {
    problems_.push_back(claim_.places->problem(place, path, what));
  }
  void raise() {
    if (!problems_.empty()) throw ScenarioErrors(std::exchange(problems_, {}));
  }

  /// "nodes has 1, 2, 4": the values in `rows` of the columns of `pattern`, at most eight of each.
  std::string values_there(const RowPattern& pattern, const std::vector<const CsvRow*>& rows) const {
    constexpr std::size_t most = 8;
    std::string text;
    for (const Condition& condition : pattern.conditions) {
      std::vector<std::string> values;
      for (const CsvRow* row : rows)
        if (const std::string& cell = row->cells[*table_.find(condition.column)].text;
            std::find(values.begin(), values.end(), cell) == values.end())
          values.push_back(cell);
      const std::size_t more = values.size() - std::min(values.size(), most);
      values.resize(values.size() - more);
      for (std::string& value : values)
        if (!as_number(value)) value = in_quotes(value);
      text += (text.empty() ? "" : "; ") + condition.column + " has " + joined(values) +
              (more > 0 ? " and " + std::to_string(more) + " more" : "");
    }
    return text;
  }

  /// A pattern that matches nothing is a mistake, even if others match.
  void check_where() {
    std::vector<const CsvRow*> all;
    for (const CsvRow& row : table_.rows()) all.push_back(&row);
    for (const RowPattern& pattern : claim_.where)
      if (std::none_of(all.begin(), all.end(), [&](const CsvRow* row) { return matches(table_, *row, pattern); }))
        problem(pattern.place, pattern.path,
                (claim_.where.size() == 1 ? "leaves no row of " : "matches no row of ") + claim_.measured.string() + "; " +
                    values_there(pattern, all));
  }

  void check_column(const std::string& column, Place place, const std::string& path) {
    if (!column.empty() && !table_.find(column))
      problem(place, path, unknown_name("column", column, table_.columns()) + " (" + claim_.measured.string() + ")");
  }
  void check_columns(const RowPattern& pattern) {
    for (const Condition& condition : pattern.conditions) check_column(condition.column, condition.place, pattern.path);
  }
  void check_columns() {
    for (const Bind& bind : claim_.bind) check_column(bind.column, bind.place, "bind");
    for (const RowPattern& pattern : claim_.where) check_columns(pattern);
    const Compared& compare = claim_.compare;
    check_column(compare.column, compare.place, "compare.column");
    check_column(compare.deviation, compare.place, "compare.std");
    check_column(compare.repeats_column, compare.place, "compare.repeats");
    check_column(compare.rank_column, compare.place, "compare.rank");
    if (claim_.compare.relative_to) check_columns(*claim_.compare.relative_to);
    if (claim_.fit)
      for (const RowPattern& pattern : claim_.fit->rows) check_columns(pattern);
  }

  /// The YAML that a cell of the bind's column puts at the paths of `target`.
  std::string bound_value(const Bind& bind, const BindTarget& target, const CsvRow& row) {
    const std::size_t column = *table_.find(bind.column);
    const std::string& cell = row.cells[column].text;
    const auto refuse = [&](const std::string& what) {
      problems_.push_back(table_.problem(row, column, what));
      return std::string();
    };
    if (!target.values.empty()) {
      std::vector<std::string> words;
      for (const auto& [word, yaml] : target.values) {
        if (same_cell(word, cell)) return yaml;
        words.push_back(word);
      }
      return refuse(unknown_name("word", cell, words) + " (bind." + bind.column + ".values of " + claim_.file.string() + ")");
    }
    if (cell.empty()) return refuse("is empty, but the claim binds it; fill it in, or leave the row out by where");
    if (target.unit.empty()) return cell;
    if (!as_number(cell)) return refuse(in_quotes(cell) + " is not a number, but the claim gives it the unit " + target.unit);
    return cell + target.unit;
  }

  ClaimRow read_row(const CsvRow& row) {
    ClaimRow out;
    out.line = row.line;
    for (const FixedSet& set : claim_.set) out.sets.push_back({set.path + "=" + set.yaml, set.place, "set"});
    for (const Bind& bind : claim_.bind) {
      out.bound.emplace_back(row.cells[*table_.find(bind.column)].text);
      for (const BindTarget& target : bind.targets) {
        const std::string value = bound_value(bind, target, row);
        for (const std::string& path : target.paths)
          out.sets.push_back({fmt::format("{}={}", path, value), bind.place, "bind." + bind.column});
      }
    }
    out.rank = rank_of(row);
    const std::size_t column = *table_.find(claim_.compare.column);
    try {
      out.measured = table_.number(row, column) * claim_.compare.factor;
      if (out.measured < 0)
        problems_.push_back(
            table_.problem(row, column, "is negative, but measured values are above 0; correct it, or leave the row out by where"));
      if (out.measured == 0)
        problems_.push_back(table_.problem(row, column, "is 0, but errors are shares of the measured value; leave the row out by where"));
    } catch (const ScenarioErrors& errors) {
      problems_.push_back(errors.problems.front());
    }
    read_noise(row, out.measured);
    return out;
  }

  /// The number in a cell; none and a problem if it is not a number or violates the condition of `wrong` ("is not above 0; …").
  std::optional<double> number_in(const CsvRow& row, const std::string& name, const std::function<bool(double)>& right, const char* wrong) {
    const std::size_t column = *table_.find(name);
    try {
      const double number = table_.number(row, column);
      if (right(number)) return number;
      problems_.push_back(table_.problem(row, column, wrong));
    } catch (const ScenarioErrors& errors) {
      problems_.push_back(errors.problems.front());
    }
    return std::nullopt;
  }

  std::optional<std::size_t> rank_of(const CsvRow& row) {
    if (claim_.compare.rank) return static_cast<std::size_t>(*claim_.compare.rank);
    if (claim_.compare.rank_column.empty()) return std::nullopt;
    const auto whole = [](double number) { return number >= 0 && number < 1e9 && number == std::floor(number); };
    const std::optional<double> number =
        number_in(row, claim_.compare.rank_column, whole, "is not the number of a worker; write 0, 1, 2, …, or leave the row out by where");
    return number ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
  }

  void read_noise(const CsvRow& row, double measured) {
    const Compared& compare = claim_.compare;
    std::optional<double> deviation;
    if (!compare.deviation.empty()) {
      deviation = number_in(
          row, compare.deviation, [](double number) { return number > 0; },
          "is not above 0, and a row without spread would weigh more than all others; correct it, or leave the row out by where");
      if (deviation) *deviation *= compare.factor / measured;
    }
    deviations_.push_back(deviation);
    double repeats = compare.repeats.value_or(1);
    if (!compare.repeats_column.empty())
      repeats = number_in(
                    row, compare.repeats_column, [](double number) { return number >= 1; },
                    "is below 1; write the number of measurements that the row averages, or leave it out by where")
                    .value_or(1);
    repeats_.push_back(repeats);
  }

  /// From the bound columns that vary; with the line if two rows would have the same label.
  void name_rows() {
    std::set<std::string> seen;
    std::vector<ClaimRow*> twins;
    for (ClaimRow& row : rows_) {
      for (std::size_t i = 0; i < claim_.bind.size(); ++i)
        if (std::any_of(rows_.begin(), rows_.end(), [&](const ClaimRow& other) { return other.bound[i].text != row.bound[i].text; }))
          row.label += (row.label.empty() ? "" : ", ") + claim_.bind[i].column + "=" + row.bound[i].text;
      if (!claim_.compare.rank_column.empty() && row.rank)
        row.label += (row.label.empty() ? "rank=" : ", rank=") + std::to_string(*row.rank);
      if (row.label.empty() || !seen.insert(row.label).second) twins.push_back(&row);
    }
    for (ClaimRow* row : twins) row->label += (row->label.empty() ? "" : ", ") + std::string("line ") + std::to_string(row->line);
  }

  /// The row that matches `pattern` and equals this one in every bound column that the pattern does not name.
  void find_references(const RowPattern& pattern) {
    const auto named = [&](const std::string& column) {
      return std::any_of(pattern.conditions.begin(), pattern.conditions.end(), [&](const Condition& c) { return c.column == column; });
    };
    for (ClaimRow& row : rows_) {
      std::vector<std::size_t> found;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!matches(table_, *used_[i], pattern)) continue;
        bool alike = true;
        if (!claim_.compare.rank_column.empty() && !named(claim_.compare.rank_column)) alike = rows_[i].rank == row.rank;
        for (std::size_t b = 0; b < claim_.bind.size(); ++b)
          alike = alike && (named(claim_.bind[b].column) || rows_[i].bound[b].like(row.bound[b]));
        if (alike) found.push_back(i);
      }
      if (found.size() == 1) {
        row.relative_to = found[0];
        if (&rows_[found[0]] == &row) row.use = RowUse::reference;
      } else {
        problem(pattern.place, pattern.path,
                (found.empty() ? "matches no row" : "matches " + std::to_string(found.size()) + " rows") + std::string(" to compare '") +
                    row.label + "' with; name exactly one");
      }
    }
  }

  void mark_fitted(const Fit& fit) {
    for (const RowPattern& pattern : fit.rows) {
      bool any = false;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!matches(table_, *used_[i], pattern)) continue;
        any = true;
        if (rows_[i].use == RowUse::held_out) rows_[i].use = RowUse::fitted;
      }
      if (!any) problem(pattern.place, pattern.path, "matches no row that the claim uses; " + values_there(pattern, used_));
    }
  }

  /// A held-out row with the settings of a fitted row is not a prediction.
  void check_apart() {
    const auto alike = [](const ClaimRow& a, const ClaimRow& b) {
      return a.rank == b.rank && std::equal(a.sets.begin(), a.sets.end(), b.sets.begin(), b.sets.end(),
                                            [](const PlacedSet& x, const PlacedSet& y) { return x.text == y.text; });
    };
    for (const ClaimRow& row : rows_) {
      if (row.use != RowUse::held_out) continue;
      for (const ClaimRow& fitted : rows_) {
        if (fitted.use != RowUse::fitted || !alike(row, fitted)) continue;
        problem(claim_.fit->rows.front().place, "fit.rows",
                "holds out '" + row.label + "', which has the settings of the fitted '" + fitted.label +
                    "'; fit on both, bind what differs, or leave one out by where");
        return;
      }
    }
  }

  void check_enough() {
    if (!problems_.empty()) return;
    const auto count = [&](RowUse use) {
      return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [&](const ClaimRow& row) { return row.use == use; }));
    };
    if (count(RowUse::held_out) == 0)
      problem(claim_.fit ? claim_.fit->rows.front().place : claim_.compare.place, claim_.fit ? "fit.rows" : "compare",
              "leaves no row held out, so nothing would be predicted; fit on fewer rows");
    if (claim_.fit && claim_.fit->parameters.size() > count(RowUse::fitted))
      problem(claim_.fit->parameters.front().place, "fit.parameters",
              std::to_string(claim_.fit->parameters.size()) + " parameters cannot be fitted on " + std::to_string(count(RowUse::fitted)) +
                  " row(s); fit fewer parameters, or on more rows");
  }

  const Claim& claim_;
  CsvTable table_;
  std::vector<const CsvRow*> used_;
  std::vector<ClaimRow> rows_;                     // one for each of used_
  std::vector<std::optional<double>> deviations_;  // [rows_] shares of the measured values
  std::vector<double> repeats_;                    // [rows_]
  std::vector<Problem> problems_;
};

}  // namespace

MeasuredCell::MeasuredCell(std::string cell) : text(std::move(cell)), number(as_number(text)) {}

std::vector<ClaimRow> read_rows(const Claim& claim) { return RowReader(claim).read(); }

}  // namespace straggler
