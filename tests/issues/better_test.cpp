// Winners that no test supports, workloads that compete, and words that mislead, in pages of sweeps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scenarios/report/sweep_report.hpp"
#include "scenarios/sweep/chance.hpp"
#include "tests/report/made_up_sweep.hpp"
#include "tests/support/text.hpp"
#include "tests/sweep/sweep_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<std::string> by_bandwidth = {"cluster.network.link.bandwidth", "training.scheme"};

/// Both take as long; asgd misses the target in its last repeat. `hopeless`: in all.
SweepOutcome missing(std::int64_t repeats, bool hopeless) {
  return made_up({{"1Gbps", "10Gbps"}, {"ssgd", "asgd"}}, repeats, [=](const auto& labels, std::int64_t repeat) {
    const bool missed = labels[1] == "asgd" && (hopeless || repeat + 1 == repeats);
    const double time = 10 + (labels[1] == "asgd" ? 0.5 : 0) + static_cast<double>(repeat);
    return Numbers{{"target_accuracy", 0.9}, {"final_test_accuracy", 0.9}, {"time_to_target_s", missed ? -1 : time}};
  });
}

}  // namespace

TEST_CASE("sweep: five of five does not win against four of five") {
  const std::string text = said(by_bandwidth, missing(5, false));
  CHECK_FALSE(has(text, "wins"));
  CHECK_FALSE(has(text, "no difference"));
  CHECK(has(text, "there are too few seeds to tell in 2 of 2 settings."));
}

TEST_CASE("sweep: entrants 8 % apart are not level where the interval passes 10 %") {
  // Logarithms of the ratios are log 1.08 and 0.07 on either side of it, twice: their error is 0.07 / root 5. Not significant, as
  // t(0.975; 4) of it is 0.0869 > log 1.08 = 0.077; but t(0.95; 4) of it, 0.0667, is more than log 1.1 - log 1.08 = 0.0183.
  const auto apart = [](double by, double spread) {
    return said(by_bandwidth, made_up({{"1Gbps", "10Gbps"}, {"ssgd", "asgd"}}, 5, [=](const auto& labels, std::int64_t repeat) {
                  const double wiggle = repeat == 4 ? 0 : repeat % 2 == 0 ? spread : -spread;
                  const double time = (labels[0] == "1Gbps" ? 20 : 10) * (1 + 0.1 * static_cast<double>(repeat)) *
                                      (labels[1] == "asgd" ? by * std::exp(wiggle) : 1);
                  return Numbers{{"target_accuracy", 0.9}, {"final_test_accuracy", 0.9}, {"time_to_target_s", time}};
                }));
  };
  CHECK(has(apart(1.08, 0.07), "there are too few seeds to tell in 2 of 2 settings."));
  CHECK_FALSE(has(apart(1.08, 0.07), "o difference"));
  // 1 % apart with the same spread: 0.0667 is less than log 1.1 - log 1.01 = 0.0854.
  CHECK(has(apart(1.01, 0.07), "there is no difference in 2 of 2 settings."));
  // 5 % apart, with an error of 0.005 / root 5: significant, and less than 10 %.
  const std::string narrow = apart(1.05, 0.005);
  CHECK(has(narrow, "ssgd wins in 2 of 2 settings. By less than 10 %: ssgd in 2."));
  CHECK(has(narrow, " bandwidth 10Gbps, scheme asgd differs by 5 %, less than 10 %."));
}

TEST_CASE("sweep: three of three does not win against none of three, four of four does") {
  // Two of C(6, 3) = 20 orders: p = 0.1. Two of C(8, 4) = 70: p = 0.029.
  const std::string three = said(by_bandwidth, missing(3, true)), four = said(by_bandwidth, missing(4, true));
  CHECK_FALSE(has(three, "wins"));
  CHECK(has(three, "there are too few seeds to tell in 2 of 2 settings."));
  CHECK(has(four, "ssgd wins in 2 of 2 settings."));
}

TEST_CASE("sweep: one seed shows no winner, unless every seed has the same timing") {
  const SweepOutcome once = made_up({{"1Gbps", "10Gbps"}, {"ssgd", "asgd"}}, 1, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 10}, {"simulated_seconds", labels[1] == "ssgd" ? 1.0 : 0.99}};
  });
  const std::string chance = said(by_bandwidth, once), certain = said(by_bandwidth, once, true);
  CHECK_FALSE(has(chance, "wins"));
  CHECK(has(chance, "asgd is fastest in 2 of 2 settings; of one run each, in which one seed cannot tell chance from a difference."));
  CHECK(has(chance, "Ahead of 4 settings, one run each: "));
  CHECK(has(certain, "asgd wins on speed in 2 of 2 settings."));
  CHECK(has(certain, "every seed has the same timing."));
}

TEST_CASE("sweep: timing alone ranks no learning, and a third of a per cent is no win") {
  const SweepOutcome close = made_up({{"1Gbps", "10Gbps"}, {"ssgd", "local_sgd"}}, 3, [](const auto& labels, std::int64_t repeat) {
    const double more = labels[1] == "local_sgd" ? 1.003 : 1;
    return Numbers{{"samples", 10 + static_cast<double>(repeat)}, {"samples_per_second", 100 * more}};
  });
  const std::string text = said(by_bandwidth, close);
  CHECK_FALSE(has(text, "wins"));
  CHECK(has(text, "there is no difference in 2 of 2 settings."));
  const std::string page = sweep_report_files({}, by_bandwidth, close)[0].second;
  CHECK(has(page, "This is timing only: whether it learns as much from a sample is not known."));
}

TEST_CASE("sweep: a workload is no competitor") {
  // A step of resnet50 is always shorter than one of bert_base; which scheme is quicker depends on the workload.
  const std::vector<std::string> columns = {"workload.cost.model", "cluster.network.link.bandwidth", "training.scheme"};
  const SweepOutcome outcome =
      made_up({{"resnet50_imagenet", "bert_base"}, {"1Gbps", "10Gbps"}, {"ssgd", "asgd"}}, 3, [](const auto& labels, std::int64_t repeat) {
        const bool bert = labels[0] == "bert_base";
        const double seconds = (bert ? 10 : 1) * (bert == (labels[2] == "ssgd") ? 1.0 : 1.5);
        const double slow = labels[1] == "1Gbps" ? 2 : 1;
        return Numbers{{"samples", 10}, {"simulated_seconds", seconds * slow * (1 + 0.1 * static_cast<double>(repeat))}};
      });
  const std::string text = said(columns, outcome);
  CHECK_FALSE(has(text, "resnet50_imagenet wins"));
  CHECK(has(text, "With model resnet50_imagenet: best of 4 settings: bandwidth 10Gbps, scheme asgd, with a simulated time of 1.1 s"));
  CHECK(has(text, "With model bert_base: best of 4 settings: bandwidth 10Gbps, scheme ssgd, with a simulated time of 11 s"));
  // With the workload alone nothing competes, and each is shown.
  const SweepOutcome alone = made_up({{"resnet50_imagenet", "bert_base"}}, 3, [](const auto& labels, std::int64_t) {
    return Numbers{{"samples", 10}, {"simulated_seconds", labels[0] == "bert_base" ? 10.0 : 1.0}};
  });
  CHECK_FALSE(has(said({columns[0]}, alone), "est of"));
  CHECK(has(said({columns[0]}, alone), "With model bert_base: the only setting: 10 s."));
  CHECK(has(sweep_report_files({}, {columns[0]}, alone)[0].second, ">bert_base</text>"));
}

TEST_CASE("sweep: precision is a way to train, and competes") {
  const SweepOutcome outcome = made_up({{"1Gbps", "10Gbps"}, {"fp32", "bf16"}}, 3, [](const auto& labels, std::int64_t repeat) {
    return Numbers{{"samples", 10}, {"simulated_seconds", (labels[1] == "fp32" ? 2 : 1) + 0.1 * static_cast<double>(repeat)}};
  });
  CHECK(has(said({"cluster.network.link.bandwidth", "workload.precision"}, outcome), "bf16 wins on speed in 2 of 2 settings."));
}

TEST_CASE("sweep: if no number of workers is faster than one, the page does not claim a speed-up") {
  const SweepOutcome outcome = made_up({{"ssgd", "asgd"}, {"1", "2", "4"}}, 2, [](const auto& labels, std::int64_t) {
    const double n = std::stod(labels[1]);
    return Numbers{{"workers", n}, {"samples", 100 * n}, {"samples_per_second", labels[0] == "ssgd" ? 100 / n : 100 * n}};
  });
  const std::string text = said({"training.scheme", "cluster.workers[0].count"}, outcome);
  CHECK(has(text, "ssgd: no number of workers is faster than 1 worker.\n"));
  CHECK(has(text, "is 4 with 4 workers (the largest count tried)."));
  CHECK_FALSE(has(text, "1 workers"));
  CHECK_FALSE(has(text, "more do not help"));
}

TEST_CASE("settings in which the seed changes the timing") {
  const Files files;
  const auto described = [&](const std::string& body) { return describe(sweep_of(files, body), {}).seedless(); };
  const std::string calm = "set: {\"devices.node.jitter\": none}\n", schemes = "axes: {training.scheme: [ssgd, asgd]}\n";
  CHECK(described(calm + schemes));
  CHECK_FALSE(described("set: {\"devices.node.jitter\": {kind: lognormal, sigma: 0.3}}\n" + schemes));
  CHECK_FALSE(described(calm + "axes: {training.scheme: [ssgd, {label: some, value: {kind: fedavg, fraction: 0.5}}]}\n"));
  CHECK_FALSE(described(calm + "axes: {training.scheme: [ssgd, asgd], devices.node.jitter: [none, exponential]}\n"));
}
