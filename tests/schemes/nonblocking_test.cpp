// The rule of non-blocking SGD, step by step.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/support/nonblocking_figure.hpp"
#include "tests/support/run.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::map<Rank, OrderRow> rows_of(const Result& result, std::uint64_t update) {
  std::map<Rank, OrderRow> rows;
  for (const OrderRow& row : result.sink.order)
    if (row.update == update) rows.emplace(row.worker, row);
  return rows;
}

}  // namespace

TEST_CASE("the schematic: mini-batches done at the first sync are 5, 8, 4 and 5; the interrupted ones are redone from their start") {
  const Result result = run_timing(nonblocking_figure);
  const auto first = rows_of(result, 1);
  REQUIRE(first.size() == 4);
  const std::uint32_t done[] = {5, 8, 4, 5};  // floor(252 / time per mini-batch), 252 = 8 x 31.5
  for (Rank worker = 0; worker < 4; ++worker) {
    CHECK(first.at(worker).steps == done[worker]);
    CHECK(first.at(worker).samples == 32 * done[worker]);
    CHECK(first.at(worker).position == 0);
  }
  // Worker 2 completes its batch at 252 ms; the signal takes two hops of 1 us, the exchange a few more.
  CHECK(first.at(0).time.seconds() == doctest::Approx(0.252).epsilon(1e-4));

  // After the sync each goes on with the rest of its batch. Worker 3 has the fewest left: 3 of worker 1's mini-batches take
  // 140 ms, 4 of worker 3's 232 ms, 3 of worker 4's 139.8 ms, 8 of worker 2's 252 ms: worker 4 signals.
  const auto second = rows_of(result, 2);
  const std::uint32_t then[] = {2, 4, 2, 3};  // floor(139.8 / time per mini-batch)
  for (Rank worker = 0; worker < 4; ++worker) {
    CHECK(second.at(worker).steps == then[worker]);
    CHECK(second.at(worker).position == 32 * done[worker]);  // the interrupted mini-batch again, from its start
    CHECK(second.at(worker).read_version == 1);
  }
}

TEST_CASE("waste is the computed part of the interrupted mini-batch, at most one per worker and sync") {
  const Result result = run_timing(nonblocking_figure, {"training.stop.updates=1"});
  const double minibatch[] = {0.0468, 0.0315, 0.058, 0.0466};
  for (std::size_t worker = 0; worker < 4; ++worker) {
    const double wasted = result.record.workers[worker].split[Phase::wasted].seconds();
    const double expected = worker == 1 ? 0 : 0.252 - minibatch[worker] * std::floor(0.252 / minibatch[worker]);
    CHECK(wasted == doctest::Approx(expected).epsilon(1e-3));
    CHECK(wasted < minibatch[worker]);
  }
}

TEST_CASE("with reset counters everyone starts a whole batch after a sync") {
  const Result result = run_timing(nonblocking_figure, {"training.scheme.counters=reset", "training.stop.updates=3"});
  for (const std::uint64_t update : {1, 2, 3}) {
    const auto rows = rows_of(result, update);
    const std::uint32_t done[] = {5, 8, 4, 5};
    for (Rank worker = 0; worker < 4; ++worker) CHECK(rows.at(worker).steps == done[worker]);
  }
}

TEST_CASE("interrupt at the boundary finishes the mini-batch, and wastes nothing") {
  const Result result = run_timing(nonblocking_figure, {"training.scheme.interrupt=boundary", "training.stop.updates=1"});
  const std::uint32_t done[] = {6, 8, 5, 6};  // ceil(252 / time per mini-batch)
  for (Rank worker = 0; worker < 4; ++worker) {
    CHECK(rows_of(result, 1).at(worker).steps == done[worker]);
    CHECK(result.record.workers[worker].split[Phase::wasted] == Time());
  }
  CHECK(result.record.end.seconds() == doctest::Approx(5 * 0.058).epsilon(1e-4));  // the slowest to its boundary
}

TEST_CASE("with plain SGD, exchanging gradients is exchanging weights") {
  // w - lr (1/p) sum_i sum_k g_ik is the mean of w - lr sum_k g_ik.
  const Result weights = run(nonblocking_figure, {"training.stop.updates=6"});
  const Result gradients = run(nonblocking_figure, {"training.stop.updates=6", "training.scheme.exchange=gradients"});
  REQUIRE(weights.weights.size() == gradients.weights.size());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < weights.weights.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(weights.weights[i])));
    difference = std::max(difference, std::abs(static_cast<double>(weights.weights[i]) - static_cast<double>(gradients.weights[i])));
  }
  CHECK(difference < 1e-5 * largest);
  CHECK(difference > 0);                              // two ways of summing, not one
  CHECK(gradients.record.end <= weights.record.end);  // who took no step has no gradient to send (decision 29)
}

TEST_CASE("weighing by samples gives a slow worker less say") {
  const Result plain = run(nonblocking_figure, {"training.stop.updates=3"});
  const Result weighed = run(nonblocking_figure, {"training.stop.updates=3", "training.scheme.average=by_samples"});
  CHECK(plain.weights != weighed.weights);
  CHECK(plain.record.samples == weighed.record.samples);
}

TEST_CASE("a worker that is stopped before its first mini-batch contributes zero steps") {
  const Result result = run_timing(nonblocking_figure, {"cluster.workers[2].slowdown=20", "training.stop.updates=2"});
  const auto rows = rows_of(result, 1);
  CHECK(rows.at(2).steps == 0);
  CHECK(rows.at(2).samples == 0);
  CHECK(rows.at(1).steps == 8);
}

TEST_CASE("who wastes more than half of its compute is warned about") {
  const Result result = run_timing(nonblocking_figure, {"cluster.workers[2].slowdown=20", "training.stop.updates=5"});
  REQUIRE(result.record.warnings.size() == 1);
  CHECK(result.record.warnings[0].find("1 of 4 workers wasted more computation") != std::string::npos);
  CHECK(result.record.warnings[0].ends_with("give a smaller training.scheme.minibatch, or counters: reset"));
  CHECK(run_timing(nonblocking_figure, {"training.stop.updates=1"}).record.warnings.empty());
}

TEST_CASE("the warning about waste gives advice for the scheme that ran") {
  // The slow worker's gradients are all dropped.
  const auto warning = [](const std::string& scheme) {
    const Result result = run_timing(cluster(4), {"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, slowdown: 20}]",
                                                  "training.scheme=" + scheme, "training.stop={updates: 50}"});
    REQUIRE(result.record.warnings.size() == 1);
    return result.record.warnings[0];
  };
  for (const auto& [scheme, remedy] : {std::pair("{kind: backup_workers, backups: 1}", "give fewer training.scheme.backups, so that"),
                                       std::pair("{kind: k_sync, k: 3}", "give a larger training.scheme.k, so that")}) {
    const std::string text = warning(scheme);
    CAPTURE(text);
    CHECK(text.find(remedy) != std::string::npos);
    CHECK(text.find("counters") == std::string::npos);
  }
}
