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

TEST_CASE("rebalanced batches: known times, workers without one, and the most that a worker can take") {
  using Sizes = std::vector<std::uint32_t>;
  CHECK(rebalanced({{250, 0.25, 1000}, {250, 0.25, 1000}, {250, 0.375, 1000}, {250, 0.375, 1000}}) == Sizes{300, 300, 200, 200});
  CHECK(rebalanced({{300, 0.3, 1000}, {300, 0.3, 1000}, {200, 0.3, 1000}, {200, 0.3, 1000}}) == Sizes{300, 300, 200, 200});
  // Of 500 samples of those with a time; the speeds are as 3 to 1.
  CHECK(rebalanced({{250, 0.1, 1000}, {70, 0, 1000}, {250, 0.3, 1000}}) == Sizes{375, 70, 125});
  // The first takes no more than 280, the others divide the 220 that are left as 1 to 1.
  CHECK(rebalanced({{200, 0.1, 280}, {150, 0.225, 1000}, {150, 0.225, 1000}}) == Sizes{280, 110, 110});
  CHECK(rebalanced({{3, 1e-3, 9}, {1, 9, 9}}) == Sizes{3, 1});
  CHECK(rebalanced({{5, 0, 9}}) == Sizes{5});
  // With 4 and 3 samples of equal workers nobody is done earlier than with 3 and 4.
  CHECK(rebalanced({{3, 0.3, 9}, {4, 0.4, 9}}) == Sizes{3, 4});
}

TEST_CASE(
    "rebalanced batches keep their sum, at least one and at most the bound, and nobody else would be done earlier with a sample more") {
  std::mt19937 draw(11);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<TimedBatch> workers;
    std::int64_t all = 0;
    for (auto left = 1 + draw() % 9; left > 0; --left) {
      const auto samples = static_cast<std::int64_t>(1 + draw() % 300);
      workers.push_back({samples, draw() % 8 == 0 ? 0 : 1e-3 * static_cast<double>(1 + draw() % 500),
                         samples + static_cast<std::int64_t>(draw() % 1000)});
      if (workers.back().seconds > 0) all += samples;
    }
    const std::vector<std::uint32_t> batches = rebalanced(workers);
    REQUIRE(batches.size() == workers.size());
    const auto seconds = [&](std::size_t i, std::int64_t samples) {
      return static_cast<double>(samples) * workers[i].seconds / static_cast<double>(workers[i].samples);
    };
    std::int64_t sum = 0;
    double latest = 0, last = 0;  // of those that could give a sample away; of all
    bool stay = true;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      CHECK(batches[i] >= 1);
      CHECK(batches[i] <= workers[i].most);
      stay = stay && batches[i] == workers[i].samples;
      if (workers[i].seconds == 0) CHECK(batches[i] == workers[i].samples);
      if (workers[i].seconds == 0) continue;
      sum += batches[i];
      last = std::max(last, seconds(i, batches[i]));
      if (batches[i] > 1) latest = std::max(latest, seconds(i, batches[i]));
    }
    CHECK(sum == all);
    if (stay && latest < last) continue;  // the last worker is held at one sample
    for (std::size_t i = 0; i < workers.size(); ++i)
      if (workers[i].seconds > 0 && batches[i] < workers[i].most) CHECK(seconds(i, batches[i] + 1) >= latest * (1 - 1e-8));
  }
}
