// The time to encode and to decode compressed vectors. A rank codes one vector after another, in turn with its processor's other messages
// (processors.hpp); a worker's account books it as computing.
#pragma once
#include <vector>

#include "sim/simulated/books.hpp"
#include "sim/simulated/processors.hpp"
#include "sim/training/payload.hpp"

namespace straggler {

class Coding {
 public:
  /// All outlive this.
  Coding(World& world, Books& books, Processors& processors);
  Coding(const Coding&) = delete;
  Coding& operator=(const Coding&) = delete;

  /// Share of all parameters that is compressed in the payload; 0: none.
  static double share_of(const Payload& payload);
  /// The time in which that rank encodes or decodes such a share once.
  Time span(Rank rank, double share) const;
  Time span(Rank rank, const Payload& payload) const { return costs_ ? span(rank, share_of(payload)) : Time(); }
  /// The rank's processor is encoding or decoding until then.
  void note(Rank rank, Time until);
  /// Encodes the input of a collective, or decodes its result, for that span: returns the end.
  Time run(Rank rank, Time span);
  /// Coding before a collective that costs nothing must be done first.
  bool busy(Rank rank) const { return costs_ && processors_.free_of(rank) > world_.now(); }
  /// That worker is no longer a member.
  void forget(Rank worker);

 private:
  /// While a worker is encoding or decoding.
  struct Period final : Event {
    void happen() override { coding->ended(*this); }
    Coding* coding = nullptr;
    Rank worker = 0;
    Time until;
    bool on = false;
  };
  void ended(Period& period);

  World& world_;
  Books& books_;
  Processors& processors_;
  bool costs_;                   // coding takes time somewhere
  std::vector<Period> periods_;  // [workers], if it costs anything
};

}  // namespace straggler
