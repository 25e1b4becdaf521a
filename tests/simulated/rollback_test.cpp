// What a rollback costs, exactly, and in the mean over random failures.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scenarios/results/figures.hpp"
#include "sim/base/random.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/sanitized.hpp"

namespace rollback_test {

using namespace straggler;
using namespace straggler::test;

namespace {

constexpr double c = 0.1;  // a batch: 100 samples of 1 ms; messages take no time

std::string ms(double seconds) { return std::to_string(std::llround(seconds * 1e3)) + "ms"; }
std::string crash(int worker, double at, double restart_after) {
  return "{kind: crash, worker: " + std::to_string(worker) + ", at: " + ms(at) +
         (restart_after > 0 ? ", restart_after: " + std::to_string(std::llround(restart_after * 1e6)) + "us" : "") + "}";
}
constexpr double at_once = 1e-6;  // a repair
std::vector<std::string> sets_with(const std::string& faults, const std::string& recovery, int updates = 10) {
  return {"cluster.faults=[" + faults + "]", "training.recovery=" + recovery, "training.stop={updates: " + std::to_string(updates) + "}"};
}
/// Messages take some nanoseconds.
bool same(Time time, double seconds) { return std::abs(time.seconds() - seconds) < 2e-7; }
double figure(const Result& result, const char* key) { return *value_of(*find_figure(key), result.record).number(); }

}  // namespace

TEST_CASE("a crash loses what came after the checkpoint, and costs detection and restart") {
  // Saved after updates 3 and 6; in the eighth update worker 1 fails. Saved after 9 again, and not after the last.
  const double save = 0.02, detect = 0.03, restart = 0.05, failure = 6 * c + 2 * save + 1.4 * c;
  const Result result = run_timing(cluster(3), sets_with(crash(1, failure, 0.01),
                                                         "{kind: rollback, checkpoint: {every: {updates: 3}, save: 20ms}, detect: 30ms, "
                                                         "restart: 50ms}"));
  const double lost = 1.4 * c, recovery = detect + restart, end = 10 * c + 3 * save + lost + recovery;
  CHECK(same(result.record.end, end));
  CHECK(result.record.updates == 10);
  CHECK(result.record.samples == 3000);
  CHECK(result.record.samples_drawn == 3000 + 600);  // of update 7, and of 8, which was in progress
  for (std::size_t i = 0; i < 3; ++i) {
    const TimeSplit& split = result.record.workers[i].split;
    CHECK(same(split[Phase::compute], 10 * c));
    CHECK(same(split[Phase::wasted], lost));
    CHECK(same(split[Phase::checkpointing], 3 * save));
    CHECK(same(split[Phase::down], i == 1 ? 0.01 : 0));
    CHECK(same(split[Phase::recovering], recovery - (i == 1 ? 0.01 : 0)));
    CHECK(same(split[Phase::idle] + split[Phase::communication], 0));
    CHECK(result.record.workers[i].samples == 1000);
    CHECK(result.record.workers[i].updates == 10);
  }
  const std::vector<RecoveryEvent>& events = result.record.recovery.events;
  const auto is = [](const RecoveryEvent& event, double at, RecoveryAct act, std::uint64_t update) {
    return same(event.at, at) && event.act == act && event.update == update;
  };
  REQUIRE(events.size() == 5);
  CHECK(is(events[0], 3 * c + save, RecoveryAct::checkpoint, 3));
  CHECK(is(events[1], 6 * c + 2 * save, RecoveryAct::checkpoint, 6));
  CHECK(is(events[2], failure, RecoveryAct::failure, 0));
  CHECK(events[2].unit == "worker/1");
  CHECK(is(events[3], failure, RecoveryAct::rollback, 6));
  CHECK(is(events[4], end - c, RecoveryAct::checkpoint, 9));
  CHECK(figure(result, "failures") == 1);
  CHECK(figure(result, "rollbacks") == 1);
  CHECK(figure(result, "lost_updates") == 1);
  CHECK(figure(result, "goodput") == doctest::Approx(10 * c / end).epsilon(1e-6));
  CHECK(figure(result, "ettr") == doctest::Approx(10 * c / end).epsilon(1e-6));
  CHECK(figure(result, "effective_samples_per_second") == doctest::Approx(3000 / end));
  CHECK(figure(result, "mean_time_between_failures_s") == doctest::Approx(end));
  check_time(result);
}

TEST_CASE("a time between checkpoints is work since the last save or restart ended, up to the end of an update") {
  // Work of 0.25 s ends in the third update: saved at 0.3. The failure at 0.75 loses what was done since 0.32: updates to 0.72 and a
  // part, of which the third was about to be saved at 0.62.
  const Result result =
      run_timing(cluster(2), sets_with(crash(0, 0.75, at_once), "{kind: rollback, checkpoint: {every: 250ms, save: 20ms}}", 6));
  // Saved at 0.30-0.32 and 0.62-0.64; 0.11 s are lost; versions 7 .. of 6 updates never come: the run is over at 0.64 with six updates.
  CHECK(same(result.record.end, 0.62));
  const Result later =
      run_timing(cluster(2), sets_with(crash(0, 0.75, at_once), "{kind: rollback, checkpoint: {every: 250ms, save: 20ms}}", 12));
  // From 0.64, one update is done and one in progress when it fails: 0.11 s are lost. Again 0.75: 7, 8, 9 to 1.05, saved to 1.07; 10,
  // 11, 12.
  CHECK(same(later.record.end, 1.37 + at_once));
  CHECK(figure(later, "lost_updates") == 1);
}

TEST_CASE("a failure while saving goes back further, and one while recovering begins that again") {
  const std::string recovery = "{kind: rollback, checkpoint: {every: {updates: 4}, save: 100ms}, detect: 100ms, restart: 100ms}";
  // Update 4 ends at 0.4; the save is struck at 0.45. Recovering until 0.65, struck at 0.6: until 0.8. Then four updates, a save, and six.
  const Result result = run_timing(cluster(2), sets_with(crash(0, 0.45, 0.001) + ", " + crash(1, 0.6, 0.001), recovery));
  CHECK(same(result.record.end, 0.8 + 10 * c + 2 * 0.1));
  CHECK(figure(result, "failures") == 2);
  CHECK(figure(result, "rollbacks") == 1);
  CHECK(figure(result, "lost_updates") == 4);
  // The interrupted save is checkpointing, not lost.
  CHECK(same(result.record.workers[0].split[Phase::checkpointing], 0.25));
  CHECK(same(result.record.workers[0].split[Phase::wasted], 0.4));
  CHECK(figure(result, "goodput") == doctest::Approx(1 / result.record.end.seconds()));
  check_time(result);
}

TEST_CASE("without failures goodput is 1 without checkpoints, and 1 less their time with them") {
  const Result none = run_timing(cluster(2), sets_with("", "{kind: rollback}"));
  CHECK(figure(none, "goodput") == 1);
  CHECK(figure(none, "ettr") == 1);
  CHECK(same(none.record.end, 1));
  const Result saved = run_timing(cluster(2), sets_with("", "{kind: rollback, checkpoint: {every: {updates: 5}, save: 250ms}}"));
  CHECK(same(saved.record.end, 1.25));
  CHECK(figure(saved, "goodput") == doctest::Approx(0.8));
}

TEST_CASE("all wait for a repair unless a spare takes over, or the others go on") {
  const auto end_with = [](const std::string& more) {
    return run_timing(cluster(2), sets_with(crash(1, 0.25, 1), "{kind: rollback, detect: 50ms, restart: 100ms" + more + "}"));
  };
  const Result waits = end_with("");  // until 1.25, then restart
  CHECK(same(waits.record.end, 1.35 + 1));
  CHECK(same(waits.record.workers[1].split[Phase::down], 1));
  CHECK(same(waits.record.workers[0].split[Phase::recovering], 1.1));
  const Result spare = end_with(", spares: 1");
  CHECK(same(spare.record.end, 0.4 + 1));
  CHECK(spare.record.workers[1].split[Phase::down] == Time());
  // As long, with fewer samples. The other is back in the middle of an update, and takes part in it.
  const Result shrinks = end_with(", without: shrink");
  CHECK(same(shrinks.record.end, 0.4 + 1 + 0.05));
  CHECK(shrinks.record.samples == 8 * 100 + 2 * 200);
  CHECK(same(shrinks.record.workers[1].split[Phase::down], 1));
}

TEST_CASE("a run whose lost worker never comes back stalls, and says for whom all wait") {
  const Result result = run_timing(cluster(2), sets_with(crash(1, 0.25, 0), "{kind: rollback}"));
  CHECK(result.record.outcome == Outcome::stalled);
  CHECK(result.record.stalled.find("worker 1") != std::string::npos);
  const Result spare = run_timing(cluster(2), sets_with(crash(1, 0.25, 0), "{kind: rollback, spares: 1}"));
  CHECK(spare.record.outcome == Outcome::completed);
}

TEST_CASE("of a checkpoint that does not block, only the snapshot stops work, and a failure before it is written uses the one before") {
  const std::string recovery = "{kind: rollback, checkpoint: {every: {updates: 2}, save: 150ms, blocking: false, snapshot: 10ms}}";
  // Snapshots at 0.2 and, once that one is written (0.36), at 0.41: 0.2 + 0.01 + 2 c. Struck at 0.5, that one is lost, and 2 is kept.
  const Result result = run_timing(cluster(2), sets_with(crash(0, 0.5, at_once), recovery, 4));
  CHECK(result.record.updates == 4);
  CHECK(same(result.record.end, 0.41));  // over before: nothing is saved after the last update
  const Result longer = run_timing(cluster(2), sets_with(crash(0, 0.5, at_once), recovery, 6));
  CHECK(figure(longer, "lost_updates") == 2);
  CHECK(same(longer.record.end, 0.5 + at_once + 4 * c + 0.01));
}

/// Dates of failures at rate 1 up to `until`, of worker 0, repaired at once.
static std::string failures(std::uint64_t seed, double until) {
  RandomStream stream(seed, "test/failures");
  std::string all;
  for (double at = 0;;) {
    at -= std::log1p(-stream.uniform());
    if (at > until) return all;
    all += (all.empty() ? "" : ", ") + std::string("{kind: crash, worker: 0, at: ") + std::to_string(at) + "s, restart_after: 1us}";
  }
}

/// Mean and standard error of the time of a run with failures at rate 1.
static std::pair<double, double> mean_time(const std::string& recovery, int updates, int runs) {
  double sum = 0, squares = 0;
  for (int seed = 0; seed < runs; ++seed) {
    const double end =
        run_timing(cluster(1), sets_with(failures(static_cast<std::uint64_t>(seed), 60), recovery, updates)).record.end.seconds();
    sum += end;
    squares += end * end;
  }
  const double mean = sum / runs;
  return {mean, std::sqrt((squares / runs - mean * mean) / runs)};
}

TEST_CASE("the mean time of a run under failures at a constant rate" * long_case) {
  const double rate = 1, work = 10 * c, recovery = 0.2, save = 0.05;
  const int runs = check_long ? 20'000 : 200;
  {
    const auto [mean, error] = mean_time("{kind: rollback, detect: 100ms, restart: 100ms}", 10, runs);
    const double law = std::exp(rate * recovery) * std::expm1(rate * work) / rate;
    CHECK(std::abs(mean - law) < 3.5 * error);
    CHECK(error < 0.1 * law);
  }
  {
    const auto [mean, error] =
        mean_time("{kind: rollback, detect: 100ms, restart: 100ms, checkpoint: {every: {updates: 2}, save: 50ms}}", 10, runs);
    const double each = 2 * c;
    const double law = std::exp(rate * recovery) * (4 * std::expm1(rate * (each + save)) + std::expm1(rate * each)) / rate;
    CHECK(std::abs(mean - law) < 3.5 * error);
    CHECK(error < 0.1 * law);
  }
}

}  // namespace rollback_test
