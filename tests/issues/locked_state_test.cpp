// A locked state of a sweep was waited for in silence, and the first Ctrl-C was not heard; one that was removed was called a full disk; and
// one with a damaged sketch gave a library's words without a file.
#include <doctest/doctest.h>

#include <filesystem>

#include "scenarios/results/run_sketch.hpp"
#include "scenarios/sweep/sweep_state.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a command that waits for another process says so, and can be interrupted") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "sweep.sqlite";
  std::vector<std::string> told;
  bool interrupted = false;
  SweepState state(file, {[&](const std::string& line) {
                            told.push_back(line);
                            interrupted = true;  // as by Ctrl-C
                          },
                          [&] { return interrupted; }});
  {
    Database other(file, "the state of the sweep");
    const Transaction held(other);
    const std::string what = error_of<WaitInterrupted>([&] { state.record("a", {}); });
    CHECK(has(what, "sweep.sqlite: interrupted while another process had it"));
    REQUIRE(told.size() == 1);
    CHECK(has(told[0], "sweep.sqlite: another process is using it; waiting"));
    // Opening it is heard, too.
    CHECK_THROWS_AS(SweepState(file, {{}, [] { return true; }}), WaitInterrupted);
  }
  interrupted = false;
  state.record("a", {});
  CHECK(state.points() == 1);
}

TEST_CASE("a report that waits for another process says so, too") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "sweep.sqlite";
  { SweepState made(file); }
  Database other(file, "the state of the sweep");
  const Transaction held(other);
  std::vector<std::string> told;
  const DatabaseWait wait{[&](const std::string& line) { told.push_back(line); }, [&] { return !told.empty(); }};
  CHECK_THROWS_AS(SweepState::to_read(file, wait), WaitInterrupted);
  REQUIRE(told.size() == 1);
  CHECK(has(told[0], "sweep.sqlite: another process is using it; waiting"));
}

TEST_CASE("a damaged sketch is named with its file and point, in no library's words") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "sweep.sqlite";
  SweepState state(file);
  const std::string whole = written(RunSketch{});
  state.record("good", {{}, 1, whole});
  CHECK(state.find("good")->sketch == whole);
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{\"evaluations\": -1}")}) {
    CAPTURE(text);
    state.record("bad", {{}, 1, text});
    const std::string what = error_of<ResultsError>([&] { state.find("bad"); });
    CHECK(what == file.string() + ": point bad: the sketch of the run is damaged; run the sweep again with --force");
  }
}

TEST_CASE("a state that was removed while it was in use is called gone, not a full disk") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sweep");
  SweepState state(folder / "sweep/sweep.sqlite");
  state.record("a", {});
  std::filesystem::remove_all(folder / "sweep");
  const std::string what = error_of<FileGone>([&] { state.record("b", {}); });
  CHECK(has(what, "sweep.sqlite: is gone: it was removed or moved"));
  CHECK_FALSE(has(what, "disk"));
}
