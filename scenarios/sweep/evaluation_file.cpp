#include "scenarios/sweep/evaluation_file.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/format_version.hpp"

namespace straggler {
namespace {

constexpr std::uint64_t row_bytes = 120;  // of an evaluation, and of a value beside its floats, with its places in indexes
constexpr std::uint64_t page_bytes = 4096, page_content = page_bytes - 4;  // SQLite's own choice; large values continue on separate pages
constexpr std::uint64_t log_bytes = std::uint64_t{16} << 20, longest_log = 3 * log_bytes;
// Evaluations are written soon. Values wait: many of a run's are dropped again for better spread ones.
constexpr auto flush_interval = std::chrono::seconds(5), flush_values_interval = std::chrono::seconds(30);
constexpr std::uint64_t flush_bytes = std::uint64_t{64} << 20;

/// Losses may be no numbers, for which SQLite has no place but in bits. `used` counts flushes of the file, so that clocks do not matter.
constexpr const char* tables =
    "CREATE TABLE evaluations (high INTEGER, low INTEGER, stamp INTEGER, loss INTEGER, accuracy INTEGER, sum INTEGER, used INTEGER,"
    " PRIMARY KEY (high, low)) WITHOUT ROWID;"
    "CREATE INDEX evaluations_by_use ON evaluations (used);"
    "CREATE TABLE vectors (root_high INTEGER, root_low INTEGER, high INTEGER, low INTEGER, stamp INTEGER, bytes INTEGER, sum INTEGER,"
    " used INTEGER, id INTEGER, PRIMARY KEY (root_high, root_low, high, low)) WITHOUT ROWID;"
    "CREATE INDEX vectors_by_use ON vectors (used, bytes);"
    "CREATE TABLE floats (id INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE clock (now INTEGER);"
    "INSERT INTO clock VALUES (0);";

static_assert(std::endian::native == std::endian::little, "floats are written as they lie in memory");

/// The folder must be there before SQLite makes the file.
const std::filesystem::path& with_folder(const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) throw ResultsError(file.parent_path().string() + ": cannot be made (" + error.message() + "); name another file with --store");
  return file;
}

std::int64_t half(std::uint64_t word) { return static_cast<std::int64_t>(word); }

std::int64_t sum_of(const Key& evaluation, const Evaluation& value) {
  return half(Hasher().add(evaluation).add(value.loss).add(value.accuracy).key().low);
}

std::int64_t sum_of(const Key& root, const Key& value, const void* data, std::size_t bytes) {
  return half(Hasher().add(root).add(value).add_bytes(data, bytes).key().low);
}

/// The most that a value adds to the file, and about what its removal frees; make_room checks again after that.
std::uint64_t most_added(std::uint64_t bytes) { return 2 * row_bytes + (bytes / page_content + 2) * page_bytes; }
std::uint64_t left_by(std::uint64_t bytes) { return row_bytes + bytes; }

Statement& bind(Statement& statement, int at, const Key& key) { return statement.bind(at, half(key.high)).bind(at + 1, half(key.low)); }

DatabaseUse use_of_store(int patience_ms, bool only_read) {
  return {.noun = "the store",
          .patience_ms = patience_ms,
          .when_full = "free some space, or name another file with --store",
          .elsewhere = "name another file with --store",
          .only_read = only_read};
}

/// The number of tables with such a name.
std::int64_t tables_named(Database& database, const std::string& condition) {
  Statement select(database, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name " + condition);
  select.step();
  return select.count(0);
}

bool has_evaluations(Database& database) { return tables_named(database, "= 'evaluations'") > 0; }

/// Throws ResultsError: not a store, or one of a later version.
void refuse_foreign(Database& database) {
  const bool foreign = tables_named(database, "NOT IN ('evaluations', 'vectors', 'floats', 'clock')") > 0;
  if (!foreign || has_evaluations(database)) database.refuse_newer(FormatVersion::store);
  if (foreign) throw ResultsError(database.file().string() + ": is a database, but not a store; name another file with --store");
}

/// Of its tables.
EvaluationFile::Facts count_rows(Database& database) {
  EvaluationFile::Facts facts;
  const std::int64_t stamp = half(math_stamp().low);
  Statement select(database, "SELECT count(*), coalesce(sum(stamp = ?), 0) FROM evaluations");
  select.bind(0, stamp).step();
  facts.evaluations = static_cast<std::uint64_t>(select.count(0));
  facts.own_evaluations = static_cast<std::uint64_t>(select.count(1));
  Statement vectors(database, "SELECT count(*), coalesce(sum(stamp = ?), 0), coalesce(sum(bytes), 0) FROM vectors");
  vectors.bind(0, stamp).step();
  facts.values = static_cast<std::uint64_t>(vectors.count(0));
  facts.own_values = static_cast<std::uint64_t>(vectors.count(1));
  facts.value_bytes = static_cast<std::uint64_t>(vectors.count(2));
  return facts;
}

void add_sizes(EvaluationFile::Facts& facts, const std::filesystem::path& file, std::uint64_t cap) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  facts.file_bytes = error ? 0 : bytes;
  facts.cap = cap;
}

}  // namespace

/// The database, and the frequent statements.
struct EvaluationFile::Open {
  Open(const std::filesystem::path& file, int patience_ms)
      : database(with_folder(file), use_of_store(patience_ms, false)),
        find(with_tables(database), "SELECT loss, accuracy, sum FROM evaluations WHERE high = ? AND low = ?"),
        find_value(database,
                   "SELECT sum, data FROM vectors JOIN floats USING (id) WHERE root_high = ? AND root_low = ? AND high = ? AND low = ?") {}

  static Database& with_tables(Database& database) {
    // No waiting for the disk: after a power cut the cache may be damaged, which checksums detect. And with secure_delete on, freed space
    // would be overwritten with zeros.
    database.run("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF");
    database.run(("PRAGMA journal_size_limit = " + std::to_string(log_bytes)).c_str());
    if (database.version() != FormatVersion::store) make_tables(database);
    return database;
  }
  static void make_tables(Database& database) {
    Transaction transaction(database);
    if (database.version() == FormatVersion::store) return;  // another process was first
    refuse_foreign(database);
    database.run(
        "DROP TABLE IF EXISTS evaluations; DROP TABLE IF EXISTS vectors; DROP TABLE IF EXISTS floats; DROP TABLE IF EXISTS clock;");
    database.run(tables);
    database.set_version(FormatVersion::store);
    transaction.commit();
  }

  Database database;
  Statement find, find_value;
};

template <class Body>
auto EvaluationFile::guarded(const Body& body) {
  try {
    return body();
  } catch (const ResultsError& error) {
    if (!tell_) throw;
    go_without(error.what());
  }
  return body();
}

std::filesystem::path EvaluationFile::default_file() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return std::filesystem::path(cache) / "straggler" / "store.sqlite";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return std::filesystem::path(home) / ".cache" / "straggler" / "store.sqlite";
  return {};
}

EvaluationFile::EvaluationFile(const std::filesystem::path& file, std::uint64_t cap, Tell tell, int patience_ms)
    : file_(file), cap_(cap), patience_ms_(patience_ms), tell_(std::move(tell)) {
  guarded([&] {
    if (!open_) open_ = std::make_unique<Open>(file_, patience_ms_);
  });
}

EvaluationFile::~EvaluationFile() {
  try {
    flush();
  } catch (const ResultsError&) {  // a cache: lost values are computed again
  }
}

void EvaluationFile::go_without(const std::string& why) {
  const Tell tell = std::exchange(tell_, {});  // a store in memory that fails is no longer a matter of files
  open_.reset();
  open_ = std::make_unique<Open>(":memory:", patience_ms_);
  for (auto& [key, known] : known_) known = {known.value, true, false};
  fresh_ = known_.size();
  used_ = 0;
  used_values_.clear();
  tell(why);
}

std::optional<Evaluation> EvaluationFile::find(const Key& evaluation) {
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(evaluation); at != known_.end()) return at->second.value;
  return guarded([&]() -> std::optional<Evaluation> {
    Statement& select = open_->find;
    if (!bind(select, 0, evaluation).step()) return select.reset(), std::nullopt;
    const Evaluation value{std::bit_cast<double>(select.count(0)), std::bit_cast<double>(select.count(1))};
    const bool whole = select.count(2) == sum_of(evaluation, value);
    select.reset();
    if (!whole) return std::nullopt;
    known_[evaluation] = {value, false, true};
    ++used_;
    return value;
  });
}

void EvaluationFile::keep(const Key& evaluation, const Evaluation& value) {
  const std::lock_guard lock(mutex_);
  if (known_.emplace(evaluation, Known{value, true, false}).second) ++fresh_;
  flush_if_due();
}

std::vector<Key> EvaluationFile::values(const Key& root) {
  const std::lock_guard lock(mutex_);
  return guarded([&] {
    std::vector<Key> keys;
    for (auto at = fresh_values_.lower_bound({root, Key{}}); at != fresh_values_.end() && at->first.first == root; ++at)
      keys.push_back(at->first.second);
    Statement select(open_->database, "SELECT high, low FROM vectors WHERE root_high = ? AND root_low = ?");
    bind(select, 0, root);
    while (select.step()) keys.push_back({static_cast<std::uint64_t>(select.count(0)), static_cast<std::uint64_t>(select.count(1))});
    return keys;
  });
}

bool EvaluationFile::find_value(const Key& root, const Key& value, std::span<float> to) {
  const std::lock_guard lock(mutex_);
  if (const auto at = fresh_values_.find({root, value}); at != fresh_values_.end()) {
    if (at->second.size() != to.size()) return false;
    std::copy(at->second.begin(), at->second.end(), to.begin());
    return true;
  }
  return guarded([&] {
    Statement& select = open_->find_value;
    bool there = bind(bind(select, 0, root), 2, value).step(), whole = true;
    if (there) {
      const std::string_view data = select.bytes(1);
      whole = select.count(0) == sum_of(root, value, data.data(), data.size());
      there = whole && data.size() == to.size_bytes();
      if (there) std::memcpy(to.data(), data.data(), data.size());
    }
    select.reset();
    if (there) used_values_.insert({root, value});
    if (!whole) remove_value(root, value);  // or it would never be written again
    return there;
  });
}

void EvaluationFile::keep_value(const Key& root, const Key& value, std::span<const float> floats) {
  const std::lock_guard lock(mutex_);
  if (!fresh_values_.try_emplace({root, value}, floats.begin(), floats.end()).second) return;
  fresh_bytes_ += floats.size_bytes();
  flush_if_due();
}

void EvaluationFile::forget_value(const Key& root, const Key& value) {
  const std::lock_guard lock(mutex_);
  if (const auto at = fresh_values_.find({root, value}); at != fresh_values_.end()) {
    fresh_bytes_ -= at->second.size() * sizeof(float);
    fresh_values_.erase(at);
    return;
  }
  used_values_.erase({root, value});
  guarded([&] { remove_value(root, value); });
}

void EvaluationFile::remove_value(const Key& root, const Key& value) {
  constexpr const char* which = " WHERE root_high = ? AND root_low = ? AND high = ? AND low = ?";
  Transaction transaction(open_->database);
  Statement floats(open_->database, std::string("DELETE FROM floats WHERE id IN (SELECT id FROM vectors") + which + ")");
  bind(bind(floats, 0, root), 2, value).run();
  Statement name(open_->database, std::string("DELETE FROM vectors") + which);
  bind(bind(name, 0, root), 2, value).run();
  transaction.commit();
}

void EvaluationFile::flush() {
  const std::lock_guard lock(mutex_);
  guarded([&] { write(true); });
}

void EvaluationFile::flush_if_due() {
  const Clock::time_point now = Clock::now();
  const bool values = fresh_bytes_ >= flush_bytes || (fresh_bytes_ > 0 && now - values_flushed_ >= flush_values_interval);
  if (!values && now - flushed_ < flush_interval) return;
  if (tell_) return guarded([&] { write(values); });
  try {  // `flush` reports it at the end
    write(values);
  } catch (const ResultsError&) {
    flushed_ = values_flushed_ = now;
  }
}

void EvaluationFile::write(bool values) {
  flushed_ = Clock::now();
  if (values) values_flushed_ = flushed_;
  if (fresh_ + used_ == 0 && !(values && (!fresh_values_.empty() || !used_values_.empty()))) return;
  open_->database.bound_log(longest_log);
  {
    Transaction transaction(open_->database);
    open_->database.run("UPDATE clock SET now = now + 1");
    touch_evaluations();
    if (values) touch_values();
    make_room(incoming_bytes(values));
    write_evaluations();
    if (values) write_values();
    transaction.commit();
  }
  shrink_file();
  for (auto& [key, known] : known_) known.fresh = known.used = false;
  fresh_ = used_ = 0;
  if (!values) return;
  fresh_values_.clear();
  used_values_.clear();
  fresh_bytes_ = 0;
}

void EvaluationFile::touch_evaluations() {
  Statement touch(open_->database, "UPDATE evaluations SET used = (SELECT now FROM clock) WHERE high = ? AND low = ?");
  for (const auto& [key, known] : known_)
    if (known.used && !known.fresh) bind(touch, 0, key).run();
}

void EvaluationFile::touch_values() {
  Statement touch(open_->database,
                  "UPDATE vectors SET used = (SELECT now FROM clock)"
                  " WHERE root_high = ? AND root_low = ? AND high = ? AND low = ?");
  for (const Name& used : used_values_) bind(bind(touch, 0, used.first), 2, used.second).run();
}

std::uint64_t EvaluationFile::live_bytes() {
  Statement pages(open_->database,
                  "SELECT (page_count - freelist_count) * page_size"
                  " FROM pragma_page_count, pragma_freelist_count, pragma_page_size");
  pages.step();
  return static_cast<std::uint64_t>(pages.count(0));
}

std::uint64_t EvaluationFile::incoming_bytes(bool values) const {
  std::uint64_t bytes = 2 * row_bytes * fresh_ + page_bytes;
  if (!values) return bytes;
  for (const auto& [name, floats] : fresh_values_)
    if (const std::uint64_t more = most_added(floats.size() * sizeof(float)); more < cap_) bytes += more;  // others are not written
  return bytes;
}

void EvaluationFile::write_evaluations() {
  std::uint64_t live = live_bytes();
  Statement insert(open_->database,
                   "INSERT OR REPLACE INTO evaluations (high, low, stamp, loss, accuracy, sum, used)"
                   " VALUES (?, ?, ?, ?, ?, ?, (SELECT now FROM clock))");
  const std::int64_t stamp = half(math_stamp().low);
  for (const auto& [key, known] : known_) {
    if (!known.fresh) continue;
    live += 2 * row_bytes;
    if (live > cap_) break;
    bind(insert, 0, key)
        .bind(2, stamp)
        .bind(3, std::bit_cast<std::int64_t>(known.value.loss))
        .bind(4, std::bit_cast<std::int64_t>(known.value.accuracy))
        .bind(5, sum_of(key, known.value))
        .run();
  }
}

void EvaluationFile::write_values() {
  std::uint64_t live = live_bytes();
  Statement name(open_->database,
                 "INSERT OR IGNORE INTO vectors (root_high, root_low, high, low, stamp, bytes, sum, used, id)"
                 " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT now FROM clock), (SELECT coalesce(max(id), 0) + 1 FROM floats))");
  Statement insert(open_->database, "INSERT INTO floats (id, data) SELECT coalesce(max(id), 0) + 1, ? FROM floats");
  const std::int64_t stamp = half(math_stamp().low);
  for (const auto& [key, floats] : fresh_values_) {
    const std::size_t bytes = floats.size() * sizeof(float);
    if (live + most_added(bytes) > cap_) continue;
    bind(bind(name, 0, key.first), 2, key.second).bind(4, stamp).bind(5, half(bytes));
    name.bind(6, sum_of(key.first, key.second, floats.data(), bytes)).run();
    if (open_->database.changes() == 0) continue;  // another process was first
    insert.bind_bytes(0, floats.data(), bytes).run();
    live += most_added(bytes);
  }
}

/// A tenth more than needed goes, so that this is rare. In a damaged file rows may not go: then it stays as it is.
void EvaluationFile::make_room(std::uint64_t incoming) {
  if (live_bytes() + incoming <= cap_) return;
  const std::uint64_t aim = cap_ - cap_ / 10;
  for (std::uint64_t left = rows(); live_bytes() + incoming > aim;) {
    drop_oldest(live_bytes() + incoming - aim);
    if (const std::uint64_t before = std::exchange(left, rows()); left >= before) return;
  }
}

std::uint64_t EvaluationFile::rows() {
  Statement rows(open_->database, "SELECT (SELECT count(*) FROM evaluations) + (SELECT count(*) FROM vectors)");
  rows.step();
  return static_cast<std::uint64_t>(rows.count(0));
}

void EvaluationFile::drop_oldest(std::uint64_t bytes) {
  std::vector<Key> evaluations;
  std::vector<std::int64_t> vectors;
  {
    Statement oldest(open_->database,
                     "SELECT used, 0 AS kind, bytes, id, 0 FROM vectors UNION ALL SELECT used, 1, 0, high, low FROM evaluations"
                     " ORDER BY used, kind, 4, 5");
    while (bytes > 0 && oldest.step()) {
      if (oldest.count(1) == 0)
        vectors.push_back(oldest.count(3));
      else
        evaluations.push_back({static_cast<std::uint64_t>(oldest.count(3)), static_cast<std::uint64_t>(oldest.count(4))});
      bytes -= std::min(bytes, oldest.count(1) == 0 ? left_by(static_cast<std::uint64_t>(oldest.count(2))) : row_bytes);
    }
  }
  Statement drop_evaluation(open_->database, "DELETE FROM evaluations WHERE high = ? AND low = ?");
  for (const Key& key : evaluations) bind(drop_evaluation, 0, key).run();
  Statement drop_floats(open_->database, "DELETE FROM floats WHERE id = ?");
  for (const std::int64_t id : vectors) drop_floats.bind(0, id).run();
  if (!vectors.empty()) open_->database.run("DELETE FROM vectors WHERE id NOT IN (SELECT id FROM floats)");
}

/// A file that was larger before (of an earlier version, or another cap).
void EvaluationFile::shrink_file() {
  Statement size(open_->database, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  size.step();
  const auto bytes = static_cast<std::uint64_t>(size.count(0));
  size.reset();
  if (bytes <= cap_ || live_bytes() > cap_) return;
  try {
    open_->database.run("VACUUM");
  } catch (const DiskError&) {  // it takes room to make room: another time
  }
}

void EvaluationFile::forget_all() {
  known_.clear();
  fresh_values_.clear();
  used_values_.clear();
  fresh_ = used_ = fresh_bytes_ = 0;
}

void EvaluationFile::clear() {
  const std::lock_guard lock(mutex_);
  forget_all();
  open_->database.run("DELETE FROM evaluations; DELETE FROM vectors; DELETE FROM floats");
  open_->database.run("VACUUM");
}

EvaluationFile::Facts EvaluationFile::facts() {
  const std::lock_guard lock(mutex_);
  Facts facts = count_rows(open_->database);
  add_sizes(facts, file_, cap_);
  return facts;
}

EvaluationFile::Facts EvaluationFile::facts_of(const std::filesystem::path& file) {
  Database database(file, use_of_store(default_patience_ms, true));
  Facts facts;
  const std::int64_t found = database.version();
  if (found != FormatVersion::store) refuse_foreign(database);
  if (found == FormatVersion::store)
    facts = count_rows(database);
  else if (has_evaluations(database))
    facts.older = found;
  add_sizes(facts, file, default_cap);
  return facts;
}

}  // namespace straggler
