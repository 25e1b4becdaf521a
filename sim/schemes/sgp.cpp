// Stochastic gradient push (SGP): no server, no all-reduce, and each worker sends to one other worker in each step. A worker i holds a sum
// x_i and a push-sum weight w_i, and estimates z_i = x_i / w_i. In step k
//   x_i ← x_i - lr g_i(z_i),   then it sends (x_i / 2, w_i / 2) to worker i + 2^(k mod ⌈log2 p⌉), modulo p,
//   and adds what arrives to the half that it keeps:   x_i ← x_i / 2 + Σ x_j / 2,   w_i ← w_i / 2 + Σ w_j / 2.
// The step is the worker's optimizer, on x_i. Version n is the mean of all workers' n-th estimates.
// Assran, Loizou, Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning, ICML 2019, Algorithm 1 and Appendix A (the
// directed exponential graph, one peer).
//
// While all workers are in, each gets one message per step, so every weight stays 1 and x_i is the estimate. If workers go, this changes: a
// worker whose next peer is out sends to the first worker after it that is in, so one worker may get two messages and another none. All
// agree who is in at a step (Node::is_in), so each knows who sends to it, and waits for them: nobody runs ahead of the one before it. The
// weights then give each worker's share of the total. They always add up to p (push_weight.hpp): the worker that averages next takes the
// weight that was lost with a worker, or with a message from it or to it, at its own estimate. A worker that comes back begins with weight
// 0, unless some is left to take, and keeps the weights it was sent as its estimate until it gets its first share.
#include <algorithm>
#include <bit>
#include <limits>

#include "sim/training/first_of.hpp"
#include "sim/training/node.hpp"

namespace straggler::schemes::sgp {
namespace {

class Sgp final : public Scheme {
 private:
  Process worker(Node& node) const override {
    Weights estimate = node.initial_weights();
    PushWeight weight(node.push_weights(), 1);
    Weights sum = times(node, estimate, weight.amount());
    std::vector<From<Weights>> early;
    for (;;) {
      const Gradient gradient = co_await node.gradient(estimate, node.batch_size());
      sum = co_await node.step(sum, gradient);
      std::vector<Weights> parts;
      std::vector<double> shares;
      parts.push_back(sum);
      shares.push_back(1);
      if (const std::optional<Rank> peer = peer_of(node, sum->version)) {
        Weights half = node.algebra().without_contributions(sum);  // its receiver halves it: no bit is lost by that
        half.edit().more.edit().push_weight = std::make_shared<PushWeight>(weight.half());
        node.post(*peer, half);
        shares.front() = 0.5;
      }
      const std::vector<Weights> arrived = co_await receive_shares(node, sum->version, early);
      for (const Weights& each : arrived) {
        weight.add(*each->push_weight());
        parts.push_back(each);
        shares.push_back(0.5);
      }
      sum = node.blend(sum, parts, shares);
      estimate = estimate_of(node, sum, weight.amount(), estimate);
      if (node.members_change()) {
        PushWeight lost(node.push_weights(), std::numeric_limits<double>::infinity());
        if (lost.amount() > 0) {
          sum = node.blend(sum, {sum, estimate}, {1, lost.amount()});
          weight.add(lost);
          estimate = estimate_of(node, sum, weight.amount(), estimate);
        }
      }
      estimate = co_await node.publish(estimate);
      sum = node.blend(estimate, {sum}, {1});
    }
  }

  /// How far away the peers of a step are; 0: there is no other worker.
  static Rank distance_at(std::uint64_t version, Rank workers) {
    const auto distances = static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(workers - 1)));
    return distances == 0 ? 0 : static_cast<Rank>(std::uint64_t{1} << (version % distances));
  }

  /// The receiver of this worker's message in that step: the first worker at that distance or beyond it that is in. None: it is alone.
  static std::optional<Rank> peer_of(const Node& node, std::uint64_t version) {
    const Rank distance = distance_at(version, node.workers());
    for (Rank k = 0; k < node.workers(); ++k) {
      const Rank rank = (node.self() + distance + k) % node.workers();
      if (rank != node.self() && node.is_in(rank, version)) return rank;
    }
    return std::nullopt;
  }

  /// The senders to this worker in that step: those at that distance before it, or before the workers in front of it that are out.
  static std::vector<Rank> sources_of(const Node& node, std::uint64_t version) {
    const Rank workers = node.workers(), distance = distance_at(version, workers);
    std::vector<Rank> sources;
    std::vector<Rank> between;  // that are in, where a sender looks before it comes to this worker; it passes over itself
    for (Rank k = 0; k < workers && between.size() < 2; ++k) {
      const Rank source = (node.self() + 2 * workers - distance - k) % workers, before = (node.self() + workers - k) % workers;
      if (k > 0 && node.is_in(before, version)) between.push_back(before);
      const bool reaches = between.empty() || (between.size() == 1 && between.front() == source);
      if (source != node.self() && reaches && node.is_in(source, version)) sources.push_back(source);
    }
    return sources;
  }

  /// The shares that arrive in that step: those of its senders, for which it waits while they may still come, and, if workers go, all
  /// others that have arrived by then. `early`: shares of senders that are ahead, kept until this worker gets there.
  static Task<std::vector<Weights>> receive_shares(Node& node, std::uint64_t version, std::vector<From<Weights>>& early) {
    std::vector<Weights> found;
    if (!node.members_change()) {
      const Rank workers = node.workers(), source = (node.self() + workers - distance_at(version, workers)) % workers;
      if (source == node.self()) co_return found;
      const Weights share = co_await node.receive<Weights>(source);
      found.push_back(share);
      co_return found;
    }
    std::vector<Rank> sources = sources_of(node, version);
    const auto take = [&](const From<Weights>& share) {
      if (share->version == version) std::erase(sources, share.sender.rank);
      found.push_back(share);
    };
    for (const From<Weights>& share : std::exchange(early, {}))
      if (share->version <= version)
        take(share);
      else
        early.push_back(share);
    for (;;) {
      std::optional<From<Weights>> share;
      if (std::ranges::any_of(sources, [&](Rank source) { return node.awaits(source, version); })) {
        auto first = co_await first_of(node.receive<Weights>(), node.receive<MembershipNotice>());
        if (first.index() == 1) continue;
        share = std::get<0>(std::move(first));
      } else {
        auto first = co_await first_of(node.proceed(), node.receive<Weights>());
        if (first.index() == 0) break;
        share = std::get<1>(std::move(first));
      }
      if ((*share)->version > version)
        early.push_back(*share);
      else
        take(*share);
    }
    co_return found;
  }

  /// Of its own history, with another value.
  static Weights times(Node& node, const Weights& weights, double factor) { return node.blend(weights, {weights}, {factor}); }

  /// sum / weight; without weight, the previous estimate.
  static Weights estimate_of(Node& node, const Weights& sum, double weight, const Weights& before) {
    return weight > 0 ? times(node, sum, 1 / weight) : node.blend(sum, {before}, {1});
  }
};

const Register<SchemeEntry> entry({
    .name = "sgp",
    .summary = "stochastic gradient push: in each step every worker sends half of its sum to one other worker (push-sum)",
    .reference = "Assran et al. 2019",
    .family = Family::gossip,
    .rule = "x_i ← ½ (x_i - lr g_i(x_i/w_i)) + ½ Σ_j (x_j - lr g_j(x_j/w_j)), w_i ← ½ w_i + ½ Σ_j w_j",
    .paragraph =
        "In each step every worker sends half of its sum to one other worker, a different one each time, and keeps the other half. "
        "After log2 p steps a gradient has reached all p workers. Each waits for the one that sends to it.",
    .waits = "a worker for one other, a different one in each step",
    .traffic = {.text = "p d, and 8 bytes a worker",
                .bytes =
                    [](const Parameters&, const TrainingPlan& plan) {
                      UpdateBytes bytes;
                      bytes.update = plan.workers > 1 ? static_cast<double>(plan.workers) : 0;
                      return std::optional(bytes);
                    }},
    .parameters = {on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "the others continue without it, those that need its share wait, or the run ends")},
    .make = [](const Parameters&) { return std::make_unique<Sgp>(); },
    .exchange = [](const Parameters&) { return Exchange::peers; },
    .versions = [](const Parameters&) { return Versions::lockstep; },
    .average = Average::alike,
    .plain_sgd_alone = {{}},
    .updates_per_epoch = [](const Parameters&, const TrainingPlan& plan) { return plan.batches_per_epoch() / plan.workers; },
    .not_compressible =
        "sends weights to changing workers, which hold no common base for a difference; take none, or dpsgd with gamma (CHOCO-SGD)",
    .workers_hold = WorkersHold::own_weights,
    .worker_bytes = 3'600,
});

}  // namespace
}  // namespace straggler::schemes::sgp
