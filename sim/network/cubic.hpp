// CUBIC, the rule by which Linux's TCP sets its window (Xu, Ha, Rhee, Goel and Eggert, RFC 9438, 2023; net/ipv4/tcp_cubic.c), with the end
// of slow start by HyStart (Ha and Rhee, Taming the elephants, Computer Networks 55, 2011). Sizes are in bytes; C and W are in segments.
#pragma once
#include <cstdint>
#include <limits>

#include "sim/engine/time.hpp"

namespace straggler::packets {

class Cubic {
 public:
  static constexpr double beta = 0.7;  // RFC 9438, 4.6: of the window after a loss
  static constexpr double c = 0.4;     // RFC 9438, 5.1: segments a cubic second

  explicit Cubic(double segment) : segment_(segment) {}

  /// Below it is slow start.
  double threshold() const { return threshold_; }
  bool slow_start(double window) const { return window < threshold_; }

  struct Progress {
    double bytes;              // delivered by this acknowledgement
    double round_trip, least;  // seconds: of this packet, of any so far
    bool next_round;           // the packet was sent after the round's first acknowledgement
  };
  /// The window after an acknowledgement, where it is what limits the connection.
  double grown(Time now, double window, const Progress& progress);
  /// A loss: the threshold, and the aim for the time after it.
  void reduce(double window);
  /// A timeout: the aim is what the window then is (cubictcp_state()).
  void forget() { largest_ = 0, growing_ = began_ = false; }
  /// A connection that rests for `idle`: its window shrinks, its threshold stays at three quarters of the window or more
  /// (tcp_current_ssthresh()).
  void rest(double window, Time idle);

 private:
  void look_for_the_end(Time now, double window, const Progress& progress);
  double segments_to_grow(Time now, double window, const Progress& progress);

  double segment_;
  double threshold_ = std::numeric_limits<double>::infinity();
  // HyStart, of this round
  Time round_began_, last_of_train_;
  double least_of_round_ = 0;  // seconds; 0: none yet
  std::uint32_t samples_ = 0;
  bool began_ = false;
  // between two losses
  bool growing_ = false;
  Time since_;
  double largest_ = 0, origin_ = 0, seconds_to_origin_ = 0;  // segments; largest: at the last loss; 0: there was none
  double reno_ = 0;                                          // what Reno would have by now, in segments
};

}  // namespace straggler::packets
