// What happens when something fails, as data (training.recovery).
#pragma once
#include <cstdint>

#include "sim/base/rank.hpp"
#include "sim/engine/time.hpp"

namespace straggler {

struct RecoverySettings {
  enum class Kind : std::uint8_t {
    none,      // the scheme's on_failure
    rollback,  // all go back to the version that was saved last
    peer,      // only the lost worker is replaced, from a neighbour's state
  };
  Kind kind = Kind::none;
  /// A worker's failure rolls all back; else only that of the server, or of the whole job, does.
  bool by_worker = true;

  Time every;                       // work between two checkpoints; 0: see `every_updates`
  std::uint64_t every_updates = 0;  // updates between two checkpoints; 0 and no time: none is made
  Time snapshot;                    // for which a checkpoint stops work
  Time write;                       // for which it is written afterwards, beside work
  Time detect;                      // from a failure until it is known
  Time restart;                     // until all work again, with reading what was saved
  Rank spares = 0;                  // idle workers that take over at once
  bool shrinks = false;             // without a spare the others go on; else they wait for the repair

  bool rolls_back() const { return kind == Kind::rollback; }
  bool saves() const { return rolls_back() && (every > Time() || every_updates > 0); }
};

}  // namespace straggler
