#include "sim/network/cubic.hpp"

#include <algorithm>
#include <cmath>

namespace straggler::packets {

namespace {
// HyStart's constants are tcp_cubic.c's (hystart_low_window, hystart_ack_delta_us, hystart_ack_delay(), HYSTART_*).
constexpr double least_window = 16;          // segments
constexpr double in_train = 2e-3;            // seconds between acknowledgements of one train, at most
constexpr double of_burst = 4 * 65536;       // bytes that may be acknowledged at once: their time at the connection's rate, at most 1 ms
constexpr double longest_of_burst = 1e-3;    // seconds
constexpr std::uint32_t enough_samples = 8;  // before a round is judged
constexpr double eighth = 1.0 / 8;           // of the least round trip: a round that is later by more ends slow start
constexpr double later_least = 4e-3, later_most = 16e-3;
// CUBIC's, beyond the header's.
constexpr double most_a_segment = 0.5;                               // growth for each segment acknowledged: RFC 9438, 4.4
constexpr double first_least = 1.0 / 20;                             // the same before the first loss, at least: bictcp_update()
constexpr double least_segments = 2;                                 // RFC 5681, (4)
constexpr double alpha = 3 * (1 - Cubic::beta) / (1 + Cubic::beta);  // RFC 9438, 4.3
}  // namespace

double Cubic::grown(Time now, double window, const Progress& progress) {
  if (slow_start(window)) look_for_the_end(now, window, progress);
  double bytes = progress.bytes;
  if (slow_start(window)) {
    const double grows = std::min(bytes, threshold_ - window);
    window += grows;
    bytes -= grows;
  }
  if (bytes <= 0 || slow_start(window)) return window;
  return window + segment_ * segments_to_grow(now, window, {bytes, progress.round_trip, progress.least, false});
}

/// A train of acknowledgements as long as half of a round trip says that the window fills the way; later ones say that a queue grows.
void Cubic::look_for_the_end(Time now, double window, const Progress& progress) {
  if (progress.next_round || !began_) {
    began_ = true;
    round_began_ = last_of_train_ = now;
    least_of_round_ = samples_ = 0;
  }
  if (window < least_window * segment_) return;
  bool ends = false;
  if ((now - last_of_train_).seconds() <= in_train) {
    last_of_train_ = now;
    const double of_a_burst = std::min(longest_of_burst, of_burst * progress.round_trip / (2 * window));
    ends = (now - round_began_).seconds() > (progress.least + of_a_burst) / 2;
  }
  least_of_round_ = samples_ == 0 ? progress.round_trip : std::min(least_of_round_, progress.round_trip);
  if (samples_ < enough_samples) {
    ++samples_;
  } else {
    ends |= least_of_round_ > progress.least + std::clamp(progress.least * eighth, later_least, later_most);
  }
  if (ends) threshold_ = window;
}

double Cubic::segments_to_grow(Time now, double window, const Progress& progress) {
  const double has = window / segment_, acknowledged = progress.bytes / segment_;
  if (!growing_) {
    growing_ = true;
    since_ = now;
    reno_ = has;
    origin_ = std::max(largest_, has);
    seconds_to_origin_ = std::cbrt((origin_ - has) / c);
  }
  const double t = (now - since_).seconds() + progress.least - seconds_to_origin_;
  double share = std::max(0.0, (origin_ + c * t * t * t - has) / has);
  if (largest_ == 0) share = std::max(share, first_least);
  reno_ += alpha * acknowledged / has;
  share = std::max(share, (reno_ - has) / has);
  return std::min(share, most_a_segment) * acknowledged;
}

void Cubic::reduce(double window) {
  const double has = window / segment_;
  largest_ = has < largest_ ? has * (1 + beta) / 2 : has;  // fast convergence: RFC 9438, 4.7
  threshold_ = std::max(beta * has, least_segments) * segment_;
  growing_ = false;
}

void Cubic::rest(double window, Time idle) {
  threshold_ = std::max(threshold_, window * 3 / 4);
  since_ += idle;
}

}  // namespace straggler::packets
