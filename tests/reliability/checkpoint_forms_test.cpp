// The closed forms against a Monte Carlo of a few lines, against quadrature, and against a search for the least mean.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "sim/reliability/checkpoint_forms.hpp"

using namespace straggler::reliability;

namespace {

double mean_gap(std::mt19937_64& draws, double rate) { return std::exponential_distribution<>(rate)(draws); }

/// One job, as it happens: failures are moments on one clock; whatever is not saved is done again.
double job_time(std::mt19937_64& draws, double work, double interval, double save, const JobFailures& failures) {
  double now = 0, kept = 0, failure = mean_gap(draws, failures.rate);
  while (kept < work) {
    const double piece = std::min(interval, work - kept);
    const bool last = kept + piece >= work;
    double end = now + piece + (last ? 0 : save);
    if (end <= failure) {
      now = end;
      kept += piece;
      continue;
    }
    do {  // recovers; a failure meanwhile begins the recovery anew
      end = failure + failures.recovery;
      now = end;
      failure += mean_gap(draws, failures.rate);
    } while (failure < end);
  }
  return now;
}

struct Sample {
  double mean = 0, error = 0;  // standard error of the mean
};

Sample sampled(int jobs, double work, double interval, double save, const JobFailures& failures) {
  std::mt19937_64 draws(56);
  double sum = 0, squares = 0;
  for (int i = 0; i < jobs; ++i) {
    const double time = job_time(draws, work, interval, save, failures);
    sum += time;
    squares += time * time;
  }
  const double mean = sum / jobs;
  return {mean, std::sqrt((squares / jobs - mean * mean) / jobs)};
}

/// Of one piece: E = ∫ P(no failure yet) over the piece, plus P(failure) times (recovery and the piece again); the recovery likewise.
double by_quadrature(double span, const JobFailures& failures) {
  const double rate = failures.rate;
  const auto attempts = [&](double length) {
    const auto survives = [&](double t) { return std::exp(-rate * t); };
    return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(survives, 0, length);
  };
  const double recovers = attempts(failures.recovery) / std::exp(-rate * failures.recovery);
  const double lives = std::exp(-rate * span);
  return (attempts(span) + (1 - lives) * recovers) / lives;
}

}  // namespace

TEST_CASE("the mean time without checkpoints") {
  for (const double rate : {0.0003, 0.002, 0.01})
    for (const double recovery : {0.0, 20.0, 150.0}) {
      const JobFailures failures{rate, recovery};
      CHECK(expected_time(300, failures) == doctest::Approx(by_quadrature(300, failures)).epsilon(1e-12));
    }
  const JobFailures failures{0.005, 60};
  const Sample jobs = sampled(40000, 300, 300, 0, failures);
  CHECK(std::abs(jobs.mean - expected_time(300, failures)) < 4 * jobs.error);
  CHECK(jobs.error < 0.01 * jobs.mean);
  CHECK(expected_time(300, JobFailures{0, 60}) == 300);
  CHECK(expected_time(1e6, JobFailures{1, 0}) == std::numeric_limits<double>::infinity());
}

TEST_CASE("the mean time with checkpoints, whether they divide the work or not") {
  const JobFailures failures{0.004, 30};
  for (const double interval : {50.0, 70.0, 300.0, 1000.0}) {  // 6 pieces; 4 and a rest of 20; one; one that is cut
    const Sample jobs = sampled(40000, 300, interval, 8, failures);
    CHECK(std::abs(jobs.mean - expected_time(300, interval, 8, failures)) < 4 * jobs.error);
    CHECK(jobs.error < 0.01 * jobs.mean);
  }
  double pieces = 0;
  for (int k = 0; k < 5; ++k) pieces += by_quadrature(50 + 8, failures);
  CHECK(expected_time(300, 50, 8, failures) == doctest::Approx(pieces + by_quadrature(50, failures)).epsilon(1e-12));
  CHECK(expected_time(300, 300, 8, failures) == expected_time(300, failures));
  CHECK(expected_time(300, 60, 8, JobFailures()) == 300 + 4 * 8);
  // 0.3 / 0.1 is above 3 by rounding: three pieces, not four.
  CHECK(expected_time(0.3, 0.1, 1, JobFailures()) == doctest::Approx(0.3 + 2).epsilon(1e-12));
}

TEST_CASE("the interval of the least mean time") {
  for (const double cost : {1e-3, 0.02, 0.5, 3.0}) {  // λTs
    const double rate = 1e-4, save = cost / rate;
    const auto mean_per_work = [&](double interval) { return 1 / long_run_goodput(interval, save, JobFailures{rate, 0}); };
    const double least = boost::math::tools::brent_find_minima(mean_per_work, 0.01 / rate, 1.5 / rate, 50).first;
    CHECK(optimal_interval(rate, save) == doctest::Approx(least).epsilon(1e-6));
    const double by_lambert = (1 + boost::math::lambert_w0(-std::exp(-1 - cost))) / rate;
    CHECK(optimal_interval(rate, save) == doctest::Approx(by_lambert).epsilon(1e-12));
  }
  // Where λTs is small the interval goes to Young's from below, by 2/3 Ts: series of W₀ about its branch point.
  for (const double save : {1e-3, 1e-6, 1e-9})
    CHECK(optimal_interval(1, save) == doctest::Approx(std::sqrt(2 * save) - 2 * save / 3).epsilon(save));
  CHECK(optimal_interval(1e-4, 0) == 0);
}

TEST_CASE("Young's and Daly's intervals") {
  CHECK(young_interval(1.0 / 3600, 20) == doctest::Approx(std::sqrt(2.0 * 20 * 3600)).epsilon(1e-15));
  // Daly's agrees with the optimum to the third order: the next term of the series is of order (λTs)².
  for (const double save : {1e-2, 1e-3, 1e-4}) CHECK(std::abs(daly_interval(1, save) - optimal_interval(1, save)) < save * save);
  CHECK(std::abs(young_interval(1, 1e-2) - optimal_interval(1, 1e-2)) > 1e-3);
  CHECK(daly_interval(0.5, 4) == 2);  // λTs = 2
  CHECK(daly_interval(0.5, 100) == 2);
  // Young's loses nearly nothing, though it is 5 % off: the minimum is flat.
  const double rate = 1.0 / 3600, save = 20, young = young_interval(rate, save), best = optimal_interval(rate, save);
  CHECK(young / best > 1.03);
  const JobFailures failures{rate, 180};
  CHECK(long_run_goodput(young, save, failures) > 0.999 * long_run_goodput(best, save, failures));
}

TEST_CASE("goodput, exact and in the first order") {
  const JobFailures failures{1.0 / 3000, 40};
  const double work = 400000, interval = 200, save = 5;
  const Sample jobs = sampled(60, work, interval, save, failures);
  CHECK(std::abs(work / jobs.mean - long_run_goodput(interval, save, failures)) < 4 * jobs.error * work / (jobs.mean * jobs.mean));
  CHECK(jobs.error < 0.002 * jobs.mean);
  // The error of the first order is of second order: a quarter when all is halved.
  const auto error = [&](double by) {
    const JobFailures fewer{failures.rate * by * by, failures.recovery / by};  // λτ, Ts/τ and λTr halve with `by`
    return first_order_goodput(interval / by, save, fewer) - long_run_goodput(interval / by, save, fewer);
  };
  CHECK(first_order_goodput(interval, save, failures) == 1 - 5.0 / 200 - (40 + 100) / 3000.0);
  CHECK(std::abs(error(1)) < 0.005);
  CHECK(error(0.5) / error(1) == doctest::Approx(0.25).epsilon(0.1));
  CHECK(first_order_goodput(100, 0, JobFailures{0.1, 0}) < 0);
}

TEST_CASE("failures of many units are one process") {
  CHECK(merged_rate({{1000, 4e6, 0}}) == doctest::Approx(1000 / 4e6).epsilon(1e-15));
  CHECK(merged_rate({{16, 100, 0}, {4, 50, 50}, {1, 10, 0}}) == doctest::Approx(0.16 + 0.04 + 0.1).epsilon(1e-15));
  CHECK(merged_rate({}) == 0);
  // 419 failures in 54 days (Llama 3, 2024): one per 3.09 h.
  CHECK(1 / merged_rate({{419, 54 * 86400.0, 0}}) / 3600 == doctest::Approx(3.09).epsilon(0.002));
  CHECK(availability(3600 + 30, 600) == doctest::Approx(3630.0 / 4230).epsilon(1e-15));
  // The least of n exponential times of mean m has mean m/n; units that are repaired fail 1 / (up + down) times a second.
  std::mt19937_64 draws(7);
  const int units = 20, failures = 100000;
  std::vector<double> next(units);
  for (double& each : next) each = mean_gap(draws, 1 / 50.0);
  double now = 0;
  for (int k = 0; k < failures; ++k) {
    double& first = *std::min_element(next.begin(), next.end());
    now = first;
    first += 10 + mean_gap(draws, 1 / 50.0);
  }
  CHECK(failures / now == doctest::Approx(merged_rate({{units, 50, 10}})).epsilon(0.01));
}
