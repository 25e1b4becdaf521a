#include "sim/schemes/node.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "sim/base/random.hpp"

namespace straggler {

Process Scheme::server(Node&) const { return Process(); }

std::uint64_t TrainingPlan::drawn_of(Rank worker, std::uint64_t samples) const {
  if (!drop_last) return samples;
  const auto whole = static_cast<std::uint64_t>(batch_of(worker)), piece = static_cast<std::uint64_t>(minibatch_of(worker));
  const std::uint64_t unit = whole % piece == 0 ? piece : whole;
  return samples < unit ? samples : samples - samples % unit;
}

std::uint64_t TrainingPlan::part_samples(Rank worker) const {
  if (!shared_stream) return stream_samples[static_cast<std::size_t>(worker)];
  const auto count = static_cast<std::uint64_t>(workers);
  return (train_samples + count - 1) / count;
}

std::uint64_t TrainingPlan::pass_samples(Rank worker) const {
  if (shared_stream) return drawn_of(workers - 1, train_samples);
  return drawn_of(worker, stream_samples[static_cast<std::size_t>(worker)]);
}

double TrainingPlan::batches_per_epoch() const {
  const auto count = [](std::uint64_t samples, double size) { return std::max(1.0, std::ceil(static_cast<double>(samples) / size)); };
  if (shared_stream)
    return count(epoch_samples, static_cast<double>(batch) + static_cast<double>(larger_batches) / static_cast<double>(workers));
  double samples_per_batch = 0;  // summed over the workers
  for (Rank worker = 0; worker < workers; ++worker) {
    const std::uint64_t samples = pass_samples(worker);
    samples_per_batch += static_cast<double>(samples) / count(samples, static_cast<double>(batch_of(worker)));
  }
  return static_cast<double>(epoch_samples) * static_cast<double>(workers) / samples_per_batch;
}

Parameter on_failure(std::vector<std::string> choices, const std::string& meaning) {
  const std::string fallback = choices.front();
  return {.name = "on_failure",
          .type = ValueType::choice,
          .fallback = fallback,
          .meaning = "when a worker crashes: " + meaning,
          .choices = std::move(choices)};
}

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
  SampleStream& stream = pool && !is_server() ? context_.shared_stream : drawing.stream;
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

Weights Node::as_sent(Weights weights) const {
  if (!plan().rounding) return weights;
  const Handle whole = weights->value;
  weights.edit().value = lineage().elementwise(*plan().rounding, std::array{whole});
  return weights;
}

Weights Node::mean(const std::vector<Weights>& parts, const Rule& rule) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = lineage().elementwise(rule, values_of(parts));
  state.more.edit().optimizer =
      &rule == &rules::ring_mean
          ? ring_averaged_states(lineage(), parts)
          : averaged_states(lineage(), parts, std::vector<double>(parts.size(), 1 / static_cast<double>(parts.size())));
  return out;
}

Weights Node::weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = lineage().elementwise(rules::weighted_mean, values_of(parts), shares);
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
  if (plan().epoch_samples == 0) return 0;
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
