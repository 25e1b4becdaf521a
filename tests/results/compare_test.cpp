#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "scenarios/results/verdict.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;

namespace {

/// A run of four workers over 100 s that reached 0.8 at `seconds` after `samples` samples (0: never), at a constant rate.
RunResult run(const std::string& name, const std::string& scheme, double samples_per_second, double samples_to_threshold) {
  RunResult result;
  result.folder = "results/" + name;
  result.name = name;
  result.scheme = scheme;
  result.outcome = Outcome::completed;
  result.data = "fashion_mnist";
  result.model = "mlp";
  result.workers = 4;
  result.simulated_seconds = 100;
  result.samples_per_second = samples_per_second;
  result.samples = 100 * samples_per_second;
  result.final_test_accuracy = samples_to_threshold > 0 ? 0.85 : 0.7;
  result.shares[Phase::compute] = 0.5;
  result.shares[Phase::communication] = 0.1;
  result.shares[Phase::idle] = 0.4;
  result.shares[Phase::wasted] = 0;
  ThresholdResult row;
  row.threshold = 0.8;
  if (samples_to_threshold > 0) {
    row.samples = samples_to_threshold;
    row.seconds = samples_to_threshold / samples_per_second;
  }
  result.thresholds = {row};
  return result;
}

RunResult timing_only(RunResult result) {
  result.final_test_accuracy.reset();
  result.thresholds.clear();
  return result;
}

void set_shares(RunResult& result, double compute, double communication, double idle, double wasted) {
  result.shares[Phase::compute] = compute;
  result.shares[Phase::communication] = communication;
  result.shares[Phase::idle] = idle;
  result.shares[Phase::wasted] = wasted;
}

bool noted(const Comparison& comparison, const std::string& part) {
  return std::ranges::any_of(comparison_notes(comparison), [&](const Said& note) { return has(plain(note), part); });
}

}  // namespace

TEST_CASE("with equal samples needed, more samples per second win, and the saved idle time is the reason") {
  // 20,000 samples at 1000 and at 2000 per second: 20 s and 10 s. Of the 4 workers' time per sample, synchronous SGD idles
  // 4 * 0.4 / 1000 s = 1.6 ms and the other 4 * 0.1 / 2000 s = 0.2 ms: it saves 1.4 ms there, and of the compute
  // 4 * 0.5 / 1000 - 4 * 0.8 / 2000 s = 0.4 ms only.
  RunResult fast = run("nb", "nonblocking", 2000, 20'000);
  set_shares(fast, 0.8, 0.1, 0.1, 0);
  const Comparison comparison = compare({fast, run("sync", "ssgd", 1000, 20'000)});
  CHECK(comparison.reference == 1);
  CHECK(comparison.winner == 0u);
  CHECK(comparison.deciding == 0.8);
  CHECK(plain(verdict(comparison)) ==
        "'nb' (nonblocking) wins. It reaches 80 % test accuracy in 10 s; synchronous SGD ('sync') needs 20 s, 2 times as long. The reason: "
        "it handles 2 times as many samples per second (its workers idle 200 us a sample instead of 1.6 ms) and needs as many samples.");
  CHECK(plain(comparison_notes(comparison)).empty());
}

TEST_CASE("a winner by one seed of each scheme or by one learning rate for all has a note that says so") {
  const auto with = [](RunResult result, std::uint64_t seed, double learning_rate) {
    result.seed = seed;
    result.learning_rate = learning_rate;
    return result;
  };
  const RunResult sync = run("sync", "ssgd", 1000, 20'000), free = run("free", "asgd", 2000, 20'000);
  const RunResult again = run("again", "asgd", 1900, 20'000);
  using Notes = std::vector<std::string>;
  CHECK(plain(comparison_notes(compare({with(sync, 1, 0.05), with(free, 1, 0.05)}))) ==
        Notes{"one seed of each scheme cannot tell chance from a difference, and one learning rate for all, 0.05, may suit one scheme "
              "better; `straggler race --tune learning_rate` runs several seeds and tunes it for each"});
  CHECK(plain(comparison_notes(compare({with(sync, 1, 0.1), with(free, 1, 0.05)}))) ==
        Notes{"one seed of each scheme cannot tell chance from a difference; `straggler race` runs several"});
  CHECK(plain(comparison_notes(compare({with(sync, 1, 0.05), with(free, 1, 0.05), with(again, 2, 0.05)}))) ==
        Notes{"one learning rate for all, 0.05, may suit one scheme better; `straggler race --tune learning_rate` tunes it for each"});
  CHECK(plain(comparison_notes(compare({with(free, 1, 0.05), with(again, 1, 0.05)}))).empty());  // one scheme
}

TEST_CASE("fewer samples win although they are handled more slowly") {
  // 10,000 at 800 per second, 12.5 s; 40,000 at 1600 per second, 25 s: twice as fast by a quarter of the samples at half the rate.
  const Comparison comparison = compare({run("sync", "ssgd", 800, 10'000), run("free", "asgd", 1600, 40'000)});
  CHECK(comparison.winner == 0u);
  CHECK(plain(verdict(comparison)) ==
        "synchronous SGD ('sync') wins. It reaches 80 % test accuracy in 12.5 s; 'free' (asgd) needs 25 s, 2 times as long. The reason: it "
        "needs 75 % fewer samples, although it handles 50 % fewer samples per second.");
}

TEST_CASE("speed that outweighs more samples is named") {
  // 15,000 at 3000 per second, 5 s; 10,000 at 1000 per second, 10 s.
  const Comparison comparison = compare({run("sync", "ssgd", 1000, 10'000), run("free", "asgd", 3000, 15'000)});
  CHECK(comparison.winner == 1u);
  CHECK(has(plain(verdict(comparison)),
            "in 5 s; synchronous SGD ('sync') needs 10 s, 2 times as long. The reason: it handles 3 times as many samples per second"));
  CHECK(has(plain(verdict(comparison)), ", although it needs 1.5 times as many samples."));
}

TEST_CASE("with different numbers of workers, those are the reason, not time per sample") {
  RunResult large = run("large", "asgd", 4000, 20'000);
  large.workers = 16;
  const Comparison comparison = compare({run("sync", "ssgd", 1000, 20'000), large});
  CHECK(has(plain(verdict(comparison)), "4 times as many samples per second with 16 workers instead of 4"));
  CHECK_FALSE(has(plain(verdict(comparison)), "a sample instead of"));
}

TEST_CASE("a synchronous run that wins is held against the next best") {
  // 10 s; 40 s and 20 s: the second of those is the next.
  const Comparison comparison =
      compare({run("slow", "asgd", 500, 20'000), run("sync", "ssgd", 2000, 20'000), run("next", "easgd", 1000, 20'000)});
  CHECK(comparison.winner == 1u);
  CHECK(has(plain(verdict(comparison)), "; 'next' (easgd) needs 20 s, 2 times as long."));
}

TEST_CASE("without a synchronous run the first is the reference, and the next best is the one to beat") {
  const Comparison comparison = compare({run("a", "asgd", 500, 20'000), run("b", "easgd", 2000, 20'000), run("c", "ssp", 1000, 20'000)});
  CHECK(comparison.reference == 0);
  CHECK(comparison.winner == 1u);
  CHECK(has(plain(verdict(comparison)), "; 'c' (ssp) needs 20 s, 2 times as long."));
  CHECK(has(comparison_table(comparison), "4x"));  // 40 s of the reference against 10 s
}

TEST_CASE("a small lead is a percentage") {
  // 20,000 / 1020 s against 20,000 / 1000 s: 2 %.
  const Comparison comparison = compare({run("sync", "ssgd", 1000, 20'000), run("free", "asgd", 1020, 20'000)});
  CHECK(has(plain(verdict(comparison)), "; synchronous SGD ('sync') needs 20 s, 2 % longer."));
  CHECK(has(plain(verdict(comparison)), "handles 2 % more samples per second"));
}

TEST_CASE("equal times have no winner") {
  CHECK(has(plain(verdict(compare({run("sync", "ssgd", 1000, 20'000), run("free", "asgd", 1000, 20'000)}))), "Nobody wins: "));
}

TEST_CASE("a run that missed the threshold loses, at any speed") {
  // The synchronous run handles 300,000 samples in its 100 s where 20,000 sufficed.
  const Comparison comparison = compare({run("sync", "ssgd", 3000, 0), run("free", "asgd", 500, 20'000)});
  CHECK(comparison.winner == 1u);
  CHECK(plain(verdict(comparison)) ==
        "'free' (asgd) wins. It reaches 80 % test accuracy in 40 s, which synchronous SGD ('sync') does not in 100 s (it ends at 70 %), "
        "although it "
        "handled 300000 samples where 20000 were enough.");
  const std::string table = comparison_table(comparison);
  std::istringstream lines(table);
  std::string line, time_row;
  while (std::getline(lines, line))
    if (line.rfind("time to 0.8", 0) == 0) time_row = line;
  CHECK(has(time_row, " -"));
  CHECK(has(time_row, "40 s"));
}

TEST_CASE("a run that missed for want of samples is named") {
  RunResult slow = run("sync", "ssgd", 100, 0);  // 10,000 samples
  const Comparison comparison = compare({slow, run("free", "asgd", 500, 20'000)});
  CHECK(has(plain(verdict(comparison)), "having handled only 10000 samples where 20000 were needed"));
}

TEST_CASE("a run that ended before the winner's time is not called slower") {
  RunResult brief = run("sync", "ssgd", 1000, 0);  // the winner needs 40 s
  brief.simulated_seconds = 30;
  const Comparison comparison = compare({brief, run("free", "asgd", 500, 20'000), run("other", "easgd", 500, 0)});
  CHECK(comparison.winner == 1u);
  CHECK(has(plain(verdict(comparison)), "which synchronous SGD ('sync') had not, when its run ended after only 30 s"));
  CHECK(noted(comparison, "'sync' ended after 30 s, before the winner's 40 s"));
  CHECK_FALSE(noted(comparison, "'other' ended"));  // it had 100 s
}

TEST_CASE("the highest threshold that every run was asked for and one reached decides") {
  RunResult sync = run("sync", "ssgd", 1000, 20'000), free = run("free", "asgd", 2000, 20'000);
  ThresholdResult high;
  high.threshold = 0.9;
  sync.thresholds.push_back(high);
  high.seconds = 50;
  high.samples = 100'000;
  free.thresholds.push_back(high);
  CHECK(compare({sync, free}).deciding == 0.9);  // the first missed it

  sync.thresholds.pop_back();
  const Comparison comparison = compare({sync, free});
  CHECK(comparison.deciding == 0.8);
  CHECK(noted(comparison, "'sync' was not asked for 0.9"));
  CHECK(has(comparison_table(comparison), "n/a"));
}

TEST_CASE("a threshold that no run reached has no winner") {
  RunResult better = run("free", "asgd", 2000, 0);
  better.final_test_accuracy = 0.78;
  const Comparison comparison = compare({run("sync", "ssgd", 1000, 0), better});
  CHECK_FALSE(comparison.winner);
  CHECK(plain(verdict(comparison)) ==
        "No run wins: none reached even 80 % test accuracy; 'free' (asgd) has the best final test accuracy, 78 %.");
}

TEST_CASE("runs without thresholds have no winner either") {
  RunResult a = run("a", "ssgd", 1000, 0), b = run("b", "asgd", 1000, 0);
  a.thresholds.clear();
  b.thresholds.clear();
  CHECK(has(plain(verdict(compare({a, b}))), "none was asked for a threshold"));
}

TEST_CASE("timing alone compares samples per second") {
  RunResult fast = timing_only(run("nb", "nonblocking", 1500, 0));
  set_shares(fast, 0.7, 0.1, 0.1, 0.1);
  const Comparison comparison = compare({timing_only(run("sync", "ssgd", 1000, 0)), fast});
  CHECK(comparison.timing_only);
  CHECK(comparison.winner == 1u);
  // Idle time a sample: 4 * 0.1 / 1500 s against 4 * 0.4 / 1000 s.
  CHECK(plain(verdict(comparison)) ==
        "'nb' (nonblocking) wins on speed: 1500 samples per second, 1.5 times as many as synchronous SGD ('sync') with 1000 (its workers "
        "idle 267 us a "
        "sample instead of 1.6 ms) (timing only: whether it learns as much from a sample is not known).");
  CHECK(has(comparison_table(comparison), "throughput speed-up"));
  CHECK(has(comparison_table(comparison), "1.5x"));
}

TEST_CASE("time below a nanosecond a sample is none") {
  // 4 * 3e-8 / 1500 s = 80 ps, which rounded shares may come to: nothing idles.
  RunResult fast = timing_only(run("nb", "nonblocking", 1500, 0));
  set_shares(fast, 0.7, 0.1, 3e-8, 0.2);
  CHECK(has(plain(verdict(compare({timing_only(run("sync", "ssgd", 1000, 0)), fast}))),
            "(its workers idle no time a sample instead of 1.6 ms)"));
  RunResult same = timing_only(run("again", "ssgd", 1500, 0)), slow = timing_only(run("sync", "ssgd", 1000, 0));
  for (RunResult* const each : {&same, &slow}) set_shares(*each, 0, 0, 3e-8, 0);
  CHECK_FALSE(has(plain(verdict(compare({same, slow}))), "a sample instead of"));
}

TEST_CASE("what failures did stands in the table where a run has it") {
  RunResult steady = run("steady", "ssgd", 1000, 0), failing = run("failing", "ssgd", 900, 0);
  CHECK_FALSE(has(comparison_table(compare({steady, steady})), "goodput"));
  failing.summary = {{"failures", Scalar(std::uint64_t{3})},
                     {"lost_updates", Scalar(std::uint64_t{41})},
                     {"goodput", Scalar(0.75)},
                     {"ettr", Scalar(0.8)}};
  const std::string table = comparison_table(compare({steady, failing}));
  for (const char* const row : {"failures ", "lost updates ", "goodput ", "effective training time "}) CHECK(has(table, row));
  CHECK(has(table, "75.0 %"));
  CHECK(has(table, "80.0 %"));
  CHECK_FALSE(has(table, "rollbacks"));  // neither has them
}

TEST_CASE("thresholds asked of runs without the math are no misses") {
  RunResult a = run("a", "ssgd", 1000, 0), b = run("b", "asgd", 2000, 0);
  a.final_test_accuracy.reset();
  b.final_test_accuracy.reset();
  CHECK(compare({a, b}).winner == 1u);
}

TEST_CASE("one run has nothing to be compared with") {
  CHECK(plain(verdict(compare({run("only", "asgd", 1000, 20'000)}))) ==
        "There is only one run, so nothing to compare: 'only' (asgd) reaches 80 % test accuracy in 20 s.");
  CHECK_THROWS_AS(compare({}), ResultsError);
}

TEST_CASE("notes say why runs are hard to compare") {
  RunResult a = run("a", "ssgd", 1000, 20'000), b = run("b", "asgd", 2000, 20'000), c = run("c", "asgd", 2000, 0);
  a.target_accuracy = 0.8;
  b.model = "softmax";
  b.data_path = "/mnist";
  c.data_path = "/other";
  b.outcome = Outcome::diverged;
  c.outcome = Outcome::interrupted;
  c.data = c.model = "";  // not known: says nothing
  const Comparison comparison = compare({a, b, c});
  CHECK(noted(comparison, "the runs differ in model: mlp (a), softmax (b)"));
  CHECK(noted(comparison, "the runs differ in the folder of their data: /mnist (b), /other (c)"));
  CHECK(noted(comparison, "the runs differ in target accuracy: 0.8 (a), none (b, c)"));
  CHECK(noted(comparison, "'b' diverged"));
  CHECK(noted(comparison, "'c' was interrupted"));
  CHECK_FALSE(noted(comparison, "differ in data"));
}

TEST_CASE("accuracies on different data name no winner") {
  RunResult a = run("a", "ssgd", 1000, 20'000), b = run("b", "asgd", 2000, 20'000), c = run("c", "easgd", 2000, 20'000);
  b.data = c.data = "coordinates samples=2000";
  const Comparison comparison = compare({a, b, c});
  CHECK_FALSE(comparison.winner);
  CHECK_FALSE(comparison.deciding);
  CHECK(plain(verdict(comparison)) ==
        "No run wins: their accuracies do not compare, as they learn from different data: fashion_mnist (a), coordinates samples=2000 (b, "
        "c).");
  CHECK_FALSE(noted(comparison, "differ in data"));  // said
  CHECK_FALSE(has(comparison_table(comparison), "speed-up"));

  // Without accuracies only speeds are compared.
  CHECK(compare({timing_only(a), timing_only(b)}).winner == 1u);
  CHECK(noted(compare({timing_only(a), timing_only(b)}), "the runs differ in data"));
}

TEST_CASE("a run for timing alone among runs with accuracies is named, and not compared") {
  // It was asked for 0.8 as well, but has no accuracy; it ended before the winner was there.
  RunResult timing = run("fast", "ssgd", 5000, 0), sync = run("sync", "ssgd", 1000, 20'000), free = run("free", "asgd", 2000, 20'000);
  timing.final_test_accuracy.reset();
  timing.simulated_seconds = 3;
  timing.target_accuracy = 0.9;  // no business of those that learn
  ThresholdResult row;
  row.threshold = 0.9;
  timing.thresholds.push_back(row);
  const Comparison comparison = compare({timing, sync, free});
  CHECK_FALSE(comparison.timing_only);
  CHECK(comparison.reference == 1);
  CHECK(comparison.deciding == 0.8);
  CHECK(comparison.winner == 2u);
  CHECK(has(plain(verdict(comparison)), "; synchronous SGD ('sync') needs 20 s, 2 times as long."));
  CHECK(noted(comparison, "'fast' was run for timing alone"));
  CHECK_FALSE(noted(comparison, "might win"));
  CHECK_FALSE(noted(comparison, "'fast' was not asked"));
  CHECK(has(comparison_table(comparison), "n/a"));
}

TEST_CASE("a run without a rival does not win") {
  const RunResult one = run("one", "asgd", 1000, 20'000);
  const Comparison timed = compare({timing_only(run("sync", "ssgd", 1000, 0)), one});
  CHECK_FALSE(timed.winner);
  CHECK(plain(verdict(timed)) ==
        "No run wins: 'one' (asgd) reaches 80 % test accuracy in 20 s, and synchronous SGD ('sync') was run for timing alone.");
  CHECK_FALSE(noted(timed, "timing alone"));  // said

  RunResult unasked = run("sync", "ssgd", 1000, 0);
  unasked.thresholds.clear();
  const Comparison alone = compare({unasked, one});
  CHECK_FALSE(alone.winner);
  CHECK(plain(verdict(alone)) ==
        "No run wins: 'one' (asgd) reaches 80 % test accuracy in 20 s, and no other run was asked for that (evaluate.thresholds).");
  CHECK(plain(comparison_notes(alone)).empty());
}

TEST_CASE("the winner is compared with a run that has the threshold; one line names the runs without it") {
  RunResult unasked = run("sync", "ssgd", 1000, 0), another = run("other", "ssp", 1000, 0);
  unasked.thresholds.clear();
  another.thresholds.clear();
  const Comparison comparison = compare({unasked, run("a", "asgd", 2000, 20'000), run("b", "easgd", 1000, 20'000), another});
  CHECK(comparison.winner == 1u);
  CHECK(has(plain(verdict(comparison)), "; 'b' (easgd) needs 20 s, 2 times as long."));
  CHECK(plain(comparison_notes(comparison)) == std::vector<std::string>{"'sync', 'other' were not asked for 0.8 (evaluate.thresholds)"});
}

TEST_CASE("a run that diverged is not told to run longer") {
  RunResult lost = run("sync", "ssgd", 1000, 0);
  lost.outcome = Outcome::diverged;
  lost.simulated_seconds = 1;
  const Comparison comparison = compare({lost, run("free", "asgd", 500, 20'000)});
  CHECK(has(plain(verdict(comparison)), "which synchronous SGD ('sync') does not: it diverged"));
  CHECK_FALSE(noted(comparison, "might win"));
}

TEST_CASE("the target is one of the accuracies, marked once") {
  RunResult a = run("a", "ssgd", 1000, 20'000), b = run("b", "asgd", 2000, 20'000);
  a.target_accuracy = b.target_accuracy = 0.8;
  ThresholdResult high;
  high.threshold = 0.9;
  a.thresholds.push_back(high);
  b.thresholds.push_back(high);
  const std::string table = comparison_table(compare({a, b}));
  CHECK(has(table, "\ntime to 0.8 (target) "));
  CHECK(has(table, "\ntime to 0.9 "));
  CHECK(table.find("0.8") == table.rfind("0.8", table.find("speed-up")));  // not a second time
}

TEST_CASE("a simulated run is held against the measured one, and does not beat it") {
  // To 0.8: 20,000 samples at 1000, 800 and 2000 per second, 20, 25 and 10 s: 25 / 20 is 25 % more, 10 / 20 half as much.
  RunResult real = run("real", "ssgd", 1000, 20'000);
  real.real = true;
  const RunResult slow = run("predicted", "ssgd", 800, 20'000), fast = run("replay", "ssgd", 2000, 20'000);
  const Comparison comparison = compare({real, slow, fast});
  CHECK_FALSE(comparison.winner);
  CHECK(plain(verdict(comparison)) ==
        "'predicted' says 25 s to 80 % test accuracy where 'real' measured 20 s: 25 % too slow; 'replay' says 10 s to 80 % test accuracy "
        "where 'real' measured 20 s: 50 % too fast.");
  const std::string table = comparison_table(comparison);
  CHECK(has(table, "\ntime is "));
  CHECK(has(table, " measured  simulated  simulated\n"));
  CHECK_FALSE(has(table, "simulated time"));
  CHECK(has(table, "n/a"));         // of the speed-up
  CHECK_FALSE(has(table, "0.8x"));  // 20 / 25
  CHECK_FALSE(has(comparison_table(compare({slow, fast})), "time is"));
}

TEST_CASE("a prediction is of the whole run where no accuracy decides, and of the speed where runs are of different lengths") {
  RunResult real = run("real", "asgd", 1000, 0), simulated = run("predicted", "asgd", 1030, 0);
  real.real = true;
  real.updates = simulated.updates = 400;
  simulated.simulated_seconds = 97;
  CHECK(plain(verdict(compare({real, simulated}))) == "'predicted' says 97 s for 400 updates where 'real' measured 100 s: 3.0 % too fast.");
  simulated.updates = 390;
  CHECK(plain(verdict(compare({simulated, real}))) ==
        "'predicted' says 1030 samples per second where 'real' measured 1000: 3.0 % too fast.");
  simulated.samples_per_second = 1000;
  CHECK(has(plain(verdict(compare({simulated, real}))), "as measured"));
  simulated.model = "";  // not known
  CHECK(has(plain(verdict(compare({simulated, real}))), "as measured"));
  simulated.model = "softmax";
  CHECK(has(plain(verdict(compare({simulated, real}))), "No simulated run has the scheme"));
}

TEST_CASE("measured runs compete only with measured ones, simulated runs with simulated ones") {
  RunResult real_a = run("real-a", "ssgd", 1000, 20'000), real_b = run("real-b", "asgd", 2000, 20'000);
  real_a.real = real_b.real = true;
  const RunResult a = run("a", "ssgd", 1000, 20'000), b = run("b", "asgd", 500, 20'000);
  const std::string all = plain(verdict(compare({real_a, real_b, a, b})));
  CHECK(has(all, "'a' says 20 s to 80 % test accuracy where 'real-a' measured 20 s: as measured; 'b' says 40 s"));
  CHECK(has(all, " Of the measured: 'real-b' (asgd) wins. "));
  CHECK(has(all, " Of the simulated: synchronous SGD ('a') wins. "));
  CHECK(compare({real_a, real_b}).winner == 1u);  // of one kind: as ever
  CHECK(has(plain(verdict(compare({real_a, b}))), "No simulated run has the scheme"));
}

TEST_CASE("runs that no target ended and that did different work are said to have done so") {
  RunResult a = run("a", "ssgd", 1000, 20'000), b = run("b", "asgd", 2000, 20'000);
  a.samples = 384'000;
  b.samples = 32'000;
  a.simulated_seconds = 384;
  b.simulated_seconds = 16;
  const auto notes = [&] {
    std::string all;
    for (const Said& note : comparison_notes(compare({a, b}))) all += plain(note) + "\n";
    return all;
  };
  const std::string said = "simulated times are of different work, 32,000 to 384,000 samples: compare samples per second\n";
  CHECK(has(notes(), said));
  b.simulated_seconds = 384;  // both ran for so long
  CHECK_FALSE(has(notes(), said));
  b.simulated_seconds = 16;
  b.samples = 383'000;
  CHECK_FALSE(has(notes(), "different work"));
  b.samples = 32'000;
  b.outcome = Outcome::target_reached;  // it took no more
  CHECK_FALSE(has(notes(), "different work"));
}

TEST_CASE("runs are labelled by their folders, as they were typed; the table says which one is 1x") {
  RunResult a = run("mine", "ssgd", 1000, 20'000), b = run("other", "asgd", 2000, 20'000);
  a.folder = "r/ssgd";
  b.folder = "r/asgd";
  const Comparison comparison = compare({b, a});
  CHECK(comparison.labels == std::vector<std::string>{"asgd", "ssgd"});
  CHECK(comparison.reference == 1u);  // the baseline
  const std::string table = comparison_table(comparison);
  REQUIRE(has(table, "speed-up"));
  CHECK(has(table, "\n1x: ssgd\n"));
  CHECK_FALSE(has(comparison_table(compare({a})), "1x:"));
}

TEST_CASE("runs of the same name are labelled by their folders") {
  RunResult a = run("same", "ssgd", 1000, 20'000), b = run("same", "asgd", 2000, 20'000);
  a.folder = "results/seed1";
  b.folder = "results/seed2/";
  CHECK(compare({a, b}).labels == std::vector<std::string>{"seed1", "seed2"});
  b.folder = "other/seed1";
  CHECK(compare({a, b}).labels == std::vector<std::string>{"results/seed1", "other/seed1"});
}

TEST_CASE("six runs fit in 140 columns of ASCII, more come below") {
  std::vector<RunResult> runs;
  for (int i = 0; i < 8; ++i)
    runs.push_back(run("a-name-that-is-rather-long-for-a-column-" + std::to_string(i), i ? "nonblocking" : "ssgd", 1000 + i, 20'000));
  const std::string table = comparison_table(compare(runs));
  std::istringstream lines(table);
  int rules = 0;
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 140);
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    rules += line.find_first_not_of('-') == std::string::npos && !line.empty();
  }
  CHECK(rules == 2);
}
