// Ringleader ASGD: asynchronous SGD that fits unlike data. The server keeps a table of each worker's gradients, their sum G_i and number
// b_i, and works in rounds of p updates. First gradients are collected until every worker has one. Then each worker's next gradient is
// added to its own row and makes an update on the mean of the workers' means,
//   w ← w - lr (1/p) Σ_i G_i / b_i,
// and its worker gets the new weights; of the worker that completed the table, the gradient that did so makes the first update. A gradient
// of a worker that has had its update is kept for the next round's table. A worker is sent weights once a round; otherwise it computes on
// at those that it has. Nobody waits and nothing is dropped, and a gradient is at most 2 p - 2 updates old whenever it is used.
// Maranjyan & Richtárik, Ringleader ASGD: The First Asynchronous SGD with Optimal Time Complexity under Data Heterogeneity, 2025,
// Algorithm 1.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/training/answers.hpp"
#include "sim/training/gather.hpp"

namespace straggler::schemes::ringleader {
namespace {

/// The gradients of a round: G_i and b_i.
class Table {
 public:
  explicit Table(const Node& node) : node_(&node), rows_(index_of(node.workers())) {}
  void add(Rank worker, const Gradient& gradient) {
    Row& row = rows_[index_of(worker)];
    row.sum = node_->algebra().combination({{row.sum, 1}, {gradient->value(), 1}});
    row.fresh = row.count == 0 ? gradient : node_->algebra().add(row.fresh, gradient);
    ++row.count;
  }
  bool has(Rank worker) const { return rows_[index_of(worker)].count > 0; }
  /// Workers in it that have not gone.
  std::set<Rank> workers() const {
    std::set<Rank> all;
    for (Rank worker = 0; worker < node_->workers(); ++worker)
      if (has(worker) && node_->awaits(worker)) all.insert(worker);
    return all;
  }
  /// Every worker that may still contribute has done so. Not called of an empty one.
  bool complete() const {
    for (Rank worker = 0; worker < node_->workers(); ++worker)
      if (!has(worker) && node_->awaits(worker)) return false;
    return true;
  }
  /// Σ_i G_i / b_i over the workers in it, by their number, with these contributions.
  Gradient mean(const Gradient& made) const {
    double workers = 0;
    for (const Row& row : rows_) workers += row.count > 0 ? 1 : 0;
    std::vector<Term> terms;
    for (const Row& row : rows_)
      if (row.count > 0) terms.push_back({row.sum, 1 / (workers * row.count)});
    const Algebra& algebra = node_->algebra();
    return algebra.counted_as(algebra.replaced(made, algebra.combination(terms)), workers);
  }
  /// All of its gradients, as contributions to an update.
  Gradient contributions() const {
    std::vector<Gradient> all;
    for (const Row& row : rows_)
      if (row.count > 0) all.push_back(row.fresh);
    return node_->algebra().mean(all);
  }

 private:
  struct Row {
    Handle sum;
    Gradient fresh;
    double count = 0;
  };
  const Node* node_;
  std::vector<Row> rows_;  // [workers]
};

/// Collects first gradients until the table is complete, then updates as workers come.
class Round {
 public:
  explicit Round(const Node& node) : node_(&node), table_(node), following_(node) {}
  /// The direction of an update, which its worker is to get; none: the worker computes on.
  std::optional<Gradient> take(const From<Gradient>& arrived) {
    const Rank worker = arrived.sender;
    if (due_.empty()) {
      table_.add(worker, arrived);
      if (!table_.complete()) return std::nullopt;
      due_ = table_.workers();
      return update(worker, table_.contributions());
    }
    if (!due_.contains(worker)) {
      following_.add(worker, arrived);
      return std::nullopt;
    }
    table_.add(worker, arrived);
    return update(worker, arrived);
  }
  /// Nobody waits for workers that have gone.
  void members_changed() {
    std::erase_if(due_, [this](Rank worker) { return !node_->awaits(worker); });
    if (due_.empty() && in_updates_) begin();
  }

 private:
  Gradient update(Rank worker, const Gradient& made) {
    Gradient direction = table_.mean(made);
    in_updates_ = true;
    due_.erase(worker);
    if (due_.empty()) begin();
    return direction;
  }
  void begin() {
    table_ = std::exchange(following_, Table(*node_));
    in_updates_ = false;
  }
  const Node* node_;
  Table table_, following_;
  std::set<Rank> due_;       // workers that have no update in this round yet; empty: the table is not complete
  bool in_updates_ = false;  // the table is complete
};

class Ringleader final : public Scheme {
 public:
  explicit Ringleader(const Parameters& parameters) : answers_(parameters) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      auto answer = co_await first_of(node.receive<Token>(node.server()), node.receive<Weights>(node.server()));
      if (answer.index() == 1) weights = std::get<1>(std::move(answer));
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    Durable<Round> round(node, Round(node));
    for (;;) {
      const std::optional<From<Gradient>> arrived = co_await arrival_or_change<Gradient>(node);
      if (!arrived) {
        round->members_changed();
        continue;
      }
      const std::optional<Gradient> direction = round->take(*arrived);
      if (!direction) {
        co_await answers_.send(node, arrived->sender, Token());
        continue;
      }
      weights = co_await node.step(weights, *direction);
      weights = co_await node.publish(weights);
      co_await answers_.send(node, arrived->sender, weights);
    }
  }

  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "ringleader",
    .summary = "asynchronous SGD on the mean of all workers' mean gradients: each worker has one update a round",
    .reference = "Maranjyan & Richtarik 2025",
    .other_names = {"ringleaderasgd"},
    .family = Family::asynchronous,
    .contributions = {.text = "1", .count = std::nullopt},
    .rule = "w ← w - lr (1/p) Σ G_i/b_i, of the sums G_i of each worker's b_i gradients in this round",
    .paragraph =
        "Asynchronous SGD for workers whose data differ: every update steps along the mean of the workers' means, so that a fast worker "
        "does not count more than a slow one. In a round each worker has one update and gets the new weights; meanwhile it computes on. "
        "Nothing is dropped. `asgd` settles where fast workers pull it, `ringleader` at the optimum of all.",
    .staleness = {.text = "2 p - 2",
                  .most = [](const Parameters&, const TrainingPlan& plan) { return static_cast<std::uint64_t>(2 * plan.workers - 2); }},
    .traffic = {.text = "d, and d per gradient"},
    .parameters = {Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort}, "complete the round without it, wait for it, or end")},
    .make = made<Ringleader>,
    .answers_hold_own = false,
    .updates_per_epoch = std::nullopt,
    .workers_alike = true,
    .worker_vectors = 2,  // G_i, and a gradient of this round or the next one
});

}  // namespace
}  // namespace straggler::schemes::ringleader
