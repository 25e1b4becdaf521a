// DiLoCo whose learners never stop. A learner sends its change Δ = θ - w after H local steps and takes further ones meanwhile. The server
// waits for the changes of a quorum, and for those that come within a grace window after it, and steps along their mean,
//   θ ← Outer(θ, Σ ω_i Δ_i / Σ ω_i),   ω_i = 1, n_i (by_samples) or n_i · n_i / steps_i (by_samples_times_rate).
// A learner that has the new θ mixes it in before its next step, w ← (1 - mix) w + mix θ, as Streaming DiLoCo does (Douillard et al. 2025),
// and sends again when it has taken H steps since its last change. Late changes count in the next update, or are dropped.
// After Douillard et al., Decoupled DiLoCo for Resilient Distributed Pre-training, 2026, which also adapts its window, and sends fragments.
#include "sim/schemes/diloco_quorum.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sim/training/gather.hpp"

namespace straggler::schemes {
namespace {

enum class LateChanges { next, drop };
constexpr ChoiceTable<LateChanges> late_changes("late", {{LateChanges::next, "next"}, {LateChanges::drop, "drop"}});
enum class Counts { plain, by_samples, by_samples_times_rate };
constexpr ChoiceTable<Counts> counts_choice("average", {{Counts::plain, "plain"},
                                                        {Counts::by_samples, "by_samples"},
                                                        {Counts::by_samples_times_rate, "by_samples_times_rate"}});

class DilocoByQuorum final : public Scheme {
 public:
  explicit DilocoByQuorum(const Parameters& parameters)
      : steps_(parameters.count("steps")),
        quorum_(parameters.count("quorum")),
        grace_(Time::from_seconds(std::min(parameters.number("grace"), Time::limit().seconds()))),
        drops_(late_changes.of(parameters) == LateChanges::drop),
        counts_(counts_choice.of(parameters)),
        mix_(parameters.number("mix")) {}

 private:
  Process worker(Node& node) const override {
    const Algebra& algebra = node.algebra();
    Weights global = node.initial_weights(), local = global;
    bool awaits = false;
    for (std::int64_t since = 1;; ++since) {
      const Gradient gradient = co_await node.gradient(local, node.batch_size());
      local = co_await node.step(local, gradient);
      if (awaits) {
        auto arrived = co_await first_of(node.proceed(), node.receive<Weights>(node.server()));
        if (arrived.index() == 1) {
          global = std::get<1>(std::move(arrived));
          local = algebra.blend(local, global, mix_);
          awaits = false;
        }
      }
      if (awaits || since < steps_) continue;
      node.post(node.server(), algebra.difference(global, local));
      local = algebra.without_contributions(local);
      awaits = true;
      since = 0;
    }
  }

  Process server(Node& node) const override {
    Durable<Optimizer> outer(node, node.outer_optimizer());
    Weights global = node.initial_weights();
    const auto drop = [&](const From<Gradient>& late) {
      node.discard<Gradient>(late);
      node.post(late.sender, global);
    };
    for (;;) {
      Gathering<Gradient> round(node, drops_ ? std::optional(global->version) : std::nullopt);
      co_await round.first(quorum_, drop);
      if (grace_ > Time()) {
        Pending<TimerOperation> window = node.begin(node.timer(grace_));
        co_await round.until(window, drop);
      }
      const std::vector<From<Gradient>> parts = round.parts();
      const Gradient mean = averaged(node, payloads(parts));
      const Weights next = co_await node.step(*outer, global, mean);
      global = co_await node.publish(node.algebra().with_statistics(next, mean));
      for (const From<Gradient>& part : parts) node.post(part.sender, global);
    }
  }

  Gradient averaged(Node& node, const std::vector<Gradient>& changes) const {
    if (counts_ == Counts::plain) return node.mean(changes);
    std::vector<double> counts;
    for (const Gradient& change : changes) {
      double samples = 0, steps = 0;
      for (const Contribution& made : change->made()) {
        samples += static_cast<double>(made.samples);
        steps += made.steps;
      }
      counts.push_back(counts_ == Counts::by_samples || steps == 0 ? samples : samples * samples / steps);
    }
    return node.algebra().weighted_sum(changes, Average::shares(std::move(counts)));
  }

  std::int64_t steps_, quorum_;
  Time grace_;
  bool drops_;
  Counts counts_;
  double mix_;
};

}  // namespace

bool has_quorum(const Parameters& parameters) { return parameters.has("quorum"); }

std::vector<Parameter> quorum_parameters() {
  return {optional_count("quorum",
                         "changes of different workers that a server waits for, while workers compute on; at most the number of workers. "
                         "Default: all reduce, and wait for all"),
          {.name = "grace",
           .type = ValueType::time,
           .fallback = "0s",
           .meaning = "with a quorum: time for which the server waits for more changes after it",
           .range = Range::at_least(0)},
          late_changes.parameter(LateChanges::next, "with a quorum: late changes count in the next update, or are wasted"),
          counts_choice.parameter(Counts::plain,
                                  "with a quorum: what a change counts: as much as any other, its samples n, or n times n / steps")};
}

void require_quorum(const Parameters& parameters) {
  const auto refuse = [](const std::string& name) {
    throw std::invalid_argument(name + ": is of no use without a quorum; add quorum: 2, or remove " + name);
  };
  if (parameters.number("grace") > 0) refuse("grace");
  if (late_changes.of(parameters) != LateChanges::next) refuse("late");
  if (counts_choice.of(parameters) != Counts::plain) refuse("average");
}

std::unique_ptr<Scheme> diloco_by_quorum(const Parameters& parameters) {
  for (const auto& [name, usual] : {std::pair("fragments", 1), std::pair("delay", 0)})
    if (parameters.count(name) != usual)
      throw std::invalid_argument(std::string(name) + ": with a quorum changes are sent whole, and workers never wait; remove " + name +
                                  ", or quorum");
  return std::make_unique<DilocoByQuorum>(parameters);
}

}  // namespace straggler::schemes
