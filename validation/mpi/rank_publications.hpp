// The versions of a real run, kept by the rank that publishes until they are booked: with a value if they will be evaluated.
#pragma once
#include <deque>
#include <optional>

#include "validation/mpi/own_parts.hpp"
#include "validation/mpi/rank_stop.hpp"

namespace straggler {

class RankPublications {
 public:
  /// All outlive it.
  RankPublications(RankWorld& world, Node& node, RankPost& post, RankStop& stop);

  /// Before the run: it continues from that version.
  void continue_from(const Weights& weights) { schedule_.due(weights->version, world_.epochs_of(weights)); }
  /// The clock has started.
  void start() { skip_evaluations(world_.clock.start()); }

  /// False: the run ends. If the scheme reduces, every worker reaches the same decision. Otherwise a server sends it, or the first of the
  /// workers with weights of their own.
  bool publish(const PublishOperation& operation);
  void averaged(Rank teller, const Averaging& averaging);
  /// Another rank's word about weights of its own, until its goodbye: a run that stops at a time may still hear of earlier versions.
  void told(Rank from, MessageKind kind, const Bytes& word);

  /// After the run: all ranks call it.
  void gather_own();
  const std::deque<Publication>& all() const { return publications_; }

 private:
  void take_own();
  void keep(const Weights& weights, const Contributions& made, Time when);
  void forget_last_value();
  /// Evaluations by time up to that time are over. True: there were some.
  bool skip_evaluations(Time until);

  RankWorld& world_;
  Node& node_;
  RankStop& stop_;
  EvaluationSchedule schedule_;
  std::deque<Publication> publications_;
  bool keep_last_ = false;  // its value, when the next one comes
  Time next_evaluation_;
  std::optional<OwnParts> own_;  // none: workers share the weights
  bool own_over_ = false;        // on the rank that publishes: the last version is there
};

}  // namespace straggler
