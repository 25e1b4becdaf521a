#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/results.hpp"
#include "tests/results/results_support.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;
using namespace straggler::results_test;
namespace fs = std::filesystem;

namespace {

ResultFolder::Request request(const fs::path& out, const std::string& name = "demo", bool force = false) {
  ResultFolder::Request request;
  request.out = out;
  request.scenario_name = name;
  request.force = force;
  return request;
}

/// Results of scenario `name`, as a run leaves them.
void run_into(const fs::path& out, const std::string& name, const std::string& text, bool force = false) {
  ResultFolder folder(request(out, name, force));
  write_file(folder, "scenario.yaml", "straggler: 1\nname: " + name + "\n");
  write_file(folder, "order.csv", "update\n");
  write_file(folder, "summary.json", text);
  folder.commit();
}

std::string refusal(const ResultFolder::Request& request) {
  return test::error_of<ResultsError>([&] { const ResultFolder folder(request); });
}

}  // namespace

TEST_CASE("a result folder appears with the commit, whole") {
  const ScratchFolder scratch;
  const fs::path out = scratch / "results/deep/demo";
  {
    ResultFolder folder(request(out));
    write_file(folder, "summary.json", "{}");
    CHECK_FALSE(fs::exists(out));
    folder.commit();
  }
  CHECK(get(out / "summary.json") == "{}");
  CHECK(std::distance(fs::directory_iterator(out.parent_path()), {}) == 1);  // nothing hidden is left
}

TEST_CASE("without a commit nothing is left, not even the folders above") {
  const ScratchFolder scratch;
  {
    ResultFolder folder(request(scratch / "results/demo"));
    write_file(folder, "summary.json", "{}");
  }
  CHECK(scratch.empty());
}

TEST_CASE("a run replaces the results of its own scenario, and only result files") {
  const ScratchFolder scratch;
  const fs::path out = scratch / "demo";
  run_into(out, "demo", "first");
  put(out / "trace.json", "of the first run");
  put(out / "notes.txt", "mine");
  {
    ResultFolder unfinished(request(out));
    write_file(unfinished, "summary.json", "lost");
  }
  CHECK(get(out / "summary.json") == "first");
  run_into(out, "demo", "second");
  CHECK(get(out / "summary.json") == "second");
  CHECK_FALSE(fs::exists(out / "trace.json"));
  CHECK(get(out / "notes.txt") == "mine");
  CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("a folder that stands ready and empty is used") {
  const ScratchFolder scratch;
  fs::create_directory(scratch / "demo");
  run_into(scratch / "demo", "demo", "x");
  CHECK(get(scratch / "demo" / "summary.json") == "x");
}

TEST_CASE("another scenario's folder is refused, with the --out to use instead, unless forced") {
  const ScratchFolder scratch;
  const fs::path out = scratch / "kept";
  run_into(out, "other", "theirs");
  const std::string message = refusal(request(out, "demo"));
  CHECK(has(message, "'other'"));
  CHECK(has(message, "--out results/demo"));
  CHECK(has(message, "--force"));
  CHECK(get(out / "summary.json") == "theirs");
  run_into(out, "demo", "mine", true);
  CHECK(get(out / "summary.json") == "mine");
}

TEST_CASE("a folder of other files is refused") {
  const ScratchFolder scratch;
  put(scratch / "home/thesis.tex", "years of work");
  CHECK(has(refusal(request(scratch / "home")), "is not empty"));
  // A scenario.yaml of that name with no results beside it is somebody's scenario.
  put(scratch / "scenarios/scenario.yaml", "name: demo\n");
  CHECK(has(refusal(request(scratch / "scenarios")), "is not empty"));
  CHECK_FALSE(fs::exists(scratch / "home" / "summary.json"));
}

TEST_CASE("the scenario file itself is never overwritten") {
  const ScratchFolder scratch;
  put(scratch / "work/scenario.yaml", "name: demo\n");
  auto forced = request(scratch / "work", "demo", true);
  forced.scenario_file = scratch / "work/scenario.yaml";
  CHECK(has(refusal(forced), "would overwrite the scenario file"));
  forced.scenario_file = scratch / "work/my.yaml";
  CHECK(refusal(forced).empty());
}

TEST_CASE("a folder that cannot be made is refused before the run") {
  const ScratchFolder scratch;
  put(scratch / "file", "x");
  CHECK(has(refusal(request(scratch / "file")), "is a file, not a folder"));
  CHECK(has(refusal(request(scratch / "file/below")), "--out"));
  CHECK(get(scratch / "file") == "x");
}

TEST_CASE("remains of a killed run are removed by the next run, unless it is alive or just being made") {
  const ScratchFolder scratch;
  const fs::path dead = scratch / ".demo.straggler-1-0", alive = scratch / ".demo.straggler-2-0", made = scratch / ".demo.straggler-new-3",
                 left = scratch / ".demo.straggler-new-4", other = scratch / ".else.straggler-5-0";
  for (const fs::path& folder : {dead, alive, made, left, other}) put(folder / "order.csv", "update\n");
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const int lock = ::open(alive.c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  run_into(scratch / "demo", "demo", "x");
  ::close(lock);
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(alive / "order.csv"));
  CHECK(fs::exists(made / "order.csv"));  // its writer may be about to lock it
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(other / "order.csv"));
}

TEST_CASE("a full disk is an error that leaves nothing half-written") {
  const ScratchFolder scratch;
  const fs::path out = scratch / "demo";
  run_into(out, "demo", "first");
  // A limit on the size of files meets the same path as a full disk, and needs no disk to be full.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string message = test::error_of<ResultsError>([&] {
    ResultFolder folder(request(out));
    write_file(folder, "scenario.yaml", "name: demo\n");
    write_file(folder, "order.csv", std::string(1 << 20, 'x'));
    folder.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(message, (out / "order.csv").string()));
  CHECK(has(message, "free some space"));
  CHECK(get(out / "summary.json") == "first");
  CHECK(get(out / "order.csv") == "update\n");
  CHECK(std::distance(fs::directory_iterator(scratch.path()), {}) == 1);
}
