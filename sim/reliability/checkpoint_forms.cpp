#include "sim/reliability/checkpoint_forms.hpp"

#include <algorithm>
#include <cmath>

namespace straggler::reliability {

namespace {

/// Mean time until `span` seconds have passed without a failure, but for the factor e^{λTr}: (e^{λ span} - 1) / λ.
double undisturbed(double span, double rate) { return rate > 0 ? std::expm1(rate * span) / rate : span; }

}  // namespace

double expected_time(double work, const JobFailures& failures) {
  return std::exp(failures.rate * failures.recovery) * undisturbed(work, failures.rate);
}

double expected_time(double work, double interval, double save, const JobFailures& failures) {
  // A quotient that is whole but for rounding has no last piece of its own.
  const double pieces = std::max(1.0, std::ceil(work / interval * (1 - 1e-12)));
  const double last = work - (pieces - 1) * interval;
  return std::exp(failures.rate * failures.recovery) *
         ((pieces - 1) * undisturbed(interval + save, failures.rate) + undisturbed(last, failures.rate));
}

/// u = λτ is the root of u = 1 - e^{-(u + λTs)}: Newton's method, from above, where the function is convex. The library's W₀ would lose
/// half of the digits of a small λTs, since its argument is next to -1/e.
double optimal_interval(double rate, double save) {
  const double cost = rate * save;
  double u = std::min(1.0, std::sqrt(2 * cost));
  for (int step = 0; step < 100; ++step) {
    const double decay = std::expm1(-(u + cost));
    const double next = u + (u + decay) / decay;
    if (!(next < u)) break;
    u = next;
  }
  return u / rate;
}

double young_interval(double rate, double save) { return std::sqrt(2 * save / rate); }

double daly_interval(double rate, double save) {
  const double half = rate * save / 2;
  if (half >= 1) return 1 / rate;
  return young_interval(rate, save) * (1 + std::sqrt(half) / 3 + half / 9) - save;
}

double long_run_goodput(double interval, double save, const JobFailures& failures) {
  return interval * std::exp(-failures.rate * failures.recovery) / undisturbed(interval + save, failures.rate);
}

double first_order_goodput(double interval, double save, const JobFailures& failures) {
  return 1 - save / interval - failures.rate * (failures.recovery + interval / 2);
}

double merged_rate(const std::vector<UnitFailures>& all) {
  double rate = 0;
  for (const UnitFailures& each : all) rate += static_cast<double>(each.units) / (each.up + each.down);
  return rate;
}

double availability(double up, double down) { return up / (up + down); }

}  // namespace straggler::reliability
