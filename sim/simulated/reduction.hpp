// All-reduces and all-gathers in simulated time: the common part of both ways of starting one.
#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "sim/simulated/post_office.hpp"

namespace straggler {

/// Every member contributes a payload; all get the mean. A payload is sent in pieces (the buckets of a gradient), one after another.
///
/// A worker may join again before it has a result: its joins queue in order. The n-th joins of all workers are one all-reduce, and one
/// all-reduce moves after the other. A join that is cancelled leaves the queue, and those behind it move up.
class Reduction {
 public:
  virtual ~Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  /// The whole payload is there. True: complete already (a single worker).
  bool join(Operation& operation, Payload& payload) { return join(operation, payload, pieces_of(operation, payload)); }
  /// Its first `pieces` pieces are there; `payload` may be empty until they all are.
  virtual bool join(Operation& operation, Payload& payload, std::size_t pieces) = 0;
  virtual void cancel(Operation& operation) noexcept = 0;
  /// `worker` is no longer a member.
  virtual void membership_changed(Rank worker) = 0;
  /// The latest version holds the results of the first `reductions` all-reduces.
  virtual void published(std::uint32_t reductions) = 0;
  /// A worker that joins or comes back may start from the latest version now. It may start at any publication, too.
  virtual bool may_start() const = 0;
  /// `worker` starts from the latest version. Returns the number of all-reduces before its first join.
  virtual std::uint32_t start(Rank worker) = 0;
  /// Some ranks have the result of the all-reduce before number `reductions`, others not yet.
  virtual bool finishing(std::uint32_t reductions) const = 0;
  /// While finishing: calls it once, when all ranks have the result.
  void when_done(std::function<void()> then) { then_ = std::move(then); }
  /// No other update begins.
  void begin_no_more() { over_ = true; }
  /// Bytes that ranks have begun to send and that are not all received.
  virtual std::uint64_t bytes_under_way() const = 0;
  virtual void describe_waiting(std::vector<std::string>& who) const = 0;

 protected:
  /// All outlive this.
  Reduction(const SimulatedRun& run, PostOffice& post_office);
  static bool gathers(const Operation& operation) { return operation.kind() == Operation::Kind::all_gather; }
  std::size_t pieces_of(const Operation& operation, const Payload& payload) const;
  bool is_statistics(const Operation& operation, const Payload& payload, std::size_t piece) const;
  std::uint64_t bytes_of_piece(const Operation& operation, const Payload& payload, std::size_t piece) const;
  /// The saving of compression per byte sent by that number of members: an uncompressed ring all-reduce would have sent the rest. 0:
  /// nothing is compressed.
  double spared_per_byte(const Operation& operation, const Payload& payload, std::size_t piece, std::size_t members) const;
  /// The share of all parameters that is compressed in that piece; 0: none.
  double coded_share(const Operation& operation, const Payload& payload, std::size_t piece) const;
  /// Of the fabric, by rank in the schedule: the members, then the servers.
  std::vector<std::uint32_t> ranks_of(const std::vector<Rank>& members) const;
  std::unique_ptr<CollectiveSchedule> make_schedule(std::uint64_t bytes, const std::vector<Rank>& members) const;
  /// All ranks have the result.
  void done_by_all() {
    if (then_) std::exchange(then_, {})();
  }
  /// The mean of the members' payloads, in the order of ranks: for the first of them, with the contributors, and for the others.
  std::pair<Payload, Payload> mean_of(const std::vector<const Payload*>& parts) const;
  /// Each member's payload as it arrives, with its contributions.
  using Parts = std::shared_ptr<const std::vector<Payload>>;
  Parts gathered(const std::vector<const Payload*>& parts) const;
  /// The time in which the operation's worker decodes such a share from `members` workers.
  Time decoding(const Operation& operation, double share, std::size_t members) const;
  /// A piece is there, and others will follow.
  void decode(const Operation& operation, Time decoding);
  /// The result has arrived: the operation takes it once its worker has decoded it.
  void hand_over(Operation& operation, Time decoding);
  void describe_waiting(const std::vector<bool>& waiting, const RankGroup& among, std::vector<std::string>& who) const;

  const SimulatedRun run_;
  const WireBytes& wire_bytes_;
  Coding& coding_;
  CollectiveCosts costs_;
  bool over_ = false;

 private:
  std::function<void()> then_;
  template <class T>
  std::pair<Payload, Payload> mean_of(const std::vector<const Payload*>& parts) const;
  bool in_buckets(const Operation& operation, const Payload& payload) const {
    return !gathers(operation) && goes_in_buckets(payload) && !run_.world.cluster.collective.buckets.empty();
  }
};

}  // namespace straggler
