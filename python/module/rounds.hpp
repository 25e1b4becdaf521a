// Rounds of clients in Python: the C++ ones (sim/schemes/client_rounds.hpp), as the parameters of an own scheme set them.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sim/schemes/client_rounds.hpp"

namespace straggler::python {

/// What rounds read of an own scheme's parameters: deadline.time, deadline.adaptive, deadline.late, over_select, local_epochs, local_steps
/// and on_failure, as far as it has them. Throws std::invalid_argument if one of them has another type.
FederatedRounds round_rules(const Parameters& parameters);

/// The rounds of one life of a server or an aggregator.
class Rounds {
 public:
  Rounds(Node& node, const FederatedRounds& rules);
  /// A number of clients, which are drawn, or these. Throws std::invalid_argument if they do not fit the run.
  using Clients = std::variant<std::int64_t, std::vector<Rank>>;
  Task<std::vector<Weights>> round(const Weights& weights, Clients clients);

 private:
  Node& node_;
  FederatedRounds rules_;
  ClientRounds clients_;
  bool first_ = true;
};

/// The weights from which a client trains next. `clients`: as many take part in a round. `first`: nothing has invited this life so far: it
/// begins by itself if it is among the first clients (TrainingPlan::invited).
Task<Weights> invitation(Node& node, const FederatedRounds& rules, std::optional<std::int64_t> clients, bool first);

}  // namespace straggler::python
