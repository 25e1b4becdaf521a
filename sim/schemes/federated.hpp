// The common part of federated schemes: invitations to a round, the length of local training, and collecting contributions.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/schemes/busy_clients.hpp"
#include "sim/training/average.hpp"
#include "sim/training/gather.hpp"

namespace straggler {

/// The gradient of a local step, or nothing if the client's time is over first.
class LocalGradient final {
 public:
  /// `timer`: in flight; null: the client takes its time.
  LocalGradient(Node& node, Pending<TimerOperation>* timer, const Weights& weights, const DrawnBatch& batch) {
    if (timer)
      what_.emplace<Timed>(*timer, node.gradient(weights, batch));
    else
      what_.emplace<Pending<GradientOperation>>(node.gradient(weights, batch));
  }
  LocalGradient(const LocalGradient&) = delete;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    if (Timed* const timed = std::get_if<Timed>(&what_)) return timed->await_suspend(waiter);
    return std::get<Pending<GradientOperation>>(what_).await_suspend(waiter);
  }
  std::optional<Gradient> await_resume() {
    Timed* const timed = std::get_if<Timed>(&what_);
    if (!timed) return std::get<Pending<GradientOperation>>(what_).await_resume();
    auto first = timed->await_resume();
    if (first.index() == 0) return std::nullopt;
    return std::get<1>(std::move(first));
  }

 private:
  using Timed = FirstOf<TimerOperation, GradientOperation, Pending<TimerOperation>&>;
  std::variant<std::monostate, Pending<GradientOperation>, Timed> what_;
};

class FederatedRounds {
 public:
  explicit FederatedRounds(const Parameters& parameters);
  /// The declarations that a scheme adds to its parameters. `average`: the default.
  static std::vector<Parameter> parameters(Average::By average);
  /// The subset that determines how long a client trains, for schemes in which all clients take part.
  static std::vector<Parameter> local_parameters();
  /// The same for a scheme without rounds, in which no client can be late: parameters that make no sense there are declared, so that they
  /// are refused with a reason.
  static std::vector<Parameter> parameters_without_rounds();
  /// Throws std::invalid_argument if one of those is given.
  static void refuse_rounds(const Parameters& parameters);
  static ClientSelection selection(const Parameters& parameters);
  /// For SchemeEntry::average: clients that are drawn by samples count the same in a round, but are in more of them.
  static std::optional<Average::By> average(const Parameters& parameters) {
    return selection(parameters).by == ClientSelection::By::samples ? Average::By::samples : Average::declared(parameters);
  }
  /// Rounds in an epoch: a client's local epoch is a pass over its own part, or over its share of the pool. None: a deadline decides.
  std::optional<double> per_epoch(const TrainingPlan& plan) const;
  /// Of a round in which this many vectors as long as the weights travel to each client and back, in total. Unknown where some are late.
  static UpdateTraffic traffic(int vectors) {
    return {.text = std::to_string(vectors) + " c d, of c clients",
            .bytes = [vectors](const Parameters& parameters, const TrainingPlan& plan) {
              const FederatedRounds rounds(parameters);
              if (rounds.deadline_ || rounds.over_select_ > 1) return std::optional<UpdateBytes>();
              const auto clients = static_cast<double>(rounds.clients_of(plan.workers));
              return std::optional<UpdateBytes>({vectors * clients, static_cast<double>(vectors)});
            }};
  }

  /// Clients whose contributions count in a round: `clients`, or max(1, C·K) of K workers.
  std::int64_t clients_of(Rank workers) const {
    if (clients_) return std::min<std::int64_t>(*clients_, workers);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::round(fraction_ * static_cast<double>(workers))));
  }
  /// Number of clients invited to a round: over_select times the number wanted.
  std::int64_t invited_of(Rank workers) const {
    return std::min<std::int64_t>(std::llround(static_cast<double>(clients_of(workers)) * over_select_), workers);
  }
  /// The server's, at first.
  Weights initial_weights(Node& node) const { return with_participants(node.initial_weights(), clients_of(node.workers())); }
  /// Whether this worker is among the clients of its first round, and begins from these weights. A function of its own, since a
  /// coroutine's frame would keep the list.
  bool takes_part(const Node& node, Weights& weights) const;
  /// The same among the workers of a pool; a new life waits to be invited.
  bool begins(const Node& node, Node::Pool pool) const;
  /// None or too few of the invited workers may answer, so the server tracks which clients are busy.
  bool keeps_account(const Node& node) const { return may_miss(node) || must_tell_what_counted(node); }

  /// A client's vector after this round, kept before the contribution is sent that began from these weights: if it may miss the round,
  /// the next invitation says whether it counted.
  void keep(Node& node, Handle next, const Weights& start) const {
    if (keeps_account(node))
      node.keep_if_counted(std::move(next), start->version);
    else
      node.kept() = std::move(next);
  }

  bool has_deadline() const { return deadline_.has_value(); }
  /// What a client counts among all: by samples n_k, those of its part of the data.
  double count(const Node& node, Rank client) const { return average_.count(static_cast<double>(node.part_samples(client))); }
  /// What all clients that contributed to a part count.
  template <class T>
  double count(const Node& node, const T& part) const {
    double all = 0;
    for (const Contribution& made : part->made()) all += count(node, made.worker);
    return all;
  }
  /// The same of each part of a round; equal where clients are drawn by their samples, which then count already.
  template <class T>
  std::vector<double> counts(const Node& node, const std::vector<T>& parts) const {
    std::vector<double> all;
    for (const T& part : parts) all.push_back(drawn_by_samples_ ? 1 : count(node, part));
    return all;
  }
  bool by_samples() const { return average_.by_samples(); }
  /// Of the parts of a round.
  Weights mean(const Node& node, const std::vector<Weights>& parts) const;

  /// The batches of one client in one round.
  class LocalBatches {
   public:
    LocalBatches(Node& node, const FederatedRounds& rounds)
        : node_(node), epochs_(rounds.local_epochs_), steps_(rounds.local_steps_.value_or(0)) {
      if (rounds.deadline_ && rounds.partial_) timer_.emplace(node.begin(node.timer(*rounds.deadline_)));
    }
    std::optional<DrawnBatch> next() {
      if (steps_ > 0) return done_ < steps_ ? (++done_, std::optional(node_.next_batch(node_.batch_size()))) : std::nullopt;
      const std::uint64_t pass = node_.plan().drawn_of(node_.self(), node_.part_samples(node_.self()));
      if (seen_ >= pass) {
        seen_ = 0;
        ++done_;
      }
      if (done_ == epochs_) return std::nullopt;
      const DrawnBatch batch = node_.next_batch(static_cast<std::int64_t>(std::min<std::uint64_t>(node_.batch_size(), pass - seen_)));
      seen_ += batch.size;
      return batch;
    }
    /// None: the deadline has come, and the client sends its present result.
    LocalGradient gradient(const Weights& weights, const DrawnBatch& batch) {
      return LocalGradient(node_, timer_ ? &*timer_ : nullptr, weights, batch);
    }

   private:
    Node& node_;
    std::int64_t epochs_, steps_, done_ = 0;  // steps: 0 where passes count
    std::uint64_t seen_ = 0;                  // samples of this pass
    std::optional<Pending<TimerOperation>> timer_;
  };

  /// The clients that a server or an aggregator invites, and whose contributions count.
  class Server {
   public:
    /// Both outlive this. Of an aggregator: its group, `always_keeps_account` where it invites some of them only.
    Server(const FederatedRounds& rounds, Node& node) : Server(rounds, node, {0, node.workers()}, false) {}
    Server(const FederatedRounds& rounds, Node& node, Node::Pool pool, bool always_keeps_account);
    /// Contributions of this round's clients, in rank order. Without a deadline at least one: if all clients have failed or left, others
    /// are invited until one answers (an aggregator gets none if no client is there). With a deadline there may be none.
    Task<std::vector<Weights>> contributions(Weights weights);
    /// To the next round.
    void invite(const Weights& weights);
    /// Of clients that keep vectors: what those that have joined and not left count, before and now, and the vectors of those that have
    /// left since the last call, each with what its client counts as factor. Of a mean over those `before` the sum over those `now` is
    /// before · mean - Σ left; who joins has 0.
    struct Turnover {
      double before, now;  // at least 1
      std::vector<Term> left;
    };
    Turnover turnover() {
      const double now = node_.members_change() ? enrolled() : enrolled_;
      return {std::exchange(enrolled_, now), now, std::exchange(left_, {})};
    }

   private:
    Task<std::vector<Weights>> of_those_invited(Weights weights);
    /// False: there is no client to invite.
    bool draw_and_invite(const Weights& weights);
    void note_invited(const std::vector<Rank>& ranks);
    bool may_invite(Rank rank) const;
    /// Where clients keep vectors, each is told which of its contributions counted last.
    void send_invitations(const Weights& weights, std::span<const Rank> ranks) const;
    double enrolled() const;
    std::uint64_t counted(Rank rank) const {
      const auto known = counted_.find(rank);
      return known == counted_.end() ? KeptVector::never : known->second;
    }
    void forget_lost(const Weights& weights);
    bool is_awaited(const From<Weights>& part, const Weights& weights) const;
    void note_round(bool empty);

    const FederatedRounds& rounds_;
    Node& node_;
    Node::Pool pool_;
    bool keeps_account_, whole_;
    BusyClients busy_;        // of this round, and late ones of rounds before
    std::set<Rank> awaited_;  // of this round
    std::size_t wanted_ = 0;  // contributions that close this round
    std::uint64_t draws_ = 0;
    int empty_rounds_ = 0;  // consecutive rounds without an answer to their invitations
    // Of clients that keep vectors:
    std::map<Rank, std::uint64_t> counted_;  // the version from which a client's last contribution that counted began
    std::vector<Term> left_;                 // by clients since the last turnover
    double enrolled_ = 0;
  };

 private:
  bool may_miss(const Node& node) const { return deadline_ || over_select_ > 1 || node.plan().clients_come_and_go; }
  bool must_tell_what_counted(const Node& node) const { return node.plan().clients_keep_vectors && node.members_change(); }
  /// The clients of a round, ascending, where no account is kept. They follow from the seed, so the first round needs no message.
  std::shared_ptr<const std::vector<Rank>> sampled(const Node& node, std::uint64_t round) const {
    return node.sample_workers(clients_of(node.workers()), round);
  }
  Task<std::vector<Weights>> of_those_sampled(Node& node, Weights weights) const;

  double fraction_ = 1;
  std::int64_t local_epochs_;
  std::optional<std::int64_t> clients_, local_steps_;
  std::optional<Time> deadline_;
  bool partial_ = false;  // at the deadline a client sends its present result
  double over_select_ = 1;
  bool waits_ = false;  // for clients that crash
  bool drawn_by_samples_ = false;
  Average average_;
};

}  // namespace straggler
