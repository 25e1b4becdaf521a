// Quorum SGD: the server waits for the first k gradients, then for those that come within a grace window after the k-th, or before the
// round's deadline, and steps on the mean of the m that came,
//   w ← w - lr (1/m) Σ_{i among them} g_i(w).
// Later gradients are dropped and answered with the current weights, as those of backup workers (grace 0: Chen et al., Revisiting
// Distributed Synchronous SGD, 2016), or they count in the next update (`late: next`; grace 0: k-async SGD, Dutta et al. 2018). Nobody is
// interrupted. A window that all reach is synchronous SGD.
#include <algorithm>
#include <optional>
#include <vector>

#include "sim/schemes/parts.hpp"
#include "sim/training/deadline.hpp"

namespace straggler::schemes::quorum {
namespace {

enum class Late { drop, next };
constexpr ChoiceTable<Late> late_choice("late", {{Late::drop, "drop"}, {Late::next, "next"}});

bool counts_late_ones(const Parameters& parameters) { return late_choice.of(parameters) == Late::next; }

class Quorum final : public Scheme {
 public:
  explicit Quorum(const Parameters& parameters)
      : k_(parameters.count("k")),
        grace_(Time::from_seconds(std::min(parameters.number("grace"), Time::limit().seconds()))),
        deadline_(parameters),
        counts_late_ones_(counts_late_ones(parameters)),
        answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    RoundDeadline deadline(deadline_, node, node.workers());
    for (Rank worker = 0; worker < node.workers(); ++worker) deadline.invited(node.present(worker));
    const auto drop = [&](const From<Gradient>& late) {
      node.discard<Gradient>(late);
      deadline.invited(late.sender);
      return answers_.send(node, late.sender, weights);
    };
    for (;;) {
      Gathering<Gradient> round(node, counts_late_ones_ ? std::nullopt : std::optional(weights->version));
      if (deadline.adapts()) round.watch([&](Peer sender) { deadline.arrived(sender); });
      std::optional<Pending<TimerOperation>> closing;
      if (const std::optional<Time> span = deadline.now()) closing.emplace(node.begin(node.timer(*span)));
      co_await round.first(k_, drop);
      if (grace_ > Time()) {
        Pending<TimerOperation> window = node.begin(node.timer(grace_));
        co_await round.until(window, drop);
      }
      if (closing)
        co_await round.until(*closing, drop);
      else if (deadline.adapts())
        co_await round.first(round.all(), drop);  // it is not known yet
      const std::vector<From<Gradient>> parts = round.parts();
      const Gradient mean = node.mean(payloads(parts));
      weights = co_await node.step(weights, mean);
      weights = co_await node.publish(weights);
      for (const From<Gradient>& gradient : parts) {
        deadline.invited(gradient.sender);
        node.post(gradient.sender, weights);
      }
    }
  }

  std::int64_t k_;
  Time grace_;
  DeadlineChoice deadline_;
  bool counts_late_ones_;
  Answers answers_;  // to late workers
};

UpdateContributions contributions() {
  UpdateContributions first = from_different_workers("k");
  first.text = "m";
  first.count = [](const Parameters& parameters) -> std::optional<double> {
    if (parameters.number("grace") > 0 || DeadlineChoice(parameters).exists()) return std::nullopt;
    return static_cast<double>(parameters.count("k"));
  };
  return first;
}

DeclaredParameters parameters() {
  std::vector<Parameter> all = {required_count("k",
                                               "gradients that an update waits for, each from a different worker; at most the number "
                                               "of workers"),
                                {.name = "grace",
                                 .type = ValueType::time,
                                 .fallback = "0s",
                                 .meaning = "time for which the server waits for more gradients after the k-th",
                                 .range = Range::at_least(0)}};
  all.push_back({.name = "deadline.time",
                 .type = ValueType::time,
                 .meaning = "time from the new weights up to which gradients count besides",
                 .range = Range::above(0)});
  all.push_back(DeadlineChoice::adaptive_parameter("instead, with a factor "));
  all.push_back(late_choice.parameter(Late::drop, "drop: late gradients are wasted; next: they count in the next update"));
  all.push_back(Answers::parameter());
  all.push_back(on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                           "average the others' gradients, wait if its gradient is needed, or end"));
  return all;
}

const Register<SchemeEntry> entry({
    .name = "quorum",
    .summary = "synchronous SGD on the first k gradients of an update, and those that come in a window after them",
    .reference = "cf. Chen et al. 2016; Li et al. 2020",
    .contributions = contributions(),
    .asynchronous = counts_late_ones,
    .rule = "w ← w - lr (1/m) Σ g_i(w), over the first k, and those within `grace` of the k-th or before the deadline",
    .paragraph = "The server waits for a quorum of k gradients, then for a window that lets nearly simultaneous ones in. The window is a "
                 "time after the k-th gradient, or a deadline for the round, which may follow measured times (`deadline: {adaptive: 3}`). "
                 "Late gradients are dropped, or count in the next update. It stands between `backup_workers` (no window) and `ssgd`.",
    .waits = "the server for the first k, then for the window",
    .staleness = {.text = "0; of late: next no bound",
                  .most =
                      [](const Parameters& parameters) {
                        return counts_late_ones(parameters) ? std::nullopt : std::optional<std::uint64_t>(0);
                      }},
    .picture = {{"k", "2"}, {"grace", "30ms"}},
    .parameters = parameters(),
    .examples = {{{"k", "2"}},
                 {{"k", "2"}, {"grace", "2ms"}},
                 {{"k", "1"}, {"grace", "1h"}},
                 {{"k", "1"}, {"grace", "3ms"}, {"late", "next"}},
                 {{"k", "1"}, {"deadline.time", "50ms"}},
                 {{"k", "2"}, {"deadline.adaptive", "3"}}},
    .make = made<Quorum>,
    .answers_together = [](const Parameters&, const TrainingPlan& plan) { return plan.workers; },
    .weighs_batches = true,
    // Late gradients that count later are the server's own.
    .rolls_back = [](const Parameters& parameters) { return counts_late_ones(parameters) ? RollsBack::never : RollsBack::server; },
});

}  // namespace
}  // namespace straggler::schemes::quorum
