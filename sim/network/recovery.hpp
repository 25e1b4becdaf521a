// What a TCP connection knows of its packets where queues have an end: which ones have arrived, which are lost, when to send again, and
// how the window follows. One object has both ends of the connection. An acknowledgement says everything that has arrived (selective
// acknowledgements: Mathis, Mahdavi, Floyd and Romanow, RFC 2018, 1996, without their limit of blocks), and brings back when its packet
// was sent (timestamps: RFC 7323).
//
// A packet is lost if one that was sent later has arrived, and, outside of a recovery, if three segments have arrived beyond the first gap
// or it was sent a quarter of the least round trip before (RACK: Cheng, Cardwell, Dukkipati and Jha, RFC 8985, 2021). If nothing is
// acknowledged for two round trips, new bytes or the last packet once more are sent as a probe (the same, 7). If that does not help, after
// a timeout (Paxson, Allman, Chu and Sargent, RFC 6298, 2011) all is lost, and slow start begins again. A loss reduces the window once a
// round trip (Cubic), and in proportion to what arrives (Mathis, Dukkipati and Cheng, RFC 6937, 2013). Timers count the jiffies of their
// host.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/engine/ring.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/connection.hpp"
#include "sim/network/cubic.hpp"

namespace straggler::packets {

class Recovery {
 public:
  /// Sizes in bytes. `round_trip`, in ticks: what the handshake has measured. `host`: whose timers fire together.
  Recovery(double packet, double largest_window, double round_trip, std::uint32_t host);

  /// Packets are numbered from 0. Numbers and counts of others are their last 32 bits.
  using Number = std::uint32_t;
  struct Packet {
    std::uint32_t message;
    std::uint8_t copies;  // under way, by what the sender knows
    bool last;            // of its message
    bool arrived, acknowledged;
    double bytes;
    Time sent;  // the last copy
  };

  // The sender.
  Number send(Connection& connection, std::uint32_t message, double bytes, bool last, Time now);
  /// The first packet that is lost and was not sent again.
  std::optional<Number> lost();
  bool may_send_again(const Connection& connection, Number number) const;
  const Packet& send_again(Connection& connection, Number number, Time now);
  /// An acknowledgement, of a packet that was sent at `sent`, says that `count` packets have arrived.
  void acknowledged(Connection& connection, Number count, Time sent, Time now);
  /// Messages of packets that need not be kept any more, one for each.
  std::optional<std::uint32_t> take_done();
  /// The host's own queue has refused a packet, which stays unsent (tcp_enter_cwr() in net/ipv4/tcp_output.c). If nothing is under way, the
  /// next try is after a timeout, and later ones every 500 ms (tcp_send_probe0(), tcp_retransmit_timer()).
  void refused(Connection& connection, Time now);
  /// Bytes, at twice the rate of the window in slow start, else at 1.2 times it (tcp_update_pacing_rate()).
  double in_a_millisecond(const Connection& connection) const;
  bool resting() const { return packets_.empty(); }
  const Packet& packet(Number number) const { return packets_.at_position(number); }
  /// Of a connection that does not rest: the message of its first packet that is not acknowledged.
  std::uint32_t oldest() const { return packets_.front().message; }
  void rest(double window, Time idle) { cubic_.rest(window, idle); }

  /// When expired() is due unless something happens before; never() if it is not.
  Time due() const { return due_; }
  enum class Expired : std::uint8_t { nothing, probe, timeout };
  /// Of a probe the caller sends one packet, and then says so by probes().
  Expired expired(Connection& connection, Time now);
  /// The last packet that was sent is a probe; `again`: it was sent before.
  void probes(const Connection& connection, bool again, Time now);
  /// Of a connection that does not rest.
  Number last() const;

  // The receiver.
  void arrives(Number number, Time sent);
  Number arrivals() const { return static_cast<Number>(arrived_); }
  /// The next message of which all has arrived, and all before it.
  std::optional<std::uint32_t> take_complete();

 private:
  enum class State : std::uint8_t { open, reduced, recovers, timed_out };  // until `until_` is acknowledged
  enum class Purpose : std::uint8_t { gap, probe, timeout };
  struct Copy {
    Number number;
    Time sent;
  };

  struct Lost {
    double bytes = 0;
    bool again = false;  // in the state after a timeout: one was sent since
  };

  std::uint64_t place(Number number) const;
  bool evidence() const { return state_ >= State::recovers || selected_ > 2.5 * segment_; }
  Time may_be_reordered() const { return Time::round_up(least_ / 4); }
  double timeout() const;
  void measure(Connection& connection, double round_trip);
  Lost declare_lost(Connection& connection, Time before);
  void begin_to_reduce(const Connection& connection, State state);
  void set_window(Connection& connection, double window) const;
  void reduce_in_proportion(Connection& connection, double delivered, double lost, bool advanced);
  bool before_newest(const Copy& copy) const;
  bool gap();
  Time fires(Time now, std::int64_t count) const;
  void set_timer(const Connection& connection, Time now);

  double packet_, segment_, largest_window_;
  Cubic cubic_;
  double variation_, least_ = 0;  // ticks, of round trips; least: 0: none yet
  Time up_;                       // the host, when the run began
  State state_ = State::open;
  Purpose purpose_ = Purpose::timeout;
  Time due_ = Time::never(), expired_ = Time::never();
  std::uint32_t timeouts_ = 0;                               // in sequence
  std::uint64_t until_ = 0;                                  // of the state: number of the first packet after it
  double before_ = 0;                                        // window when recovery began
  double delivered_ = 0, sent_ = 0;                          // bytes in this recovery
  std::uint64_t round_ends_ = 0;                             // HyStart's round: number of the first packet after it
  std::optional<Copy> probe_;                                // since the last acknowledgement
  Copy newest_{0, Time::from_ticks(-1)};                     // of all copies that are acknowledged
  double selected_ = 0;                                      // bytes acknowledged after a gap
  Ring<Packet> packets_;                                     // from the first one that is not acknowledged on; positions are numbers
  Ring<Copy> copies_;                                        // under way or acknowledged, in the order in which they were sent
  Ring<std::uint64_t> lost_;                                 // numbers, to be sent again in this order
  Ring<std::uint32_t> done_;                                 // messages
  Ring<Copy> unreported_;                                    // have arrived, in order; the sender does not know
  std::uint64_t arrived_ = 0, reported_ = 0, complete_ = 0;  // packets; complete: all before it have arrived
};

}  // namespace straggler::packets
