// The functions of SQLite that sqlite.cpp calls, taken from the library when a store is first opened: resolving the names of the library
// took a sixth of the time in which the program starts, and a run opens no store.
#include <sqlite3.h>

#include "sim/base/late_library.hpp"

namespace straggler {
namespace {
const LateLibrary sqlite(STRAGGLER_SQLITE, "libsqlite3-0");
}
}  // namespace straggler

#define STRAGGLER_LATE(name)                                                       \
  [] {                                                                             \
    static auto* const late = straggler::sqlite.function<decltype(::name)>(#name); \
    return late;                                                                   \
  }()

int sqlite3_open_v2(const char* file, sqlite3** db, int flags, const char* vfs) {
  return STRAGGLER_LATE(sqlite3_open_v2)(file, db, flags, vfs);
}
int sqlite3_close(sqlite3* db) { return db ? STRAGGLER_LATE(sqlite3_close)(db) : SQLITE_OK; }
int sqlite3_exec(sqlite3* db, const char* sql, int (*row)(void*, int, char**, char**), void* with, char** error) {
  return STRAGGLER_LATE(sqlite3_exec)(db, sql, row, with, error);
}
int sqlite3_busy_handler(sqlite3* db, int (*handler)(void*, int), void* with) {
  return STRAGGLER_LATE(sqlite3_busy_handler)(db, handler, with);
}
int sqlite3_sleep(int ms) { return STRAGGLER_LATE(sqlite3_sleep)(ms); }
sqlite3_int64 sqlite3_changes64(sqlite3* db) { return STRAGGLER_LATE(sqlite3_changes64)(db); }
int sqlite3_system_errno(sqlite3* db) { return STRAGGLER_LATE(sqlite3_system_errno)(db); }
const char* sqlite3_errmsg(sqlite3* db) { return STRAGGLER_LATE(sqlite3_errmsg)(db); }
const char* sqlite3_errstr(int code) { return STRAGGLER_LATE(sqlite3_errstr)(code); }

int sqlite3_prepare_v2(sqlite3* db, const char* sql, int bytes, sqlite3_stmt** statement, const char** tail) {
  return STRAGGLER_LATE(sqlite3_prepare_v2)(db, sql, bytes, statement, tail);
}
int sqlite3_finalize(sqlite3_stmt* statement) { return STRAGGLER_LATE(sqlite3_finalize)(statement); }
int sqlite3_step(sqlite3_stmt* statement) { return STRAGGLER_LATE(sqlite3_step)(statement); }
int sqlite3_clear_bindings(sqlite3_stmt* statement) { return STRAGGLER_LATE(sqlite3_clear_bindings)(statement); }
int sqlite3_reset(sqlite3_stmt* statement) { return STRAGGLER_LATE(sqlite3_reset)(statement); }
int sqlite3_bind_int64(sqlite3_stmt* statement, int at, sqlite3_int64 value) {
  return STRAGGLER_LATE(sqlite3_bind_int64)(statement, at, value);
}
int sqlite3_bind_double(sqlite3_stmt* statement, int at, double value) { return STRAGGLER_LATE(sqlite3_bind_double)(statement, at, value); }
int sqlite3_bind_text64(sqlite3_stmt* statement, int at, const char* text, sqlite3_uint64 bytes, void (*drop)(void*),
                        unsigned char encoding) {
  return STRAGGLER_LATE(sqlite3_bind_text64)(statement, at, text, bytes, drop, encoding);
}
int sqlite3_bind_blob64(sqlite3_stmt* statement, int at, const void* data, sqlite3_uint64 bytes, void (*drop)(void*)) {
  return STRAGGLER_LATE(sqlite3_bind_blob64)(statement, at, data, bytes, drop);
}
int sqlite3_column_type(sqlite3_stmt* statement, int column) { return STRAGGLER_LATE(sqlite3_column_type)(statement, column); }
sqlite3_int64 sqlite3_column_int64(sqlite3_stmt* statement, int column) { return STRAGGLER_LATE(sqlite3_column_int64)(statement, column); }
double sqlite3_column_double(sqlite3_stmt* statement, int column) { return STRAGGLER_LATE(sqlite3_column_double)(statement, column); }
int sqlite3_column_bytes(sqlite3_stmt* statement, int column) { return STRAGGLER_LATE(sqlite3_column_bytes)(statement, column); }
const void* sqlite3_column_blob(sqlite3_stmt* statement, int column) { return STRAGGLER_LATE(sqlite3_column_blob)(statement, column); }
const unsigned char* sqlite3_column_text(sqlite3_stmt* statement, int column) {
  return STRAGGLER_LATE(sqlite3_column_text)(statement, column);
}

#undef STRAGGLER_LATE
