// Reduce-scatters, and all-gathers of their parts: times, bytes, weights; what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "sim/training/node.hpp"
#include "tests/simulated/books.hpp"
#include "tests/support/text.hpp"

namespace reduce_scatter_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Synchronous SGD in parts: each worker gets one of p parts of the mean, and all gather the parts. `size`: of consecutive groups, in which
/// the parts are; their means are all-reduced between groups. 0: all workers are one group.
class InParts final : public Scheme {
 public:
  explicit InParts(const Parameters& parameters) : size_(static_cast<Rank>(parameters.count("size"))), how_(parameters.text("how")) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      Gradient mean;
      if (size_ > 0) {
        const RankGroup group = every(node.self() / size_ * size_, 1, size_);
        Gradient part = co_await node.reduce_scatter(gradient, group);
        part = co_await node.all_reduce_mean(part, every(node.self() % size_, size_, node.workers() / size_));
        mean = node.algebra().joined(co_await node.all_gather(part, group));
      } else if (how_ == "in_flight") {
        auto part = node.begin(node.reduce_scatter(gradient));
        auto parts = node.begin(node.all_gather(co_await part));
        mean = node.algebra().joined(co_await parts);
      } else {
        const std::vector<Gradient> parts = co_await node.all_gather(co_await node.reduce_scatter(gradient));
        mean = how_ == "first_part" ? parts.front() : node.algebra().joined(parts);
      }
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
    }
  }

  static RankGroup every(Rank first, Rank step, Rank count) {
    std::vector<Rank> ranks;
    for (Rank k = 0; k < count; ++k) ranks.push_back(first + k * step);
    return std::make_shared<const std::vector<Rank>>(std::move(ranks));
  }

  Rank size_;
  std::string how_;
};

const Register<SchemeEntry> entry({
    .name = "in_parts",
    .summary = "for this test",
    .reference = "none",
    .exchange = Exchange::all_reduce,
    .parameters =
        {{.name = "size", .type = ValueType::count, .fallback = "0", .meaning = "workers of a group; 0: none", .range = Range::at_least(0)},
         {.name = "how",
          .type = ValueType::choice,
          .fallback = "awaited",
          .meaning = "",
          .choices = {"awaited", "in_flight", "first_part"}},
         on_failure({OnFailure::drop, OnFailure::abort}, "for this test")},
    .make = made<InParts>,
});

constexpr double batch_seconds = 0.1, bandwidth = 125e6, alpha = 100e-6;  // 100 samples of 1 ms; 1 Gbit/s; two links of 50 us
constexpr double model = 1'200'000;                                       // in equal parts for 2 to 6 workers
constexpr int updates = 4;

std::vector<std::string> on_links(const std::string& scheme, const std::string& collective) {
  return {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 1200000B}", "training.stop={updates: 4}",
          "training.scheme=" + scheme, "cluster.network.collective={" + collective + "}"};
}

const char* const fidelities[] = {"fluid", "stepwise"};

}  // namespace

TEST_CASE("parts of the mean, gathered again: the weights of ssgd, bit for bit") {
  // Workers sum in the order of the ring or of ranks, fused as one batch or not: whatever all_reduce_mean does.
  for (const std::string how : {"awaited", "in_flight"}) {
    for (const char* algorithm : {"ring", "auto"}) {
      for (const char* fuse : {"auto", "off"}) {
        for (const int p : {1, 2, 3, 4}) {
          CAPTURE(how);
          CAPTURE(algorithm);
          CAPTURE(fuse);
          CAPTURE(p);
          const std::vector<std::string> sets = {std::string("workload.fuse=") + fuse, "training.optimizer.momentum=0.9",
                                                 std::string("cluster.network.collective.algorithm=") + algorithm};
          std::vector<std::string> whole = sets, parts = sets;
          whole.emplace_back("training.scheme={kind: ssgd, via: all_reduce}");
          parts.push_back("training.scheme={kind: in_parts, how: " + how + "}");
          const Result one = run(cluster(p), whole), other = run(cluster(p), parts);
          CHECK(one.weights == other.weights);
          CHECK(one.record.samples == other.record.samples);
          CHECK(one.sink.order == other.sink.order);
        }
      }
    }
  }
}

TEST_CASE("the time and the bytes of both: by the named algorithm, or the fastest") {
  // Rounds of the reduce-scatter, and as many of the all-gather: a ring p - 1, halving and doubling lg p, Bruck's ⌈lg p⌉. Each moves
  // (p - 1) / p of n.
  struct Rounds {
    const char* algorithm;
    int p, rounds;
  };
  for (const std::string fidelity : fidelities) {
    for (const Rounds& each : {Rounds{"ring", 2, 1}, Rounds{"ring", 5, 4}, Rounds{"halving_doubling", 4, 2},
                               Rounds{"halving_doubling", 6, 3}, Rounds{"auto", 6, 3}, Rounds{"recursive_doubling", 5, 3}}) {
      for (const char* how : {"awaited", "in_flight"}) {
        CAPTURE(fidelity);
        CAPTURE(each.algorithm);
        CAPTURE(each.p);
        const Result result =
            run_timing(cluster(each.p), on_links(std::string("{kind: in_parts, how: ") + how + "}",
                                                 std::string("algorithm: ") + each.algorithm + ", fidelity: " + fidelity));
        const double p = each.p, one = each.rounds * alpha + (p - 1) / p * model / bandwidth;
        CHECK(std::abs(result.record.end.seconds() - updates * (batch_seconds + 2 * one)) < 1e-8);
        CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * 2 * (p - 1) * model));
        CHECK(result.record.samples == static_cast<std::uint64_t>(updates * each.p * 100));
        check_books(result, true);
      }
    }
  }
}

TEST_CASE("reduction arithmetic counts once: in the reduce-scatter, which has all of an all-reduce's") {
  const Result result = run_timing(cluster(4), on_links("in_parts", "algorithm: ring, reduce_rate: 100MB/s"));
  const double half = 3 * alpha + 0.75 * model / bandwidth;
  CHECK(std::abs(result.record.end.seconds() - updates * (batch_seconds + 2 * half + 0.75 * model / 100e6)) < 1e-8);
}

TEST_CASE("in groups: parts inside, means of parts between groups, and the parts gathered inside") {
  // g = 2 workers of m = 3 groups: g - 1 rounds of n / g, 2 (m - 1) rounds of n / (g m), g - 1 rounds of n / g. A group's ranks send
  // (g - 1) n, and again to gather; those of one place in all groups 2 (m - 1) n / g.
  for (const std::string fidelity : fidelities) {
    CAPTURE(fidelity);
    const Result result = run_timing(cluster(6), on_links("{kind: in_parts, size: 2}", "algorithm: ring, fidelity: " + fidelity));
    const double inside = alpha + model / 2 / bandwidth, between = 4 * (alpha + model / 6 / bandwidth);
    CHECK(std::abs(result.record.end.seconds() - updates * (batch_seconds + 2 * inside + between)) < 1e-8);
    CHECK(result.record.bytes_sent == static_cast<std::uint64_t>(updates * (3 * 2 * model + 2 * 2 * 2 * model / 2)));
    check_books(result, true);
  }
  // Sums differ in order alone. A weight is of order 1; a few roundings of 2^-24 in each of ten steps.
  const Result groups = run(cluster(4), {"training.scheme={kind: in_parts, size: 2}"});
  const Result flat = run(cluster(4), {"training.scheme={kind: ssgd, via: all_reduce}"});
  REQUIRE(groups.weights.size() == flat.weights.size());
  double most = 0;
  for (std::size_t i = 0; i < flat.weights.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(groups.weights[i] - flat.weights[i])));
  CHECK(most < 1e-5);
}

TEST_CASE("a part has the mean's numbers in its fragment, and 0 elsewhere") {
  const auto stepped = [](const std::string& scheme, const std::string& rate) {
    return run(cluster(3), {"training.scheme=" + scheme, "training.stop.updates=1", "training.optimizer.learning_rate=" + rate}).weights;
  };
  const std::string first_part = "{kind: in_parts, how: first_part}";
  const std::vector<float> whole = stepped("{kind: ssgd, via: all_reduce}", "0.1"), part = stepped(first_part, "0.1");
  const std::vector<float> further = stepped(first_part, "0.2");  // where nothing moves, these are the initial weights
  REQUIRE(part.size() == whole.size());
  const std::size_t end = whole.size() / 3;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < end; ++i) {
    CHECK(part[i] == whole[i]);
    moved += part[i] != further[i];
  }
  CHECK(moved > end / 2);
  for (std::size_t i = end; i < whole.size(); ++i) {
    CHECK(part[i] == further[i]);
    moved += part[i] != whole[i];
  }
  CHECK(moved > whole.size() / 2);
}

TEST_CASE("a step along a part of a gradient is refused if it needs norms or tensors, which the part cuts") {
  const std::string part = "training.scheme={kind: in_parts, how: first_part}", whole = "training.scheme=in_parts";
  const std::pair<std::string, std::string> needing[] = {
      {"lars", "training.optimizer={kind: lars, learning_rate: 0.1}"},
      {"muon", "training.optimizer={kind: muon, learning_rate: 0.1, adamw_learning_rate: 0.01}"},
      {"training.clip", "training.clip=1"}};
  for (const auto& [name, set] : needing) {
    CAPTURE(name);
    const std::string text = error_of<ScenarioErrors>([&, &set = set] { run_timing(cluster(3), {part, set}); });
    CHECK(text.find('\n') == std::string::npos);
    CHECK(has(text, "steps along part 1 of 3 of a gradient, and " + name + " needs the whole; join the parts before the step"));
    CHECK(run_timing(cluster(3), {whole, set}).record.outcome == Outcome::completed);
  }
  for (const char* kind : {"sgd", "adamw", "lion"})
    CHECK(run_timing(cluster(3), {part, std::string("training.optimizer.kind=") + kind}).record.outcome == Outcome::completed);
}

TEST_CASE("a reduce-scatter whose parts would be lost, or are none, is refused in one line") {
  const auto refused = [](const std::vector<std::string>& more) {
    std::vector<std::string> sets = {"training.scheme=in_parts"};
    sets.insert(sets.end(), more.begin(), more.end());
    const std::string text = error_of<ScenarioErrors>([&] { run_timing(cluster(3), sets); });
    CHECK(text.find('\n') == std::string::npos);
    return text;
  };
  CHECK(has(refused({"cluster.faults=[{kind: crash, worker: 1, at: 10s, restart_after: 1s}]"}), "or remove the faults"));
  CHECK(has(refused({"training.compression=top_k"}), "set training.compression: none"));
  CHECK(has(refused({"workload.precision=mixed"}), "call all_reduce_mean"));
  CHECK(has(refused({"cluster.network.collective={fidelity: stepwise, start: as_they_come}"}),
            "set cluster.network.collective.start: together"));
}

}  // namespace reduce_scatter_test
