// Every kind of jitter with parameters to test it by, and what its distribution must be. A new kind needs a case here.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "sim/base/registry.hpp"
#include "sim/cluster/compute.hpp"

namespace straggler {

struct JitterCase {
  std::string kind;
  Parameters given;
  double mean = 1;
  double variance = 0;                // infinity: none
  double correlation_time = 1;        // n draws tell as much of a mean as n / correlation_time independent ones
  std::function<double(double)> cdf;  // P(X <= x)
  std::vector<double> at;             // where it is compared

  std::unique_ptr<Jitter> make() const {
    const JitterEntry& entry = Registry<JitterEntry>::instance().at(kind);
    return entry.make(complete(entry.parameters, given));
  }
  std::string text() const {
    std::string all = kind;
    for (const auto& [name, value] : given.all())
      if (const double* number = std::get_if<double>(&value)) all += " " + name + " " + std::to_string(*number);
    return all;
  }
};

inline double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Normal(1, sigma) given that it is above 0, divided by its mean, which is integrated numerically here: Simpson's rule up to 12 sigma.
inline JitterCase normal_case(double sigma) {
  const int steps = 20'000;
  const double top = 1 + 12 * sigma, h = top / steps;
  double mass = 0, first_moment = 0;
  for (int i = 0; i <= steps; ++i) {
    const double x = i * h, weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
    const double density = std::exp(-(x - 1) * (x - 1) / (2 * sigma * sigma));
    mass += weight * density;
    first_moment += weight * density * x;
  }
  const double mean = first_moment / mass, cut = normal_cdf(-1 / sigma);
  return {"normal",
          {{"sigma", sigma}},
          1,
          sigma * sigma / (mean * mean),  // truncation only lowers the variance
          1,
          [=](double x) { return x <= 0 ? 0 : (normal_cdf((x * mean - 1) / sigma) - cut) / (1 - cut); },
          {0.2, 0.8, 0.95, 1, 1.1, 2}};
}

inline JitterCase lognormal_case(double sigma) {
  return {"lognormal",
          {{"sigma", sigma}},
          1,
          std::exp(sigma * sigma) - 1,
          1,
          [=](double x) { return normal_cdf((std::log(x) + sigma * sigma / 2) / sigma); },
          {0.5, 0.8, 1, 1.2, 2, 4}};
}

/// P(X > x) = (x_m / x)^alpha; variance x_m² alpha / ((alpha - 1)² (alpha - 2)).
inline JitterCase pareto_case(double alpha) {
  const double scale = (alpha - 1) / alpha;
  const double variance =
      alpha > 2 ? scale * scale * alpha / ((alpha - 1) * (alpha - 1) * (alpha - 2)) : std::numeric_limits<double>::infinity();
  return {"pareto",
          {{"alpha", alpha}},
          1,
          variance,
          1,
          [=](double x) { return x <= scale ? 0 : 1 - std::pow(scale / x, alpha); },
          {scale / 2, scale, 0.7, 1, 2, 10}};
}

/// Autocorrelation at lag j is r^j with r = 1 - p_slow - p_recover, so a mean's variance is (1 + r) / (1 - r) times that of
/// independent draws.
inline JitterCase markov_case(double p_slow, double p_recover, double factor) {
  const double slow = p_slow / (p_slow + p_recover), r = 1 - p_slow - p_recover;
  return {"markov",
          {{"p_slow", p_slow}, {"p_recover", p_recover}, {"factor", factor}},
          1 + slow * (factor - 1),
          slow * (1 - slow) * (factor - 1) * (factor - 1),
          (1 + r) / (1 - r),
          [=](double x) { return x < 1        ? 0
                                 : x < factor ? 1 - slow
                                              : 1; },
          {0.9, 1, factor - 0.1, factor}};
}

/// The values of tests/tables/jitter_trace.csv, each as often as the others.
inline JitterCase trace_case(bool normalized) {
  const double mean = (1 + 1 + 0.9 + 1.1 + 4 + 1 + 0.8) / 7, scale = normalized ? mean : 1;
  double variance = 0;
  for (const double factor : {1.0, 1.0, 0.9, 1.1, 4.0, 1.0, 0.8}) variance += (factor - mean) * (factor - mean) / 7;
  return {"trace",
          {{"path", std::string(STRAGGLER_SOURCE_DIR "/tests/tables/jitter_trace.csv")}, {"normalize", normalized}},
          mean / scale,
          variance / (scale * scale),
          1,
          [=](double x) {
            int below = 0;
            for (const double factor : {1.0, 1.0, 0.9, 1.1, 4.0, 1.0, 0.8}) below += factor <= x * scale;
            return below / 7.0;
          },
          {0.5 / scale, 0.85 / scale, 1.05 / scale, 2 / scale, 5 / scale}};
}

inline std::vector<JitterCase> jitter_cases() {
  return {
      {"none", {}, 1, 0, 1, [](double x) { return x < 1 ? 0 : 1; }, {}},
      normal_case(0.1),
      normal_case(1),
      normal_case(5),
      lognormal_case(0.2),
      lognormal_case(0.8),
      {"exponential", {}, 1, 1, 1, [](double x) { return 1 - std::exp(-x); }, {0.01, 0.3, 1, 3}},
      {"shifted_exponential",
       {{"shift", 0.7}, {"mean", 0.6}},
       1.3,
       0.36,
       1,
       [](double x) { return x < 0.7 ? 0 : 1 - std::exp((0.7 - x) / 0.6); },
       {0.69, 0.8, 1.3, 2}},
      // Shape 4, rate 4: at least four arrivals of a Poisson process of mean 4x.
      {"gamma",
       {{"shape", 4.0}},
       1,
       0.25,
       1,
       [](double x) {
         const double m = 4 * x;
         return 1 - std::exp(-m) * (1 + m + m * m / 2 + m * m * m / 6);
       },
       {0.3, 0.7, 1, 1.5, 2}},
      // Shape 1/2, scale 2: chi-squared with one degree of freedom, the square of a standard normal.
      {"gamma", {{"shape", 0.5}}, 1, 2, 1, [](double x) { return std::erf(std::sqrt(x / 2)); }, {0.01, 0.5, 1, 4}},
      pareto_case(3),
      pareto_case(1.5),
      {"uniform", {{"low", 0.5}, {"high", 2.0}}, 1.25, 1.5 * 1.5 / 12, 1, [](double x) { return (x - 0.5) / 1.5; }, {0.5, 0.8, 1.25, 2}},
      markov_case(0.05, 0.2, 4),
      markov_case(0.9, 0.7, 3),
      trace_case(false),
      trace_case(true),
  };
}

}  // namespace straggler
