// Workers that publish their own weights on real ranks. No rank waits for another: each reports its publications and their times to the
// rank that publishes, which determines the versions (OwnVersions). If workers run free it also determines the order of versions, which a
// replay forces: the order of arrival, but no version before its inputs. The weights stay on their ranks until the run ends, while a
// version that may be evaluated has a part in them; then their means are made.
#pragma once
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/record/own_versions.hpp"
#include "sim/training/node.hpp"
#include "validation/mpi/rank_stop.hpp"

namespace straggler {

class OwnParts {
 public:
  /// All outlive it.
  OwnParts(RankWorld& world, const Node& node, RankPost& post, const RankStop& stop);

  /// This rank's worker publishes. What comes after the end of the run is dropped.
  void publish(const PublishOperation& operation, Time when);
  /// It has averaged its weights with another's. The rank that made the average keeps it: it counts for both from the next version that
  /// either makes.
  void averaged(Rank teller, const Averaging& averaging);

  // On the rank that publishes; another rank says that:
  void published(Rank from, const Bytes& publication);
  void averaged(Rank from, const Bytes& averaging);
  std::optional<OwnVersions::Version> next() { return versions_->next(); }
  /// The latest version may be evaluated; it gets the next number, from 0.
  void keep(const OwnVersions::Version& version);
  /// The version of that number will not be evaluated.
  void forget(std::size_t number);

  /// A part of this rank's will not be needed: the rank that publishes says so.
  void forget(const Bytes& part) { values_.erase(Unpacker(part).get_key()); }
  /// After the run, on all ranks together: makes the kept versions' values, on the rank that publishes.
  void gather(std::deque<Publication>& publications);

 private:
  using Part = OwnVersions::Part;
  bool runs_free() const { return world_.task.plan.versions == Versions::free_running; }
  Handle mean_of(const std::vector<Handle>& parts);

  RankWorld& world_;
  Algebra& algebra_;
  RankPost& post_;
  const RankStop& stop_;
  std::map<Key, Handle> values_;  // of this rank's weights: those that may be requested
  // On the rank that publishes:
  std::optional<OwnVersions> versions_;
  std::deque<std::vector<Part>> parts_;                     // [versions]; empty: will not be evaluated
  std::map<std::pair<Key, Rank>, std::size_t> references_;  // to a part and its holder, from parts_
};

}  // namespace straggler
