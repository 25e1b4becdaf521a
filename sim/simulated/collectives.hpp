// All collectives of a run: over all workers, and over the groups that its scheme names.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulated/collective_queue.hpp"

namespace straggler {

/// A group's queue is made when it is first used. Groups move at the same time, and share links like other traffic.
class Collectives {
 public:
  /// All outlive this.
  Collectives(const SimulatedRun& run, PostOffice& post_office);
  ~Collectives();
  /// Over all workers of a scheme that exchanges by all-reduce and whose versions hold the results; null: the scheme is none.
  CollectiveQueue* of_versions() { return main_.get(); }
  /// Some worker may call a collective.
  bool any() const { return main_ || run_.world.cluster.collective.used; }
  /// The collective of this operation. Throws UnsupportedOperation if it needs a feature that as-they-come all-reduces lack.
  CollectiveQueue& of(const Operation& operation);
  /// As CollectiveQueue::join.
  bool join(Operation& operation) { return of(operation).join(operation); }
  void cancel(Operation& operation) noexcept;
  /// `worker` is no longer a member.
  void membership_changed(Rank worker);
  /// The node's worker joins or comes back, and starts from the latest version.
  void start(Node& node);
  std::uint64_t bytes_under_way() const;
  void describe_waiting(std::vector<std::string>& who) const;
  void take_down();
  /// What moves breaks off, its bytes are lost, and all begins anew.
  void reset();

 private:
  void make_main();
  CollectiveQueue* find(const Operation& operation) const;

  const SimulatedRun run_;
  PostOffice& post_office_;
  std::unique_ptr<CollectiveQueue> main_;
  std::map<std::vector<Rank>, std::unique_ptr<CollectiveQueue>> groups_;  // empty list: all workers, beside a server
};

}  // namespace straggler
