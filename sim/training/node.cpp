#include "sim/training/node.hpp"

#include <numeric>
#include <stdexcept>

#include "sim/base/random.hpp"

namespace straggler {

Process Scheme::server(Node&) const { return Process(); }

Parameter on_failure(std::vector<std::string> choices, const std::string& meaning) {
  const std::string fallback = choices.front();
  return {.name = "on_failure",
          .type = ValueType::choice,
          .fallback = fallback,
          .meaning = "when a worker crashes: " + meaning,
          .choices = std::move(choices)};
}

std::uint64_t Node::part_samples(Rank worker) const {
  if (!plan().shared_stream) return plan().stream_samples[static_cast<std::size_t>(worker)];
  const auto workers = static_cast<std::uint64_t>(plan().workers);
  return (plan().train_samples + workers - 1) / workers;
}

std::vector<Rank> Node::sample_workers(std::int64_t count, std::uint64_t round) const {
  std::vector<Rank> ranks(static_cast<std::size_t>(plan().workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (count >= plan().workers) return ranks;
  RandomStream draws(plan().seed, "server/sampled workers", round);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) std::swap(ranks[i], ranks[i + draws.below(ranks.size() - i)]);
  ranks.resize(static_cast<std::size_t>(count));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Weights Node::initial_weights() {
  if (!start_->value.empty()) return start_;
  if (!context_.initial->value.empty()) return context_.initial;
  WeightsState& weights = context_.initial.edit();
  weights.value = context_.lineage.initial();
  weights.participants = context_.plan.workers;
  return context_.initial;
}

DrawnBatch Node::next_batch(std::int64_t samples) {
  const DrawnBatch batch = draw(self_, own_, drawn_, samples);
  last_position_ = batch.position;
  return batch;
}

DrawnBatch Node::next_batch_of(Rank worker, Drawing& drawing, std::int64_t samples) {
  const DrawnBatch batch = draw(worker, drawing.stream, drawing.work, samples);
  drawn_ += batch.size;
  return batch;
}

/// `own`: how far the worker is in its own part; `work`: the samples that it has drawn.
DrawnBatch Node::draw(Rank worker, SampleStream& own, std::uint64_t& work, std::int64_t samples) {
  const bool pool = plan().shared_stream;
  const std::uint64_t epoch = pool ? plan().train_samples : plan().stream_samples[static_cast<std::size_t>(worker)];
  SampleStream& stream = pool && !is_server() ? context_.shared_stream : own;
  const auto wanted = static_cast<std::uint64_t>(samples);
  std::uint64_t left = plan().endless ? wanted : epoch - stream.position % epoch;
  if (plan().drop_last && left < wanted && epoch >= wanted) {
    stream.position += left;
    left = epoch;
  }
  DrawnBatch batch;
  batch.position = stream.position;
  batch.stream = pool ? shared_stream : static_cast<std::uint32_t>(worker);
  batch.size = static_cast<std::uint32_t>(std::min(wanted, left));
  batch.work = work;
  stream.position += batch.size;
  work += batch.size;
  return batch;
}

Gradient Node::no_gradient(const Weights& weights) const {
  Gradient none;
  GradientState& state = none.edit();
  state.at = weights;
  state.worker = self_;
  state.first_position = last_position_;
  return none;
}

Contribution Node::contribution_of(const WeightsState& weights) const {
  Contribution contribution;
  contribution.worker = self_;
  contribution.read_version = weights.version;
  contribution.first_position = last_position_;
  return contribution;
}

Weights Node::as_contribution(Weights weights) const {
  if (!is_server() && weights->made().empty()) {
    WeightsState& state = weights.edit();
    state.more.edit().made.push_back(contribution_of(state));
  }
  return weights;
}

}  // namespace straggler
