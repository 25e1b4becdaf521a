// Population files: comma-separated values, '#' comments, a header of column names, one device per row.
#include <algorithm>
#include <cerrno>
#include <system_error>

#include "scenarios/schema/read_parts.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_row_problems = 20, longest_line = 10'000;
constexpr std::size_t most_rows = 1'000'000;   // of all files of a scenario: 112 MB
constexpr std::size_t most_bytes = 256 << 20;  // of a file: twenty times what a million rows need

Parameter column(const char* name, ValueType type, const Range& range) {
  Parameter made;
  made.name = name;
  made.type = type;
  made.range = range;
  return made;
}

const std::vector<Parameter>& columns() {
  static const std::vector<Parameter> all = {
      column("slowdown", ValueType::number, any_slowdown()),
      column("overhead", ValueType::time, any_time()),
      column("per_sample", ValueType::time, any_time()),
      column("bandwidth", ValueType::rate, any_rate()),
      column("up", ValueType::rate, any_rate()),
      column("down", ValueType::rate, any_rate()),
      column("latency", ValueType::time, any_time()),
      column("batch", ValueType::count, Range::between(1, 1e9)),
  };
  return all;
}

class PopulationReader {
 public:
  PopulationReader(ReadContext& context, const YamlNode& node, const std::string& path, const std::string& file, const PopulationBase& base)
      : context_(context), node_(node), path_(path), file_(file), base_(base) {}

  std::vector<DeviceRow> read() {
    std::error_code error;
    if (fs::is_directory(file_, error)) return refuse(file_ + ": is a folder; give the path of a CSV file with one device a row");
    errno = 0;
    FileLines lines(file_, longest_line);
    CsvSplitter splitter;
    if (!lines.opened())
      return refuse(file_ + ": cannot be read: " + std::generic_category().message(errno) +
                    "; give the path of a CSV file with one device a row");
    std::size_t bytes = 0;
    if (const std::uintmax_t size = fs::file_size(file_, error); !error)  // room that stays unused takes no memory
      rows_.reserve(std::min<std::uintmax_t>(most_rows, size / 2));
    std::string_view line;
    while (problems_ < most_row_problems && lines.next(line)) {
      line_ = lines.number();
      bytes += line.size() + 1;
      if (bytes > most_bytes) {
        problem(1, "the file is larger than 256 MiB; leave out what is no device");
        break;
      }
      line = line.substr(0, line.find('#'));
      if (trimmed(line).empty()) continue;
      if (!splitter.split(line))
        problem(splitter.fault_column(), "a quote that is not closed, or text behind one; write plain numbers");
      else if (header_.empty())
        read_header(splitter.fields());
      else
        read_row(splitter.fields());
    }
    if (lines.too_long())
      problem_in(lines.number(), longest_line, "the line is longer than " + std::to_string(longest_line) + " bytes; write one row a line");
    if (lines.broken()) refuse(file_ + ": cannot be read to its end; give the path of a CSV file");
    if (problems_ == most_row_problems)
      refuse(file_ + ": there may be more errors than these " + std::to_string(most_row_problems) + "; correct them first");
    if (problems_ == 0 && rows_.empty())
      refuse(file_ + ": has no rows; write a header such as slowdown,bandwidth and one row a worker below it");
    if (problems_ > 0) rows_ = {};
    context_.population_rows += rows_.size();
    return std::move(rows_);
  }

 private:
  std::vector<DeviceRow> refuse(const std::string& what) {
    context_.problems.add(node_.place, path_, what);
    ++problems_;
    return {};
  }
  void problem_in(std::size_t line, std::size_t at, const std::string& what) {
    refuse(file_ + ":" + std::to_string(line) + ":" + std::to_string(at) + ": " + what);
  }
  void problem(std::size_t at, const std::string& what) { problem_in(line_, at, what); }

  void read_header(const std::vector<CsvField>& cells) {
    std::vector<std::string> names;
    for (const Parameter& known : columns()) names.push_back(known.name);
    for (const CsvField& cell : cells) {
      if (problems_ == most_row_problems) break;
      const auto known = std::find(names.begin(), names.end(), cell.text);
      const auto which = static_cast<std::size_t>(known - names.begin());
      if (known == names.end())
        problem(cell.column, unknown_name("column", cell.text, names));
      else if (std::find(header_.begin(), header_.end(), which) != header_.end())
        problem(cell.column, "the column " + *known + " stands there twice; keep one");
      header_.push_back(which);
    }
    if (problems_ > 0) problems_ = most_row_problems + 1;  // rows mean nothing under a wrong header: stop
  }

  void read_row(const std::vector<CsvField>& cells) {
    if (cells.size() != header_.size()) {
      problem(1, "has " + std::to_string(cells.size()) + " fields where the header has " + std::to_string(header_.size()) +
                     "; write one for each column, empty where the group's value holds");
      return;
    }
    if ((rows_.size() + 1) * sizeof(DeviceRow) > base_.memory) {
      problem(1, "there are more rows than memory holds (" + readable_bytes(static_cast<double>(base_.memory)) + "); write at most " +
                     std::to_string(base_.memory / sizeof(DeviceRow)));
      problems_ = most_row_problems + 1;
      return;
    }
    if (context_.population_rows + rows_.size() == most_rows) {
      problem(1, "there are more than " + std::to_string(most_rows) +
                     " rows in the scenario's populations; write fewer, and a count of workers, for which rows repeat");
      problems_ = most_row_problems + 1;
      return;
    }
    const std::size_t before = problems_;
    std::optional<double> values[8];
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!cells[i].text.empty()) values[header_[i]] = read_cell(columns()[header_[i]], cells[i]);
    if (problems_ == before) add_row(values);
  }

  std::optional<double> read_cell(const Parameter& parameter, const CsvField& cell) {
    try {
      const Value value = parse_value(parameter, cell.text);
      const std::int64_t* const count = std::get_if<std::int64_t>(&value);
      return count ? static_cast<double>(*count) : std::get<double>(value);
    } catch (const std::invalid_argument& error) {
      problem(cell.column, parameter.name + ": " + error.what());
      return std::nullopt;
    }
  }

  void add_row(const std::optional<double> (&values)[8]) {
    const auto& [slowdown, overhead, per_sample, bandwidth, up, down, latency, batch] = values;
    DeviceRow row;
    row.slowdown = slowdown.value_or(1);
    row.batch = static_cast<std::int64_t>(batch.value_or(0));
    if (overhead || per_sample) {
      const bool affine = base_.compute.form == ComputeSpec::Form::affine;
      row.overhead = overhead.value_or(affine ? base_.compute.overhead : 0);
      row.per_sample = per_sample.value_or(affine ? base_.compute.per_sample : 0);
      if (*row.overhead < 1e-12 && *row.per_sample < 1e-12)
        problem(1, "a batch takes no time at all; write an overhead or a per_sample above 0s");
    }
    const LinkRates rates{bandwidth, up, down};
    if (rates.any() || latency) {
      row.link = base_.link;
      rates.apply(*row.link);
      row.link->latency = latency.value_or(row.link->latency);
      if (const std::string what = rates.conflict(*row.link, base_.half_duplex); !what.empty()) problem(1, what);
      if (row.link->peak && *row.link->peak <= std::max(row.link->up, row.link->down))
        problem(1, "the bandwidth is not below the peak of the group's link; write a lower one, or a higher peak there");
    }
    rows_.push_back(row);
  }

  ReadContext& context_;
  const YamlNode& node_;
  const std::string &path_, &file_;
  const PopulationBase& base_;
  std::vector<std::size_t> header_;  // indices into columns()
  std::vector<DeviceRow> rows_;
  std::size_t line_ = 0, problems_ = 0;
};

}  // namespace

std::vector<DeviceRow> read_population(ReadContext& context, const YamlNode& node, const std::string& path, const std::string& file,
                                       const PopulationBase& base) {
  return PopulationReader(context, node, path, file, base).read();
}

}  // namespace straggler
