// How long something lasts: each law's distribution against its formula, and its mean.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sim/base/random.hpp"
#include "sim/cluster/duration_law.hpp"

using namespace straggler;

namespace duration_law_test {
namespace {

std::unique_ptr<DurationLaw> law(const std::string& name, Parameters given) {
  const DurationLawEntry& entry = Registry<DurationLawEntry>::instance().at(name);
  return entry.make(complete(entry.parameters, std::move(given)));
}

/// ∫ F^-1, by the midpoints of so many equal shares.
double mean_of_quantiles(const DurationLaw& law) {
  constexpr int shares = 1'000'000;
  double sum = 0;
  for (int i = 0; i < shares; ++i) sum += law.quantile((i + 0.5) / shares);
  return sum / shares;
}

}  // namespace

TEST_CASE("the mean of a law is the stated one") {
  // The midpoints cut the tail beyond 1 - 0.5e-6, which holds about that share times its own length.
  for (const double shape : {0.5, 0.7, 1.0, 2.0, 10.0}) {
    CAPTURE(shape);
    const auto weibull = law("weibull", {{"mean", 40.0}, {"shape", shape}});
    CHECK(weibull->mean() == 40);
    CHECK(mean_of_quantiles(*weibull) == doctest::Approx(40).epsilon(shape < 1 ? 2e-3 : 1e-4));
  }
  CHECK(mean_of_quantiles(*law("exponential", {{"mean", 3.0}})) == doctest::Approx(3).epsilon(1e-4));
  CHECK(mean_of_quantiles(*law("constant", {{"mean", 3.0}})) == doctest::Approx(3).epsilon(1e-12));
}

TEST_CASE("quantiles are those of the distributions") {
  const double share = 0.8, s = 5 / std::tgamma(1 + 1 / 2.0);
  CHECK(1 - std::exp(-law("exponential", {{"mean", 5.0}})->quantile(share) / 5) == doctest::Approx(share));
  CHECK(1 - std::exp(-std::pow(law("weibull", {{"mean", 5.0}, {"shape", 2.0}})->quantile(share) / s, 2)) == doctest::Approx(share));
  CHECK(law("weibull", {{"mean", 5.0}, {"shape", 1.0}})->quantile(share) ==
        doctest::Approx(law("exponential", {{"mean", 5.0}})->quantile(share)));
  CHECK(law("constant", {{"mean", 5.0}})->quantile(share) == 5);
  CHECK(law("never", {})->quantile(share) == std::numeric_limits<double>::infinity());
}

TEST_CASE("every law: longer with a larger share, never negative, and in proportion to its mean") {
  for (const DurationLawEntry& entry : Registry<DurationLawEntry>::instance().entries()) {
    CAPTURE(entry.name);
    if (entry.parameters.empty()) continue;
    Parameters given{{"mean", 7.0}}, twice{{"mean", 14.0}};
    for (const Parameter& parameter : entry.parameters)
      if (parameter.name == "shape") {
        given.set("shape", 1.5);
        twice.set("shape", 1.5);
      }
    const auto one = law(entry.name, given), two = law(entry.name, twice);
    double before = 0;
    for (int i = 0; i < 1000; ++i) {
      const double seconds = one->quantile(i / 1000.0);
      CHECK(seconds >= before);
      CHECK(two->quantile(i / 1000.0) == doctest::Approx(2 * seconds));
      before = seconds;
    }
  }
}

}  // namespace duration_law_test
