// Tables of numbers with one column of labels. Training and test rows come from one file, split at random by the seed, or from two.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "models/data/dataset.hpp"
#include "models/data/normalization.hpp"
#include "models/data/permutation.hpp"
#include "models/data/text_table.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler::data::csv {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_classes = 1000, few_classes = 10;
constexpr double usual_test_share = 0.2;
constexpr std::size_t longest_line = 4 << 20;  // bytes: a field takes dozens of bytes once it is cut

struct Table {
  fs::path path;
  std::vector<std::string> names;      // of all columns; empty: no header
  std::size_t columns = 0, label = 0;  // total; index of the label
  bool by_name = false;                // the label was found by a usual name of such a column
  std::vector<float> inputs;           // [rows, columns - 1]
  struct Label {
    std::string text;      // as in the file
    std::size_t line = 0;  // where it stands first
  };
  std::vector<Label> labels;            // different ones, in the order of their lines
  std::vector<std::uint32_t> label_of;  // [rows]: index of labels
  std::size_t rows() const { return label_of.size(); }
  /// "column 5 (species)", "column 5".
  std::string column(std::size_t c) const {
    return names.empty() ? fmt::format("column {}", c + 1) : fmt::format("column {} ({})", c + 1, shortened(names[c], 100));
  }
};

/// `key`: of the parameter that is wrong; empty: the file is.
[[noreturn]] void fail(const fs::path& path, std::size_t line, const std::string& sentence, const std::string& key = "") {
  throw DataError(fmt::format("{}:{}: {}", path.string(), line, sentence), key);
}

enum class Header { automatic, present, absent };
constexpr ChoiceTable<Header> header_choice("header",
                                            {{Header::automatic, "auto"}, {Header::present, "present"}, {Header::absent, "absent"}});

enum class Separator { automatic, comma, semicolon, tab, space };
constexpr ChoiceTable<Separator> separator_choice("separator", {{Separator::automatic, "auto"},
                                                                {Separator::comma, "comma"},
                                                                {Separator::semicolon, "semicolon"},
                                                                {Separator::tab, "tab"},
                                                                {Separator::space, "space"}});

char separator_of(Separator separator, std::string_view line) {
  if (separator == Separator::comma) return ',';
  if (separator == Separator::semicolon) return ';';
  if (separator == Separator::tab) return '\t';
  if (separator == Separator::space) return ' ';
  for (const char candidate : {'\t', ';', ','})
    if (line.find(candidate) != std::string_view::npos) return candidate;
  return ' ';
}

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& letter : out) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

/// In the first row of a table whose columns are otherwise numbered, such a word names the column of labels.
bool is_never_a_class(std::string_view word) { return lower(word) == "label" || lower(word) == "class"; }

/// What columns of labels are called.
bool is_label_name(std::string_view name) { return is_never_a_class(name) || lower(name) == "target" || lower(name) == "y"; }

constexpr const char* label_remedy = "name a column of classes by `label` (regression is not among what models learn)";

class Reader {
 public:
  Reader(const fs::path& path, const Parameters& parameters) : parameters_(parameters) {
    made_.path = path;
    const std::string text = read_text(path, "give a file of rows of numbers, one column of which is the label");
    if (text.find('\0') != std::string::npos)
      throw DataError(fmt::format("{}: holds zero bytes, which no text does; give a file of rows of numbers", path.string()));
    FilledLines lines(text, false);
    for (std::string_view line; lines.next(line);) {
      if (line.size() > longest_line)
        fail(path, lines.number(), fmt::format("the line has {} bytes; a row may have {} at most", line.size(), longest_line));
      if (made_.columns == 0) splitter_ = CsvSplitter(separator_of(separator_choice.of(parameters), line));
      if (!splitter_.split(line)) fail(path, lines.number(), "a quote that is not closed, or text behind one; end it before the separator");
      if (made_.columns == 0 && open(lines.number())) continue;
      row(lines.number());
    }
    if (made_.rows() == 0) throw DataError(fmt::format("{}: has no rows; give a file of rows of numbers", path.string()));
  }
  Table take() && { return std::move(made_); }

 private:
  /// Parses the first line. True if it names the columns.
  bool open(std::size_t line) {
    const std::vector<CsvField>& fields = splitter_.fields();
    made_.columns = fields.size();
    if (made_.columns < 2)
      fail(made_.path, line,
           "one column only; give at least one of numbers beside that of labels, or the right `separator` (auto, comma, semicolon, tab, "
           "space)");
    const Header header = header_choice.of(parameters_);
    const std::string& label = parameters_.text("label");
    std::vector<std::string> words;
    for (const CsvField& field : fields) words.emplace_back(field.text);
    const bool automatic = label == "auto";
    const auto named = automatic ? words.end() : std::find(words.begin(), words.end(), label);
    const std::optional<std::size_t> position = position_of(automatic ? "last" : label);
    bool names = header == Header::present || (header == Header::automatic && named != words.end() && !position);
    if (header == Header::automatic && position)
      for (std::size_t c = 0; c < words.size(); ++c) names = names || (c != *position && !words[c].empty() && !as_number(words[c]));
    names = names || (header == Header::automatic && automatic && is_never_a_class(words.back()));
    if (names && automatic) {
      choose_label(words, line);
    } else if (names && named != words.end()) {
      made_.label = static_cast<std::size_t>(named - words.begin());
    } else if (position) {
      made_.label = *position;
    } else {
      fail(made_.path, line,
           fmt::format("there is no column {} for the labels; the first line has {}; give `label` a column's name, its number from 1, "
                       "first or last",
                       in_quotes(label), shortened(joined(words), 400)),
           "label");
    }
    if (names && words.front().empty() && made_.label != 0)
      fail(
          made_.path, line,
          "the first column has no name, as an index that pandas has written; write the file without it (index=False), or name it if it is "
          "a number to learn from");
    if (names) made_.names = std::move(words);
    return names;
  }
  /// The one column with a usual name; the last one if there is none, or if it has such a name itself.
  void choose_label(const std::vector<std::string>& words, std::size_t line) {
    made_.label = words.size() - 1;
    std::vector<std::size_t> found;
    for (std::size_t c = 0; c < words.size(); ++c) {
      const bool coordinate = c > 0 && words[c] == "y" && words[c - 1] == "x" && c + 1 < words.size();
      if (is_label_name(words[c]) && !coordinate) found.push_back(c);
    }
    if (found.empty() || found.back() == made_.label) return;
    if (found.size() > 1)
      fail(made_.path, line,
           fmt::format("columns {} ({}) and {} ({}) may both be the labels; name one of them by `label`", found[0] + 1,
                       in_quotes(words[found[0]]), found[1] + 1, in_quotes(words[found[1]])),
           "label");
    made_.label = found.front();
    made_.by_name = true;
  }
  std::optional<std::size_t> position_of(const std::string& label) const {
    if (label == "first") return 0;
    if (label == "last") return made_.columns - 1;
    const std::optional<std::int64_t> number = as_integer(label);
    if (!number || *number < 1 || static_cast<std::size_t>(*number) > made_.columns) return std::nullopt;
    return static_cast<std::size_t>(*number) - 1;
  }
  void row(std::size_t line) {
    const std::vector<CsvField>& fields = splitter_.fields();
    if (fields.size() != made_.columns)
      fail(made_.path, line, fmt::format("{} fields; the first line has {}, so that every line must", fields.size(), made_.columns));
    for (std::size_t c = 0; c < fields.size(); ++c) {
      if (c == made_.label) continue;
      const std::string_view field = fields[c].text;
      const std::optional<double> value = as_number(field);
      if (!value || !std::isfinite(*value) || std::abs(*value) > 1e37)
        fail(made_.path, line,
             fmt::format("{}: {}; write a number that is finite, or leave the row out", made_.column(c),
                         field.empty() ? "nothing there" : in_quotes(field) + " is not a number"));
      made_.inputs.push_back(static_cast<float>(*value));
    }
    const std::string_view label = fields[made_.label].text;
    if (label.empty()) fail(made_.path, line, made_.column(made_.label) + ": no label; write one, or leave the row out");
    auto known = numbers_.find(label);
    if (known == numbers_.end()) {
      if (made_.labels.size() == most_classes)
        throw DataError(fmt::format("{}: more than {} different labels in column {}, as if it were a quantity; {}", made_.path.string(),
                                    most_classes, made_.label + 1, label_remedy));
      known = numbers_.emplace(label, static_cast<std::uint32_t>(made_.labels.size())).first;
      made_.labels.push_back({std::string(label), line});
    }
    made_.label_of.push_back(known->second);
  }

  const Parameters& parameters_;
  Table made_;
  CsvSplitter splitter_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of the labels
};

/// Many distinct numbers are a quantity rather than classes if some have fractions or almost all rows differ.
void refuse_quantities(const Table& table, const std::map<std::string, std::int32_t>& classes) {
  const auto number = [](const auto& label) { return as_number(label.first).has_value(); };
  if (classes.size() <= few_classes || !std::all_of(classes.begin(), classes.end(), number)) return;
  const auto fraction = [](const Table::Label& label) {
    return as_number(label.text).value_or(0) != std::round(as_number(label.text).value_or(0));
  };
  const auto broken = std::find_if(table.labels.begin(), table.labels.end(), fraction);
  if (broken != table.labels.end())
    fail(table.path, broken->line,
         fmt::format("column {}, the labels', has {}, as if it were a quantity; classes are words or whole numbers: {}", table.label + 1,
                     in_quotes(broken->text), label_remedy));
  if (2 * classes.size() > table.rows())
    throw DataError(fmt::format("{}: {} different labels in column {} of {} rows, as if it were a quantity; {}", table.path.string(),
                                classes.size(), table.label + 1, table.rows(), label_remedy));
}

/// What was taken as the labels, where a reader may expect another column, and doubts about it.
std::vector<std::string> notes_of(const Table& table) {
  constexpr double most = 0.9;  // share of one class: more looks like a column of something else
  const std::string file = table.path.filename().string(), column = table.column(table.label);
  std::vector<std::string> notes;
  if (table.by_name) notes.push_back(fmt::format("{}: the labels are {}, by its name; `label` names another column", file, column));
  std::vector<std::size_t> rows(table.labels.size());
  for (const std::uint32_t label : table.label_of) ++rows[label];
  const auto largest = std::max_element(rows.begin(), rows.end());
  const double share = static_cast<double>(*largest) / static_cast<double>(table.rows());
  if (share > most)
    notes.push_back(
        fmt::format("{}: {:.1f} % of the rows have the label {} in {}; if these are not classes, name the column of labels by `label`",
                    file, 100 * share, in_quotes(table.labels[static_cast<std::size_t>(largest - rows.begin())].text), column));
  return notes;
}

/// Labels that are all integers sort by value, others alphabetically.
std::map<std::string, std::int32_t> classes_of(const Table& table) {
  std::map<std::string, std::int32_t> classes;
  for (const Table::Label& label : table.labels) classes.emplace(label.text, 0);
  refuse_quantities(table, classes);
  if (classes.size() == 1)
    throw DataError(fmt::format("{}: every row has the label {} in column {}, so there is nothing to tell apart; {}", table.path.string(),
                                in_quotes(table.labels.front().text), table.label + 1, label_remedy),
                    "label");
  std::vector<std::string> sorted;
  for (const auto& one : classes) sorted.push_back(one.first);
  if (std::all_of(sorted.begin(), sorted.end(), [](const std::string& label) { return as_integer(label).has_value(); }))
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const std::string& a, const std::string& b) { return *as_integer(a) < *as_integer(b); });
  for (std::size_t c = 0; c < sorted.size(); ++c) classes[sorted[c]] = static_cast<std::int32_t>(c);
  return classes;
}

struct Source {
  Table train;
  std::optional<Table> test;
  std::map<std::string, std::int32_t> classes;
  DataInfo info;

  Source(const Parameters& parameters, const fs::path& base) : train(Reader(base / parameters.text("path"), parameters).take()) {
    info.features = train.columns - 1;
    info.shape = {info.features};
    classes = classes_of(train);
    info.classes = classes.size();
    info.origin = fmt::format("table {}, labels in {}", train.path.filename().string(), train.column(train.label));
    info.notes = notes_of(train);
    info.train = train.rows();
    info.reading = sizeof(float) * train.inputs.size();
    if (parameters.has("test_path")) {
      if (parameters.has("test_share"))
        throw DataError(fmt::format("{}: test rows by `test_path` and by `test_share`; keep one", train.path.string()));
      take_test(Reader(base / parameters.text("test_path"), parameters).take());
      return;
    }
    const double share = parameters.has("test_share") ? parameters.number("test_share") : usual_test_share;
    info.test = static_cast<std::size_t>(std::llround(share * static_cast<double>(train.rows())));
    if (info.test == 0 || info.test == train.rows())
      throw DataError(fmt::format("{}: a test share of {} of {} rows leaves none to {}; change `test_share`, or give `test_path`",
                                  train.path.string(), share, train.rows(), info.test == 0 ? "test" : "train"));
    info.train -= info.test;
  }

 private:
  void take_test(Table table) {
    if (table.columns != train.columns || table.label != train.label || table.names != train.names)
      throw DataError(
          fmt::format("{}: other columns than {}; both must have the same, in the same order", table.path.string(), train.path.string()));
    for (const Table::Label& label : table.labels)
      if (!classes.contains(label.text))
        fail(table.path, label.line,
             fmt::format("label {} does not occur in {}; leave the row out", in_quotes(label.text), train.path.string()));
    info.test = table.rows();
    info.reading += sizeof(float) * table.inputs.size();
    test = std::move(table);
  }
};

struct Half {
  SampleFloats inputs;
  std::vector<std::int32_t> labels;
};

void append(const Source& source, const Table& table, std::size_t row, Half& half) {
  const auto from = table.inputs.begin() + static_cast<std::ptrdiff_t>(row * source.info.features);
  half.inputs.insert(half.inputs.end(), from, from + static_cast<std::ptrdiff_t>(source.info.features));
  half.labels.push_back(source.classes.at(table.labels[table.label_of[row]].text));
}

/// Scales each column by its training rows: to 0 … 1, or to mean 0 and standard deviation 1. Constant columns become 0.
void normalize(Normalization how, std::size_t features, Half& train, Half& test) {
  if (how == Normalization::none) return;
  for (std::size_t c = 0; c < features; ++c) {
    double sum = 0, low = train.inputs[c], high = train.inputs[c];
    for (std::size_t i = c; i < train.inputs.size(); i += features) {
      const double x = train.inputs[i];
      sum += x;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    const auto rows = static_cast<double>(train.labels.size());
    double subtract = low, divide = high - low;
    if (how == Normalization::standard) {
      subtract = sum / rows;
      double squares = 0;
      for (std::size_t i = c; i < train.inputs.size(); i += features)
        squares += (train.inputs[i] - subtract) * (train.inputs[i] - subtract);
      divide = std::sqrt(squares / rows);
    }
    if (high == low) {
      subtract = low;
      divide = 1;
    }
    for (Half* half : {&train, &test})
      for (std::size_t i = c; i < half->inputs.size(); i += features)
        half->inputs[i] = static_cast<float>((half->inputs[i] - subtract) / divide);
  }
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t seed, unsigned /*threads*/) {
  const Source source(parameters, base);
  Dataset data;
  data.info = source.info;
  Half train, test;
  for (const auto& [half, count] : {std::pair(&train, data.info.train), std::pair(&test, data.info.test)}) {
    half->inputs.reserve(count * data.info.features);
    half->labels.reserve(count);
  }
  std::vector<std::uint32_t> tested;
  if (!source.test) tested = choose(source.info.test, source.train.rows(), RandomStream(seed, "data/csv/test"));
  for (std::size_t i = 0, next = 0; i < source.train.rows(); ++i) {
    const bool held_out = next < tested.size() && tested[next] == i;
    next += held_out;
    append(source, source.train, i, held_out ? test : train);
  }
  for (std::size_t i = 0; source.test && i < source.test->rows(); ++i) append(source, *source.test, i, test);
  normalize(normalization.of(parameters), source.info.features, train, test);
  data.train = {SampleInputs(std::move(train.inputs), data.info.features), std::move(train.labels)};
  data.test = {SampleInputs(std::move(test.inputs), data.info.features), std::move(test.labels)};
  return data;
}

const Register<DataEntry> entry(
    {"csv",
     "rows of numbers with a column of labels, from one text file or two",
     {{"path", ValueType::path, {}, true, "text file, one sample per row", {}, {}},
      {"test_path", ValueType::path, {}, false, "file of the test rows; default: a share of `path`", {}, {}},
      {"test_share",
       ValueType::fraction,
       {},
       false,
       "share of the rows of `path` that are test rows, chosen by the seed; default 20%",
       Range::between(0, 1),
       {}},
      {"label",
       ValueType::text,
       "auto",
       false,
       "column of the labels: its name, its number from 1, first or last; auto: with a header the one column called label, class, target "
       "or y, otherwise the last",
       {},
       {}},
      header_choice.parameter(Header::automatic, "whether the first line names the columns; auto: if it is not a row of numbers"),
      separator_choice.parameter(Separator::automatic,
                                 "between fields; auto: the first of tab, semicolon, comma that the first line has, else space"),
      normalization.parameter(Normalization::standard,
                              "of each column, by its training rows: none; unit: to 0 … 1; standard: to mean 0 and standard deviation 1")},
     [](const Parameters& parameters, const fs::path& base) { return Source(parameters, base).info; },
     load,
     {},
     true,
     [](const Parameters& parameters, const fs::path& base) {
       std::vector<fs::path> files = {base / parameters.text("path")};
       if (parameters.has("test_path")) files.push_back(base / parameters.text("test_path"));
       return files;
     }});

}  // namespace
}  // namespace straggler::data::csv
