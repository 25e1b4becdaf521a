// How the bytes of a collective move that all its members begin together: as one flow, or message by message.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sim/simulated/books.hpp"
#include "sim/simulated/collective_pieces.hpp"
#include "sim/simulated/collective_plans.hpp"

namespace straggler {

/// Moves one piece at a time, and keeps its accounts: members send all their bytes at the start, and each receives its own at its end.
class CollectiveMove {
 public:
  virtual ~CollectiveMove() = default;
  CollectiveMove(const CollectiveMove&) = delete;
  CollectiveMove& operator=(const CollectiveMove&) = delete;

  /// All members begin, none earlier. Requires: nothing moves. The plan outlives it.
  void start(const CollectivePlan& plan, const std::vector<Rank>& members, const CollectivePiece& piece);
  /// Breaks it off: bytes that have not arrived are lost.
  void stop();
  /// Bytes that have begun to be sent and are not all received.
  std::uint64_t bytes_under_way() const { return under_way_; }

 protected:
  /// A member's number in the list of members; called from the event queue or the network. The last one may start the next piece.
  using Finished = std::function<void(std::size_t member)>;
  CollectiveMove(Books& books, Finished finished) : books_(books), finished_(std::move(finished)) {}
  /// Servers come after the members.
  void finish(CollectiveRank rank);
  std::size_t members() const { return members_.size(); }
  const CollectivePlan& plan() const { return *plan_; }

 private:
  virtual void begin() = 0;
  virtual void cancel_all() noexcept = 0;

  Books& books_;
  Finished finished_;
  const CollectivePlan* plan_ = nullptr;
  std::vector<Rank> members_;
  std::vector<bool> done_;  // [members]
  std::size_t left_ = 0;    // members that are not done
  std::uint64_t under_way_ = 0;
};

/// Fluid or stepwise, as the cluster says. All outlive it.
std::unique_ptr<CollectiveMove> make_collective_move(World& world, Books& books, const CollectiveCosts& costs,
                                                     std::function<void(std::size_t member)> finished);

}  // namespace straggler
