// FedBuff: asynchronous federated learning with a buffer. A fixed number of clients train at any time. When K changes have arrived, which
// may have started from different versions, the server applies them together,
//   w ← w - η (1/K) Σ s(τ) Δ,   Δ = w_start - w_end,   s(τ) = (1 + τ)^-½,
// where a change of age τ began τ updates ago. `average: by_samples` weighs it by n_k / Σ n_k instead of 1/K.
// Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek, Huba, Federated Learning with Buffered Asynchronous Aggregation, AISTATS 2022.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/schemes/concurrent_clients.hpp"
#include "sim/schemes/federated.hpp"
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::fedbuff {
namespace {

std::int64_t concurrency_of(const Parameters& parameters, Rank workers) {
  if (parameters.has("concurrency")) return std::min<std::int64_t>(parameters.count("concurrency"), workers);
  return FederatedRounds(parameters).clients_of(workers);
}

/// s(τ).
double damping(std::uint64_t staleness) { return 1 / std::sqrt(1 + static_cast<double>(staleness)); }

class FedBuff final : public Scheme {
 public:
  explicit FedBuff(const Parameters& parameters)
      : rounds_(parameters), parameters_(parameters), buffer_(static_cast<std::size_t>(parameters.count("buffer"))), answers_(parameters) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights weights = node.initial_weights();
    if (!ConcurrentClients::begins(node, concurrency_of(parameters_, node.workers()), weights))
      weights = co_await node.receive<Weights>(node.server());
    for (;;) {
      node.reset_optimizer();
      const Weights local = co_await rounds_.train_locally(node, weights);
      const Gradient change = algebra.difference(weights, local);
      co_await node.send(node.server(), change);
      weights = co_await node.receive<Weights>(node.server());
    }
  }

  Process server(Node& node) const override {
    Durable<Optimizer> optimizer(node, node.outer_optimizer());
    ConcurrentClients clients(node, concurrency_of(parameters_, node.workers()));
    Weights weights = clients.initial_weights(node);
    std::vector<From<Gradient>> buffer;
    while (const std::optional<Peer> next = clients.at_restart()) co_await answers_.send(node, *next, weights);
    for (;;) {
      const std::optional<From<Gradient>> arrived = co_await arrival_or_change<Gradient>(node);
      if (arrived) buffer.push_back(*arrived);
      if (buffer.size() == buffer_) {
        sort_by_rank(buffer);
        const std::vector<Gradient> changes = payloads(buffer);
        buffer.clear();
        const std::vector<double> counts = rounds_.counts(node, changes);
        const Gradient sum = damped_mean(node, weights, changes, counts);
        const Gradient whole = rounds_.by_samples() ? node.algebra().weighted_sum(changes, Average::shares(counts)) : node.mean(changes);
        const Weights next = co_await node.step(*optimizer, weights, sum);
        weights = co_await node.publish(node.algebra().with_statistics(next, whole));
      }
      if (arrived) clients.answered(arrived->sender);
      while (const std::optional<Peer> next = clients.next()) co_await answers_.send(node, *next, weights);
    }
  }

  static Gradient damped_mean(Node& node, const Weights& weights, const std::vector<Gradient>& changes, const std::vector<double>& counts) {
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    std::vector<double> shares;
    for (std::size_t i = 0; i < changes.size(); ++i) shares.push_back(damping(weights->version - changes[i]->version()) * counts[i] / all);
    return node.algebra().weighted_sum(changes, shares);
  }

  FederatedRounds rounds_;
  Parameters parameters_;
  std::size_t buffer_;
  Answers answers_;
};

const Register<SchemeEntry> entry(concurrent_entry(
    {
        .name = "fedbuff",
        .summary = "asynchronous federated learning: the server steps on every K changes, old ones damped",
        .reference = "Nguyen et al. 2022",
        .family = Family::federated,
        .contributions = from_any_workers("buffer", "K"),
        .asynchronous = true,
        .rule = "w ← w - η (1/K) Σ (w_start - w_end)/√(1 + τ)",
        .paragraph =
            "As `fedasync`, but the server collects the changes of K clients and takes one step along their mean, where old changes count "
            "less.",
        .damping = [](const Parameters&, const TrainingPlan&, std::uint64_t staleness) { return damping(staleness); },
        .picture = {{"buffer", "2"}, {"concurrency", "3"}, {"local_steps", "2"}},
        .parameters = FederatedRounds::parameters_without_rounds(
            {count_or("buffer", "10", "K, changes of an update", Range::between(1, 1e6)),
             {.name = "server_rate", .fallback = "1", .meaning = "η, step of the server along their mean", .range = Range::above(0)},
             Average::parameter(Average::By::plain),
             optional_count("concurrency", "clients that train at any time; overrides clients and fraction"),
             Answers::parameter()}),
        .examples = {{{"buffer", "3"}, {"concurrency", "2"}},
                     {{"buffer", "1"}, {"local_steps", "2"}, {"server_rate", "0.5"}},
                     {{"buffer", "2"}}},
        .make = made<FedBuff>,
        .average = FederatedRounds::average,
        .outer_optimizer = [](const Parameters& parameters) { return std::optional(plain_steps(parameters.number("server_rate"))); },
    },
    concurrency_of));

}  // namespace
}  // namespace straggler::schemes::fedbuff
