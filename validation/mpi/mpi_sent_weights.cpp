// Weights that a server or an aggregator has sent, and whose receivers may answer with differences from them.
#include <algorithm>

#include "validation/mpi/mpi_backend.hpp"

namespace straggler {

void MpiBackend::keep_sent(Rank to, const Payload& payload) {
  const auto* weights = std::get_if<Weights>(&payload);
  const bool below = !node_.is_worker() && (to < task_.plan.workers || node_.is_server());
  if (weights && below && task_.plan.compression && task_.plan.compression->exchange.of_weights) sent_[to].push_back((*weights)->value);
}

void MpiBackend::forget_sent(Rank from, const Payload& payload) {
  const auto known = sent_.find(from);
  if (known == sent_.end()) return;
  Key builds_on;
  if (const auto* gradient = std::get_if<Gradient>(&payload)) builds_on = (*gradient)->at->value.key();
  if (const auto* weights = std::get_if<Weights>(&payload); weights && (*weights)->difference())
    builds_on = (*weights)->difference()->base.key();
  const auto base = std::ranges::find(known->second, builds_on, &Handle::key);
  if (base != known->second.end()) known->second.erase(known->second.begin(), base);
}

}  // namespace straggler
