// Stochastic gradient push on the fake cluster: its estimates in numbers, held beside push-sum written by hand, and what becomes of the
// push-sum weights where workers go and come back.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

/// Values in double precision of what a lineage names: of one parameter on f(z) = a (z - c)² / 2, with a and c for each gradient.
class PushedValues {
 public:
  explicit PushedValues(double start) : start_(start) {}
  void is_of(const Gradient& gradient, double curvature, double optimum) { bowls_[text(gradient->value().key())] = {curvature, optimum}; }
  double of(const Weights& weights) { return of(*weights->value.node()); }

 private:
  static std::string text(const Key& key) { return std::to_string(key.high) + "/" + std::to_string(key.low); }
  double of(const LineageNode& node) {
    const std::string name = text(node.key);
    if (const auto known = values_.find(name); known != values_.end()) return known->second;
    double value = start_;
    if (node.formula.kind == Formula::Kind::gradient) {
      const auto& [curvature, optimum] = bowls_.at(name);
      value = curvature * (of(*node.inputs[0]) - optimum);
    } else if (node.formula.kind == Formula::Kind::elementwise) {
      if (node.formula.rule->name != rules::weighted_mean.name) throw std::logic_error("another rule than a weighted sum");
      value = 0;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) value += node.formula.scalars[i] * of(*node.inputs[i]);
    }
    values_[name] = value;
    return value;
  }
  double start_;
  std::map<std::string, std::pair<double, double>> bowls_;
  std::map<std::string, double> values_;
};

}  // namespace

TEST_CASE("SGP: ten steps are those of push-sum written by hand, bit for bit") {
  // The fake cluster's learning rate is 1: the curvatures are small.
  for (const Rank workers : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(workers);
    const auto count = static_cast<std::size_t>(workers);
    std::vector<double> curvatures, optima;
    for (std::size_t i = 0; i < count; ++i) {
      curvatures.push_back(0.125 * static_cast<double>(1 + i % 3));
      optima.push_back(static_cast<double>(i * i) - 3);
    }
    const auto scheme = scheme_of("sgp", {});
    PushedValues values(8);
    FakeCluster cluster(*scheme, workers, false, 1, {.math = Math::lazy});
    std::vector<double> x(count, 8), w(count, 1), z(count, 8);
    std::size_t distance = 1;
    for (std::size_t step = 0; step < 10; ++step) {
      for (std::size_t i = 0; i < count; ++i) x[i] -= curvatures[i] * (z[i] - optima[i]);
      const std::vector<double> sent_x = x, sent_w = w;
      for (std::size_t i = 0; i < count && count > 1; ++i) {
        const std::size_t from = (i + count - distance) % count;
        x[i] = sent_x[i] / 2 + sent_x[from] / 2;
        w[i] = sent_w[i] / 2 + sent_w[from] / 2;
      }
      distance = distance * 2 < count ? distance * 2 : 1;
      for (std::size_t i = 0; i < count; ++i) values.is_of(cluster.computation(static_cast<Rank>(i)).gradient(), curvatures[i], optima[i]);
      for (Rank rank = workers; rank-- > 0;) cluster.finish(rank);
      for (std::size_t i = 0; i < count; ++i) {
        z[i] = x[i] / w[i];
        const std::vector<Weights>& published = cluster.published(static_cast<Rank>(i));
        REQUIRE(published.size() == step + 1);
        CHECK(values.of(published.back()) == z[i]);
      }
    }
  }
}

TEST_CASE("SGP: without gradients all have the mean after log2 p steps if p is a power of two, and not before") {
  for (const Rank workers : {2, 4, 8, 16}) {
    CAPTURE(workers);
    const auto scheme = scheme_of("sgp", {});
    PushedValues values(0);
    FakeCluster cluster(*scheme, workers, false, 1, {.math = Math::lazy});
    double mean = 0;
    for (Rank rank = 0; rank < workers; ++rank) mean += static_cast<double>(rank * rank) / workers;
    std::size_t steps = 0;
    for (Rank reach = 1; reach < workers; reach *= 2, ++steps) {
      // The first gradient moves worker i to i², before anything is mixed; all others are 0.
      for (Rank rank = 0; rank < workers; ++rank)
        values.is_of(cluster.computation(rank).gradient(), steps == 0 ? 1 : 0, static_cast<double>(rank * rank));
      bool agree = true;
      for (Rank rank = 0; rank < workers && steps > 0; ++rank) agree = agree && values.of(cluster.published(rank).back()) == mean;
      CHECK((steps == 0 || !agree));
      for (Rank rank = 0; rank < workers; ++rank) cluster.finish(rank);
    }
    for (Rank rank = 0; rank < workers; ++rank) {
      REQUIRE(cluster.published(rank).size() == steps);
      CHECK(values.of(cluster.published(rank).back()) == mean);
    }
  }
}

TEST_CASE("SGP: weights add up to p through crashes and returns of any worker, and estimates stay averages of the first ones") {
  // When all frames and messages are gone, all weight is in the pool: more than p had been made, less had been lost. An estimate is a
  // weighted mean of the workers' first values only if each sum has been divided by the weight that belongs to it.
  std::size_t crashes = 0, comebacks = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    std::mt19937 draw(seed);
    const Rank workers = 1 + static_cast<Rank>(draw() % 9);
    const auto scheme = scheme_of("sgp", {});
    PushedValues values(0);
    PushWeight::Pool pool;
    const unsigned events = 20 + static_cast<unsigned>(draw() % 200), calm = draw() % 2 == 0 ? 60 : 0;
    {
      FakeCluster cluster(*scheme, workers, false, 1, {.math = Math::lazy, .members_change = true});
      pool = cluster.node(0).push_weights();
      CHECK(*pool == 0);
      const auto finish = [&](Rank rank) {
        values.is_of(cluster.computation(rank).gradient(), cluster.published(rank).empty() ? 1 : 0, rank % 2 == 0 ? 1 : 2);
        cluster.finish(rank);
      };
      for (Rank rank = 0; rank < workers; ++rank) finish(rank);  // each moves to 1 or 2, and stays where it is from then on
      for (unsigned event = 0; event < events; ++event) {
        const Rank rank = static_cast<Rank>(draw() % static_cast<unsigned>(workers));
        Rank others = 0;
        for (Rank other = 0; other < workers; ++other) others += other != rank && cluster.is_in(other);
        if (!cluster.is_in(rank)) {
          if (draw() % 4 != 0) continue;
          for (Rank from = 0; from < workers; ++from)
            if (cluster.is_in(from) && !cluster.published(from).empty()) {
              cluster.restart(rank, cluster.published(from).back());
              ++comebacks;
              break;
            }
        } else if (draw() % 20 == 0 && others > 0) {
          cluster.crash(rank);
          ++crashes;
        } else if (cluster.computes(rank)) {
          finish(rank);
        }
      }
      // Some runs end in the middle, others after many rounds without a fault: then all who are in agree.
      for (unsigned round = 0; round < calm; ++round)
        for (Rank rank = 0; rank < workers; ++rank)
          if (cluster.is_in(rank) && cluster.computes(rank)) finish(rank);
      double lowest = 2, highest = 0;
      for (Rank rank = 0; rank < workers; ++rank) {
        for (const Weights& each : cluster.published(rank)) {
          const double estimate = values.of(each);
          CHECK(estimate >= 0);
          CHECK(estimate <= 2 + 1e-9);
        }
        if (!cluster.is_in(rank) || cluster.published(rank).empty()) continue;
        lowest = std::min(lowest, values.of(cluster.published(rank).back()));
        highest = std::max(highest, values.of(cluster.published(rank).back()));
      }
      if (calm > 0) CHECK(highest - lowest < 1e-3);
    }
    // Each event makes fewer than 10 sums of weights, none above p: each is off by at most p 2^-53.
    CHECK(std::abs(*pool - workers) <= 10 * (events + calm * static_cast<unsigned>(workers)) * workers * std::ldexp(1.0, -53));
  }
  CHECK(crashes > 200);
  CHECK(comebacks > 100);
}
