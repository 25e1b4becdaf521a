// Messages of a server that answers with a vote (Node::votes), along which each worker steps as the server did.
#pragma once
#include "sim/training/node.hpp"

namespace straggler {

/// A vote as its server sends it after it has published this version.
inline Gradient leading_to(Gradient vote, const Weights& published) {
  vote.edit().more.edit().made.clear();  // they are in the server's version
  WeightsState& at = vote.edit().at.edit();
  at.version = published->version;
  at.progress = published->progress;
  at.participants = published->participants;
  return vote;
}

/// A worker's weights after the step of such a vote have the server's version.
inline Weights of_version(Weights stepped, const Gradient& vote) {
  WeightsState& weights = stepped.edit();
  weights.version = vote->version();
  weights.progress = vote->progress();
  weights.local_samples = 0;
  weights.more.reset();
  return stepped;
}

}  // namespace straggler
