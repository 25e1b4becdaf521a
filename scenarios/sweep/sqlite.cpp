#include "scenarios/sweep/sqlite.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace straggler {
namespace {

/// The errno of a lock where the file system gives none, as NFS without its lock service; 0: it does, or that cannot be told. SQLite takes
/// some of these for another process's lock. A file of its own is tried: closing another descriptor of the database would drop its locks.
int lock_failure(const std::filesystem::path& database) {
  const std::string name = fmt::format("{}.lock-{}", database.string(), ::getpid());
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const int error = ::fcntl(file, F_SETLK, &lock) == 0 ? 0 : errno;
  ::close(file);
  ::unlink(name.c_str());
  return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS ? error : 0;
}

}  // namespace

Database::Database(const std::filesystem::path& file, std::string noun) : Database(file, DatabaseUse{.noun = std::move(noun)}) {}

Database::Database(const std::filesystem::path& file, DatabaseUse use) : file_(file), use_(std::move(use)) {
  constexpr std::size_t most_idle = 32;
  idle_.reserve(most_idle);
  try {
    open(file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    use_write_ahead_log();
    opened_ = true;
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

void Database::open(const std::string& name, int flags) {
  const int code = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (code != SQLITE_OK && !use_.only_read) fail(code);
  sqlite3_busy_handler(
      handle_, [](void* self, int times) { return static_cast<Database*>(self)->wait(times) ? 1 : 0; }, this);
}

/// Whether to try again; `times`: how often this wait has been asked.
bool Database::wait(int times) {
  constexpr int pause = 10;  // ms
  if (times == 0) {
    waits_since_ = Clock::now();
    told_ = given_up_ = false;
  }
  const auto waited = Clock::now() - waits_since_;
  if (use_.wait.give_up && use_.wait.give_up()) {
    given_up_ = true;
    return false;
  }
  if (waited >= std::chrono::milliseconds(use_.patience_ms)) return false;
  if (!told_ && waited >= std::chrono::seconds(1)) {
    told_ = true;
    lock_error_ = lock_failure(file_);
    if (lock_error_ != 0) return false;
    if (use_.wait.tell) use_.wait.tell(fmt::format("{}: another process is using it; waiting", file_.string()));
  }
  sqlite3_sleep(pause);
  return true;
}

/// Readers and one writer do not wait for each other, and a killed process leaves nothing half written. Turning it on is the one thing for
/// which SQLite does not wait by itself until another process has let go.
void Database::use_write_ahead_log() {
  const auto attempt = [this] {
    return sqlite3_exec(handle_, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; SELECT count(*) FROM sqlite_master", nullptr,
                        nullptr, nullptr);
  };
  int code = attempt();
  for (int times = 0; (code & 0xFF) == SQLITE_BUSY && !given_up_ && lock_error_ == 0 && wait(times); ++times) code = attempt();
  if (code == SQLITE_OK) return;
  const int kind = code & 0xFF;
  if (use_.only_read && (kind == SQLITE_READONLY || kind == SQLITE_CANTOPEN || kind == SQLITE_PERM)) return read_as_it_lies();
  fail(code);
}

/// For a folder that cannot be written, where SQLite could not even register as a reader. Correct if there is no writer, and the log is
/// empty.
void Database::read_as_it_lies() {
  std::error_code error;
  const std::filesystem::path log = file_.string() + "-wal";
  if (const auto left = std::filesystem::file_size(log, error); !error && left > 0)
    throw ResultsError(
        fmt::format("{}: {} was not closed (there is a {}), and cannot be closed where nothing can be written; copy the folder",
                    file_.string(), use_.noun, log.filename().string()));
  std::string name = "file:";
  for (const char c : std::filesystem::absolute(file_).string()) {
    if (c == '%' || c == '?' || c == '#')
      name += fmt::format("%{:02x}", static_cast<unsigned>(c));
    else
      name += c;
  }
  sqlite3_close(std::exchange(handle_, nullptr));
  open(name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (const int code = sqlite3_exec(handle_, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code);
  read_only_ = true;
}

Database::~Database() {
  for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

sqlite3_stmt* Database::take(const std::string& sql) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& each : idle_) {
      if (each.first != sql) continue;
      sqlite3_stmt* const statement = each.second;
      std::swap(each, idle_.back());
      idle_.pop_back();
      return statement;
    }
  }
  sqlite3_stmt* statement = nullptr;
  if (const int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr); code != SQLITE_OK) fail(code);
  return statement;
}

void Database::give_back(std::string sql, sqlite3_stmt* statement) noexcept {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  const std::lock_guard lock(mutex_);
  if (idle_.size() < idle_.capacity())
    idle_.emplace_back(std::move(sql), statement);
  else
    sqlite3_finalize(statement);
}

void Database::run(const char* sql) {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) fail(code);
}

std::int64_t Database::version() {
  Statement version(*this, "SELECT user_version FROM pragma_user_version");
  version.step();
  return version.count(0);
}

void Database::set_version(int version) { run(fmt::format("PRAGMA user_version = {}", version).c_str()); }

void Database::refuse_newer(int own) {
  if (const std::int64_t found = version(); found > own)
    throw ResultsError(fmt::format("{}: {} has version {} of the format; this program reads version {}; use the straggler that wrote it{}",
                                   file_.string(), use_.noun, found, own, use_.only_read ? std::string() : ", or " + use_.elsewhere));
}

std::int64_t Database::changes() const { return sqlite3_changes64(handle_); }

void Database::bound_log(std::uint64_t bytes) {
  constexpr int pause = 10;  // ms
  const std::filesystem::path log = file_.string() + "-wal";
  const Clock::time_point end = Clock::now() + std::chrono::seconds(2);
  while (true) {
    std::error_code error;
    const std::uintmax_t now = std::filesystem::file_size(log, error);
    if (error || now <= bytes || Clock::now() >= end) return;
    run("PRAGMA wal_checkpoint(TRUNCATE)");  // does nothing while another process does this
    if (std::filesystem::file_size(log, error) > bytes && !error) sqlite3_sleep(pause);
  }
}

void Database::refuse_if_gone() const {
  std::error_code error;
  if (file_ == ":memory:" || std::filesystem::exists(file_, error)) return;
  throw FileGone(fmt::format("{}: is gone: it was removed or moved while {} was in use; run the command again", file_.string(), use_.noun));
}

void Database::fail(int code) const {
  const int kind = code & 0xFF;
  if (kind == SQLITE_BUSY && given_up_) throw WaitInterrupted(fmt::format("{}: interrupted while another process had it", file_.string()));
  if (kind == SQLITE_BUSY && lock_error_ != 0) fail_for_locks(lock_error_);
  if (kind == SQLITE_PROTOCOL || kind == SQLITE_IOERR)
    if (const int error = lock_failure(file_)) fail_for_locks(error);
  if (kind == SQLITE_IOERR || (opened_ && (kind == SQLITE_READONLY || kind == SQLITE_CANTOPEN))) refuse_if_gone();
  if (handle_ && (code & 0xFF) == SQLITE_FULL) fail_for_disk(ENOSPC);
  if (handle_ && (code & 0xFF) == SQLITE_IOERR) fail_for_disk(sqlite3_system_errno(handle_));
  throw ResultsError(fmt::format("{}: {} cannot be used ({}); {}", file_.string(), use_.noun,
                                 handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code), remedy(code)));
}

void Database::fail_for_locks(int error) const {
  throw ResultsError(
      fmt::format("{}: {} needs locks, which its file system does not give ({}); start its lock service (of NFS: rpc.statd), "
                  "or {}",
                  file_.string(), use_.noun, std::strerror(error), use_.elsewhere));
}

void Database::fail_for_disk(int error) const {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw DiskError(fmt::format("{}: the disk {} ({}); {}", file_.string(),
                              full    ? "is full"
                              : error ? "fails"
                                      : "is full or fails, or a file may not grow that large",
                              error ? std::strerror(error) : sqlite3_errmsg(handle_), use_.when_full));
}

std::string Database::remedy(int code) const {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("another process has held it for more than {} s; wait for that one, or {}", use_.patience_ms / 1000,
                         use_.elsewhere);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return fmt::format("it is damaged, or not a file of Straggler; move it away (`mv '{0}' '{0}.damaged'`) and start again",
                         file_.string());
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "it cannot be written there; check the folder and its permissions, or " + use_.elsewhere;
    default:
      return use_.elsewhere;
  }
}

Statement::Statement(Database& database, std::string sql) : database_(database), sql_(std::move(sql)), handle_(database.take(sql_)) {}

Statement::~Statement() { database_.give_back(std::move(sql_), handle_); }

Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(handle_, at + 1, value);
  return *this;
}

Statement& Statement::bind(int at, double value) {
  sqlite3_bind_double(handle_, at + 1, value);
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(handle_, at + 1, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_bytes(int at, const void* data, std::size_t bytes) {
  sqlite3_bind_blob64(handle_, at + 1, data, bytes, SQLITE_STATIC);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3_reset(handle_);
  database_.fail(code);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { sqlite3_reset(handle_); }

std::int64_t Statement::count(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::number(int column) const { return sqlite3_column_double(handle_, column); }
bool Statement::null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

std::string Statement::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))) : std::string();
}

std::string_view Statement::bytes(int column) const {
  const auto* const data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

Transaction::Transaction(Database& database) : database_(database) { Statement(database, "BEGIN IMMEDIATE").run(); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const ResultsError&) {  // the failure that led here has been reported
  }
}

void Transaction::commit() {
  Statement(database_, "COMMIT").run();
  open_ = false;
}

}  // namespace straggler
