// Messages between the ranks of a sweep. Rank 0 has the points; the others ask it for points and for known evaluations.
//
// Invariants:
//  - A rank initiates only requests, reports and kept values; a request has a number, which the answer repeats.
//  - Rank 0 answers `want` when there is a point, everything else at once.
//  - Messages of one rank are read in the order in which they were sent.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/sweep/point_desk.hpp"
#include "validation/mpi/wire.hpp"

namespace straggler {

/// The first byte of a message.
enum class Talk : std::uint8_t {
  // from rank 0
  set_up,    // RankSetup
  work,      // number, the point to run
  found,     // number, an evaluation or none
  promised,  // number, whether
  stop,      // runs in progress are cancelled
  close,     // exit code: no more points will come
  leave,     // whether all ranks are there: the last
  // to rank 0
  ready,      // the rank; the reason why it cannot take part, if any
  want,       // number: another point
  find,       // number, key
  promise,    // number, ticket, keys
  keep,       // key, evaluation
  finish,     // ticket, result
  fail,       // ticket, error
  give_up,    // ticket
  broken,     // the rank's own error
  interrupt,  // this rank was asked to end the sweep
  alive,      // both ways, every second or so
  bye,        // it has finished, and waits for `leave`
};

/// How a rank works.
struct RankSetup {
  unsigned jobs = 0, threads = 0;  // 0: as many as it has cores
  std::string kernels;             // not `auto`: all have the same
  bool store = false;              // whether rank 0 keeps evaluations
};

/// A message that starts with that word.
inline Packer message(Talk what) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(what));
  return packer;
}

void put_setup(Packer& to, const RankSetup& setup);
RankSetup get_setup(Unpacker& from);
/// First the ticket, then the scenario as YAML. The scenario that is read back is equal, but does not know the places of its values. Throws
/// ScenarioErrors if the scenario does not suit this machine.
void put_work(Packer& to, const PointWork& work);
PointWork get_work(Unpacker& from);
void put_point(Packer& to, const FinishedPoint& point);
FinishedPoint get_point(Unpacker& from);
void put_evaluation(Packer& to, const Evaluation& value);
Evaluation get_evaluation(Unpacker& from);
void put_keys(Packer& to, const std::vector<Key>& keys);
std::vector<Key> get_keys(Unpacker& from);

}  // namespace straggler
