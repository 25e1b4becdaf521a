// Federated averaging (FedAvg): each round the server samples a fraction C of the clients; each of them trains for E epochs on
// its own data, with batch size B, and the server averages by the clients' numbers of samples n_k:
//   w ← Σ_k (n_k / n_S) w_k,   n_S = Σ_k n_k over the sampled clients.
// McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017.
#include "sim/schemes/client_rounds.hpp"

namespace straggler::schemes::fedavg {
namespace {

class FedAvg final : public Scheme {
 public:
  explicit FedAvg(const Parameters& parameters) : rounds_(parameters), momentum_(parameters) {}

 private:
  Process worker(Node& node) const override { return answer_invitations(node, rounds_, momentum_); }
  Process server(Node& node) const override { return average_rounds(node, rounds_); }

  FederatedRounds rounds_;
  MomentumAtSync momentum_;
};

const Register<SchemeEntry> entry(round_entry({
    .name = "fedavg",
    .summary = "federated averaging: sampled clients train for local epochs, the server averages their weights",
    .reference = "McMahan et al. 2017",
    .other_names = {"federatedaveraging", "fedsgd"},
    .family = Family::federated,
    .rule = "w ← Σ (n_k/n) w_k, over the clients of a round",
    .paragraph =
        "The server invites clients, each trains on its own data, and the server averages their weights by samples. A round takes as "
        "long as its slowest client. Clients with different data drift apart while they train.",
    .parameters = FederatedRounds::parameters(Average::By::samples,
                                              {via_choice.only({Exchange::server}).parameter(Exchange::server, "how weights are averaged"),
                                               MomentumAtSync::parameter(MomentumAtSync::Mode::reset)}),
    .examples = {{{"fraction", "0.5"}},
                 {{"fraction", "0.5"}, {"local_epochs", "2"}, {"momentum_at_sync", "average"}},
                 {{"clients", "2"}, {"local_steps", "3"}},
                 {{"clients", "2"}, {"over_select", "1.5"}},
                 {{"deadline.time", "50ms"}, {"deadline.late", "partial"}},
                 {{"fraction", "0.5"}, {"deadline.time", "200ms"}}},
    .make = made<FedAvg>,
    .plain_sgd_alone = {{{"momentum_at_sync", "keep"}}},
}));

}  // namespace
}  // namespace straggler::schemes::fedavg
