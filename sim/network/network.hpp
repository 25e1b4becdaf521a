// Links, routes and fluid flows that share links max-min fairly. Surface; see the contract of each call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sim/engine/continuous.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

using LinkId = std::uint32_t;
/// Names a flow for ever: a later flow never has the same one. Never 0.
using FlowId = std::uint64_t;

/// Told when the last byte of a message has arrived. Called from the network, once; it may start and cancel flows.
class Arrival {
 public:
  virtual void arrived() = 0;

 protected:
  ~Arrival() = default;
};

struct LinkUse {
  double bytes = 0;  // carried up to now, those of unfinished flows included
  Time busy;         // time with at least one flow on it
};

/// At every instant the rates are the unique weighted max-min allocation of all flows present (Bertsekas & Gallager, Data
/// Networks, 1992, 6.5.2): each flow crosses a saturated link on which no other has a higher rate per weight. Changes of one
/// instant apply together; an arrival is rounded up to the next picosecond.
class Network final : public ContinuousModel {
 public:
  /// The queue must outlive the network; flows under way when the network ends never arrive.
  explicit Network(EventQueue& queue);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network();

  /// Capacity in bytes per second, positive. Throws std::invalid_argument otherwise.
  LinkId add_link(double bytes_per_second);
  /// Capacity may change while flows are on it; 0 stops them.
  void set_capacity(LinkId link, double bytes_per_second);

  /// A message: `latency` passes first, then `bytes` flow over all links of `route` at once (any length, no link twice),
  /// at the max-min fair rate of its weight. Without bytes or route it arrives when the latency has passed.
  /// Throws std::invalid_argument for an unknown or repeated link, bytes that are negative or not finite, a weight that is
  /// not positive and finite. A flow that would not be done within Time::limit() ends the run with TimeOverflow.
  FlowId start(std::span<const LinkId> route, double bytes, Time latency, Arrival& arrival, double weight = 1);
  /// It never arrives. Nothing if it has arrived already.
  void cancel(FlowId flow) noexcept;

  double rate(FlowId flow) const;  // bytes per second now, changes of this instant worked in; 0 during the latency
  LinkUse use(LinkId link) const;
  std::size_t flows() const;  // started, not arrived, not cancelled
  std::size_t links() const;

  Time next() const override;
  bool unsettled() const override;
  void settle() override;
  void act() override;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace straggler
