// Stale synchronous parallel: the server applies each gradient as it arrives, and lets no worker run ahead of the slowest by more than s,
//   w ← w - η g(w_read),   η = lr / p (`mean`) or lr (`sum`);
// a worker's clock c counts its own updates; it is answered once c - min clock ≤ s. So clocks are never more than s + 1
// apart. Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, NIPS 2013. `mean` is ours: with s = 0
// a round of p gradients then makes the step of synchronous SGD.
#include <optional>
#include <vector>

#include "sim/schemes/clocks.hpp"
#include "sim/schemes/parts.hpp"

namespace straggler::schemes::ssp {
namespace {

/// The step on one worker's gradient: lr / p or lr.
enum class Scale { mean, sum };
constexpr ChoiceTable<Scale> scale_choice("scale", {{Scale::mean, "mean"}, {Scale::sum, "sum"}});

class Ssp final : public Scheme {
 public:
  explicit Ssp(const Parameters& parameters)
      : slack_(static_cast<std::uint64_t>(parameters.count("slack"))), scale_(scale_choice.of(parameters)), answers_(parameters) {}

 private:
  Process worker(Node& node) const override { return push_and_fetch(node); }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    Clocks clocks(node, slack_);
    std::vector<Peer> waiting;
    for (;;) {
      const std::optional<From<Gradient>> arrived = co_await arrival_or_change<Gradient>(node);
      if (arrived) {
        const Gradient gradient = scale_ == Scale::mean ? node.algebra().scaled(*arrived, 1.0 / node.workers()) : Gradient(*arrived);
        weights = co_await node.step(weights, gradient);
        weights = co_await node.publish(weights);
        clocks.tick(arrived->sender);
        waiting.push_back(arrived->sender);
      } else {
        clocks.members_changed();
      }
      for (std::size_t i = 0; i < waiting.size();) {
        if (!clocks.may_continue(waiting[i])) {
          ++i;
          continue;
        }
        const Peer next = waiting[i];
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        co_await answers_.send(node, next, weights);
      }
    }
  }

  std::uint64_t slack_;
  Scale scale_;
  Answers answers_;
};

const Register<SchemeEntry> entry({
    .name = "ssp",
    .summary = "stale synchronous parallel: asynchronous, but no worker is more than a bound ahead of the slowest",
    .reference = "Ho et al. 2013",
    .other_names = {"stalesynchronousparallel"},
    .family = Family::asynchronous,
    .rule = "w ← w - (lr/p) g(w_read), of workers whose clocks are at most s + 1 apart",
    .paragraph =
        "As `asgd`, but a worker that is more than s updates ahead of the slowest waits for it. The slack absorbs workers that are slow "
        "in turn. A worker that is always slow holds up everybody in the end.",
    .waits = "workers more than s ahead, for the slowest",
    .staleness = {.text = "(p - 1) (2 s + 1)",
                  .most =
                      [](const Parameters& parameters, const TrainingPlan& plan) {
                        return static_cast<std::uint64_t>((plan.workers - 1) * (2 * parameters.count("slack") + 1));
                      }},
    .picture = {{"slack", "1"}},
    .parameters = {required_count("slack", "s, the number of updates by which a worker may be ahead of the slowest", Range::at_least(0)),
                   scale_choice.parameter(Scale::mean,
                                          "the step on a worker's gradient: lr/p, so that a round makes one mean step, or "
                                          "lr, as in the paper"),
                   Answers::parameter(),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "the others continue without its clock, wait for it, or end")},
    .examples = {{{"slack", "2"}}, {{"slack", "0"}}, {{"slack", "1"}, {"scale", "sum"}}},
    .make = made<Ssp>,
    .plain_sgd_alone = {{}, {{"slack", "0"}}},
});

}  // namespace
}  // namespace straggler::schemes::ssp
