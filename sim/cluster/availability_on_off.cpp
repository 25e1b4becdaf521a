// An alternating renewal process: exponential times on and off, each worker by its own stream. It is stationary: at any moment, the first
// one too, a worker is present with probability on / (on + off), and for Exp(on) from then on.
// Cox, Renewal Theory, 1962, chapter 7.
#include <boost/random/exponential_distribution.hpp>
#include <cmath>

#include "sim/cluster/availability.hpp"

namespace straggler::cluster::availability_on_off {
namespace {

class OnOff final : public Availability {
 public:
  OnOff(double on, double off) : on_(on), off_(off) {}

  Spell spell(const Attendant& worker, std::uint64_t k, Time begin) const override {
    const bool begins_present = RandomStream(worker.stream, 0).uniform() < share();
    const bool present = begins_present == (k % 2 == 0);
    RandomStream draws(worker.stream, k + 1);
    const double length = boost::random::exponential_distribution<double>(1)(draws) * (present ? on_ : off_);
    if (begin.seconds() + length >= Time::limit().seconds()) return {Time::never(), present};
    return {begin + std::max(Time::from_seconds(length), Time::from_ticks(1)), present};
  }
  double share() const override { return on_ / (on_ + off_); }

 private:
  double on_, off_;  // means, seconds
};

const Register<AvailabilityEntry> entry(
    {"on_off",
     "present for an exponential time, then absent for another",
     {{.name = "on", .type = ValueType::time, .required = true, .meaning = "mean time of presence", .range = Range::above(0)},
      {.name = "off", .type = ValueType::time, .required = true, .meaning = "mean time of absence", .range = Range::above(0)}},
     [](const Parameters& parameters) { return std::make_unique<OnOff>(parameters.number("on"), parameters.number("off")); }});

}  // namespace
}  // namespace straggler::cluster::availability_on_off
