#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <stdexcept>

#include "sim/base/csv.hpp"
#include "sim/engine/time.hpp"
#include "validation/calibrate/formats.hpp"
#include "validation/tables/csv_table.hpp"

namespace straggler::calibrate_tables {
namespace {

/// The first line of a table has the column `seconds` and that one.
std::optional<std::size_t> mark_with(std::string_view other, std::string_view line, bool header) {
  CsvSplitter splitter;
  if (!header || !splitter.split(line)) return std::nullopt;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(splitter.fields(), [name](const CsvField& field) { return field.text == name; });
  };
  return has("seconds") && has(other) ? std::optional<std::size_t>(0) : std::nullopt;
}

/// Reads cells and collects their problems.
class Cells {
 public:
  explicit Cells(const CsvTable& table) : table_(table) {}
  double number(const CsvRow& row, std::size_t column, bool may_be_zero) {
    try {
      const double value = table_.number(row, column);
      if (value > 0 || (may_be_zero && value == 0)) return value;
      problems_.push_back(
          table_.problem(row, column, may_be_zero ? "is negative; write at least 0" : "is not above 0; write what was measured"));
    } catch (const ScenarioErrors& errors) {
      problems_.push_back(errors.problems.front());
    }
    return 1;
  }
  /// In seconds. A value outside a scenario's limits is a mistake.
  double time(const CsvRow& row, std::size_t column, bool may_be_zero) {
    const double value = number(row, column, may_be_zero);
    if (value <= Time::limit().seconds()) return value;
    problems_.push_back(table_.problem(row, column, "is longer than 2400h; write seconds"));
    return 1;
  }
  /// The interquartile range of repeats with this median. A lognormal time of the largest sigma has 29 times the median.
  std::optional<double> spread(const CsvRow& row, std::optional<std::size_t> column, double median) {
    if (!column || row.cells[*column].text.empty()) return std::nullopt;
    const double value = time(row, *column, true);
    if (value <= 2 * median * std::sinh(quartile * largest_sigma)) return value;
    problems_.push_back(table_.problem(row, *column, "is more than 29 times the time; write the interquartile range in seconds"));
    return std::nullopt;
  }
  std::int64_t batch(const CsvRow& row, std::size_t column) {
    const double value = number(row, column, false);
    if (value == std::floor(value) && value <= 1e9) return static_cast<std::int64_t>(value);
    problems_.push_back(table_.problem(row, column, "is not a whole number up to 1e9; write the samples of a batch"));
    return 1;
  }
  void raise() const {
    if (!problems_.empty()) throw ScenarioErrors(problems_);
  }

 private:
  const CsvTable& table_;
  std::vector<Problem> problems_;
};

std::string many(std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

/// Letters, digits and single dashes.
std::string as_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

std::string device_name(const CsvTable& table, const CsvRow& row) {
  std::string name;
  for (const char* column : {"device", "model", "precision"}) {
    const std::optional<std::size_t> at = table.find(column);
    const std::string part = at ? as_name(row.cells[*at].text) : "";
    if (!part.empty()) name += (name.empty() ? "" : "-") + part;
  }
  name = name.substr(0, 100);
  if (name == "null") return "device-null";  // YAML's word for nothing
  return name.empty() ? "node" : name;
}

/// One or more rows per size. With a column `mode`, only rows with `ping_pong` are times of one message (others: one way in a row, both
/// ways at once).
Measurements read_ping_pong(const std::string& text, const std::filesystem::path& file) {
  const CsvTable table(text, file);
  MessageTimes out;
  Cells cells(table);
  std::set<double> sizes;
  const std::optional<std::size_t> mode = table.find("mode");
  for (const CsvRow& row : table.rows()) {
    if (mode && row.cells[*mode].text != "ping_pong") continue;
    out.samples.push_back({cells.number(row, *table.find("bytes"), true), cells.time(row, *table.find("seconds"), false)});
    sizes.insert(out.samples.back().bytes);
  }
  cells.raise();
  if (out.samples.empty()) refuse_measured(file, "has no row of mode ping_pong, which gives the time of one message; measure that mode");
  out.found = fmt::format("a ping-pong table, {} of {}", many(out.samples.size(), "time"), many(sizes.size(), "message size"));
  if (const std::size_t others = table.rows().size() - out.samples.size(); others > 0)
    out.found += fmt::format(" ({} of other modes not used)", many(others, "row"));
  out.meaning = "seconds are those of one message, half a round trip";
  return out;
}

/// Optional columns: `device,model,precision,iqr_s,memory_bytes`.
Measurements read_batch_times(const std::string& text, const std::filesystem::path& file) {
  const CsvTable table(text, file);
  BatchTimes out;
  Cells cells(table);
  const auto optional_number = [&](const CsvRow& row, const char* column) -> std::optional<double> {
    const std::optional<std::size_t> at = table.find(column);
    return at && !row.cells[*at].text.empty() ? std::optional(cells.number(row, *at, true)) : std::nullopt;
  };
  for (const CsvRow& row : table.rows()) {
    const std::string name = device_name(table, row);
    auto device = std::find_if(out.devices.begin(), out.devices.end(), [&](const BatchTimes::Device& each) { return each.name == name; });
    if (device == out.devices.end()) device = out.devices.insert(out.devices.end(), {name, {}});
    const double seconds = cells.time(row, *table.find("seconds"), false);
    device->samples.push_back({cells.batch(row, *table.find("batch")), seconds, cells.spread(row, table.find("iqr_s"), seconds),
                               optional_number(row, "memory_bytes")});
  }
  cells.raise();
  out.found = fmt::format("compute timings, {} of {}", many(table.rows().size(), "time"), many(out.devices.size(), "device"));
  return out;
}

const Register<MeasuredFormat> ping_pong({"table of messages", "a table bytes,seconds (a ping-pong)",
                                          [](std::string_view line, bool header) { return mark_with("bytes", line, header); },
                                          read_ping_pong});
const Register<MeasuredFormat> batches({"table of batches", "a table batch,seconds (compute)",
                                        [](std::string_view line, bool header) { return mark_with("batch", line, header); },
                                        read_batch_times});

}  // namespace
}  // namespace straggler::calibrate_tables
