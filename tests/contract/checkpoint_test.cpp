// Every scheme goes on from every checkpoint to the results of a run that nobody disturbed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "scenarios/results/summary.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variants.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

struct Killed {};

/// What result files are made of.
std::string account(const Result& result) {
  std::string text = summary_json(summarize(result.record));
  for (const CurvePoint& point : result.record.curve)
    text += fmt::format("{} {} {} {} {} {}\n", point.update, point.time.ticks(), *point.train_loss, *point.train_accuracy, *point.test_loss,
                        *point.test_accuracy);
  for (const OrderRow& row : result.sink.order)
    text += fmt::format("{} {} {} {} {}\n", row.update, row.time.ticks(), row.worker, row.read_version, row.samples);
  for (const auto& [process, choice] : result.sink.choices) text += fmt::format("{} {}\n", process, choice);
  return text;
}

bool same(const Result& a, const Result& b) {
  return account(a) == account(b) && a.weights.size() == b.weights.size() &&
         std::memcmp(a.weights.data(), b.weights.data(), a.weights.size() * sizeof(float)) == 0;
}

RunOptions saving(const std::filesystem::path& file, std::uint64_t every, bool resume, unsigned threads) {
  RunOptions options;
  options.threads = threads;
  CheckpointRequest request;
  request.file = file;
  request.interval.updates = every;
  request.resume = resume;
  request.build = "this one";
  options.checkpoint = request;
  return options;
}

/// Runs until the `last`-th checkpoint is written and is killed then. False: it came to its end before.
bool run_and_die(const std::string& yaml, const std::vector<std::string>& sets, RunOptions options, int last) {
  int written = 0;
  options.checkpoint->tell = [&](const CheckpointNote& note) {
    CHECK(note.what != CheckpointNote::What::failed);
    if (note.what == CheckpointNote::What::written && ++written == last) throw Killed();
  };
  try {
    run(yaml, sets, options);
  } catch (const Killed&) {
    return true;
  }
  return false;
}

/// Says when it has caught up, and where.
Result resume(const std::string& yaml, const std::vector<std::string>& sets, RunOptions options, std::uint64_t& from) {
  options.checkpoint->tell = [&](const CheckpointNote& note) {
    if (note.what == CheckpointNote::What::reached) from = note.version;
  };
  return run(yaml, sets, options);
}

}  // namespace

TEST_CASE("every scheme, every choice: killed at any of its checkpoints it continues to the same results, on any number of threads") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "run.checkpoint";
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    const std::string yaml = uneven(variant);
    const Result whole = run(yaml);
    const std::uint64_t every = std::max<std::uint64_t>(whole.record.updates / 4, 1);
    for (const int last : tried<int>({1, 2, 3}, 3)) {
      CAPTURE(last);
      std::filesystem::remove(file);
      if (!run_and_die(yaml, {}, saving(file, every, false, 2), last)) break;
      std::uint64_t from = 0;
      const Result resumed = resume(yaml, {}, saving(file, 0, true, static_cast<unsigned>(last)), from);
      CHECK(from == every * static_cast<std::uint64_t>(last));
      CHECK(same(whole, resumed));
    }
  }
}

TEST_CASE("a run that is killed again and again has the same results; with faults, a target and evaluations by time, too") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "run.checkpoint";
  const std::vector<std::vector<std::string>> cases = {
      {"training.evaluate.every={simulated_time: 30ms}"},
      {"training.stop.target_accuracy=0.6", "training.evaluate.sustain=1", "training.evaluate.every={updates: 5}"},
      {"cluster.faults=[{kind: crash, worker: 1, at: 100ms, restart_after: 80ms}, {kind: slow, worker: 2, from: 20ms, to: 200ms, "
       "times_slower: 3}]"},
      {"training.scheme={kind: nonblocking, minibatch: 16}"}};
  for (const std::vector<std::string>& sets : cases) {
    CAPTURE(sets.front());
    const std::string yaml = uneven({"asgd", false});
    const Result whole = run(yaml, sets);
    std::filesystem::remove(file);
    REQUIRE(run_and_die(yaml, sets, saving(file, 7, false, 1), 1));
    int lives = 1;
    for (; lives < 1000 && run_and_die(yaml, sets, saving(file, 0, true, 1 + lives % 3), 2); ++lives) {
    }
    CHECK(lives > 2);
    std::uint64_t from = 0;
    CHECK(same(whole, resume(yaml, sets, saving(file, 0, true, 2), from)));
    CHECK(from + 14 >= whole.record.updates);
  }
}

TEST_CASE("checkpoints by wall-clock time do not change the results") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "run.checkpoint";
  const std::string yaml = uneven({"asgd", false});
  const Result whole = run(yaml);
  RunOptions options = saving(file, 0, false, 2);
  options.checkpoint->interval.seconds = 1e-9;
  REQUIRE(run_and_die(yaml, {}, options, 60));
  std::uint64_t from = 0;
  CHECK(same(whole, resume(yaml, {}, saving(file, 0, true, 2), from)));
  CHECK(from == 60);
}

TEST_CASE("another run's checkpoint is refused with a reason") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "run.checkpoint";
  const std::string yaml = uneven({"asgd", false});
  REQUIRE(run_and_die(yaml, {}, saving(file, 10, false, 1), 2));
  const auto refusal = [&](const std::vector<std::string>& sets, const RunOptions& options) -> std::string {
    return error_of<DataError>([&] { run(yaml, sets, options); });
  };
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(says(refusal({"seed=8"}, saving(file, 0, true, 1)), "belongs to a different scenario"));
  CHECK(says(refusal({"training.stop.epochs=4"}, saving(file, 0, true, 1)), "belongs to a different scenario"));
  RunOptions other = saving(file, 0, true, 1);
  other.checkpoint->build = "another one";
  CHECK(says(refusal({}, other), "was written by this one, this is another one"));
  other = saving(file, 0, true, 1);
  other.kernels = "generic";
  CHECK(says(refusal({}, other), "add --kernels "));

  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto with = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
    return refusal({}, saving(file, 0, true, 1));
  };
  for (const std::size_t length : {bytes.size() - 1, bytes.size() - 8, bytes.size() / 2, std::size_t{40}})
    CHECK(says(with(bytes.substr(0, length)), "is truncated or damaged"));
  for (const std::size_t length : {std::size_t{0}, std::size_t{5}}) CHECK(says(with(bytes.substr(0, length)), "is not a checkpoint"));
  std::string damaged = bytes;
  damaged[bytes.size() / 3] = static_cast<char>(damaged[bytes.size() / 3] ^ 1);
  CHECK(says(with(damaged), "is truncated or damaged"));
  CHECK(with(bytes) == "");
  // A folder that is not there: said before anything is computed.
  CHECK(says(refusal({}, saving(folder.path() / "no" / "run.checkpoint", 10, false, 1)), "the checkpoint cannot be written"));
}
