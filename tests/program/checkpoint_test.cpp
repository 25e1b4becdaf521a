// Runs that are killed without warning go on to the same bytes.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"

namespace checkpoint_test {

namespace fs = std::filesystem;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string long_run =
    scenario_text({.name = "long",
                   .seed = 5,
                   .node = "{compute: {affine: {overhead: 1ms, per_sample: 0.1ms}}, jitter: {kind: lognormal, sigma: 0.4}}",
                   .workers = "[{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]",
                   .network = "{link: {bandwidth: 100Mbps, latency: 50us}}",
                   .model = "{kind: mlp, hidden: [64, 64]}",
                   .data = "{kind: coordinates, samples: 20000, test_samples: 2000}",
                   .scheme = "{kind: asgd}",
                   .batch = "{per_worker: 50}",
                   .optimizer = "{kind: sgd, learning_rate: 0.05, momentum: 0.5}",
                   .stop = "{epochs: 12}",
                   .evaluate = "{every: {epochs: 0.5}, thresholds: [0.3, 0.4]}"});

std::vector<char*> pointers(std::vector<std::string>& arguments) {
  std::vector<char*> all;
  for (std::string& each : arguments) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

/// Runs the program in the folder, kills it after `alive` and returns whether it was done before; with its output in err.txt.
bool live(const Workplace& place, std::vector<std::string> arguments, std::chrono::microseconds alive) {
  arguments.insert(arguments.begin(), STRAGGLER_PROGRAM);
  std::vector<char*> all = pointers(arguments);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chdir(place.folder().c_str()) != 0) ::_exit(99);
    const int out = ::open("err.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv(all[0], all.data());
    ::_exit(99);
  }
  std::this_thread::sleep_for(alive);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  CHECK_MESSAGE((killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)), place.read("err.txt"));
  return !killed;
}

}  // namespace

TEST_CASE("killed again and again at any moment, a run continues to the same bytes, on any number of threads") {
  const Workplace place;
  place.write("long.yaml", long_run);
  const auto start = std::chrono::steady_clock::now();
  const auto whole = place.shell("straggler run long.yaml --out whole --checkpoint-every 20ms");
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  REQUIRE_MESSAGE(whole.code == 0, whole.err);
  CHECK(whole.err.find("checkpoint at update") != std::string::npos);  // with its size
  CHECK_FALSE(fs::exists(place.folder() / "whole.checkpoint"));
  std::map<std::string, std::string> expected = place.files("whole");
  CHECK(expected.erase("run.json") == 1);

  std::mt19937 random(7);
  for (int attempt = 0; attempt < 3; ++attempt) {
    CAPTURE(attempt);
    fs::remove_all(place.folder() / "killed");
    int resumed = 0;
    for (int life = 0; life < 6 || (resumed == 0 && life < 60); ++life) {
      const double share = std::uniform_real_distribution<>(0.05, 0.7)(random);
      const auto alive =
          std::chrono::microseconds(static_cast<std::int64_t>(share * (1 + life / 10.0) * static_cast<double>(took.count())));
      if (live(place, {"run", "long.yaml", "--out", "killed", "--checkpoint-every", "20ms", "--resume", "--threads", life % 2 ? "1" : "3"},
               alive)) {
        if (resumed > 0) break;
        continue;  // it was too quick: once more, from the start
      }
      // One that was killed on its last yards may have results, and where there is a summary, all of them: it goes first and comes last.
      if (fs::exists(place.folder() / "killed" / "summary.json")) CHECK(place.files("killed").size() == expected.size() + 1);
      resumed += place.read("err.txt").find("continues from killed.checkpoint") != std::string::npos;
    }
    CHECK(resumed > 0);
    const auto last = place.shell("straggler run long.yaml --out killed --resume --threads 2");
    REQUIRE_MESSAGE(last.code == 0, last.err);
    std::map<std::string, std::string> files = place.files("killed");
    CHECK(files.erase("run.json") == 1);
    CHECK(files.size() == expected.size());
    for (const auto& file : files) CHECK_MESSAGE(expected[file.first] == file.second, file.first);
    CHECK_FALSE(fs::exists(place.folder() / "killed.checkpoint"));
    for (const auto& entry : fs::directory_iterator(place.folder()))
      CHECK_FALSE(entry.path().filename().string().starts_with(".killed.checkpoint"));
  }
}

TEST_CASE("an interrupted run keeps its checkpoint; an unusable one gives one line and exit 2") {
  const Workplace place;
  place.write("long.yaml", long_run);
  const auto refused = [&](const std::string& command, const std::string& why) {
    const auto done = place.shell(command);
    CHECK(done.code == 2);
    CHECK_MESSAGE(done.err.find(why) != std::string::npos, done.err);
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  };
  refused("straggler run long.yaml --timing-only --resume", "--resume needs the math, which --timing-only leaves out");
  refused("straggler run long.yaml --checkpoint-every 10x", "give a time such as 10min");
  refused("straggler run long.yaml --checkpoint-every 0", "--checkpoint-every is 0");
  refused("straggler run long.yaml --checkpoint-every -5s", "--checkpoint-every");
  fs::create_directory(place.folder() / "s.checkpoint");
  refused("straggler run long.yaml --out s --checkpoint-every 1s", "s.checkpoint: is the place of the checkpoint, but not a file");
  // A bound that is far away, so that it is still at work when it is interrupted.
  const std::string endless = "straggler run long.yaml --out r --set training.stop.epochs=100000";
  const auto broken_off = place.shell("( " + std::string(STRAGGLER_PROGRAM) +
                                      " run long.yaml --out r --set training.stop.epochs=100000 --checkpoint-every 50 & p=$!; "
                                      "for i in {1..400}; do sleep 0.05; [ -e r.checkpoint ] && break; done; kill -TERM $p; wait $p )");
  CHECK(broken_off.code == 130);
  CHECK_MESSAGE(broken_off.err.find("r.checkpoint is kept: --resume continues from it") != std::string::npos, broken_off.err);
  REQUIRE(fs::exists(place.folder() / "r.checkpoint"));
  refused(endless + " --resume --quiet --seed 6", "r.checkpoint: belongs to a different scenario");
  refused(endless + " --resume --quiet --kernels generic", "; add --kernels ");
  const std::string bytes = place.read("r.checkpoint");
  std::string later = bytes;
  REQUIRE(later.at(15) == '1');
  later[15] = '2';
  place.write("r.checkpoint", later);
  refused(endless + " --resume --quiet",
          "r.checkpoint: is a checkpoint of version 2; this program reads version 1; continue with the program");
  later[15] = 'x';
  place.write("r.checkpoint", later);
  refused(endless + " --resume --quiet", "r.checkpoint: is not a checkpoint");
  place.write("r.checkpoint", bytes.substr(0, bytes.size() - 100));
  refused(endless + " --resume --quiet", "r.checkpoint: is truncated or damaged");
  place.write("r.checkpoint", "something else that is long enough");
  refused(endless + " --resume --quiet", "r.checkpoint: is not a checkpoint");
}

}  // namespace checkpoint_test
