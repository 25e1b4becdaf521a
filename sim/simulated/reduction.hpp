// All-reduces in simulated time: what both ways of starting one have in common.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "sim/simulated/post_office.hpp"

namespace straggler {

/// Every member contributes a payload; all get the mean. A payload goes in pieces (the buckets of a gradient), one after the other.
class Reduction {
 public:
  virtual ~Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  /// The whole payload is there. True: complete already (a single worker).
  bool join(Operation& operation, Payload& payload) { return join(operation, payload, pieces_of(payload)); }
  /// Its first `pieces` pieces are there; `payload` may be empty until they all are.
  virtual bool join(Operation& operation, Payload& payload, std::size_t pieces) = 0;
  virtual void cancel(Operation& operation) noexcept = 0;
  /// `worker` is in no more.
  virtual void membership_changed(Rank worker) = 0;
  /// Nothing of the update after version `latest` has begun. (Some rank may still wait for the end of the one before.)
  virtual bool between_updates(std::uint64_t latest) const = 0;
  /// Some ranks have the result, others not yet.
  virtual bool finishing() const = 0;
  /// No other update begins: the simulation stops when all ranks have the result of this one.
  void end_run_when_done() { run_ends_ = true; }
  bool run_ends() const { return run_ends_; }
  /// Bytes that ranks have begun to send and not all received.
  virtual std::uint64_t bytes_under_way() const = 0;
  virtual void describe_waiting(std::vector<std::string>& who) const = 0;

 protected:
  /// All outlive this.
  Reduction(World& world, Books& books, Workers& workers, PostOffice& post_office);
  std::size_t count() const { return static_cast<std::size_t>(world_.workers); }
  std::size_t pieces_of(const Payload& payload) const;
  std::uint64_t bytes_of_piece(const Payload& payload, std::size_t piece) const;
  /// Of the fabric, by rank in the schedule: the members, then the servers.
  std::vector<std::uint32_t> ranks_of(const std::vector<Rank>& members) const;
  std::unique_ptr<CollectiveSchedule> make_schedule(std::uint64_t bytes, const std::vector<Rank>& members) const;
  /// The mean of what they bring, in the order of ranks: for the first of them, with who contributed, and for the others.
  std::pair<Payload, Payload> mean_of(const std::vector<const Payload*>& parts) const;
  void describe_waiting(const std::vector<bool>& waiting, std::vector<std::string>& who) const;

  World& world_;
  Books& books_;
  Workers& workers_;
  const WireBytes& wire_bytes_;
  CollectiveCosts costs_;
  bool run_ends_ = false;

 private:
  template <class T>
  std::pair<Payload, Payload> mean_of(const std::vector<const Payload*>& parts) const;
};

}  // namespace straggler
