#include "sim/network/recovery.hpp"

#include <algorithm>
#include <cmath>

namespace straggler::packets {

namespace {
constexpr double of_second = static_cast<double>(Time::ticks_per_second);
constexpr double largest_segment = 1448;                           // bytes of an Ethernet frame with timestamps
constexpr double least_timeout = 0.2 * of_second;                  // beyond the round trip: TCP_RTO_MIN
constexpr std::int64_t most_timeout = 30'000;                      // jiffies: TCP_RTO_MAX
constexpr double late_acknowledgement = 0.2 * of_second;           // of a single segment: RFC 8985, 7.2
constexpr double least_wait = 2e-3 * of_second;                    // of a probe and of reordering: TCP_TIMEOUT_MIN_US
constexpr std::int64_t jiffy = 4 * Time::ticks_per_second / 1000;  // at 250 Hz
constexpr std::int64_t next_try = 125;                             // jiffies: TCP_RESOURCE_PROBE_INTERVAL
constexpr double rounding = 1e-6;
// When hosts have booted: at most 4096 jiffies apart, spread by the golden ratio of 64 bits.
constexpr std::uint64_t longest_phase = 4096 * std::uint64_t{jiffy}, golden = 0x9E3779B97F4A7C15;

std::int64_t jiffies(double ticks) { return static_cast<std::int64_t>(std::ceil(ticks / static_cast<double>(jiffy) - 1e-9)); }
}  // namespace

Connection::Connection() = default;
Connection::~Connection() = default;

Recovery::Recovery(double packet, double largest_window, double round_trip, std::uint32_t host)
    : packet_(packet),
      segment_(std::min(packet, largest_segment)),
      largest_window_(std::max(packet, largest_window)),
      cubic_(segment_),
      variation_(round_trip / 2),
      up_(Time::from_ticks(static_cast<std::int64_t>(std::uint64_t{host} * golden % longest_phase))) {}

/// Of a packet that is kept, or was.
std::uint64_t Recovery::place(Number number) const {
  const std::uint64_t first = packets_.first_position();
  return first + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(number - static_cast<Number>(first))));
}

Recovery::Number Recovery::send(Connection& connection, std::uint32_t message, double bytes, bool last, Time now) {
  const auto number = static_cast<Number>(packets_.push_back({message, 1, last, false, false, bytes, now}));
  copies_.push_back({number, now});
  sent_ += bytes;
  if (state_ == State::open || due_ == Time::never()) set_timer(connection, now);
  return number;
}

std::optional<Recovery::Number> Recovery::lost() {
  for (; !lost_.empty(); lost_.pop_front()) {
    const std::uint64_t number = lost_.front();
    if (number < packets_.first_position()) continue;
    if (const Packet& packet = packets_.at_position(number); packet.acknowledged || packet.copies > 0) continue;
    return static_cast<Number>(number);
  }
  return std::nullopt;
}

/// The first one after a loss, and one alone, always.
bool Recovery::may_send_again(const Connection& connection, Number number) const {
  return connection.unacknowledged == 0 || (state_ == State::recovers && sent_ == 0) ||
         connection.unacknowledged + packet(number).bytes <= connection.window + rounding;
}

const Recovery::Packet& Recovery::send_again(Connection& connection, Number number, Time now) {
  const std::uint64_t at = place(number);
  Packet& packet = packets_.at_position(at);
  ++packet.copies;
  packet.sent = now;
  copies_.push_back({number, now});
  sent_ += packet.bytes;
  connection.unacknowledged += packet.bytes;
  connection.most_unacknowledged = std::max(connection.most_unacknowledged, connection.unacknowledged);
  connection.last_sent = now;
  if (due_ == Time::never()) set_timer(connection, now);
  return packet;
}

void Recovery::arrives(Number number, Time sent) {
  const std::uint64_t at = place(number);
  if (at < packets_.first_position() || packets_.at_position(at).arrived) return;
  packets_.at_position(at).arrived = true;
  unreported_.push_back({number, sent});
  ++arrived_;
}

std::optional<std::uint32_t> Recovery::take_complete() {
  // What the sender has put away is complete, and was taken before.
  const std::uint64_t end = packets_.first_position() + packets_.size();
  while (complete_ < end && packets_.at_position(complete_).arrived) {
    const Packet& packet = packets_.at_position(complete_++);
    if (packet.last) return packet.message;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Recovery::take_done() {
  if (done_.empty()) return std::nullopt;
  const std::uint32_t message = done_.front();
  done_.pop_front();
  return message;
}

/// RFC 6298, 2; a connection's first round trip is that of its handshake.
void Recovery::measure(Connection& connection, double round_trip) {
  if (connection.round_trip == 0) connection.round_trip = round_trip;
  variation_ += (std::abs(connection.round_trip - round_trip) - variation_) / 4;
  connection.round_trip += (round_trip - connection.round_trip) / 8;
  least_ = least_ == 0 ? round_trip : std::min(least_, round_trip);
}

void Recovery::acknowledged(Connection& connection, Number count, Time sent, Time now) {
  const auto round_trip = static_cast<double>((now - sent).ticks());
  measure(connection, round_trip);
  double delivered = 0;
  std::uint64_t latest = 0;
  while (!unreported_.empty() && static_cast<std::int32_t>(count - static_cast<Number>(reported_)) > 0) {
    const Copy copy = unreported_.front();
    unreported_.pop_front();
    ++reported_;
    Packet& packet = packets_.at_position(copy.number);
    packet.acknowledged = true;
    delivered += packet.bytes;
    connection.unacknowledged -= packet.copies * packet.bytes;
    packet.copies = 0;
    latest = std::max(latest, place(copy.number));
    if (!before_newest(copy)) newest_ = copy;
    if (probe_ && probe_->number == copy.number && probe_->sent == copy.sent && state_ == State::open) {
      // The probe has repaired a loss: RFC 8985, 7.4.2.
      cubic_.reduce(connection.window);
      set_window(connection, cubic_.threshold());
    }
  }
  if (delivered == 0) return;
  selected_ += delivered;
  bool advanced = false;
  for (; !packets_.empty() && packets_.front().acknowledged; advanced = true) {
    selected_ -= packets_.front().bytes;
    done_.push_back(packets_.front().message);
    packets_.pop_front();
  }
  if (packets_.empty()) connection.unacknowledged = selected_ = 0;
  timeouts_ = 0;
  probe_.reset();
  if (state_ != State::open && packets_.first_position() >= until_) {
    if (state_ != State::timed_out) set_window(connection, cubic_.threshold());
    state_ = State::open;
  }
  const auto [lost, again] = declare_lost(connection, evidence() ? Time() : may_be_reordered());
  if (lost > 0 && (state_ < State::recovers || (state_ == State::timed_out && again))) begin_to_reduce(connection, State::recovers);
  if (state_ == State::reduced || state_ == State::recovers) {
    reduce_in_proportion(connection, delivered, lost, advanced);
  } else if (advanced) {
    const bool next_round = latest >= round_ends_;
    if (next_round) round_ends_ = packets_.first_position() + packets_.size();
    const bool limited = connection.window < 2 * connection.most_unacknowledged &&
                         (cubic_.slow_start(connection.window) || connection.unacknowledged + delivered + packet_ > connection.window);
    if (limited)
      set_window(connection, cubic_.grown(now, connection.window, {delivered, round_trip / of_second, least_ / of_second, next_round}));
  }
  set_timer(connection, now);
}

void Recovery::set_window(Connection& connection, double window) const { connection.window = std::min(window, largest_window_); }

/// Of all copies that were sent so much before the newest one that has arrived.
Recovery::Lost Recovery::declare_lost(Connection& connection, Time before) {
  Lost lost;
  while (!copies_.empty()) {
    const Copy copy = copies_.front();
    if (!before_newest(copy) || copy.sent + before > newest_.sent) break;
    copies_.pop_front();
    const std::uint64_t at = place(copy.number);
    if (at < packets_.first_position()) continue;
    Packet& packet = packets_.at_position(at);
    if (packet.acknowledged || packet.copies == 0) continue;
    connection.unacknowledged -= packet.bytes;
    if (--packet.copies > 0) continue;
    lost.bytes += packet.bytes;
    lost.again |= at < until_;
    lost_.push_back(at);
  }
  return lost;
}

/// Once a round trip: a window that the host's own queue has reduced is reduced already.
void Recovery::begin_to_reduce(const Connection& connection, State state) {
  if (state_ != State::reduced) {
    before_ = connection.window;
    cubic_.reduce(connection.window);
    until_ = packets_.first_position() + packets_.size();
  }
  state_ = state;
  delivered_ = sent_ = 0;
}

/// RFC 6937, 3.
void Recovery::reduce_in_proportion(Connection& connection, double delivered, double lost, bool advanced) {
  delivered_ += delivered;
  const double room = cubic_.threshold() - connection.unacknowledged;
  double sends;
  if (room < 0)
    sends = cubic_.threshold() * delivered_ / before_ - sent_;
  else
    sends = std::min(room, std::max(delivered_ - sent_, delivered) + (advanced && lost == 0 ? segment_ : 0));
  set_window(connection, connection.unacknowledged + std::max(0.0, sends));
}

void Recovery::refused(Connection& connection, Time now) {
  if (state_ == State::open) begin_to_reduce(connection, State::reduced);
  if (connection.unacknowledged > 0 || (due_ != Time::never() && expired_ != now)) return;
  due_ = fires(now, expired_ == now ? next_try : jiffies(connection.round_trip + timeout()));
  purpose_ = Purpose::timeout;
}

/// RFC 6298, 2.4 and 5.5, with Linux's least variation.
double Recovery::timeout() const { return std::max(least_timeout, 4 * variation_); }

bool Recovery::before_newest(const Copy& copy) const {
  return std::pair(copy.sent, place(copy.number)) <= std::pair(newest_.sent, place(newest_.number));
}

double Recovery::in_a_millisecond(const Connection& connection) const {
  const double faster = connection.window < cubic_.threshold() / 2 ? 2 : 1.2;
  return faster * connection.window * of_second / 1024 / connection.round_trip;
}

/// Whether a packet is missing that was sent before one that has arrived.
bool Recovery::gap() {
  for (; !copies_.empty(); copies_.pop_front()) {
    const Copy& copy = copies_.front();
    if (place(copy.number) < packets_.first_position()) continue;
    if (const Packet& packet = packets_.at_position(copy.number); packet.acknowledged || packet.copies == 0) continue;
    return before_newest(copy);
  }
  return false;
}

/// When a timer of so many jiffies fires. The kernel's wheel has levels of 64 buckets, each level's eight times as wide as those before,
/// and rounds up to the next bucket (calc_wheel_index() in kernel/time/timer.c): timers of one host that are due within a bucket fire
/// together.
Time Recovery::fires(Time now, std::int64_t count) const {
  int shift = 0;
  while (count >= std::int64_t{63} << shift) shift += 3;
  const std::int64_t bucket = (((now + up_).ticks() / jiffy + count) >> shift) + 1;
  return Time::from_ticks((bucket << shift) * jiffy) - up_;
}

void Recovery::set_timer(const Connection& connection, Time now) {
  if (packets_.empty()) {
    due_ = Time::never();
    return;
  }
  std::int64_t wait = std::min(most_timeout, jiffies(connection.round_trip + timeout()) << std::min(timeouts_, 20u));
  purpose_ = Purpose::timeout;
  if (state_ <= State::reduced) {
    const double late = connection.unacknowledged <= segment_ ? late_acknowledgement : least_wait;
    const std::int64_t probe = jiffies(2 * connection.round_trip + late);
    if (gap()) {
      purpose_ = Purpose::gap;
      wait = std::min(wait, jiffies(static_cast<double>(may_be_reordered().ticks()) + least_wait));
    } else if (!probe_ && probe < wait) {
      purpose_ = Purpose::probe;
      wait = probe;
    }
  }
  due_ = fires(now, wait);
}

Recovery::Expired Recovery::expired(Connection& connection, Time now) {
  due_ = Time::never();
  expired_ = now;
  if (packets_.empty()) {
    set_window(connection, packet_);
    return Expired::nothing;
  }
  if (purpose_ == Purpose::gap) {
    if (const Lost lost = declare_lost(connection, Time()); lost.bytes > 0) {
      begin_to_reduce(connection, State::recovers);
      reduce_in_proportion(connection, segment_, lost.bytes, false);
    }
    set_timer(connection, now);
    return Expired::nothing;
  }
  if (purpose_ == Purpose::probe) return Expired::probe;
  if (state_ == State::open || (state_ == State::timed_out && timeouts_ == 0)) cubic_.reduce(connection.window);
  cubic_.forget();
  state_ = State::timed_out;
  until_ = packets_.first_position() + packets_.size();
  ++timeouts_;
  lost_ = {};
  copies_ = {};
  for (std::uint64_t at = packets_.first_position(); at < until_; ++at) {
    Packet& packet = packets_.at_position(at);
    if (packet.acknowledged) continue;
    packet.copies = 0;
    lost_.push_back(at);
  }
  connection.unacknowledged = connection.most_unacknowledged = 0;
  probe_.reset();
  set_window(connection, segment_);
  set_timer(connection, now);
  return Expired::timeout;
}

Recovery::Number Recovery::last() const { return static_cast<Number>(packets_.first_position() + packets_.size() - 1); }

void Recovery::probes(const Connection& connection, bool again, Time now) {
  probe_ = Copy{last(), again ? now : Time::never()};
  set_timer(connection, now);
}

}  // namespace straggler::packets
