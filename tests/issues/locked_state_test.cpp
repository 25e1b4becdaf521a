// A locked state of a sweep was waited for in silence, and the first Ctrl-C was not heard; one that was removed was called a full disk.
#include <doctest/doctest.h>

#include <filesystem>

#include "scenarios/sweep/sweep_state.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"

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
