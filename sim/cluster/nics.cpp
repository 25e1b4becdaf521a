#include "sim/cluster/nics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace straggler {
namespace {

void check(const Nic& card, const std::string& name) {
  for (const double rate : {card.up_bytes_per_second, card.down_bytes_per_second})
    if (!(rate > 0 && std::isfinite(rate)))
      throw std::invalid_argument(name + ": link.bandwidth is " + std::to_string(rate) + " B/s; it must be above 0");
  // Half the limit, so that a route's sum fits.
  if (card.latency < Time() || card.latency.ticks() > Time::limit().ticks() / 2)
    throw std::invalid_argument(name + ": link.latency is " + std::to_string(card.latency.seconds()) +
                                " s; it must be at least 0, at most 50 days");
}

}  // namespace

double smallest_sum(const RateCounts& rates, std::size_t count) {
  double sum = 0;
  for (const auto& [rate, many] : rates) {
    const std::size_t taken = std::min(many, count);
    sum += rate * static_cast<double>(taken);
    count -= taken;
  }
  return sum;
}

Nics::Nics(const std::vector<Nic>& nics, std::function<std::string(std::size_t)> name) : name_(std::move(name)) {
  if (nics.empty()) throw std::invalid_argument("there are no end points; a topology needs at least 1");
  for (std::size_t e = 0; e < nics.size(); ++e) {
    const std::size_t before = cards_.runs().size();
    cards_.push_back(nics[e]);
    if (cards_.runs().size() != before) check(nics[e], name_(e));
  }
}

LinkDescription Nics::link(LinkId id, const std::string& home) const {
  std::string end = name_(id / 2);
  const Time latency = cards_[id / 2].latency;
  if (id % 2 == 0) return {end + ":up", end, home, bytes_per_second(id), latency};
  return {end + ":down", home, end, bytes_per_second(id), latency};
}

Nics::Rates Nics::sum(std::size_t first, std::size_t last) const {
  Rates sum;
  for (std::size_t at = first; at < last;) {
    const std::size_t run = cards_.run_of(at), end = std::min(last, cards_.end_of(run));
    const double many = static_cast<double>(end - at);
    sum.up += many * cards_.runs()[run].value.up_bytes_per_second;
    sum.down += many * cards_.runs()[run].value.down_bytes_per_second;
    at = end;
  }
  return sum;
}

Nics::Rates Nics::least() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Rates least{infinity, infinity};
  for (const auto& run : cards_.runs()) {
    least.up = std::min(least.up, run.value.up_bytes_per_second);
    least.down = std::min(least.down, run.value.down_bytes_per_second);
  }
  return least;
}

Nics::Rates Nics::most() const {
  Rates most;
  for (const auto& run : cards_.runs()) {
    most.up = std::max(most.up, run.value.up_bytes_per_second);
    most.down = std::max(most.down, run.value.down_bytes_per_second);
  }
  return most;
}

RateCounts Nics::ups() const {
  RateCounts rates;
  for (std::size_t r = 0; r < cards_.runs().size(); ++r)
    rates[cards_.runs()[r].value.up_bytes_per_second] += cards_.end_of(r) - cards_.runs()[r].first;
  return rates;
}

RateCounts Nics::downs() const {
  RateCounts rates;
  for (std::size_t r = 0; r < cards_.runs().size(); ++r)
    rates[cards_.runs()[r].value.down_bytes_per_second] += cards_.end_of(r) - cards_.runs()[r].first;
  return rates;
}

Time Nics::slowest() const {
  Time slowest;
  for (const auto& run : cards_.runs()) slowest = std::max(slowest, run.value.latency);
  return slowest;
}

double Nics::halves() const { return std::min(smallest_sum(ups(), size() / 2), smallest_sum(downs(), size() / 2)); }

}  // namespace straggler
