// Messages between workers that step in lockstep, each with weights of its own (Versions::lockstep), while members may change.
//
// Weights are tagged by their version. A neighbour may be one step ahead. Messages from one worker to another arrive in order and are
// buffered.
//  - A worker posts its weights of version n to those neighbours that take part in version n.
//  - It waits for those of a neighbour as long as they may still come (Node::awaits): not from one that has gone, nor from one whose life
//    began with a later version.
//  - Two members agree for every n whether they exchange: either both began by n, or one of them began later. So a symmetric matrix stays
//    symmetric among members if each row adds the shares of neighbours without an answer to the diagonal.
#pragma once
#include <optional>

#include "sim/training/first_of.hpp"
#include "sim/training/node.hpp"

namespace straggler {

/// The weights of that version from `neighbour`; none if it does not take part in it.
inline Task<std::optional<Weights>> receive_version(Node& node, Rank neighbour, std::uint64_t version) {
  std::optional<Weights> found;
  while (!found && node.awaits(neighbour, version)) {
    if (!node.members_change()) {
      const Weights arrived = co_await node.receive<Weights>(neighbour);
      if (arrived->version == version) found = arrived;
      continue;
    }
    auto arrived = co_await first_of(node.receive<Weights>(neighbour), node.receive<MembershipNotice>());
    if (arrived.index() == 0 && std::get<0>(arrived)->version == version) found = std::get<0>(std::move(arrived));
  }
  co_return found;
}

}  // namespace straggler
