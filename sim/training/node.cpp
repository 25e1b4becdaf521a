#include "sim/training/node.hpp"

#include <numeric>
#include <stdexcept>
#include <unordered_map>

#include "sim/base/random.hpp"

namespace straggler {

namespace {

/// The first `count` of a Fisher-Yates shuffle of 0..n-1, ascending. Only places that were swapped are kept: time and memory go with
/// `count`.
std::vector<Rank> sample(std::size_t count, std::size_t n, RandomStream draws) {
  std::unordered_map<std::size_t, Rank> moved;  // what lies at places where something else was
  const auto at = [&moved](std::size_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? static_cast<Rank>(i) : found->second;
  };
  std::vector<Rank> ranks;
  ranks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t j = i + draws.below(n - i);
    ranks.push_back(at(j));
    moved[j] = at(i);
    moved.erase(i);  // nobody looks there again
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

std::shared_ptr<const std::vector<Rank>> Node::sample_workers(std::int64_t count, std::uint64_t round) const {
  auto& [last, before] = context_.sampled;
  const auto is_it = [&](const NodeContext::SampledWorkers& drawn) { return drawn.ranks && drawn.count == count && drawn.round == round; };
  if (is_it(last)) return last.ranks;
  std::swap(last, before);
  if (is_it(last)) return last.ranks;
  std::vector<Rank> ranks;
  if (count < plan().workers) {
    ranks = sample(static_cast<std::size_t>(count), static_cast<std::size_t>(plan().workers),
                   RandomStream(plan().seed, "server/sampled workers", round));
  } else {
    ranks.resize(static_cast<std::size_t>(plan().workers));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  last = {count, round, std::make_shared<const std::vector<Rank>>(std::move(ranks))};
  return last.ranks;
}

std::vector<Rank> Node::group() const {
  const Aggregation& all = plan().aggregation;
  const std::size_t number = index_of(self_ - all.first_rank);
  std::vector<Rank> ranks(index_of(all.first_worker[number + 1] - all.first_worker[number]));
  std::iota(ranks.begin(), ranks.end(), all.first_worker[number]);
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
  const DrawnBatch batch = draw(self_, own_, samples, true);
  last_position_ = batch.position;
  return batch;
}

DrawnBatch Node::more_of_batch(std::int64_t samples) {
  const DrawnBatch batch = draw(self_, own_, samples, false);
  last_position_ = batch.position;
  return batch;
}

DrawnBatch Node::next_batch_of(Rank worker, Drawing& drawing, std::int64_t samples) {
  const DrawnBatch batch = draw(worker, drawing, samples, true);
  own_.work += batch.size;
  return batch;
}

/// `begins`: it is a batch of its own, else a part of the worker's latest.
DrawnBatch Node::draw(Rank worker, Drawing& drawing, std::int64_t samples, bool begins) {
  const bool pool = plan().shared_stream;
  const std::uint64_t epoch = pool ? plan().train_samples : plan().stream_samples[static_cast<std::size_t>(worker)];
  SampleStream& stream = pool && is_worker() ? context_.shared_stream : drawing.stream;
  auto left = static_cast<std::uint64_t>(samples);
  if (!plan().endless) {
    const std::uint64_t pass = plan().drop_last ? plan().pass_samples(worker) : epoch;
    std::uint64_t passed = stream.position % epoch;
    if (passed >= pass) {
      stream.position += epoch - passed;  // what drop_last leaves out
      passed = 0;
    }
    left = pass - passed;
  }
  DrawnBatch batch;
  batch.position = stream.position;
  batch.stream = pool ? shared_stream : static_cast<std::uint32_t>(worker);
  batch.size = static_cast<std::uint32_t>(std::min(static_cast<std::uint64_t>(samples), left));
  if (begins) {
    ++drawing.batches;
    drawing.offset = 0;
  }
  batch.work = drawing.work;
  batch.number = drawing.batches - 1;
  batch.offset = drawing.offset;
  stream.position += batch.size;
  drawing.work += batch.size;
  drawing.offset += batch.size;
  return batch;
}

Optimizer Node::outer_optimizer() const {
  if (!plan().outer_optimizer) throw std::logic_error("the scheme's entry names no outer optimizer");
  return Optimizer(*plan().outer_optimizer);
}

namespace {
std::string name_of_state(std::size_t k) { return "optimizer " + std::to_string(k); }
}  // namespace

void Node::attach_optimizer(Weights& weights) const {
  AttachedVectors& attached = weights.edit().more.edit().attached;
  attached.clear();
  if (!optimizer_) return;
  for (std::size_t k = 0; k < optimizer_->state().size(); ++k) attached.push_back({name_of_state(k), optimizer_->state()[k]});
}

void Node::adopt_optimizer(const Weights& weights) {
  optimizer().reset();
  for (std::size_t k = 0;; ++k) {
    const Handle state = find_attached(weights->attached(), name_of_state(k));
    if (state.empty()) return;
    optimizer().state().push_back(state);
  }
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
  if (is_worker() && weights->made().empty()) {
    WeightsState& state = weights.edit();
    state.more.edit().made.push_back(contribution_of(state));
  }
  return weights;
}

}  // namespace straggler
