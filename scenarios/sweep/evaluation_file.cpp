#include "scenarios/sweep/evaluation_file.hpp"

#include <cstdlib>

namespace straggler {
namespace {

/// The folder must be there before SQLite makes the file.
const std::filesystem::path& with_folder(const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw ResultsError(file.parent_path().string() + ": cannot be made (" + error.message() + "); name another file with --store");
  return file;
}

std::int64_t half(std::uint64_t word) { return static_cast<std::int64_t>(word); }

}  // namespace

std::filesystem::path EvaluationFile::default_file() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return std::filesystem::path(cache) / "straggler" / "store.sqlite";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::filesystem::path(home) / ".cache" / "straggler" / "store.sqlite";
  return {};
}

EvaluationFile::EvaluationFile(const std::filesystem::path& file, std::uint64_t cap)
    : database_(with_folder(file), "the store"), cap_(cap) {
  Transaction transaction(database_);
  // `used` counts flushes of the file, so that clocks do not matter.
  database_.run(
      "CREATE TABLE IF NOT EXISTS evaluations (high INTEGER, low INTEGER, stamp INTEGER, loss REAL, accuracy REAL, used INTEGER,"
      " PRIMARY KEY (high, low)) WITHOUT ROWID;"
      "CREATE INDEX IF NOT EXISTS by_use ON evaluations (used);"
      "CREATE TABLE IF NOT EXISTS clock (now INTEGER); INSERT INTO clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM clock)");
  transaction.commit();
}

EvaluationFile::~EvaluationFile() {
  try {
    flush();
  } catch (const ResultsError&) {  // a cache: what cannot be kept is made again
  }
}

std::optional<Evaluation> EvaluationFile::find(const Key& evaluation) {
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(evaluation); at != known_.end()) return at->second.value;
  Statement select(database_, "SELECT loss, accuracy FROM evaluations WHERE high = ? AND low = ?");
  select.bind(0, half(evaluation.high)).bind(1, half(evaluation.low));
  if (!select.step()) return std::nullopt;
  const Evaluation value{select.number(0), select.number(1)};
  known_[evaluation] = {value, false, true};
  ++used_;
  return value;
}

void EvaluationFile::keep(const Key& evaluation, const Evaluation& value) {
  const std::lock_guard lock(mutex_);
  if (known_.emplace(evaluation, Known{value, true, false}).second) ++fresh_;
}

void EvaluationFile::flush() {
  const std::lock_guard lock(mutex_);
  if (fresh_ + used_ == 0) return;
  Transaction transaction(database_);
  database_.run("UPDATE clock SET now = now + 1");
  Statement insert(
      database_,
      "INSERT OR REPLACE INTO evaluations (high, low, stamp, loss, accuracy, used) VALUES (?, ?, ?, ?, ?, (SELECT now FROM clock))");
  Statement touch(database_, "UPDATE evaluations SET used = (SELECT now FROM clock) WHERE high = ? AND low = ?");
  const std::int64_t stamp = half(math_stamp().low);
  for (const auto& [key, known] : known_) {
    if (known.fresh)
      insert.bind(0, half(key.high)).bind(1, half(key.low)).bind(2, stamp).bind(3, known.value.loss).bind(4, known.value.accuracy).run();
    else if (known.used)
      touch.bind(0, half(key.high)).bind(1, half(key.low)).run();
  }
  make_room();
  transaction.commit();
  for (auto& [key, known] : known_) known.fresh = known.used = false;
  fresh_ = used_ = 0;
}

/// A row and its place in the index take about 100 bytes; a tenth more than needed goes, so that this is rare.
void EvaluationFile::make_room() {
  constexpr std::uint64_t row_bytes = 100;
  Statement count(database_, "SELECT count(*) FROM evaluations");
  count.step();
  const auto rows = static_cast<std::uint64_t>(count.count(0)), most = cap_ / row_bytes;
  count.reset();
  if (rows <= most) return;
  Statement remove(database_,
                   "DELETE FROM evaluations WHERE (high, low) IN (SELECT high, low FROM evaluations ORDER BY used, high, low LIMIT ?)");
  remove.bind(0, static_cast<std::int64_t>(rows - most + most / 10)).run();
}

void EvaluationFile::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  fresh_ = used_ = 0;
  database_.run("DELETE FROM evaluations");
  database_.run("VACUUM");
}

EvaluationFile::Facts EvaluationFile::facts() {
  const std::lock_guard lock(mutex_);
  Facts facts;
  Statement select(database_, "SELECT count(*), coalesce(sum(stamp = ?), 0) FROM evaluations");
  select.bind(0, half(math_stamp().low));
  select.step();
  facts.evaluations = static_cast<std::uint64_t>(select.count(0));
  facts.of_this_program = static_cast<std::uint64_t>(select.count(1));
  std::error_code ignored;
  facts.bytes = std::filesystem::file_size(database_.file(), ignored);
  facts.cap = cap_;
  return facts;
}

}  // namespace straggler
