#include <doctest/doctest.h>

#include <stdexcept>

#include "sim/base/refusal.hpp"
#include "tests/cluster/compute_cases.hpp"
#include "tests/cluster/jitter_cases.hpp"

namespace straggler {
namespace {

using Unit = Quantum::Unit;
constexpr std::int64_t ms = 1'000'000'000;  // ticks

/// Factors known beforehand: quantum k has the k-th, later ones the last.
class Known final : public Jitter {
 public:
  explicit Known(std::vector<double> factors) : factors_(std::move(factors)) {}
  double factor(std::uint64_t, std::uint64_t quantum) override { return factors_[std::min<std::uint64_t>(quantum, factors_.size() - 1)]; }

 private:
  std::vector<double> factors_;
};
std::unique_ptr<Jitter> known(std::vector<double> factors) { return std::make_unique<Known>(std::move(factors)); }

Quantum every_batch() { return {Unit::batch, 1, {}}; }
Quantum every_samples(std::int64_t samples) { return {Unit::samples, samples, {}}; }
Quantum every_time(std::int64_t ticks) { return {Unit::time, 1, Time::from_ticks(ticks)}; }
Quantum every_call() { return {Unit::call, 1, {}}; }

/// Total ticks of samples [first, first + sum of pieces), computed piece by piece.
std::int64_t in_pieces(WorkerCompute& compute, std::uint64_t first, const std::vector<std::int64_t>& pieces) {
  Time now;
  std::uint64_t call = 0;
  for (const std::int64_t piece : pieces) {
    now += compute.duration({first, piece}, call++, now);
    first += static_cast<std::uint64_t>(piece);
  }
  return now.ticks();
}

TEST_CASE("affine: overhead and seconds per sample, times the slowdown") {
  const auto time = affine_time(2e-3, 0.35e-3);
  WorkerCompute plain(*time, 1, nullptr, every_samples(32), 1, 0), slow(*time, 3, nullptr, every_samples(32), 1, 0);
  // 2 ms + 32 · 0.35 ms = 13.2 ms, wherever the samples lie in the sequence.
  for (const std::uint64_t first : {0ull, 32ull, 17ull, 65'530ull, 1ull << 40}) {
    CHECK(plain.duration({first, 32}, 0, Time()).ticks() == 13'200'000'000);
    CHECK(slow.duration({first, 32}, 0, Time()).ticks() == 39'600'000'000);
  }
  CHECK(plain.duration({5, 0}, 0, Time()) == Time());
  CHECK_THROWS_AS(plain.duration({5, -1}, 0, Time()), std::invalid_argument);
  CHECK_THROWS_AS(affine_time(-1e-3, 1e-3), std::invalid_argument);
  CHECK_THROWS_AS(affine_time(0, std::numeric_limits<double>::infinity()), std::invalid_argument);
}

TEST_CASE("table: linear between points and through the outer two beyond them, never below launch") {
  const auto time = table_time({{32, 13e-3}, {128, 45e-3}, {256, 80e-3}}, 5e-3);
  const auto check = [&](std::int64_t samples, double expected) {
    CAPTURE(samples);
    CHECK(seconds(*time, samples) == doctest::Approx(expected).epsilon(1e-12));
    CHECK(time->at(samples).overhead == 0);
  };
  check(32, 13e-3);
  check(128, 45e-3);
  check(256, 80e-3);
  check(64, 13e-3 + 32e-3 * 32 / 96);     // a third of the way from 32 to 128
  check(192, 62.5e-3);                    // half way from 128 to 256
  check(512, 80e-3 + 35e-3 * 256 / 128);  // 35 ms more for each 128
  check(16, 13e-3 - 32e-3 * 16 / 96);     // 7.67 ms
  check(1, 5e-3);                         // 13 - 32 · 31/96 = 2.67 ms is below launch
  CHECK_THROWS_AS(time->at(0), std::invalid_argument);
}

TEST_CASE("table: times stay positive where the outer lines would not") {
  // The line through both meets 0 at a batch of 28.4; in proportion, 16 samples take half of 1 ms.
  const auto steep = table_time({{32, 1e-3}, {64, 10e-3}}, 0);
  CHECK(seconds(*steep, 16) == doctest::Approx(0.5e-3).epsilon(1e-12));
  CHECK(seconds(*steep, 1) == doctest::Approx(1e-3 / 32).epsilon(1e-12));
  // Noise tilts the end down: no less than the last point.
  const auto tilted = table_time({{64, 10e-3}, {128, 9e-3}}, 0);
  CHECK(seconds(*tilted, 96) == doctest::Approx(9.5e-3).epsilon(1e-12));
  CHECK(seconds(*tilted, 100'000) == doctest::Approx(9e-3).epsilon(1e-12));
  CHECK(seconds(*tilted, 32) == doctest::Approx(10.5e-3).epsilon(1e-12));
  // One point: in proportion.
  const auto one = table_time({{50, 10e-3}}, 1e-3);
  CHECK(seconds(*one, 200) == doctest::Approx(40e-3).epsilon(1e-12));
  CHECK(seconds(*one, 1) == doctest::Approx(1e-3).epsilon(1e-12));  // 0.2 ms is below launch
}

TEST_CASE("table: points that cannot be are refused") {
  CHECK_THROWS_AS(table_time({}, 0), std::invalid_argument);
  CHECK_THROWS_AS(table_time({{0, 1e-3}}, 0), std::invalid_argument);
  CHECK_THROWS_AS(table_time({{32, 0}}, 0), std::invalid_argument);
  CHECK_THROWS_AS(table_time({{32, 1e-3}}, -1), std::invalid_argument);
  CHECK_THROWS_WITH_AS(table_time({{32, 1e-3}, {32, 2e-3}}, 0), "table: the point at batch size 32 follows one at 32; sizes must ascend",
                       std::invalid_argument);
}

TEST_CASE("a worker's rate follows the table at the piece's own size") {
  const auto time = table_time({{32, 13e-3}, {128, 45e-3}}, 0);
  WorkerCompute compute(*time, 1, nullptr, every_samples(128), 1, 0);
  CHECK(compute.duration({0, 128}, 0, Time()).ticks() == 45 * ms);
  CHECK(in_pieces(compute, 0, {32, 32, 32, 32}) == 4 * 13 * ms);  // small batches are less efficient; jitter has no part in it
}

// The heart of the matter: were noise drawn per call, eight pieces of 32 would average it away and 256 at once would not.
TEST_CASE("every kind of jitter: work takes the same ticks whole and in pieces") {
  const auto time = affine_time(0, 1e-3 / 3);  // a third of a millisecond is no whole number of ticks
  for (const JitterCase& each : jitter_cases()) {
    CAPTURE(each.text());
    for (const std::int64_t quantum : {1, 7, 32, 100, 256, 300}) {
      CAPTURE(quantum);
      WorkerCompute compute(*time, 1.7, each.make(), every_samples(quantum), 11, 3);
      for (const std::uint64_t first : {0ull, 13ull, 256ull, 1'000'003ull}) {
        CAPTURE(first);
        const std::int64_t whole = compute.duration({first, 256}, 0, Time()).ticks();
        CHECK(in_pieces(compute, first, std::vector<std::int64_t>(8, 32)) == whole);
        CHECK(in_pieces(compute, first, std::vector<std::int64_t>(256, 1)) == whole);
        CHECK(in_pieces(compute, first, {1, 100, 5, 50, 100}) == whole);
        // Redone: another call at another time.
        CHECK(compute.duration({first, 256}, 99, Time::from_ticks(5 * ms)).ticks() == whole);
        // Draw by draw: the factor of each sample's quantum, a third of 1.7 ms each. Every rounding is off by half a tick at most,
        // and there are two of them for each quantum that is touched.
        const auto draws = each.make();
        const std::uint64_t stream = RandomStream::stream_key(11, "worker/3/compute");
        double expected = 0;
        for (std::uint64_t sample = first; sample < first + 256; ++sample)
          expected += draws ? draws->factor(stream, sample / static_cast<std::uint64_t>(quantum)) : 1;
        const double ticks = expected * 1.7 * static_cast<double>(ms) / 3;
        const auto most_quanta = 256 / quantum + 2;
        CHECK(std::abs(static_cast<double>(whole) - ticks) <= static_cast<double>(most_quanta) + 1e-12 * ticks);
      }
    }
  }
}

TEST_CASE("one factor a batch: wherever it lies in the sequence, and the same ticks whole and in pieces") {
  const auto time = affine_time(0, 1e-3 / 3);
  for (const JitterCase& each : jitter_cases()) {
    CAPTURE(each.text());
    WorkerCompute compute(*time, 1.7, each.make(), every_batch(), 11, 3);
    const auto draws = each.make();
    const std::uint64_t stream = RandomStream::stream_key(11, "worker/3/compute");
    std::uint64_t first = 5;
    std::uint32_t batch = 0;
    for (const std::int64_t samples : {256, 6, 256, 100'000, 1}) {
      CAPTURE(batch);
      const std::int64_t whole = compute.duration({first, samples, batch, 0}, 0, Time()).ticks();
      for (const std::int64_t piece : {1, 7, 32, 250}) {
        std::int64_t ticks = 0;
        for (std::int64_t at = 0; at < samples; at += piece)
          ticks +=
              compute
                  .duration({first + static_cast<std::uint64_t>(at), std::min(piece, samples - at), batch, static_cast<std::uint32_t>(at)},
                            99, Time::from_ticks(ticks))
                  .ticks();
        CHECK(ticks == whole);
      }
      // Off by half a tick at each end of a block of rounding, of which the longest touches two.
      const double expected = (draws ? draws->factor(stream, batch) : 1) * static_cast<double>(samples) * 1.7 * static_cast<double>(ms) / 3;
      CHECK(std::abs(static_cast<double>(whole) - expected) <= 2 + 1e-12 * expected);
      first += static_cast<std::uint64_t>(samples);
      ++batch;
    }
  }
  // The overhead has the batch's factor in each call: 10 ms · 3 and 8 · 3 ms.
  const auto calls = affine_time(10e-3, 1e-3);
  WorkerCompute compute(*calls, 1, known({2, 3}), every_batch(), 1, 0);
  CHECK(compute.duration({40, 8, 1, 24}, 7, Time()).ticks() == 54 * ms);
}

TEST_CASE("pieces telescope in quanta longer than a block of rounding, and without jitter") {
  const auto time = affine_time(0, 1e-9 / 7);
  WorkerCompute none(*time, 1, nullptr, every_samples(1), 1, 0), long_quantum(*time, 1, known({1.3, 0.7}), every_samples(200'000), 1, 0);
  for (WorkerCompute* compute : {&none, &long_quantum}) {
    const std::int64_t whole = compute->duration({60'000, 300'000}, 0, Time()).ticks();
    CHECK(in_pieces(*compute, 60'000, {5'536, 1, 64'463, 70'000, 60'000, 99'999, 1}) == whole);
    CHECK(in_pieces(*compute, 60'000, std::vector<std::int64_t>(3'000, 100)) == whole);
  }
  // 300,000 / 7 ns; at most a tick for each of the 6 blocks of 65,536 that it touches. Then 140,000 samples at 1.3 and 160,000 at 0.7.
  CHECK(std::abs(static_cast<double>(none.duration({60'000, 300'000}, 0, Time()).ticks()) - 300'000 * 1000.0 / 7) <= 6);
  CHECK(std::abs(static_cast<double>(long_quantum.duration({60'000, 300'000}, 0, Time()).ticks()) -
                 (140'000 * 1.3 + 160'000 * 0.7) * 1000.0 / 7) <= 7);
}

TEST_CASE("the overhead is paid per call, times the mean factor of the call's samples") {
  const auto time = affine_time(10e-3, 1e-3);
  WorkerCompute compute(*time, 1, known({2, 0.5}), every_samples(24), 1, 0);
  // Samples 0..23 at factor 2, 24..31 at 0.5: 48 + 4 = 52 ms, and 10 ms · 52/32.
  CHECK(compute.duration({0, 32}, 0, Time()).ticks() == 52 * ms + 16'250'000'000);
  // In two calls that meet where the quanta do: 10 ms · 2 and 10 ms · 0.5.
  CHECK(in_pieces(compute, 0, {24, 8}) == 52 * ms + 20 * ms + 5 * ms);
}

TEST_CASE("one factor a call: its number counts, not its samples") {
  const auto time = affine_time(10e-3, 1e-3);
  WorkerCompute compute(*time, 2, known({1, 3, 0.5}), every_call(), 1, 0);
  CHECK(compute.duration({0, 40}, 0, Time()).ticks() == 2 * 50 * ms);
  CHECK(compute.duration({0, 40}, 1, Time()).ticks() == 2 * 150 * ms);
  CHECK(compute.duration({7, 40}, 2, Time::from_ticks(123)).ticks() == 2 * 25 * ms);
}

TEST_CASE("a speed process in simulated time: work flows at one over the factor of each window") {
  const auto time = affine_time(0, 1e-3);
  WorkerCompute compute(*time, 1, known({1, 2, 0.5}), every_time(100 * ms), 1, 0);
  // 250 ms of work from 50 ms on: 50 ms of it by 100 ms, 50 more by 200 ms (twice as slow), the last 150 in 75 ms.
  CHECK(compute.duration({0, 250}, 0, Time::from_ticks(50 * ms)).ticks() == 225 * ms);
  // It ends exactly where a window does.
  CHECK(compute.duration({0, 50}, 0, Time::from_ticks(50 * ms)).ticks() == 50 * ms);
  CHECK(compute.duration({0, 100}, 0, Time::from_ticks(50 * ms)).ticks() == 150 * ms);
  // Which samples does not matter, when does.
  CHECK(compute.duration({999, 10}, 5, Time::from_ticks(120 * ms)).ticks() == 20 * ms);
  CHECK(compute.duration({0, 10}, 0, Time::from_ticks(300 * ms)).ticks() == 5 * ms);
}

TEST_CASE("a speed process: many windows add up exactly") {
  const auto time = affine_time(0, 1e-3);
  // 100 s of work, three times as slow, over windows of 1,000,000,007 ticks (about 300,000 of them): 300 s to the tick, although
  // a third of a window is no binary fraction.
  WorkerCompute compute(*time, 1, known({3}), every_time(1'000'000'007), 1, 0);
  CHECK(compute.duration({0, 100'000}, 0, Time::from_ticks(12'345)).ticks() == 300'000 * ms);
}

TEST_CASE("a speed process: pieces end where the whole does, up to the rounding of each cut") {
  const auto time = affine_time(0, 1e-3 / 3);
  for (const JitterCase& each : jitter_cases()) {
    if (each.kind == "pareto" || (each.kind == "normal" && each.given.number("sigma") > 1)) continue;  // a cut's half tick times any ratio
    CAPTURE(each.text());
    WorkerCompute compute(*time, 1, each.make(), every_time(10 * ms), 5, 2);
    const auto draws = each.make();
    const std::uint64_t stream = RandomStream::stream_key(5, "worker/2/compute");
    for (std::int64_t begin = 0; begin < 500 * ms; begin += 37 * ms) {
      const Time start = Time::from_ticks(begin);
      const Time whole = start + compute.duration({0, 256}, 0, start);
      Time now = start;
      double allowed = 0.5;  // the end's own rounding, then half a tick of work at each cut, at the pace of the last window
      const auto factor_at = [&](Time when) {
        return draws ? draws->factor(stream, static_cast<std::uint64_t>(when.ticks() / (10 * ms))) : 1;
      };
      for (int piece = 0; piece < 8; ++piece) {
        now += compute.duration({0, 32}, 0, now);
        if (piece < 7) allowed += 0.5 * std::max(factor_at(whole) / factor_at(now), 1.0);
      }
      CHECK(std::abs(static_cast<double>((now - whole).ticks())) <= allowed + 0.5);
    }
  }
}

TEST_CASE("adding a worker changes no other worker's draws, and workers and seeds differ") {
  const auto time = affine_time(1e-3, 1e-3);
  for (const JitterCase& each : jitter_cases()) {
    if (each.kind == "none") continue;
    CAPTURE(each.text());
    const auto run = [&](std::int64_t workers, std::uint64_t seed) {
      std::vector<WorkerCompute> all;
      for (std::int64_t w = 0; w < workers; ++w) all.emplace_back(*time, 1, each.make(), every_samples(32), seed, w);
      std::vector<std::vector<std::int64_t>> ticks(static_cast<std::size_t>(workers));
      for (std::uint64_t call = 0; call < 100; ++call)
        for (std::size_t w = 0; w < all.size(); ++w) ticks[w].push_back(all[w].duration({call * 32, 32}, call, Time()).ticks());
      return ticks;
    };
    const auto four = run(4, 1), five = run(5, 1), other = run(4, 2);
    for (std::size_t w = 0; w < 4; ++w) {
      CHECK(four[w] == five[w]);
      CHECK(four[w] != other[w]);
      CHECK(five[w] != five[4]);
    }
  }
}

TEST_CASE("computations beyond 100 simulated days are refused") {
  const auto time = affine_time(0, 1e5);  // 100 days are 8.64e6 s: 86 samples end before, 87 after
  WorkerCompute compute(*time, 1, nullptr, every_samples(1), 1, 4);
  CHECK(compute.duration({0, 86}, 0, Time()).seconds() == 8.6e6);
  CHECK_THROWS_WITH_AS(
      compute.duration({0, 87}, 0, Time()),
      "worker 4 would compute 87 samples from 0 s until after 100 simulated days; check its device's compute, slowdown and jitter",
      TimeOverflow);
  CHECK_THROWS_AS(compute.duration({0, 86}, 0, Time::from_seconds(1e5)), TimeOverflow);
  CHECK_THROWS_AS(compute.duration({0, 1'000'000'000}, 0, Time()), TimeOverflow);
  WorkerCompute factors(*time, 1, known({1e300}), every_samples(8), 1, 0), calls(*time, 1, known({1e300}), every_call(), 1, 0),
      windows(*time, 1, known({1, 1, 1e300}), every_time(1000 * ms), 1, 0);
  for (WorkerCompute* each : {&factors, &calls, &windows}) CHECK_THROWS_AS(each->duration({0, 8}, 0, Time()), TimeOverflow);
}

TEST_CASE("far too short windows are an error, not a hang") {
  const auto time = affine_time(0, 1);
  WorkerCompute compute(*time, 1, known({1}), every_time(1), 1, 6);
  CHECK_THROWS_WITH_AS(compute.duration({0, 1}, 0, Time()),
                       "a computation of worker 6 spans more than 10000000 windows of jitter.every (1 ps); give it a longer time",
                       CannotContinue);
}

TEST_CASE("slowdowns, quanta and factors that cannot be are refused") {
  const auto time = affine_time(0, 1e-3);
  for (const double slowdown : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(WorkerCompute(*time, slowdown, nullptr, every_samples(1), 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(WorkerCompute(*time, 1, nullptr, every_samples(0), 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(WorkerCompute(*time, 1, nullptr, every_time(0), 1, 0), std::invalid_argument);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    WorkerCompute compute(*time, 1, known({bad}), every_samples(1), 1, 0);
    CHECK_THROWS_AS(compute.duration({0, 1}, 0, Time()), std::logic_error);
  }
}

}  // namespace
}  // namespace straggler
