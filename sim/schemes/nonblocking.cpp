// Non-blocking SGD: no worker waits for the slowest.
// Every worker splits its batch into mini-batches and takes a local step on each. The worker that first completes its whole
// batch signals; every other worker stops inside its current mini-batch and contributes the weights that it has. The average
// of all workers' weights is the next version, which everyone receives. The interrupted mini-batch is redone from its start on
// the new version; completed ones are kept.
// The rule and its options: docs/model.md, "Non-blocking SGD".
#include "sim/training/gather.hpp"
#include "sim/training/momentum_at_sync.hpp"

namespace straggler::schemes::nonblocking {
namespace {

enum class Counters { persist, reset };
constexpr ChoiceTable<Counters> counters_choice("counters", {{Counters::persist, "persist"}, {Counters::reset, "reset"}});

enum class Interrupt { immediate, boundary };
constexpr ChoiceTable<Interrupt> interrupt_choice("interrupt", {{Interrupt::immediate, "immediate"}, {Interrupt::boundary, "boundary"}});

enum class Exchanged { weights, gradients };
constexpr ChoiceTable<Exchanged> exchanged_choice("exchange", {{Exchanged::weights, "weights"}, {Exchanged::gradients, "gradients"}});

struct NonblockingOptions {
  explicit NonblockingOptions(const Parameters& parameters)
      : minibatch(parameters.count("minibatch")),
        reset_counters(counters_choice.of(parameters) == Counters::reset),
        average(parameters),
        gradients(exchanged_choice.of(parameters) == Exchanged::gradients),
        at_boundary(interrupt_choice.of(parameters) == Interrupt::boundary),
        momentum(parameters) {}
  std::int64_t minibatch;
  bool reset_counters;  // false: after a sync each worker continues with the rest of its batch
  Average average;
  bool gradients;    // workers send the sum of their local gradients, and the server steps on the average
  bool at_boundary;  // finish the current mini-batch before stopping
  MomentumAtSync momentum;
};

/// Of each contribution, by the samples in it. There may be none: the one worker with a step can crash between its signal and its
/// contribution.
template <class T>
std::vector<double> shares_of(const std::vector<T>& parts, const Average& average) {
  std::vector<double> counts;
  for (const T& part : parts) {
    double samples = 0;
    for (const Contribution& made : part->made()) samples += static_cast<double>(made.samples);
    counts.push_back(average.count(samples));
  }
  return Average::shares(std::move(counts));
}

/// One worker's way through its batches.
class LocalWork {
 public:
  LocalWork(Node& node, const NonblockingOptions& options) : node_(node), options_(options), left_(node.batch_size()) { draw(); }
  const DrawnBatch& minibatch() const { return minibatch_; }
  bool batch_complete() const { return left_ == 0; }
  void completed() {
    left_ -= minibatch_.size;
    if (left_ > 0) draw();
  }
  /// After a sync: a completed batch is followed by the next; `reset` gives everyone a whole batch again.
  void synchronized() {
    const bool complete = batch_complete();
    if (complete || options_.reset_counters) {
      left_ = node_.batch_size();
      begins_ = true;
    }
    if (complete) draw();
  }

 private:
  void draw() {
    const std::int64_t samples = std::min(options_.minibatch, left_);
    minibatch_ = begins_ ? node_.next_batch(samples) : node_.more_of_batch(samples);
    begins_ = false;
  }
  Node& node_;
  const NonblockingOptions& options_;
  std::int64_t left_;   // samples of this batch that are not done yet
  bool begins_ = true;  // the next draw begins a batch; an interrupted mini-batch was drawn with the batch before
  DrawnBatch minibatch_;
};

/// The gradient of the current mini-batch, or nothing if the signal of this round came first.
Task<std::optional<Gradient>> gradient_unless_signalled(Node& node, const Weights& weights, const DrawnBatch& minibatch, bool at_boundary) {
  const std::uint64_t round = weights->version;
  if (at_boundary) {
    const auto asked = co_await first_of(node.proceed(), node.signal(round));
    if (std::holds_alternative<SyncSignal>(asked)) co_return std::nullopt;
    co_return co_await node.gradient(weights, minibatch);
  }
  auto outcome = co_await first_of(node.gradient(weights, minibatch), node.signal(round));
  if (std::holds_alternative<SyncSignal>(outcome)) co_return std::nullopt;
  co_return std::get<Gradient>(std::move(outcome));
}

class Nonblocking final : public Scheme {
 public:
  explicit Nonblocking(const Parameters& parameters) : options_(parameters) {
    if (options_.gradients && options_.momentum.averages())
      throw std::invalid_argument("momentum_at_sync: 'average' needs exchange: weights; gradients carry no momentum");
  }

 private:
  Process worker(Node& node) const override { return options_.gradients ? sends_gradients(node) : sends_weights(node); }

  Process sends_weights(Node& node) const {
    Weights weights = options_.momentum.incoming(node, node.initial_weights());
    LocalWork work(node, options_);
    for (;;) {
      const std::uint64_t round = weights->version;
      while (!work.batch_complete()) {
        const std::optional<Gradient> gradient = co_await gradient_unless_signalled(node, weights, work.minibatch(), options_.at_boundary);
        if (!gradient) break;
        weights = co_await node.step(weights, *gradient);
        work.completed();
      }
      if (work.batch_complete()) node.broadcast(SyncSignal(round));
      work.synchronized();
      const Weights mine = options_.momentum.outgoing(node, weights);
      co_await node.send(node.server(), mine);
      const Weights average = co_await node.receive<Weights>(node.server());
      weights = options_.momentum.incoming(node, average);
    }
  }

  /// The same with gradients on the wire: workers send the sum of their local gradients, the server steps on the average.
  Process sends_gradients(Node& node) const {
    Weights weights = node.initial_weights();
    LocalWork work(node, options_);
    for (;;) {
      const std::uint64_t round = weights->version;
      Gradient sum = node.no_gradient(weights);
      while (!work.batch_complete()) {
        const std::optional<Gradient> gradient = co_await gradient_unless_signalled(node, weights, work.minibatch(), options_.at_boundary);
        if (!gradient) break;
        weights = co_await node.step(weights, *gradient);
        sum = node.algebra().add(sum, *gradient);
        work.completed();
      }
      if (work.batch_complete()) node.broadcast(SyncSignal(round));
      work.synchronized();
      co_await node.send(node.server(), sum);
      const Weights next = co_await node.receive<Weights>(node.server());
      weights = options_.momentum.incoming(node, next);
    }
  }

  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      if (options_.gradients) {
        const std::vector<Gradient> sums = co_await gather<Gradient>(node, weights->version);
        // Each worker stepped at the rate of one already.
        const Gradient average = node.algebra().counted_as(node.algebra().weighted_sum(sums, shares_of(sums, options_.average)), 1);
        if (average->samples() > 0)
          weights = co_await node.step(weights, average);
        else
          average->add_made(weights.edit().more.edit().made);  // nobody took a step
      } else {
        const std::vector<Weights> parts = co_await gather<Weights>(node, weights->version);
        weights = options_.average.by_samples() ? node.weighted_mean(parts, shares_of(parts, options_.average)) : node.mean(parts);
      }
      weights = co_await node.publish(weights);
      node.broadcast(weights);
    }
  }

  NonblockingOptions options_;
};

const Register<SchemeEntry> entry({
    .name = "nonblocking",
    .summary = "non-blocking SGD: the first worker through its batch stops all others, their weights are averaged",
    .reference = "docs/model.md, Non-blocking SGD",
    .family = Family::local,
    .exchange = Exchange::server,
    .rule = "w ← (1/p) Σ w_i, when the first worker has done its batch",
    .paragraph = "The first worker through its batch stops all others inside theirs, and the weights of all are averaged. A slow worker "
                 "contributes the steps that it has done.",
    .waits = "nobody for another's batch",
    .batch_is = "the first worker's batch before all synchronize",
    .traffic = MomentumAtSync::traffic({.text = "2 p d; gradients: nothing for a worker without a step",
                                        .bytes = [](const Parameters& parameters, const TrainingPlan& plan) -> std::optional<UpdateBytes> {
                                          if (exchanged_choice.of(parameters) == Exchanged::gradients) return std::nullopt;
                                          return UpdateBytes{2.0 * plan.workers};
                                        }}),
    .picture = {{"minibatch", "8"}},
    .parameters = {count_or("minibatch", "32", "samples of one local step; the last one of a batch may be smaller"),
                   counters_choice.parameter(Counters::persist, "after a sync, continue with the rest of the batch, or start a whole one"),
                   Average::parameter(Average::By::plain),
                   interrupt_choice.parameter(Interrupt::immediate, "stop inside the current mini-batch, or after it"),
                   exchanged_choice.parameter(Exchanged::weights,
                                              "what is averaged: weights, or sums of local gradients that the server steps on"),
                   via_choice.only({Exchange::server}).parameter(Exchange::server, "how contributions are averaged"),
                   MomentumAtSync::parameter(MomentumAtSync::Mode::keep),
                   on_failure({OnFailure::drop, OnFailure::wait, OnFailure::abort},
                              "average without it, wait for it at the next sync, or end")},
    .examples = {{{"minibatch", "10"}}, {{"minibatch", "10"}, {"counters", "reset"}, {"exchange", "gradients"}, {"average", "by_samples"}}},
    .make = made<Nonblocking>,
    .plain_sgd_alone = {{}, {{"exchange", "gradients"}}},
    .updates_per_epoch = std::nullopt,
    .minibatch = [](const Parameters& parameters) { return parameters.count("minibatch"); },
    .sends_gradients = [](const Parameters& parameters) { return exchanged_choice.of(parameters) == Exchanged::gradients; },
    .worker_bytes = 2'300,
    .accumulates = false,
    .rolls_back = RollsBack::never,
});

}  // namespace
}  // namespace straggler::schemes::nonblocking
