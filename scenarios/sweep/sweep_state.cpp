#include "scenarios/sweep/sweep_state.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "sim/base/format_version.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

/// Start time of a process, in clock ticks since boot: distinguishes it from a later one of the same number. 0: no such process.
std::int64_t birth(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string word;
  for (int field = 3; field <= 22; ++field) rest >> word;
  return std::strtoll(word.c_str(), nullptr, 10);
}

/// Of this process.
std::int64_t own_birth() {
  static const std::pair<pid_t, std::int64_t> known(::getpid(), birth(::getpid()));
  return known.first == ::getpid() ? known.second : birth(::getpid());  // after a fork another
}

/// The kind of a scalar; earlier versions wrote 0 for none, 1 for any number, 2 for text.
Scalar::Kind kind_of(const std::string& name, const std::string& written) {
  if (name == "0") return Scalar::Kind::none;
  if (name == "1") return written.find_first_not_of("0123456789") == std::string::npos ? Scalar::Kind::count : Scalar::Kind::real;
  if (name == "2") return Scalar::Kind::text;
  if (const auto kind = scalar_kind(name)) return *kind;
  throw std::invalid_argument(in_quotes(name) + " is no kind of scalar");
}

std::string text_of(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + '\n';
  return text;
}

std::vector<std::string> labels_of(const std::string& text) {
  std::vector<std::string> labels;
  std::istringstream lines(text);
  for (std::string label; std::getline(lines, label);) labels.push_back(std::move(label));
  return labels;
}

}  // namespace

// No key and no value holds a tab or a line end.
std::string fields_text(const std::vector<SummaryField>& fields) {
  std::string text;
  for (const SummaryField& field : fields) text += field.key + '\t' + name_of(field.value.kind()) + '\t' + field.value.written() + '\n';
  return text;
}

std::vector<SummaryField> fields_of_text(const std::string& text) {
  std::vector<SummaryField> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1), written = line.substr(second + 1);
    fields.push_back({line.substr(0, first), Scalar::read(kind_of(kind, written), written)});
  }
  return fields;
}

SweepState::SweepState(const std::filesystem::path& file, DatabaseWait wait) : SweepState(file, std::move(wait), false) {}

SweepState::SweepState(const std::filesystem::path& file, DatabaseWait wait, bool only_read)
    : database_(file, DatabaseUse{.noun = "the state of the sweep", .wait = std::move(wait), .only_read = only_read}) {
  database_.refuse_newer(FormatVersion::state);
  if (database_.read_only()) {  // perhaps of an earlier version
    Statement select(database_, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'sketches'");
    sketches_ = select.step() && select.count(0) > 0;
    return;
  }
  Transaction transaction(database_);
  database_.run(
      "CREATE TABLE IF NOT EXISTS points (id TEXT PRIMARY KEY, fields TEXT NOT NULL, wall REAL) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS sketches (id TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS claims (id TEXT PRIMARY KEY, process INTEGER, born INTEGER) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS places (number INTEGER, repeat INTEGER, seed INTEGER, labels TEXT, id TEXT, PRIMARY KEY (number, "
      "repeat));"
      "CREATE TABLE IF NOT EXISTS settings (number INTEGER PRIMARY KEY, labels TEXT, repeats INTEGER);"
      "CREATE TABLE IF NOT EXISTS description (line INTEGER PRIMARY KEY, text TEXT);"
      "CREATE TABLE IF NOT EXISTS answer (text TEXT)");
  if (!only_read && database_.version() != FormatVersion::state) database_.set_version(FormatVersion::state);
  transaction.commit();
}

std::optional<FinishedPoint> SweepState::find(const std::string& id) {
  Statement select(database_, "SELECT fields, wall FROM points WHERE id = ?");
  select.bind(0, std::string_view(id));
  if (!select.step()) return std::nullopt;
  FinishedPoint point{{}, select.number(1), sketch(id)};
  const auto damaged = [&](const std::exception& error) {
    return ResultsError(file().string() + ": point " + id + ": " + error.what() + "; run the sweep again with --force");
  };
  try {
    point.fields = fields_of_text(select.text(0));
    read_sketch(point.sketch);  // for its errors: here its file is known
  } catch (const std::invalid_argument& error) {
    throw damaged(error);
  } catch (const ResultsError& error) {
    throw damaged(error);
  }
  return point;
}

std::string SweepState::sketch(const std::string& id) {
  if (!sketches_) return {};
  Statement select(database_, "SELECT text FROM sketches WHERE id = ?");
  select.bind(0, std::string_view(id));
  return select.step() ? select.text(0) : std::string();
}

void SweepState::record(const std::string& id, const FinishedPoint& point) {
  database_.refuse_if_gone();
  const std::string fields = fields_text(point.fields);
  Transaction transaction(database_);
  Statement insert(database_, "INSERT OR REPLACE INTO points (id, fields, wall) VALUES (?, ?, ?)");
  insert.bind(0, std::string_view(id)).bind(1, std::string_view(fields)).bind(2, point.wall_seconds).run();
  if (!point.sketch.empty()) {
    Statement keep(database_, "INSERT OR REPLACE INTO sketches (id, text) VALUES (?, ?)");
    keep.bind(0, std::string_view(id)).bind(1, std::string_view(point.sketch)).run();
  }
  release(id);
  transaction.commit();
}

bool SweepState::claim(const std::string& id) {
  Transaction transaction(database_);
  {
    Statement select(database_, "SELECT process, born FROM claims WHERE id = ?");
    select.bind(0, std::string_view(id));
    if (select.step()) {
      const auto process = static_cast<pid_t>(select.count(0));
      if (process != ::getpid() && birth(process) == select.count(1)) return false;
    }
  }
  Statement insert(database_, "INSERT OR REPLACE INTO claims (id, process, born) VALUES (?, ?, ?)");
  insert.bind(0, std::string_view(id)).bind(1, std::int64_t{::getpid()}).bind(2, own_birth()).run();
  transaction.commit();
  return true;
}

void SweepState::release(const std::string& id) {
  Statement remove(database_, "DELETE FROM claims WHERE id = ?");
  remove.bind(0, std::string_view(id)).run();
}

std::size_t SweepState::points() {
  Statement count(database_, "SELECT count(*) FROM points");
  count.step();
  return static_cast<std::size_t>(count.count(0));
}

Description SweepState::description() {
  std::vector<std::string> lines;
  Statement select(database_, "SELECT text FROM description ORDER BY line");
  while (select.step()) lines.push_back(select.text(0));
  return Description::of_lines(lines);
}

void SweepState::describe(const Description& description) {
  Transaction transaction(database_);
  database_.run("DELETE FROM description");
  Statement insert(database_, "INSERT INTO description (text) VALUES (?)");
  for (const std::string& line : description.lines()) insert.bind(0, std::string_view(line)).run();
  transaction.commit();
}

void SweepState::plan(const PlannedSweep& plan) {
  if (planned() == plan) return;
  Transaction transaction(database_);
  database_.run("DELETE FROM settings");
  Statement insert(database_, "INSERT INTO settings (number, labels, repeats) VALUES (?, ?, ?)");
  for (std::size_t number = 0; number < plan.settings.size(); ++number) {
    const std::string labels = text_of(plan.settings[number]);
    insert.bind(0, static_cast<std::int64_t>(number)).bind(1, std::string_view(labels)).bind(2, plan.repeats).run();
  }
  transaction.commit();
}

PlannedSweep SweepState::planned() {
  PlannedSweep plan;
  Statement select(database_, "SELECT labels, repeats FROM settings ORDER BY number");
  while (select.step()) {
    plan.settings.push_back(labels_of(select.text(0)));
    plan.repeats = select.count(1);
  }
  return plan;
}

void SweepState::place(const std::vector<PlacedPoint>& points) {
  Transaction transaction(database_);
  database_.run("DELETE FROM places");
  Statement insert(database_, "INSERT INTO places (number, repeat, seed, labels, id) VALUES (?, ?, ?, ?, ?)");
  for (const PlacedPoint& point : points) {
    const std::string labels = text_of(point.labels);
    insert.bind(0, static_cast<std::int64_t>(point.group)).bind(1, point.repeat).bind(2, static_cast<std::int64_t>(point.seed));
    insert.bind(3, std::string_view(labels)).bind(4, std::string_view(point.id)).run();
  }
  transaction.commit();
}

std::vector<PlacedPoint> SweepState::placed() {
  std::vector<PlacedPoint> points;
  Statement select(database_, "SELECT number, repeat, seed, labels, id FROM places ORDER BY number, repeat");
  while (select.step()) {
    PlacedPoint point;
    point.group = static_cast<std::size_t>(select.count(0));
    point.repeat = select.count(1);
    point.seed = static_cast<std::uint64_t>(select.count(2));
    point.labels = labels_of(select.text(3));
    point.id = select.text(4);
    points.push_back(std::move(point));
  }
  return points;
}

void SweepState::keep_answer(const std::string& answer) {
  Transaction transaction(database_);
  database_.run("DELETE FROM answer");
  Statement insert(database_, "INSERT INTO answer (text) VALUES (?)");
  insert.bind(0, std::string_view(answer)).run();
  transaction.commit();
}

std::string SweepState::answer() {
  Statement select(database_, "SELECT text FROM answer");
  return select.step() ? select.text(0) : std::string();
}

}  // namespace straggler
