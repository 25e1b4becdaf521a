// Batches by speed: nobody waits as long as one more sample of its own would take.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "sim/training/batches.hpp"

using namespace straggler;

TEST_CASE("batches by speed add up, end together within a sample of each worker, and everybody gets one") {
  std::mt19937 draw(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto kinds = 1 + draw() % 5;
    std::vector<AlikeWorkers> alike;
    std::int64_t workers = 0;
    for (unsigned k = 0; k < kinds; ++k) {
      const double overhead = static_cast<double>(draw() % 4) * 5e-3, per_sample = static_cast<double>(1 + draw() % 40) * 1e-4;
      alike.push_back({static_cast<std::int64_t>(1 + draw() % 7),
                       [=](std::int64_t samples) { return overhead + per_sample * static_cast<double>(samples); }});
      workers += alike.back().count;
    }
    const std::int64_t global = workers + static_cast<std::int64_t>(draw() % 2000);
    const std::vector<BatchSplit> split = batches_by_speed(alike, global);
    std::int64_t all = 0;
    double latest = 0;
    for (std::size_t k = 0; k < alike.size(); ++k)
      for (std::int64_t i = 0; i < alike[k].count; ++i) {
        all += split[k].size(i);
        CHECK(split[k].size(i) >= 1);
        latest = std::max(latest, split[k].size(i) > 1 ? alike[k].seconds(split[k].size(i)) : 0);
      }
    CHECK(all == global);
    for (std::size_t k = 0; k < alike.size(); ++k)
      for (std::int64_t i = 0; i < alike[k].count; ++i) CHECK(alike[k].seconds(split[k].size(i) + 1) >= latest * (1 - 1e-12));
  }
}

TEST_CASE("batches by speed of the contract's devices: 1 ms and 1.5 ms a sample, 1,000 samples") {
  const auto rate = [](double per_sample) { return [=](std::int64_t samples) { return per_sample * static_cast<double>(samples); }; };
  const std::vector<BatchSplit> split = batches_by_speed({{2, rate(1e-3)}, {2, rate(1.5e-3)}}, 1000);
  CHECK(split[0].least == 300);
  CHECK(split[1].least == 200);
  CHECK_THROWS_AS(batches_by_speed({{3, rate(1)}}, 2), std::invalid_argument);
}

TEST_CASE("stated batches know their sum, their mean, and who has the most and the least") {
  const Batches batches = Batches::stated({300, 200, 500, 200});
  CHECK(batches.total(4) == 1200);
  CHECK(batches.mean(4) == 300);
  CHECK(batches.smallest(4) == 1);
  CHECK(batches.largest() == 2);
  const Batches even(25, 2);
  CHECK(even.of(1) == 26);
  CHECK(even.of(2) == 25);
  CHECK(even.total(4) == 102);
  CHECK(even.mean(4) == 25.5);
}
