// The store as a file: what it keeps, what it drops, and what becomes of a sweep when it fails.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>

#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

Key key(std::uint64_t i) { return Hasher().add(i).key(); }
const Key root = key(1'000'000);

/// Files cannot grow beyond this while it lives: to SQLite, a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit less = before_;
    less.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &less);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

struct Told {
  std::vector<std::string> lines;
  EvaluationFile::Tell by() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
  bool once(const char* part) const { return lines.size() == 1 && lines[0].find(part) != std::string::npos; }
};

constexpr int brief = 50;  // ms

}  // namespace

TEST_CASE("values and evaluations come back from the file, to the bit, NaN included") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  const std::vector<float> floats{1.5f, -0.0f, std::numeric_limits<float>::quiet_NaN(), 1e-40f};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  {
    EvaluationFile store(path);
    store.keep_value(root, key(1), floats);
    store.keep_value(key(2), key(1), std::vector<float>{7});
    store.keep(key(3), {nan, 0.25});
    CHECK(store.values(root) == std::vector{key(1)});
  }
  EvaluationFile store(path);
  CHECK(store.values(root) == std::vector{key(1)});
  CHECK(store.values(key(9)).empty());
  std::vector<float> read(4);
  REQUIRE(store.find_value(root, key(1), read));
  CHECK(std::memcmp(read.data(), floats.data(), 16) == 0);
  CHECK_FALSE(store.find_value(root, key(2), read));
  const auto diverged = store.find(key(3));
  REQUIRE(diverged);
  CHECK(std::isnan(diverged->loss));
  CHECK(diverged->accuracy == 0.25);
  const EvaluationFile::Facts facts = store.facts();
  CHECK(facts.evaluations == 1);
  CHECK(facts.own_evaluations == 1);
  CHECK(facts.values == 2);
  CHECK(facts.own_values == 2);
  CHECK(facts.value_bytes == 20);
  store.forget_value(root, key(1));
  CHECK(store.values(root).empty());
}

TEST_CASE("values and evaluations make room for each other: the least recently used goes first") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  const std::vector<float> floats(1000, 1.0f);
  {
    EvaluationFile store(path);
    store.keep(key(0), {0, 0});
    store.flush();
    for (std::uint64_t i = 1; i <= 10; ++i) {
      store.keep_value(root, key(i), floats);
      store.flush();
    }
    CHECK(store.facts().values == 10);
  }
  const std::uint64_t cap = std::filesystem::file_size(path);  // it is full
  EvaluationFile store(path, cap);
  std::vector<float> read(1000);
  REQUIRE(store.find_value(root, key(1), read));  // used now
  store.keep_value(root, key(11), floats);
  store.flush();
  CHECK_FALSE(store.find_value(root, key(2), read));
  CHECK(store.find_value(root, key(1), read));
  CHECK(store.find_value(root, key(11), read));
  CHECK_FALSE(EvaluationFile(path, cap).find(key(0)));
  CHECK(store.facts().values >= 5);
  CHECK(store.facts().file_bytes <= cap);
}

TEST_CASE("damaged rows are not served, and are written again") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  const std::vector<float> floats(10, 2.0f);
  {
    EvaluationFile store(path);
    store.keep(key(1), {0.5, 0.5});
    store.keep_value(root, key(2), floats);
  }
  {
    Database database(path, "the store");
    database.run("UPDATE evaluations SET loss = loss + 1; UPDATE floats SET data = zeroblob(40)");
  }
  EvaluationFile store(path);
  std::vector<float> read(10);
  CHECK_FALSE(store.find(key(1)));
  CHECK_FALSE(store.find_value(root, key(2), read));
  store.keep(key(1), {0.5, 0.5});
  store.keep_value(root, key(2), floats);
  store.flush();
  EvaluationFile again(path);
  CHECK(again.find(key(1)));
  CHECK(again.find_value(root, key(2), read));
  CHECK(read == floats);
}

TEST_CASE("a statement that is used again has none of its earlier values and rows") {
  const Files files;
  Database database(files.folder() / "some.sqlite", "the store");
  database.run("CREATE TABLE numbers (id INTEGER PRIMARY KEY, value INTEGER)");
  const auto insert = [&](std::optional<std::int64_t> value) {
    Statement statement(database, "INSERT INTO numbers (value) VALUES (?)");
    if (value) statement.bind(0, *value);
    statement.run();
  };
  insert(7);
  insert(std::nullopt);
  insert(9);
  for (int times = 0; times < 2; ++times) {
    Statement select(database, "SELECT value FROM numbers ORDER BY id");
    REQUIRE(select.step());
    CHECK(select.count(0) == 7);  // the other rows are not read
  }
  {
    Statement one(database, "SELECT value FROM numbers ORDER BY id"), other(database, "SELECT value FROM numbers ORDER BY id");
    REQUIRE((one.step() && one.step() && other.step()));
    CHECK(one.null(0));
    CHECK(other.count(0) == 7);
  }
  database.run("DROP TABLE numbers");  // no statement still reads it
  CHECK_THROWS_AS(Statement(database, "SELECT value FROM numbers ORDER BY id").step(), ResultsError);
}

TEST_CASE("a store of another layout is replaced, one of a later version and other databases are left alone") {
  const Files files;
  const auto path = files.folder() / "old.sqlite";
  {
    Database old(path, "the store");
    old.run(
        "CREATE TABLE evaluations (high INTEGER, low INTEGER, stamp INTEGER, loss REAL, accuracy REAL, used INTEGER, PRIMARY KEY (high, "
        "low)) WITHOUT ROWID; CREATE INDEX by_use ON evaluations (used); CREATE TABLE clock (now INTEGER);"
        "INSERT INTO evaluations VALUES (1, 2, 3, 0.5, 0.5, 1)");
  }
  {
    EvaluationFile store(path);
    CHECK(store.facts().evaluations == 0);
    store.keep(key(1), {0.5, 0.5});
  }
  CHECK(EvaluationFile(path).find(key(1)));
  Database(path, "the store").run("PRAGMA user_version = 99");
  CHECK_THROWS_WITH_AS(
      EvaluationFile{path},
      doctest::Contains("the store has version 99 of the format; this program reads version 2; use the straggler that wrote it, or"),
      ResultsError);
  { SweepState state(files.folder() / "sweep.sqlite"); }
  CHECK_THROWS_WITH_AS(EvaluationFile{files.folder() / "sweep.sqlite"}, doctest::Contains("is a database, but not a store"), ResultsError);
}

TEST_CASE("a store that is only looked at stays as it is, of whatever version") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  {
    EvaluationFile store(path);
    store.keep(key(1), {0.5, 0.5});
  }
  const auto set = [&](int version, const char* more = "") {
    Database database(path, "the store");
    database.run(more);
    database.set_version(version);
  };
  CHECK(EvaluationFile::facts_of(path).evaluations == 1);
  CHECK(EvaluationFile::facts_of(path).own_evaluations == 1);
  CHECK_FALSE(EvaluationFile::facts_of(path).older);
  set(1);
  const std::string before = files.read("store.sqlite");
  const EvaluationFile::Facts facts = EvaluationFile::facts_of(path);
  CHECK(facts.older == 1);
  CHECK(facts.evaluations == 0);  // not counted
  CHECK(facts.file_bytes == before.size());
  CHECK((files.read("store.sqlite") == before));
  set(2);
  CHECK(EvaluationFile::facts_of(path).evaluations == 1);
  // A later version may have tables that this program does not know.
  set(3, "CREATE TABLE more (x)");
  const std::string line =
      path.string() + ": the store has version 3 of the format; this program reads version 2; use the straggler that wrote it";
  CHECK(error_of<ResultsError>([&] { EvaluationFile::facts_of(path); }) == line);
  CHECK(error_of<ResultsError>([&] { EvaluationFile{path}; }) == line + ", or name another file with --store");
  { SweepState state(files.folder() / "sweep.sqlite"); }
  CHECK(has(error_of<ResultsError>([&] { EvaluationFile::facts_of(files.folder() / "sweep.sqlite"); }), "is a database, but not a store"));
  CHECK_FALSE(EvaluationFile::facts_of(files.write("empty.sqlite", "")).older);
}

TEST_CASE("a sweep continues without a store that is damaged, locked, out of reach or full, and says so once") {
  const Files files;
  const Sweep sweep = sweep_of(files, "axes: {cluster.network.link.bandwidth: [1MB/s, 8MB/s], training.scheme: [ssgd, asgd]}\n");
  const std::string expected = run_afresh(sweep).points;
  const auto points = [&](EvaluationFile& store) {
    SweepState state(":memory:");
    return run(sweep, state, &store).points;
  };
  Told told;
  SUBCASE("damaged from the start") {
    EvaluationFile store(files.write("damaged.sqlite", std::string(5000, 'x')), EvaluationFile::default_cap, told.by());
    CHECK(points(store) == expected);
    CHECK(told.once(
        "damaged.sqlite: the store cannot be used (file is not a database); it is damaged, or not a file of Straggler; move it away"));
  }
  SUBCASE("damaged while it is used") {
    const auto path = files.folder() / "store.sqlite";
    {
      EvaluationFile store(path);
      for (std::uint64_t i = 0; i < 2000; ++i) store.keep(key(i), {0.5, 0.5});
    }
    std::filesystem::resize_file(path, 5 * 4096);
    EvaluationFile store(path, EvaluationFile::default_cap, told.by());
    CHECK(points(store) == expected);
    CHECK(told.once("it is damaged"));
  }
  SUBCASE("locked from the start") {
    const auto path = files.folder() / "store.sqlite";
    Database other(path, "the store");
    other.run("PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE held (x); BEGIN EXCLUSIVE");
    EvaluationFile store(path, EvaluationFile::default_cap, told.by(), brief);
    CHECK(points(store) == expected);
    CHECK(told.once("(database is locked); another process has held it for more than"));
  }
  SUBCASE("locked when it is written") {
    const auto path = files.folder() / "store.sqlite";
    EvaluationFile store(path, EvaluationFile::default_cap, told.by(), brief);
    Database other(path, "the store");
    other.run("BEGIN IMMEDIATE");
    CHECK(points(store) == expected);
    CHECK(told.once("(database is locked)"));
    CHECK(points(store) == expected);  // from memory
  }
  SUBCASE("out of reach") {
    EvaluationFile store("/proc/none/store.sqlite", EvaluationFile::default_cap, told.by());
    CHECK(points(store) == expected);
    CHECK(told.once("/proc/none: cannot be made"));
  }
  SUBCASE("full") {
    EvaluationFile store(files.folder() / "store.sqlite", EvaluationFile::default_cap, told.by());
    const SmallFiles full(64 << 10);
    for (std::uint64_t i = 0; i < 2000; ++i) store.keep(key(i), {0.5, 0.5});
    CHECK(points(store) == expected);
    CHECK(told.once("free some space, or name another file with --store"));
  }
}

TEST_CASE("without a warning callback the failure is thrown, and nothing is forgotten") {
  const Files files;
  const auto path = files.folder() / "store.sqlite";
  EvaluationFile store(path);
  store.keep(key(1), {0.5, 0.5});
  {
    const SmallFiles full(4096);
    CHECK_THROWS_AS(store.flush(), ResultsError);
  }
  CHECK(store.find(key(1)));
  store.flush();
  CHECK(EvaluationFile(path).find(key(1)));
}

TEST_CASE("a state that cannot be written ends the sweep, and finished points are kept") {
  const Files files;
  const Sweep sweep = sweep_of(files, "timing_only: true\naxes:\n  cluster.workers[0].count: {from: 1, to: 40, step: 1}\n");
  const std::string expected = run_afresh(sweep).points;
  const auto path = files.folder() / "sweep.sqlite";
  std::size_t kept = 0;
  {
    SweepState state(path);
    const SmallFiles full(96 << 10);
    CHECK_THROWS_WITH_AS(run(sweep, state, nullptr),
                         doctest::Contains("what was finished is kept: free some space, and the same command continues"), DiskError);
    kept = state.points();
  }
  CHECK(kept > 0);
  CHECK(kept < 40);
  SweepState state(path);
  CHECK(state.points() == kept);
  const Swept again = run(sweep, state, nullptr);
  CHECK(again.outcome.progress.found == kept);
  CHECK(again.points == expected);
}
