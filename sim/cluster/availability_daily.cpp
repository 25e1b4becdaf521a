// Present at the same hours of each local day, as phones that are charged at night. Each worker has a time zone, one of 24, drawn from its
// own stream: at time 0 of the run it is a whole hour after midnight there.
#include <algorithm>

#include "sim/cluster/availability.hpp"

namespace straggler::cluster::availability_daily {
namespace {

constexpr std::int64_t hour = 3'600 * Time::ticks_per_second, day = 24 * hour;

class Daily final : public Availability {
 public:
  Daily(Time from, Time length) : from_(from), length_(length) {}

  Spell spell(const Attendant& worker, std::uint64_t, Time begin) const override {
    if (length_.ticks() >= day) return {Time::never(), true};
    const auto zone = static_cast<std::int64_t>(RandomStream(worker.stream, 0).below(24));
    // Since it was last `from` there.
    const std::int64_t since = ((begin.ticks() + zone * hour - from_.ticks()) % day + day) % day;
    const bool present = since < length_.ticks();
    return {begin + Time::from_ticks((present ? length_.ticks() : day) - since), present};
  }
  double share() const override { return std::min(1.0, static_cast<double>(length_.ticks()) / day); }

 private:
  Time from_, length_;
};

const Register<AvailabilityEntry> entry(
    {"daily",
     "present at the same hours of each day, in a time zone drawn for each worker",
     {{.name = "from",
       .type = ValueType::time,
       .required = true,
       .meaning = "local time of day from which the client is present, such as 22 h",
       .range = {0, 86'400, false, true}},
      {.name = "hours", .required = true, .meaning = "time per day for which it is present", .range = Range::above_to(0, 24)}},
     [](const Parameters& parameters) {
       return std::make_unique<Daily>(Time::from_seconds(parameters.number("from")),
                                      Time::from_seconds(parameters.number("hours") * 3'600));
     }});

}  // namespace
}  // namespace straggler::cluster::availability_daily
