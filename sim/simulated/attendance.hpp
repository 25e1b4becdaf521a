// Workers that come and go: a worker that leaves during a round in which it takes part is lost to the round.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "sim/simulated/computations.hpp"
#include "sim/simulated/post_office.hpp"

namespace straggler {

/// A worker takes part from the moment it is sent something until its reply has left; the first ones take part from the beginning, unless
/// they only wait for a message. Only then is its departure an event; a worker that waits for an invitation comes and goes without events
/// (Presence).
class Attendance final : private InvitationWatch {
 public:
  /// All outlive this.
  Attendance(const SimulatedRun& run, PostOffice& post_office, Computations& computations);
  ~Attendance();
  /// Workers that act before they are invited.
  void begin();
  /// Members get a notice when the next absent worker arrives.
  void await_comers();
  /// Why no contribution comes, and what would help: all workers that took part of late were lost. Empty: that is not so.
  std::string why_none_answers() const;

 private:
  class Participation;
  class Comer;
  // InvitationWatch
  void invited(Rank worker) override;
  void answered(Rank worker) override;

  /// Null: it stays.
  Participation* await_departure(Rank worker);
  void lose(Rank worker);
  void readmit(Rank worker);

  const SimulatedRun run_;
  PostOffice& post_office_;
  Computations& computations_;
  std::unordered_map<Rank, std::unique_ptr<Participation>> participations_;  // of invited workers, and of those that were lost and are away
  std::unique_ptr<Comer> comer_;
  // Since a reply has left:
  std::uint64_t losses_ = 0;
  std::set<Rank> lost_;
};

}  // namespace straggler
