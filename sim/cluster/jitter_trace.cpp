// Jitter factors replayed from a file, as measured on real workers. The file is a CSV of positive numbers with '#' comments and, if the
// first row has words, a header. Row k of a column is the factor of quantum k; a column that ends starts again. One column serves all
// workers. With several columns, worker w has column w modulo their number, so that workers keep the slowdowns that they had at the same
// time; without a worker, the column is drawn from the stream. The mean is the file's, unless `normalize` divides by the mean of the whole
// file, which keeps the differences between columns.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "sim/base/ascii.hpp"
#include "sim/base/choice_table.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_trace {
namespace {

constexpr std::uintmax_t largest_file = 256ull << 20;    // bytes
constexpr std::size_t most_factors = 16'000'000;         // 128 MB
constexpr double smallest = 1e-9, largest = 1e9;         // beyond, a file holds something else than factors
constexpr std::uint64_t start_draw = ~std::uint64_t{0};  // item of the stream that a trace's draws belong to

struct Trace {
  std::size_t columns = 0;
  std::vector<double> factors;  // row by row
  double mean = 1;
  std::size_t rows() const { return factors.size() / columns; }
};

[[noreturn]] void fail(const std::string& path, const std::string& sentence) { throw std::invalid_argument(path + ": " + sentence); }
[[noreturn]] void fail(const std::string& path, std::size_t line, const std::string& sentence) {
  throw std::invalid_argument(path + ":" + std::to_string(line) + ": " + sentence);
}

/// A word: not a number, and nothing that was meant as one ("1.O", "nan", "").
bool is_heading(const CsvField& field) {
  std::string word(field.text);
  for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const bool begins_as_word = !word.empty() && (std::isalpha(static_cast<unsigned char>(word[0])) || word[0] == '_');
  return begins_as_word && !word.starts_with("nan") && !word.starts_with("inf");
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& path) : path_(path) {}

  Trace read() {
    check_file();
    FileLines lines(path_);
    if (!lines.opened()) fail(path_, "cannot be opened; make it readable");
    CsvSplitter splitter;
    // Room that stays unused takes no memory; growing would take half as much again.
    std::error_code error;
    trace_.factors.reserve(std::min<std::uintmax_t>(most_factors, std::filesystem::file_size(path_, error) / 2 + 1));
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      line = trimmed(line);
      if (line.empty() || line.front() == '#') continue;
      if (!splitter.split(line)) fail(path_, line_, "a quote that is not closed, or text behind one; write plain numbers");
      take(splitter.fields());
    }
    if (lines.too_long()) fail(path_, lines.number(), "the line is longer than 1 MiB; give one row of factors a line");
    if (lines.broken()) fail(path_, line_, "cannot be read any further; check the disk");
    if (trace_.factors.empty()) fail(path_, "there are no factors in it; give one positive number a line");
    double sum = 0;
    for (const double factor : trace_.factors) sum += factor;
    trace_.mean = sum / static_cast<double>(trace_.factors.size());
    return std::move(trace_);
  }

 private:
  void check_file() const {
    std::error_code error;
    if (!std::filesystem::exists(path_, error)) fail(path_, "no such file; give the path of a CSV of factors");
    if (!std::filesystem::is_regular_file(path_, error)) fail(path_, "not a file; give the path of a CSV of factors");
    if (std::filesystem::file_size(path_, error) > largest_file) fail(path_, "more than 256 MiB; give a shorter trace, it repeats");
  }

  void take(const std::vector<CsvField>& cells) {
    if (trace_.columns == 0) {
      trace_.columns = cells.size();
      if (std::all_of(cells.begin(), cells.end(), is_heading)) return;
    }
    if (cells.size() != trace_.columns)
      fail(path_, line_,
           "there are " + std::to_string(cells.size()) + " columns, but " + std::to_string(trace_.columns) +
               " in the first row; every row has a factor for each column");
    if (trace_.factors.size() + cells.size() > most_factors)
      fail(path_, line_, "there are more than " + std::to_string(most_factors) + " factors; give a shorter trace, it repeats");
    for (const CsvField& cell : cells) trace_.factors.push_back(factor(cell.text));
  }

  double factor(std::string_view cell) const {
    double value = 0;
    // What nearly every cell is, read three times as fast; the other path says what is wrong with one.
    if (const auto number = !cell.empty() && is_digit(cell.front()) ? as_number(cell) : std::nullopt;
        number && *number >= smallest && *number <= largest)
      return *number;
    try {
      value = parse_number(cell);
    } catch (const std::invalid_argument& error) {
      fail(path_, line_, error.what());
    }
    if (!(value >= smallest && value <= largest))
      fail(path_, line_, format_number(value) + " is no factor; factors are above 0 (from 1e-9 to 1e9), 1 is neither slower nor faster");
    return value;
  }

  std::string path_;
  std::size_t line_ = 0;
  Trace trace_;
};

/// Read once for all jitters that are alive together: a run's workers, regardless of their number.
std::shared_ptr<const Trace> shared_trace(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const Trace>> known;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Trace>& slot = known[path];
  std::shared_ptr<const Trace> trace = slot.lock();
  if (!trace) {
    trace = std::make_shared<const Trace>(TraceReader(path).read());
    slot = trace;
  }
  return trace;
}

enum class Rows { in_order, resampled };
constexpr ChoiceTable<Rows> rows_choice("rows", {{Rows::in_order, "in_order"}, {Rows::resampled, "resampled"}});

/// Which of a trace's factors a jitter returns.
struct TraceUse {
  std::optional<std::size_t> column;  // none: drawn from the stream
  Rows rows = Rows::in_order;
  bool random_start = false;  // of rows in order
  bool normalize = false;
  std::optional<std::uint64_t> row_stream{};  // of resampled rows, shared by the workers of a set; none: the worker's own stream
};

class TraceJitter final : public Jitter {
 public:
  TraceJitter(std::shared_ptr<const Trace> trace, const TraceUse& use) : trace_(std::move(trace)), use_(use) {}

  double factor(std::uint64_t stream, std::uint64_t quantum) override {
    if (!placed_ || stream != stream_) place(stream);
    const double factor = trace_->factors[row(stream, quantum) * trace_->columns + column_];
    return use_.normalize ? factor / trace_->mean : factor;
  }

 private:
  std::uint64_t row(std::uint64_t stream, std::uint64_t quantum) const {
    const std::uint64_t rows = trace_->rows();
    if (use_.rows == Rows::in_order) return (quantum % rows + start_) % rows;
    return RandomStream(use_.row_stream.value_or(stream), quantum).below(rows);
  }

  void place(std::uint64_t stream) {
    RandomStream draws(stream, start_draw);
    const std::uint64_t start = draws.below(trace_->rows());
    start_ = use_.random_start ? start : 0;
    column_ = use_.column ? *use_.column : draws.below(trace_->columns);
    stream_ = stream;
    placed_ = true;
  }

  std::shared_ptr<const Trace> trace_;
  TraceUse use_;
  bool placed_ = false;
  std::uint64_t stream_ = 0, start_ = 0, column_ = 0;
};

enum class Offset { automatic, none, random };
constexpr ChoiceTable<Offset> offset_choice("offset", {{Offset::automatic, "auto"}, {Offset::none, "none"}, {Offset::random, "random"}});

/// Automatic: at the beginning of a column that is the worker's alone, else at a place of its own, so that workers that share a column
/// do not straggle in step.
bool starts_at_random(Offset offset, const Trace& trace, std::optional<Rank> worker) {
  if (offset != Offset::automatic) return offset == Offset::random;
  return trace.columns == 1 || !worker || index_of(*worker) >= trace.columns;
}

std::unique_ptr<Jitter> make(const Parameters& parameters, std::optional<JitterOwner> owner) {
  std::shared_ptr<const Trace> trace = shared_trace(parameters.text("path"));
  const auto worker = owner ? std::optional(owner->worker) : std::nullopt;
  TraceUse use;
  use.rows = rows_choice.of(parameters);
  const Offset offset = offset_choice.of(parameters);
  if (use.rows == Rows::resampled && offset != Offset::automatic)
    throw std::invalid_argument("offset says where rows in order begin, but rows are resampled; leave one of them out");
  use.random_start = starts_at_random(offset, *trace, worker);
  use.normalize = parameters.flag("normalize");
  if (owner) {
    use.column = index_of(owner->worker) % trace->columns;
    const std::size_t set = index_of(owner->worker) / trace->columns;
    use.row_stream = RandomStream::stream_key(owner->seed, "workers/" + std::to_string(set) + "/trace_rows");
  }
  return std::make_unique<TraceJitter>(std::move(trace), use);
}

const Register<JitterEntry> entry({
    .name = "trace",
    .summary = "factors replayed from a file; the mean is the file's, or 1 if normalized",
    .parameters =
        {{.name = "path",
          .type = ValueType::path,
          .required = true,
          .meaning = "CSV of factors, one row per quantum: one column for all workers, or a column for each"},
         offset_choice.parameter(
             Offset::automatic,
             "the row in which a worker starts: none: the first; random: a random one; auto: a random one if workers share a column"),
         rows_choice.parameter(Rows::in_order,
                               "in_order: rows one after another, and again from the first; resampled: each time a random row, the same "
                               "for all workers with different columns"),
         {.name = "normalize",
          .type = ValueType::boolean,
          .fallback = "false",
          .meaning = "divide the factors by the mean of the whole file"}},
    .make = [](const Parameters& parameters) { return make(parameters, std::nullopt); },
    .make_for = [](const Parameters& parameters, JitterOwner owner) { return make(parameters, owner); },
    .mean = [](const Parameters& parameters) { return parameters.flag("normalize") ? 1 : shared_trace(parameters.text("path"))->mean; },
});

}  // namespace
}  // namespace straggler::cluster::jitter_trace
