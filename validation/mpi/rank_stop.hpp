// How a rank's run ends: by the stop rule, at a time, by a vote around the ring of all workers, when it is interrupted, or by an error.
#pragma once
#include <cstdint>
#include <string>

#include "sim/engine/event_queue.hpp"
#include "validation/mpi/rank_post.hpp"

namespace straggler {

/// Workers that exchange by all-reduces vote, and all reach the same decision. Otherwise the rank that publishes decides, and tells it.
class RankStop final : private Event {
 public:
  /// Both outlive it.
  RankStop(RankWorld& world, RankPost& post) : world_(world), post_(post) {}

  bool stopping() const { return stopping_; }
  /// On the rank that publishes.
  Time end() const { return end_; }
  bool interrupted() const { return broken_off_; }
  /// Why it stops; empty: there is no error.
  const std::string& error() const { return error_; }

  /// Where no vote is taken, the time limit is an event.
  void schedule(EventQueue& queue);
  /// An interrupt stops the run now, unless a vote does it.
  void check_interrupt();
  /// Publication at that time comes after the time limit, before its event: the run stops at the limit.
  bool exceeds_limit(Time when);
  bool is_last(const Weights& weights) const { return voted_ || world_.task.stop.ends_at(weights->version, world_.epochs_of(weights)); }
  /// A publication at that time comes after the end.
  bool is_late(Time when) const { return (limit() && when > *limit()) || (stopping_ && when > end_); }
  void stop(Time end, bool tell = true);
  /// Another rank says so; with text: because of an error.
  void told(const Bytes& error);
  void fail(const std::string& error);

  /// Before this rank joins a collective of all workers.
  void vote();
  /// What the messages of a ring tell all its ranks. Votes go around the ring of all workers only: those of a group's would reach no other
  /// group.
  std::uint8_t flags(bool of_all) const;
  void take(std::uint8_t flags);

 private:
  void happen() override { stop(*limit()); }
  const std::optional<Time>& limit() const { return world_.task.stop.simulated_time; }
  bool votes() const { return world_.task.votes && world_.task.plan.workers > 1; }
  bool decides() const { return world_.publishes() && !votes(); }
  bool has_interrupt() const { return world_.task.interrupted && *world_.task.interrupted; }

  RankWorld& world_;
  RankPost& post_;
  bool stopping_ = false, voted_ = false;
  bool broken_off_ = false;  // told around all rings, so that the rank that writes the results knows
  Time end_;
  std::string error_;
};

}  // namespace straggler
