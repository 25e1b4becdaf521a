// Messages as packets: every link has one queue, and lets one packet after another leave, in order of arrival. At most a window of a
// connection's packets is under way at a time; each one is acknowledged, and the acknowledgement waits in the queues of the way back like
// any other packet (Zhang, Shenker and Clark, Observations on the dynamics of a congestion control algorithm: the effects of two-way
// traffic, SIGCOMM 1991). Only some of its packets lie in the queue of its first link, its host's own one (TCP small queues,
// Linux 3.6). A connection begins with a small window, which doubles with each round trip (slow start: Allman, Paxson and Blanton, RFC
// 5681, 2009), and does so again after it was idle (4.1 there; Linux halves the window for each timeout). Queues have no end, so nothing is
// lost, unless PacketSizes::buffer says otherwise: then a packet that finds no room is lost, and each connection has a Recovery.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/ring.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/connection.hpp"
#include "sim/network/flow_request.hpp"
#include "sim/network/packet_sizes.hpp"

namespace straggler::packets {

/// When the first packet of a link's queue has left, and the link's account. Rates are in bytes per tick.
class Sender {
 public:
  explicit Sender(double rate) : rate_(rate), highest_rate_(rate) {}
  void set_rate(Time now, double rate);
  void set_bucket(double burst, double peak);

  /// A packet is the first one from now on.
  void begin(Time now, double bytes);
  /// When it has left, as ticks from now; infinite if it never does at these rates. A packet may wait for tokens; it leaves at the peak.
  double ticks_left() const;
  /// It has left.
  void end(Time now);

  LinkUse use(Time now) const;
  /// The bytes by which it has carried too much, beyond rounding.
  double excess(Time now) const;

 private:
  bool has_bucket() const { return burst_ > 0; }
  void advance(Time now);

  double rate_;
  double burst_ = 0, peak_per_rate_ = 1, tokens_ = 0;  // without a bucket packets leave at the rate
  bool busy_ = false, leaving_ = false;                // leaving: its tokens are taken
  double bytes_ = 0, left_ = 0;                        // of the first packet
  double largest_ = 0;                                 // packet so far, in bytes
  Time since_;                                         // of all state
  double carried_ = 0, possible_ = 0, highest_rate_;
  std::uint64_t ended_ = 0;
  Time busy_time_;
};

/// The bytes in a queue, and their integral over time.
class Length {
 public:
  void add(Time now, double bytes) {
    advance(now);
    bytes_ += bytes;
    longest_ = std::max(longest_, bytes_);
  }
  void remove(Time now, double bytes, bool last) {
    advance(now);
    bytes_ = last ? 0 : bytes_ - bytes;
  }
  double bytes() const { return bytes_; }
  QueueUse use(Time now) const;

 private:
  void advance(Time now) {
    byte_ticks_ += bytes_ * static_cast<double>((now - since_).ticks());
    since_ = now;
  }

  double bytes_ = 0, longest_ = 0, byte_ticks_ = 0;
  Time since_;
};

class Queues {
 public:
  Queues(EventQueue& queue, const PacketSizes& sizes);
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues();

  void add_link(double rate) { links_.emplace_back(rate); }
  void set_capacity(LinkId link, double rate);
  void set_bucket(LinkId link, double burst, double peak) { links_[link].sender.set_bucket(burst, peak); }

  /// The bit that tells names of messages from those of fluid flows.
  static constexpr FlowId mark = FlowId{1} << 63;
  /// `request` has a route and bytes, weight 1 and no volumes.
  FlowId start(const FlowRequest& request, Arrival& arrival);
  /// Packets in flight continue; the receiver is not notified.
  void cancel(FlowId name) noexcept;

  std::size_t messages() const { return size_; }        // started, not arrived, not cancelled
  std::uint64_t started() const { return started_; }    // in total
  std::size_t scheduled() const { return scheduled_; }  // events in the queue
  LinkUse use(LinkId link) const { return links_[link].sender.use(queue_.now()); }
  QueueUse queue(LinkId link) const;
  bool losses() const { return std::min(sizes_.buffer, sizes_.own_buffer) < std::numeric_limits<double>::infinity(); }
  double worst_overload() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index bundle_bit = 1u << 31;  // of a place that a name has
  struct Packet {
    Index message;
    std::uint32_t hop;  // place of the link in its route
    bool acknowledgement;
    std::uint32_t number;  // with a Recovery: the packet's; of an acknowledgement: how many have arrived
    double bytes;
    double payload;  // of the packet, or of the one that it acknowledges
    Time sent;       // that one
  };
  struct Link {
    explicit Link(double rate) : sender(rate) {}
    Sender sender;
    Length length;
    Ring<Packet> waiting;  // the first one is the sender's
    EventQueue::Timer timer{};
    bool timed = false;
    std::uint64_t lost = 0, timeouts = 0;  // packets that found no room; of connections that begin here
  };
  /// A connection's timer, if it has a Recovery.
  struct Clock {
    Connection* connection = nullptr;
    bool scheduled = false;
    Time when = {};  // not after Recovery::due()
    EventQueue::Timer timer{};
  };
  struct Message {
    Arrival* arrival = nullptr;  // null: it has arrived or was cancelled
    Connection* connection = nullptr;
    std::vector<LinkId> route, back;
    double unsent = 0;                          // bytes
    Time latency;                               // one way
    double ticks_a_byte = 0;                    // least time between the beginnings of two packets, by the first one's bytes
    Time next_departure;                        // by that
    std::uint64_t travelling = 0, present = 0;  // packets under way; and acknowledgements, and those that a Recovery keeps
    std::uint32_t generation = 1;
    EventQueue::Timer timer{};  // before it begins, or between two packets
    bool timed = false, begun = false;
  };
  /// A message whose bytes several connections share. It is there when its parts are.
  struct Bundle final : Arrival {
    Bundle(Queues& its_queues, Index its_place) : queues(its_queues), place(its_place) {}
    void arrived() override { queues.part_arrived(place); }
    Queues& queues;
    Index place;
    Arrival* owner = nullptr;
    std::vector<FlowId> parts;
    std::size_t left = 0;  // parts that have not arrived
    std::uint32_t generation = 1;
  };
  /// A packet that is in no queue: its latency passes.
  struct Delay {
    Packet packet{};
    bool scheduled = false;
    EventQueue::Timer timer{};
  };

  static void on_link(void* self, std::uint32_t id) { static_cast<Queues*>(self)->first_has_left(id); }
  static void on_message(void* self, std::uint32_t id) { static_cast<Queues*>(self)->woken(id); }
  static void on_delay(void* self, std::uint32_t id) { static_cast<Queues*>(self)->delay_over(id); }
  static void on_clock(void* self, std::uint32_t id) { static_cast<Queues*>(self)->clock_strikes(id); }
  static EventQueue::Timer& timer_of_link(void* self, std::uint32_t id) { return static_cast<Queues*>(self)->links_[id].timer; }
  static EventQueue::Timer& timer_of_message(void* self, std::uint32_t id) { return static_cast<Queues*>(self)->messages_[id].timer; }
  static EventQueue::Timer& timer_of_delay(void* self, std::uint32_t id) { return static_cast<Queues*>(self)->delays_[id].timer; }

  static EventQueue::Timer& timer_of_clock(void* self, std::uint32_t id) { return static_cast<Queues*>(self)->clocks_[id].timer; }

  FlowId name_of(Index i) const { return mark | FlowId{messages_[i].generation} << 32 | i; }
  FlowId start_message(const FlowRequest& request, Arrival& arrival);
  Index take_place();
  void finish(Index i);
  void release(Index i) { vacant_.push_back(i); }
  Connection& connection_of(const FlowRequest& request, Index i);
  void rest(Connection& connection);
  void send(Connection& connection);
  void send_packet(Connection& connection, Index i, double bytes);
  double next_bytes(const Connection& connection, const Message& message) const;
  void enter(LinkId l, const Packet& packet);
  void schedule(LinkId l);
  void first_has_left(LinkId l);
  void move_on(Packet packet);
  void came(const Packet& packet);
  void answer(Packet packet);
  void acknowledged(const Packet& packet);
  void delay(const Packet& packet);
  void delay_over(std::uint32_t place);
  void wake_up(Index i, Time when);
  void woken(Index i);

  // Where several connections share a message: bundles.cpp.
  FlowId start_bundle(const FlowRequest& request, Arrival& arrival);
  bool cancel_bundle(FlowId name) noexcept;
  void part_arrived(Index place);
  void release(Bundle& bundle);

  // Where queues have an end: losses.cpp.
  static bool has_room(const Link& link, double bytes, double buffer) {
    return link.length.bytes() + bytes <= buffer || link.waiting.empty();
  }
  bool host_has_room(LinkId first, double bytes) const { return has_room(links_[first], bytes, sizes_.own_buffer); }
  void begin_to_watch(Connection& connection, Time one_way, LinkId first);
  bool may_enter(const Connection& connection) const;
  void lose(Link& link, const Packet& packet);
  void refuse(Connection& connection, LinkId l);
  bool send_lost(Connection& connection);
  void send_again(Connection& connection, std::uint32_t number);
  void received(const Packet& packet);
  void reported(const Packet& packet);
  void forget(Index i);
  void set_clock(Connection& connection);
  void send_probe(Connection& connection);
  void clock_strikes(std::uint32_t place);

  EventQueue& queue_;
  const PacketSizes sizes_;
  EventQueue::Kind link_kind_, message_kind_, delay_kind_, clock_kind_;
  std::vector<Link> links_;
  /// By name; that of a message alone by its place and `mark`. Never walked through.
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::deque<Message> messages_;
  std::vector<Index> vacant_;
  std::deque<Bundle> bundles_;
  std::vector<Index> vacant_bundles_;
  std::vector<Delay> delays_;
  std::vector<std::uint32_t> vacant_delays_;
  std::vector<Clock> clocks_;
  std::vector<Index> complete_;  // of received()
  std::size_t size_ = 0, scheduled_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace straggler::packets
