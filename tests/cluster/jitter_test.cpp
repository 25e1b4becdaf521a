#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/cluster/jitter_cases.hpp"

namespace straggler {
namespace {

constexpr int draws = 200'000;
const std::uint64_t stream = RandomStream::stream_key(7, "worker/3/compute");

std::vector<JitterCase> drawing_cases() {
  std::vector<JitterCase> all = jitter_cases();
  std::erase_if(all, [](const JitterCase& each) { return each.kind == "none"; });
  return all;
}

std::vector<double> first_factors(Jitter& jitter, std::size_t count) {
  std::vector<double> all;
  for (std::uint64_t k = 0; k < count; ++k) all.push_back(jitter.factor(stream, k));
  return all;
}

TEST_CASE("every kind of jitter has a case, a summary and good defaults") {
  for (const JitterEntry& entry : Registry<JitterEntry>::instance().entries()) {
    CAPTURE(entry.name);
    const auto cases = jitter_cases();
    CHECK(std::count_if(cases.begin(), cases.end(), [&](const JitterCase& each) { return each.kind == entry.name; }) > 0);
    CHECK(!entry.summary.empty());
    bool all_optional = true;
    for (const Parameter& parameter : entry.parameters) {
      CAPTURE(parameter.name);
      CHECK(!parameter.meaning.empty());
      CHECK(parameter.required != parameter.fallback.has_value());
      all_optional = all_optional && !parameter.required;
      if (parameter.fallback) CHECK_NOTHROW(parse_value(parameter, *parameter.fallback));
    }
    if (all_optional) CHECK_NOTHROW(entry.make(complete(entry.parameters, {})));
  }
  CHECK(Registry<JitterEntry>::instance().names() ==
        "exponential, gamma, lognormal, markov, none, normal, pareto, shifted_exponential, trace, uniform");
}

TEST_CASE("no jitter needs no object") { CHECK(jitter_cases().front().make() == nullptr); }

TEST_CASE("a factor follows from stream and quantum alone, in any order of queries") {
  for (const JitterCase& each : drawing_cases()) {
    CAPTURE(each.text());
    const auto forward = each.make(), jumping = each.make();
    const std::vector<double> expected = first_factors(*forward, 1000);
    CHECK(std::adjacent_find(expected.begin(), expected.end(), std::not_equal_to<>()) != expected.end());
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t k = i * 617 % 1000;  // 617 is coprime to 1000: every k once
      CHECK(jumping->factor(stream, k) == expected[k]);
    }
    for (const std::uint64_t k : {999, 998, 999, 990, 940, 936, 935, 0, 1, 63, 64, 65, 1})  // steps back, within a memory of 64 and past it
      CHECK(forward->factor(stream, k) == expected[k]);
    const std::uint64_t far = 1ull << 40;
    CHECK(each.make()->factor(stream, far) == forward->factor(stream, far));
    const std::vector<double> other = [&] {
      std::vector<double> all;
      for (std::uint64_t k = 0; k < 1000; ++k) all.push_back(forward->factor(stream + 1, k));
      return all;
    }();
    CHECK(other != expected);
    CHECK(first_factors(*forward, 1000) == expected);
  }
}

TEST_CASE("factors are positive, have the stated mean and follow the stated distribution") {
  for (const JitterCase& each : drawing_cases()) {
    CAPTURE(each.text());
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(each.kind);
    CHECK(entry.mean_of(complete(entry.parameters, each.given)) == doctest::Approx(each.mean).epsilon(1e-12));
    const auto jitter = each.make();
    const std::vector<double> all = first_factors(*jitter, draws);
    double sum = 0;
    std::size_t bad = 0;
    for (const double x : all) sum += x, bad += !(x > 0 && std::isfinite(x));
    CHECK(bad == 0);
    if (std::isfinite(each.variance)) {
      const double standard_error = std::sqrt(each.variance * each.correlation_time / draws);
      CHECK(std::abs(sum / draws - each.mean) < 5 * standard_error);
    }
    for (const double x : each.at) {
      CAPTURE(x);
      const double p = each.cdf(x), standard_error = std::sqrt(p * (1 - p) * each.correlation_time / draws);
      const double share = static_cast<double>(std::count_if(all.begin(), all.end(), [&](double y) { return y <= x; })) / draws;
      CHECK(std::abs(share - p) <= 5 * standard_error + 1e-12);
    }
  }
}

/// The chain as its definition says it, from quantum 0 on, with the kind's own draws.
std::vector<double> chain(double p_slow, double p_recover, double factor, std::size_t count) {
  std::vector<double> all;
  bool slow = false;
  for (std::uint64_t k = 0; k < count; ++k) {
    const double u = RandomStream(stream, k).uniform();
    slow = u < (k == 0 ? p_slow / (p_slow + p_recover) : slow ? 1 - p_recover : p_slow);
    all.push_back(slow ? factor : 1);
  }
  return all;
}

TEST_CASE("markov: any quantum has the state of the chain run from quantum 0") {
  for (const auto& chances :
       std::vector<std::pair<double, double>>{{0.05, 0.2}, {0.5, 0.5}, {0.9, 0.7}, {0.001, 0.002}, {1, 1}, {1, 0.01}}) {
    const double p_slow = chances.first, p_recover = chances.second;
    CAPTURE(p_slow);
    CAPTURE(p_recover);
    const JitterCase each = markov_case(p_slow, p_recover, 3);
    const std::vector<double> expected = chain(p_slow, p_recover, 3, 2000);
    CHECK(first_factors(*each.make(), 2000) == expected);
    for (const std::uint64_t k : {0, 1, 77, 500, 1999}) CHECK(each.make()->factor(stream, k) == expected[k]);
    // Steps back by about its memory of 64 quanta: within it, and past it.
    for (std::uint64_t end = 100; end < 2000; end += 100) {
      for (const std::uint64_t back : {1, 63, 64, 65, 66, 90}) {
        const auto jitter = each.make();
        first_factors(*jitter, end);
        CHECK(jitter->factor(stream, end - 1 - back) == expected[end - 1 - back]);
      }
    }
  }
}

TEST_CASE("markov: spells are geometric with means 1/p_recover and 1/p_slow") {
  const double p_slow = 0.05, p_recover = 0.2;
  const auto jitter = markov_case(p_slow, p_recover, 4).make();
  const std::vector<double> all = first_factors(*jitter, draws);
  std::vector<double> spells[2];  // fast, slow
  std::size_t begin = 0;
  for (std::size_t k = 1; k < all.size(); ++k)
    if (all[k] != all[k - 1]) spells[all[k - 1] == 4].push_back(static_cast<double>(k - begin)), begin = k;
  for (const bool slow : {false, true}) {
    CAPTURE(slow);
    const double p = slow ? p_recover : p_slow;
    const std::vector<double>& lengths = spells[slow];
    const double n = static_cast<double>(lengths.size());
    // One slow spell in 1/p_slow + 1/p_recover = 25 quanta.
    REQUIRE(n > 7000);
    double sum = 0, ones = 0, longer_than_ten = 0;
    for (const double length : lengths) sum += length, ones += length == 1, longer_than_ten += length > 10;
    CHECK(std::abs(sum / n - 1 / p) < 5 * std::sqrt((1 - p) / (p * p) / n));
    CHECK(std::abs(ones / n - p) < 5 * std::sqrt(p * (1 - p) / n));
    const double tail = std::pow(1 - p, 10);
    CHECK(std::abs(longer_than_ten / n - tail) < 5 * std::sqrt(tail * (1 - tail) / n));
  }
}

TEST_CASE("extreme parameters still give positive, finite factors") {
  for (const JitterCase& each :
       {normal_case(10), lognormal_case(5), pareto_case(1.0001), pareto_case(1e6), markov_case(1e-6, 1, 1e6),
        JitterCase{"gamma", {{"shape", 0.01}}, 1, 100, 1, {}, {}}, JitterCase{"gamma", {{"shape", 1e6}}, 1, 1e-6, 1, {}, {}},
        JitterCase{"shifted_exponential", {{"shift", 0.0}, {"mean", 1.0}}, 1, 1, 1, {}, {}}}) {
    CAPTURE(each.text());
    const auto jitter = each.make();
    std::size_t bad = 0;
    for (const double x : first_factors(*jitter, 20'000)) bad += !(x > 0 && std::isfinite(x));
    CHECK(bad == 0);
  }
}

TEST_CASE("parameters that cannot be are refused with a remedy") {
  const auto refused = [](const char* kind, Parameters given) {
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(kind);
    try {
      entry.make(complete(entry.parameters, given));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refused("uniform", {{"low", 2.0}, {"high", 1.0}}).find("at least low") != std::string::npos);
  CHECK(refused("shifted_exponential", {{"shift", 0.0}, {"mean", 0.0}}).find("give one above 0") != std::string::npos);
  for (const auto& each : std::vector<std::pair<const char*, Parameters>>{{"uniform", {{"low", 0.0}, {"high", 1.0}}},
                                                                          {"uniform", {{"low", 1.0}}},
                                                                          {"pareto", {{"alpha", 1.0}}},
                                                                          {"gamma", {{"shape", 0.0}}},
                                                                          {"normal", {{"sigma", -0.1}}},
                                                                          {"lognormal", {{"sigma", -0.1}}},
                                                                          {"markov", {{"p_slow", 0.0}}},
                                                                          {"markov", {{"p_recover", 1.5}}},
                                                                          {"markov", {{"factor", 0.0}}}}) {
    CAPTURE(each.first);
    CHECK(refused(each.first, each.second) != "accepted");
  }
}

TEST_CASE("sigma 0 is no noise") {
  for (const char* kind : {"normal", "lognormal"}) {
    const JitterCase each{kind, {{"sigma", 0.0}}, 1, 0, 1, {}, {}};
    const auto jitter = each.make();
    for (std::uint64_t k = 0; k < 100; ++k) CHECK(jitter->factor(stream, k) == 1);
  }
}

}  // namespace
}  // namespace straggler
