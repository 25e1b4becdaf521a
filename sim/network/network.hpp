// Links, routes and fluid flows that share links max-min fairly. Surface; see the contract of each call.
#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "sim/engine/continuous.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"
#include "sim/network/flow_request.hpp"

namespace straggler {

struct PacketSizes;

/// The peak that empties a full token bucket in 100 ns, on a link whose own capacity is `bytes_per_second`. It is finite so that a burst
/// takes time and arrivals keep an order.
inline double default_peak(double burst_bytes, double bytes_per_second) { return bytes_per_second + burst_bytes / 100e-9; }

/// At every instant the rates are the unique weighted max-min allocation of all flows present (Bertsekas & Gallager, Data
/// Networks, 1992, 6.5.2): each flow crosses a saturated link on which no other has a higher rate per weight. Changes of one
/// instant apply together; an arrival is rounded up to the next picosecond.
class Network final : public ContinuousModel {
 public:
  /// The queue must outlive the network; flows in flight when the network ends never arrive.
  explicit Network(EventQueue& queue);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// Reserves room for this many before they are added.
  void expect_links(std::size_t count);
  /// Capacity in bytes per second, positive. Throws std::invalid_argument otherwise.
  LinkId add_link(double bytes_per_second);
  /// Capacity may change while flows are on it; 0 stops them.
  void set_capacity(LinkId link, double bytes_per_second);
  /// A token bucket: while it holds tokens the link carries up to `peak` bytes per second. Tokens drain by the bytes carried above its
  /// capacity and return, up to `burst` bytes, by those carried below it. Full at first. Once emptied, it returns to its peak when it holds
  /// 1/1024 of the burst again. A later change of capacity changes the peak in proportion. Call before the first flow. Throws
  /// std::invalid_argument unless the burst is positive and the peak above the capacity, both finite; std::logic_error without contention.
  void set_bucket(LinkId link, double burst_bytes, double peak_bytes_per_second);
  /// False: every flow gets the whole of its narrowest link, regardless of other flows. Call before the first flow. Throws std::logic_error
  /// if there are buckets: without contention nothing could drain them.
  void set_contention(bool contention);
  /// Messages are packets from now on, and wait in the links' queues, instead of flows that share links: they have no volumes and weight 1.
  /// Call before the first flow. Throws std::invalid_argument unless packet and window are positive and finite, the initial window
  /// positive, acknowledgement and idle time 0 or more, the buffer at least 1, and at least one packet may be at the first link;
  /// std::logic_error without contention. A later set_contention(false) undoes it.
  void set_packets(const PacketSizes& sizes);

  /// A message: `latency` passes first, then `bytes` flow over all links of `route` at once (any length, no link twice),
  /// at the max-min fair rate of its weight. Without bytes or route it arrives when the latency has passed.
  /// Throws std::invalid_argument for an unknown or repeated link, bytes that are negative or not finite, a weight that is
  /// not positive and finite. A flow that would not be done within Time::limit() ends the run with TimeOverflow.
  FlowId start(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival, double weight = 1);
  /// The same on a topology's route, whose links are this network's, each once: it is not checked.
  FlowId start_on_route(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival);
  /// The same with a volume on each link and a rate cap of its own. With volumes v_l, a flow of rate x and weight w takes v_l x of link l;
  /// max-min equalizes its level x / w. Throws std::invalid_argument also if the number of volumes is not the number of links, if a volume
  /// is not positive and finite, or if the cap is not positive. Without a route, a flow with a cap arrives `bytes / most` after its
  /// latency.
  FlowId start(const FlowRequest& request, Arrival& arrival);
  /// Prefetch: a flow will soon start on these links.
  void prefetch(std::span<const LinkId> route) const noexcept;
  /// Cancels the flow; nothing if it has arrived already.
  void cancel(FlowId flow) noexcept;

  /// Bytes per second now, including changes of this instant; 0 during the latency. Throws std::logic_error for packets.
  double rate(FlowId flow) const;
  LinkUse use(LinkId link) const;
  bool packets() const;               // messages are packets
  bool losses() const;                // and queues have an end
  QueueUse queue(LinkId link) const;  // 0 unless they are
  std::size_t flows() const;          // started, not arrived, not cancelled
  std::size_t links() const;
  std::size_t packet_events() const;  // scheduled in the queue by packets
  /// The largest relative excess of a link's bytes over its capacity (LinkUse), beyond the thousandth of a picosecond by which an arrival
  /// may be rounded down and the picosecond by which a token bucket may close late; 0 if there is none, and without contention. Above about
  /// 1e-9 the simulation is wrong. O(links + flows).
  double worst_overload() const;

  Time next() const;       // moment().next of the settled state
  bool unsettled() const;  // moment().unsettled
  void settle() override;
  void act() override;

 private:
  struct Inside;
  explicit Network(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
