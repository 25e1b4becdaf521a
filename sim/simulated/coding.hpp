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
  /// The rank's processor codes for that span, until `end`. Spans of a rank are noted in order.
  void note(Rank rank, Time span, Time end);
  /// Encodes the input of a collective, or decodes its result, for that span: returns the end.
  Time run(Rank rank, Time span);
  /// Coding before a collective that costs nothing must be done first.
  bool busy(Rank rank) const { return costs_ && processors_.free_of(rank) > world_.now(); }
  /// That worker is no longer a member.
  void forget(Rank worker);

 private:
  struct Period {
    Time begin, end;
  };
  /// When a worker is encoding or decoding. Happens at the beginning and at the end of the first period.
  struct Periods final : Event {
    void happen() override { coding->turned(*this); }
    Coding* coding = nullptr;
    Rank worker = 0;
    bool on = false;
    std::vector<Period> ahead;  // the present one, and those to come
  };
  void turned(Periods& periods);
  /// The first period to come.
  void await(Periods& periods);

  World& world_;
  Books& books_;
  Processors& processors_;
  bool costs_;                    // coding takes time somewhere
  std::vector<Periods> periods_;  // [workers], if it costs anything
};

}  // namespace straggler
