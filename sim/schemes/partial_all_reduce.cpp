// Partial all-reduce: a quorum without a server. Whoever has a gradient says so to all others by a word of 8 bytes. A worker closes the
// round when it knows of k, and a grace window has passed; it then brings its gradient to the all-reduce if it has it, else zero, and goes
// on computing. All step on the mean over the samples that were brought,
//   w ← w - lr Σ_i n_i g_i / Σ_i n_i,   n_i = 0 of late workers.
// A gradient that is done in a later round is dropped, and its worker begins anew, or it counts there (`late: next`).
// Li, Ben-Nun, Di Girolamo, Alistarh & Hoefler, Taming Unbalanced Training Workloads in Deep Learning with Partial Collective Operations,
// 2020: k = 1 is their solo collective, and late gradients count in the next one.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/schemes/parts.hpp"

namespace straggler::schemes::partial_all_reduce {
namespace {

enum class Late { drop, next };
constexpr ChoiceTable<Late> late_choice("late", {{Late::drop, "drop"}, {Late::next, "next"}});

/// Who has a gradient, by round, and who has just joined: it brings zero to its first all-reduce, and nobody waits for its gradient.
class Words {
 public:
  explicit Words(Node& node) : node_(node) {}
  /// This worker has a gradient.
  void say(std::uint64_t round) {
    const auto number = static_cast<std::uint32_t>(round);
    note(node_.self(), number);
    tell_others(number);
  }
  /// This worker has just joined.
  void say_joined() { tell_others(joined); }
  void note(Rank sender, std::uint32_t number) {
    if (number == joined) {
      joined_.insert(sender);
      return;
    }
    joined_.erase(sender);
    ++counts_[number];
  }
  /// Every member has a gradient, or brings zero.
  bool all(std::uint64_t round) { return of(round) + std::ssize(joined_) >= node_.enrolled(); }
  /// Of this round. Those of earlier ones are forgotten.
  std::int64_t of(std::uint64_t round) {
    const auto number = static_cast<std::uint32_t>(round);
    counts_.erase(counts_.begin(), counts_.lower_bound(number));
    return counts_[number];
  }

 private:
  static constexpr std::uint32_t joined = ~std::uint32_t{0};  // no round
  void tell_others(std::uint32_t number) {
    for (Rank worker = 0; worker < node_.workers(); ++worker)
      if (worker != node_.self()) node_.post(worker, Token{number});
  }
  Node& node_;
  std::map<std::uint32_t, std::int64_t> counts_;
  std::set<Rank> joined_;
};

class PartialAllReduce final : public Scheme {
 public:
  explicit PartialAllReduce(const Parameters& parameters)
      : k_(parameters.count("k")),
        grace_(Time::from_seconds(std::min(parameters.number("grace"), Time::limit().seconds()))),
        drops_(late_choice.of(parameters) == Late::drop) {}

 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights(), at = weights;  // of this round; that it computes at
    Words words(node);
    std::optional<Pending<GradientOperation>> computing;
    // It has not heard who is ready, and does not hold up the others in its first round.
    bool joins = node.members_change() && node.backend().now() > Time();
    if (joins) words.say_joined();
    for (;; joins = false) {
      std::optional<Gradient> mine;
      std::optional<Time> closes;
      for (bool closed = false; !closed;) {
        if (!mine && !computing) computing.emplace(node.begin(node.gradient(at = weights, node.batch_size())));
        const std::int64_t ready = words.of(weights->version);
        const bool enough = ready >= std::min<std::int64_t>(k_, node.enrolled());
        if (words.all(weights->version) || (enough && grace_ == Time()) || joins) break;
        if (enough && !closes) closes = node.backend().now() + grace_;
        const Time left = closes ? std::max(Time(), *closes - node.backend().now()) : Time();
        std::optional<From<Token>> word;
        if (mine && closes) {
          auto next = co_await first_of(node.timer(left), node.receive<Token>());
          closed = next.index() == 0;
          if (!closed) word = std::get<1>(std::move(next));
        } else if (mine) {
          word = co_await node.receive<Token>();
        } else if (closes) {  // they are not all there while this one is not
          auto next = co_await first_of_in_flight(*computing, node.timer(left));
          closed = next.index() == 1;
          if (!closed) mine = std::get<0>(std::move(next));
        } else {
          auto next = co_await first_of_in_flight(*computing, node.receive<Token>());
          if (next.index() == 0)
            mine = std::get<0>(std::move(next));
          else
            word = std::get<1>(std::move(next));
        }
        if (word) words.note(word->sender, word->number);
        if (!mine || !computing) continue;
        computing.reset();
        if (drops_ && at->version != weights->version) {
          node.discard(*mine);
          mine.reset();
        } else {
          words.say(weights->version);
        }
      }
      const Gradient share = share_of_batch(node, mine ? *mine : no_samples(node, weights));
      const Gradient mean = co_await node.all_reduce_mean(share);
      const Gradient by_samples = averaged_by_samples(node, mean);
      weights = co_await node.step(weights, by_samples);
      weights = co_await node.publish(weights);
    }
  }

  std::int64_t k_;
  Time grace_;
  bool drops_;
};

bool counts_late_ones(const Parameters& parameters) { return late_choice.of(parameters) == Late::next; }

const Register<SchemeEntry> entry({
    .name = "partial_all_reduce",
    .summary = "synchronous SGD by all-reduce on the first k gradients and those in a window: late workers bring zero",
    .reference = "Li et al. 2020",
    .other_names = {"partialcollective", "partialallreduce", "eagersgd", "soloallreduce", "majorityallreduce"},
    .exchange = Exchange::all_reduce,
    .contributions = {.text = "m", .count = std::nullopt, .distinct = "k"},
    .asynchronous = counts_late_ones,
    .rule = "w ← w - lr Σ n_i g_i(w) / Σ n_i, with n_i = 0 of whoever is not among the first k or within `grace` of the k-th",
    .paragraph = "A quorum without a server: when k workers have a gradient, and a window has passed, all join the all-reduce. Late "
                 "workers bring zero and compute on, and the sum is divided by the samples that count. Each update moves as many bytes as "
                 "one of all workers. So a gradient counts for more the fewer come with it: a worker that is often alone in an "
                 "update pulls the weights more than the others, though all compute equally much.",
    .waits = "all for the first k, then for the window",
    .staleness = {.text = "0; of late: next no bound",
                  .most =
                      [](const Parameters& parameters) {
                        return counts_late_ones(parameters) ? std::nullopt : std::optional<std::uint64_t>(0);
                      }},
    .traffic = {.text = "2 (p - 1) d, and 8 (p - 1) bytes per gradient",
                .bytes = [](const Parameters&, const TrainingPlan& plan) { return UpdateBytes{2.0 * (plan.workers - 1)}; }},
    .picture = {{"k", "2"}, {"grace", "30ms"}},
    .parameters = {required_count("k", "gradients that an update waits for; at most the number of workers"),
                   {.name = "grace",
                    .type = ValueType::time,
                    .fallback = "0s",
                    .meaning = "time for which more gradients count after the k-th",
                    .range = Range::at_least(0)},
                   late_choice.parameter(Late::drop,
                                         "drop: late gradients are wasted; next: they count in the update in which they are done"),
                   on_failure({OnFailure::abort}, "end")},
    .examples = {{{"k", "2"}}, {{"k", "2"}, {"grace", "3ms"}}, {{"k", "1"}, {"grace", "1h"}}, {{"k", "1"}, {"late", "next"}}},
    .make = made<PartialAllReduce>,
    .average = std::nullopt,  // the fastest decide who is in it
    .updates_per_epoch = std::nullopt,
    .worker_vectors = 1,  // a gradient that it computes while another one is reduced
    .worker_bytes = 3'000,
    .pair_bytes = 200,
    .accumulates = false,
    .rolls_back = RollsBack::never,  // workers compute gradients across updates
});

}  // namespace
}  // namespace straggler::schemes::partial_all_reduce
