// Temporary files had names that others could foresee, followed links that lay there, could be read by everybody, and stayed for ever when
// their writer was killed.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/aside_file.hpp"
#include "sim/base/hidden_folder.hpp"
#include "tests/support/folder.hpp"

using namespace straggler;
using namespace straggler::test;

namespace fs = std::filesystem;

namespace {

/// Permissions as a number, 0644.
unsigned mode_of(const fs::path& path) {
  struct stat about {};
  REQUIRE(::lstat(path.c_str(), &about) == 0);
  return about.st_mode & 07777;
}

/// Everything in the folder except `name`.
std::vector<fs::path> others(const TemporaryFolder& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    if (entry.path().filename() != name) found.push_back(entry.path());
  return found;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

void make_old(const fs::path& path) { fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1)); }

}  // namespace

TEST_CASE("a temporary file has another name each time, in a folder that only its owner enters") {
  const TemporaryFolder folder;
  std::set<fs::path> names;
  for (int i = 0; i < 20; ++i) {
    const AsideFile aside(folder / "table.csv");
    names.insert(aside.path());
    REQUIRE(aside.path().parent_path().parent_path() == folder.path());
    CHECK(mode_of(aside.path().parent_path()) == 0700);
  }
  CHECK(names.size() == 20);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a file is not written through a link, and a link at its place is replaced") {
  const TemporaryFolder folder;
  folder.write("precious", "kept");
  fs::create_symlink(folder / "precious", folder / "link");
  CHECK_THROWS_AS(OutFile(folder / "link"), ResultsError);
  CHECK_THROWS_AS(OutFile(folder / "precious"), ResultsError);  // an OutFile is always a new file
  write_whole_files(folder.path(), {{"link", "new"}});
  CHECK(folder.read("precious") == "kept");
  CHECK(folder.read("link") == "new");
  CHECK_FALSE(fs::is_symlink(folder / "link"));
}

TEST_CASE("finished files and folders have the modes that the umask gives") {
  for (const mode_t mask : {022, 027, 077, 002}) {
    CAPTURE(mask);
    const Umask set(mask);
    const TemporaryFolder folder;
    write_whole_files(folder.path(), {{"a.csv", "1\n"}});
    CHECK(mode_of(folder / "a.csv") == (0666U & ~mask));
    ResultFolder results({.out = folder / "run", .scenario_name = "demo", .scenario_file = {}});
    for (const fs::path& hidden : others(folder, "a.csv")) CHECK(mode_of(hidden) == 0700);
    write_file(results, "summary.json", "{}\n");
    results.commit();
    CHECK(mode_of(folder / "run") == (0777U & ~mask));
    CHECK(mode_of(folder / "run/summary.json") == (0666U & ~mask));
  }
}

TEST_CASE("what a killed writer left goes once somebody writes there; a living writer's stays") {
  const TemporaryFolder folder;
  std::error_code error;
  const HiddenFolder dead = make_hidden_folder(folder.path(), "points.csv", error),
                     alive = make_hidden_folder(folder.path(), "points.csv", error),
                     other = make_hidden_folder(folder.path(), "groups.csv", error);
  const fs::path unlocked = folder / ".points.csv.straggler-new-abcdef", old = folder / ".points.csv.straggler-new-ghijkl";
  for (const fs::path& hidden : {dead.path, alive.path, other.path, unlocked, old}) folder.write(hidden / "points.csv", "half");
  make_old(old);
  REQUIRE(alive.lock >= 0);
  for (const int lock : {dead.lock, other.lock}) ::close(lock);  // as a kill does
  write_whole_files(folder.path(), {{"points.csv", "whole"}});
  CHECK_FALSE(fs::exists(dead.path));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(unlocked / "points.csv"));  // its writer may be about to lock it
  CHECK(fs::exists(alive.path / "points.csv"));
  CHECK(fs::exists(other.path / "points.csv"));
  remove_abandoned(folder.path());  // as a sweep does that opens its folder
  CHECK_FALSE(fs::exists(other.path));
  CHECK(fs::exists(alive.path / "points.csv"));
  ::close(alive.lock);
  remove_abandoned(folder.path());
  CHECK_FALSE(fs::exists(alive.path));
  CHECK(fs::exists(unlocked));
  remove_abandoned(folder.path(), {}, true);
  CHECK_FALSE(fs::exists(unlocked));
  CHECK(folder.read("points.csv") == "whole");
}

TEST_CASE("a link with the name of a hidden folder is not followed") {
  const TemporaryFolder folder, elsewhere;
  elsewhere.write("kept", "text");
  fs::create_directory_symlink(elsewhere.path(), folder / ".points.csv.straggler-abcdef");
  remove_abandoned(folder.path());
  CHECK(elsewhere.read("kept") == "text");
}

TEST_CASE("where no hidden folder can be made, the error is that of the place") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  for (const fs::path& place : {folder / "missing/a.csv", folder / "file/a.csv"}) {
    const AsideFile aside(place);
    CHECK_THROWS_AS(OutFile(aside.path(), place.string()), ResultsError);
  }
  // A long name is cut in the hidden name, not in the file's.
  const std::string longest(255, 'n');
  write_whole_files(folder.path(), {{longest, "x"}});
  CHECK(folder.read(longest) == "x");
}
