#include "sim/schemes/node.hpp"

#include <array>
#include <numeric>
#include <stdexcept>

#include "sim/base/random.hpp"

namespace straggler {

namespace {

template <class T>
std::vector<Handle> values_of(const std::vector<T>& parts) {
  std::vector<Handle> values;
  values.reserve(parts.size());
  for (const T& part : parts) values.push_back(part->value);
  return values;
}

/// Σ shares[i] (k-th optimizer state of part i), for every k. A part without a state, whose worker has taken no step yet, counts
/// as zero.
std::vector<Handle> averaged_states(Lineage& lineage, const std::vector<Weights>& parts, const std::vector<double>& shares) {
  std::vector<Handle> states;
  std::size_t count = 0;
  for (const Weights& part : parts) count = std::max(count, part->optimizer().size());
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Handle> state;
    std::vector<double> factors;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]->optimizer().size() <= k) continue;
      state.push_back(parts[i]->optimizer()[k]);
      factors.push_back(shares[i]);
    }
    states.push_back(lineage.elementwise(rules::weighted_mean, state, factors));
  }
  return states;
}

/// The same around a ring, in which every rank has its piece: all have stepped equally often.
std::vector<Handle> ring_averaged_states(Lineage& lineage, const std::vector<Weights>& parts) {
  std::vector<Handle> states, state(parts.size());
  for (std::size_t k = 0; k < parts.front()->optimizer().size(); ++k) {
    for (std::size_t i = 0; i < parts.size(); ++i) state[i] = parts[i]->optimizer().at(k);
    states.push_back(lineage.elementwise(rules::ring_mean, state));
  }
  return states;
}

/// Without its value: the version is that of the first, contributions are joined in order.
Weights joined_weights(const std::vector<Weights>& parts) {
  Weights out;
  WeightsState& state = out.edit();
  state.version = parts.front()->version;
  state.progress = parts.front()->progress;
  state.participants = parts.front()->participants;
  Contributions& made = state.more.edit().made;
  for (const Weights& part : parts) {
    state.local_samples += part->local_samples;
    made.insert(made.end(), part->made().begin(), part->made().end());
  }
  return out;
}

Gradient joined_gradients(const std::vector<Gradient>& parts) {
  Gradient out;
  GradientState& state = out.edit();
  state.at = parts.front()->at;
  state.averaged = 0;
  GradientState::More& more = state.more.edit();
  for (const Gradient& part : parts) {
    more.samples += part->samples();
    state.averaged += part->averaged;
    const Contributions made = part->made();
    more.made.insert(more.made.end(), made.begin(), made.end());
  }
  return out;
}

/// If all parts are plain means over equally many batches at the same weights, their mean is one large batch: these.
std::vector<Batch> fused_batches(const std::vector<Gradient>& parts) {
  std::vector<Batch> batches;
  const Key at = parts.front()->at->value.key();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t before = batches.size();
    parts[i]->add_batches(batches);
    if (batches.size() == before || parts[i]->at->value.key() != at) return {};
    if (i > 0 && (batches.size() - before) * i != before) return {};
  }
  return batches;
}

}  // namespace

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
  std::uint64_t left = epoch - stream.position % epoch;
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

Gradient Node::mean(const std::vector<Gradient>& parts, const Rule& rule) {
  if (parts.size() == 1) return parts.front();
  Gradient out = joined_gradients(parts);
  GradientState& state = out.edit();
  std::vector<Batch> batches;
  if (plan().fuse) batches = fused_batches(parts);
  if (!batches.empty()) {
    state.value = lineage().mean_gradient(state.at->value, batches);
    state.more.edit().batches = std::move(batches);
  } else {
    state.value = lineage().elementwise(rule, values_of(parts));
  }
  return out;
}

Handle Node::as_sent(Handle weights) const {
  return plan().rounding ? lineage().elementwise(*plan().rounding, std::array{weights}) : weights;
}

std::vector<Handle> Node::as_sent(const std::vector<Weights>& parts) const {
  std::vector<Handle> values = values_of(parts);
  for (Handle& value : values) value = as_sent(value);
  return values;
}

Weights Node::mean(const std::vector<Weights>& parts, const Rule& rule) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = as_sent(lineage().elementwise(rule, as_sent(parts)));
  state.more.edit().optimizer =
      &rule == &rules::ring_mean
          ? ring_averaged_states(lineage(), parts)
          : averaged_states(lineage(), parts, std::vector<double>(parts.size(), 1 / static_cast<double>(parts.size())));
  return out;
}

Weights Node::weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) {
  if (parts.size() == 1) {
    Weights only = parts.front();
    if (plan().rounding) only.edit().value = as_sent(only->value);
    return only;
  }
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = as_sent(lineage().elementwise(rules::weighted_mean, as_sent(parts), shares));
  state.more.edit().optimizer = averaged_states(lineage(), parts, shares);
  return out;
}

Gradient Node::weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares) {
  Gradient out = joined_gradients(parts);
  std::vector<Handle> values;
  std::vector<double> factors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->value.empty()) continue;  // took no step: adds nothing
    values.push_back(parts[i]->value);
    factors.push_back(shares[i]);
  }
  out.edit().value =
      values.size() == 1 && factors.front() == 1 ? values.front() : lineage().elementwise(rules::weighted_mean, values, factors);
  return out;
}

Gradient Node::add(const Gradient& sum, const Gradient& next) {
  if (sum->value.empty()) return next;
  Gradient out = sum;
  const std::array<Handle, 2> terms{sum->value, next->value};
  GradientState& state = out.edit();
  state.value = lineage().elementwise(rules::add, terms);
  GradientState::More more;
  more.samples = sum->samples() + next->samples();
  more.made = sum->made();
  for (const Contribution& made : next->made()) {
    if (!more.made.empty() && more.made.back().worker == made.worker) {
      more.made.back().steps += made.steps;
      more.made.back().samples += made.samples;
    } else {
      more.made.push_back(made);
    }
  }
  state.more.edit() = std::move(more);
  return out;
}

Gradient Node::no_gradient(const Weights& weights) const {
  Gradient none;
  GradientState& state = none.edit();
  state.at = weights;
  state.worker = self_;
  state.first_position = last_position_;
  return none;
}

double Node::epochs_at(const Weights& weights) const {
  // Between two versions a worker reckons that the others have got as far as it has itself.
  const std::uint64_t local = weights->local_samples * (is_server() ? 1 : static_cast<std::uint64_t>(weights->participants));
  return static_cast<double>(weights->progress + local) / static_cast<double>(plan().epoch_samples);
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
