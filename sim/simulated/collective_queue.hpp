// Collectives in simulated time: who joins which, and its result. Two ways of starting one: together_queue, as_they_come_queue.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulated/collective_pieces.hpp"
#include "sim/simulated/collective_plans.hpp"
#include "sim/simulated/post_office.hpp"

namespace straggler {

/// Every member contributes a payload. A payload is sent in pieces (the buckets of a gradient), one after another.
///
/// A worker may join again before it has a result: its joins queue in order. The n-th joins of all workers are one collective, and one
/// collective moves after the other. A join that is cancelled leaves the queue, and those behind it move up.
class CollectiveQueue {
 public:
  virtual ~CollectiveQueue() = default;
  CollectiveQueue(const CollectiveQueue&) = delete;
  CollectiveQueue& operator=(const CollectiveQueue&) = delete;

  /// The operation's whole payload is there. True: complete already (a single worker). Otherwise the operation completes with its result.
  bool join(Operation& operation) { return join(operation, pieces_.count(operation)); }
  /// Its first `pieces` pieces are there; the payload may be empty until they all are.
  virtual bool join(Operation& operation, std::size_t pieces) = 0;
  virtual void cancel(Operation& operation) noexcept = 0;
  /// Nothing moves any more: bytes under way are lost. The processes of all ranks are gone.
  virtual void stop() = 0;
  /// `worker` is no longer a member.
  virtual void membership_changed(Rank worker) = 0;
  /// The latest version holds the results of the first `collectives`.
  virtual void published(std::uint32_t collectives) = 0;
  /// A worker that joins or comes back may start from the latest version now. It may start at any publication, too.
  virtual bool may_start() const = 0;
  /// `worker` starts from the latest version. Returns the number of collectives before its first join.
  virtual std::uint32_t start(Rank worker) = 0;
  /// Some ranks have the result of the collective before number `collectives`, others not yet.
  virtual bool finishing(std::uint32_t collectives) const = 0;
  /// While finishing: calls it once, when all ranks have the result.
  void when_done(std::function<void()> then) { then_ = std::move(then); }
  /// No other update begins.
  void begin_no_more() { over_ = true; }
  /// Bytes that ranks have begun to send and that are not all received.
  virtual std::uint64_t bytes_under_way() const = 0;
  virtual void describe_waiting(std::vector<std::string>& who) const = 0;

 protected:
  /// A collective's result. Contributions are recorded by its first member alone.
  struct Result {
    Payload first, others;  // of an all-reduce: the mean, for its first member and for the others
    /// Of an all-gather: each member's payload as it arrives; of a reduce-scatter: each one's part of the mean. Null: it is an all-reduce.
    std::shared_ptr<const std::vector<Payload>> parts;
  };
  /// All outlive this.
  CollectiveQueue(const SimulatedRun& run, PostOffice& post_office);
  static CollectiveKind kind_of(const Operation& operation);
  /// Of the members' operations, in the order of ranks.
  Result result_of(const std::vector<const Operation*>& operations) const;
  /// All ranks have the result.
  void done_by_all() {
    if (then_) std::exchange(then_, {})();
  }
  /// A piece is there, and others will follow: the operation's worker decodes it.
  void decode(const Operation& operation, double coded_share, std::size_t members);
  /// Puts the result into the operation. `member`: its number among the collective's members.
  static void put(const Result& result, std::size_t member, Operation& operation);
  /// The same, and completes the operation once its worker has decoded the last piece.
  void complete(const Result& result, std::size_t member, Operation& operation, double coded_share, std::size_t members);
  CollectiveTrace traced(const Operation& operation, const CollectivePiece& piece, std::size_t members) const;
  /// A line for each operation that waits; `waiting`: null where none does; `among` null: all workers.
  void describe_waiting(const std::vector<const Operation*>& waiting, const RankGroup& among, std::vector<std::string>& who) const;

  const SimulatedRun run_;
  const CollectivePieces pieces_;
  CollectivePlans plans_;
  bool over_ = false;

 private:
  template <class T>
  Result mean_of(const std::vector<const Operation*>& operations) const;
  Result gathered(const std::vector<const Operation*>& operations) const;
  Result scattered(const Result& mean, std::size_t members) const;
  /// The time in which the operation's worker decodes such a share from `members` workers.
  Time decoding(const Operation& operation, double coded_share, std::size_t members) const;

  Coding& coding_;
  std::function<void()> then_;
};

}  // namespace straggler
