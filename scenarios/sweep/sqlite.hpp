// Access to SQLite: statements that close themselves, errors with the file and a remedy.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/results/out_file.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace straggler {

/// The file was removed or moved while it was in use: nothing that was given is wrong, but the command cannot continue.
struct FileGone : ResultsError {
  explicit FileGone(const std::string& line) : ResultsError(line, Exit::cannot_go_on) {}
};
/// The user ended a wait for another process.
struct WaitInterrupted : Refusal {
  explicit WaitInterrupted(const std::string& line) : Refusal(line, Exit::interrupted) {}
};

/// While another process has the file; either may be empty.
struct DatabaseWait {
  std::function<void(const std::string&)> tell;  // once a wait, after a second: a sentence
  std::function<bool()> give_up;                 // asked now and then; then WaitInterrupted is thrown
};

/// A database's settings.
struct DatabaseUse {
  std::string noun;         // for messages: "the store"
  int patience_ms = 60000;  // how long one process waits for another's write
  std::string when_full = "what was finished is kept: free some space, and the same command continues";
  std::string elsewhere = "name another folder with --out";
  DatabaseWait wait = {};
  bool only_read = false;  // where it cannot be written it is read as it lies there
};

class Database {
 public:
  /// Opens or makes the file; several processes of one host may use it at once (they wait for each other). Throws ResultsError.
  Database(const std::filesystem::path& file, DatabaseUse use);
  Database(const std::filesystem::path& file, std::string noun);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// One or more statements without results. Throws ResultsError; DiskError where the disk is full or fails.
  void run(const char* sql);
  const std::filesystem::path& file() const { return file_; }
  bool read_only() const { return read_only_; }
  /// Throws FileGone if it is: SQLite would go on writing into the deleted file.
  void refuse_if_gone() const;
  /// Waits up to two seconds until the write-ahead log is at most so long: where several processes write in turn, none of them would find
  /// the moment to empty it, and it would grow without end. Call it before a transaction.
  void bound_log(std::uint64_t bytes);
  /// Of its format, which the file holds; 0: none was set.
  std::int64_t version();
  void set_version(int version);
  /// Throws ResultsError if its version is above `own`, the one that this program writes.
  void refuse_newer(int own);
  /// Rows that the last statement changed.
  std::int64_t changes() const;
  [[noreturn]] void fail(int code) const;

 private:
  friend class Statement;
  sqlite3_stmt* take(const std::string& sql);
  void give_back(std::string sql, sqlite3_stmt* statement) noexcept;
  using Clock = std::chrono::steady_clock;
  void open(const std::string& name, int flags);
  void use_write_ahead_log();
  void read_as_it_lies();
  bool wait(int times);
  [[noreturn]] void fail_for_locks(int error) const;
  [[noreturn]] void fail_for_disk(int error) const;  // by errno; 0: not known
  std::string remedy(int code) const;
  std::filesystem::path file_;
  DatabaseUse use_;
  sqlite3* handle_ = nullptr;
  std::mutex mutex_;                                         // of idle_
  std::vector<std::pair<std::string, sqlite3_stmt*>> idle_;  // prepared, in no use; with their texts
  Clock::time_point waits_since_;
  int lock_error_ = 0;  // why the file system gives no locks, an errno; 0: it does
  bool opened_ = false, read_only_ = false;
  bool told_ = false, given_up_ = false;  // of this wait
};

/// A prepared statement; parameters and columns are numbered from 0. The database keeps it for the next one of the same text.
class Statement {
 public:
  Statement(Database& database, std::string sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, double value);
  Statement& bind(int at, std::string_view text);                      // copied
  Statement& bind_bytes(int at, const void* data, std::size_t bytes);  // not copied: must stay until `run` or `reset`
  /// True: a row. Throws ResultsError.
  bool step();
  /// Runs to the end and makes ready for the next use.
  void run();
  void reset();

  std::int64_t count(int column) const;
  double number(int column) const;
  std::string text(int column) const;
  std::string_view bytes(int column) const;  // until the next step or reset
  bool null(int column) const;

 private:
  Database& database_;
  std::string sql_;
  sqlite3_stmt* handle_ = nullptr;
};

/// BEGIN IMMEDIATE … COMMIT; rolls back unless `commit` was called.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace straggler
