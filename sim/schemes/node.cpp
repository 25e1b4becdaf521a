#include "sim/schemes/node.hpp"

#include <numeric>
#include <stdexcept>

#include "sim/base/random.hpp"

namespace straggler {

Process Scheme::server(Node&) const { return Process(); }

namespace {

/// What does not depend on the kind of payload: versions are those of the first, contributions are joined in order.
template <class T>
T joined(const std::vector<T>& parts) {
  T out;
  out.version = parts.front().version;
  out.progress = parts.front().progress;
  for (const T& part : parts) out.made.insert(out.made.end(), part.made.begin(), part.made.end());
  return out;
}

template <class T>
std::vector<Handle> values_of(const std::vector<T>& parts) {
  std::vector<Handle> values;
  values.reserve(parts.size());
  for (const T& part : parts) values.push_back(part.value);
  return values;
}

/// Σ shares[i] (k-th optimizer state of part i), for every k. A part without a state, whose worker has taken no step yet, counts
/// as zero.
std::vector<Handle> averaged_states(Lineage& lineage, const std::vector<Weights>& parts, const std::vector<double>& shares) {
  std::vector<Handle> states;
  std::size_t count = 0;
  for (const Weights& part : parts) count = std::max(count, part.optimizer.size());
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<Handle> state;
    std::vector<double> factors;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].optimizer.size() <= k) continue;
      state.push_back(parts[i].optimizer[k]);
      factors.push_back(shares[i]);
    }
    states.push_back(lineage.elementwise(rules::weighted_mean, state, factors));
  }
  return states;
}

Weights joined_weights(const std::vector<Weights>& parts) {
  Weights out = joined(parts);
  out.participants = parts.front().participants;
  for (const Weights& part : parts) out.local_samples += part.local_samples;
  return out;
}

Gradient joined_gradients(const std::vector<Gradient>& parts) {
  Gradient out = joined(parts);
  out.averaged = 0;
  for (const Gradient& part : parts) {
    out.samples += part.samples;
    out.averaged += part.averaged;
  }
  return out;
}

/// All parts are plain means over equally many batches at the same weights: their mean is one large batch.
bool can_fuse(const std::vector<Gradient>& parts) {
  const Gradient& first = parts.front();
  for (const Gradient& part : parts)
    if (part.at.empty() || part.batches.empty() || part.at.key() != first.at.key() || part.batches.size() != first.batches.size())
      return false;
  return true;
}

}  // namespace

std::uint64_t Node::part_samples(Rank worker) const {
  if (!plan_.shared_stream) return plan_.stream_samples[static_cast<std::size_t>(worker)];
  const auto workers = static_cast<std::uint64_t>(plan_.workers);
  return (plan_.train_samples + workers - 1) / workers;
}

std::vector<Rank> Node::sample_workers(std::int64_t count, std::uint64_t round) const {
  std::vector<Rank> ranks(static_cast<std::size_t>(plan_.workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (count >= plan_.workers) return ranks;
  RandomStream draws(plan_.seed, "server/sampled workers", round);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) std::swap(ranks[i], ranks[i + draws.below(ranks.size() - i)]);
  ranks.resize(static_cast<std::size_t>(count));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

Weights Node::initial_weights() {
  Weights weights;
  weights.value = lineage_.initial();
  weights.participants = plan_.workers;
  return weights;
}

DrawnBatch Node::next_batch(std::int64_t samples) {
  const std::uint64_t epoch = plan_.shared_stream ? plan_.train_samples : plan_.stream_samples[static_cast<std::size_t>(self_)];
  SampleStream& stream = shared_ ? *shared_ : own_;
  const auto wanted = static_cast<std::uint64_t>(samples);
  std::uint64_t left = epoch - stream.position % epoch;
  if (plan_.drop_last && left < wanted && epoch >= wanted) {
    stream.position += left;
    left = epoch;
  }
  DrawnBatch batch;
  batch.position = stream.position;
  batch.stream = plan_.shared_stream ? shared_stream : static_cast<std::uint32_t>(self_);
  batch.size = static_cast<std::uint32_t>(std::min(wanted, left));
  batch.work = drawn_;
  last_position_ = stream.position;
  stream.position += batch.size;
  drawn_ += batch.size;
  return batch;
}

Gradient Node::mean(const std::vector<Gradient>& parts) {
  if (parts.size() == 1) return parts.front();
  Gradient out = joined_gradients(parts);
  if (plan_.fuse && can_fuse(parts)) {
    out.at = parts.front().at;
    for (const Gradient& part : parts) out.batches.insert(out.batches.end(), part.batches.begin(), part.batches.end());
    out.value = lineage_.mean_gradient(out.at, std::vector<Batch>(out.batches.begin(), out.batches.end()));
  } else {
    const std::vector<Handle> values = values_of(parts);
    out.value = lineage_.elementwise(rules::mean, values);
  }
  return out;
}

Weights Node::mean(const std::vector<Weights>& parts) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  out.value = lineage_.elementwise(rules::mean, values_of(parts));
  out.optimizer = averaged_states(lineage_, parts, std::vector<double>(parts.size(), 1 / static_cast<double>(parts.size())));
  return out;
}

Weights Node::weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  out.value = lineage_.elementwise(rules::weighted_mean, values_of(parts), shares);
  out.optimizer = averaged_states(lineage_, parts, shares);
  return out;
}

Gradient Node::weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares) {
  Gradient out = joined_gradients(parts);
  std::vector<Handle> values;
  std::vector<double> factors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].value.empty()) continue;  // took no step: adds nothing
    values.push_back(parts[i].value);
    factors.push_back(shares[i]);
  }
  out.value = values.size() == 1 && factors.front() == 1 ? values.front() : lineage_.elementwise(rules::weighted_mean, values, factors);
  return out;
}

Gradient Node::add(const Gradient& sum, const Gradient& next) {
  if (sum.value.empty()) return next;
  Gradient out = sum;
  const std::vector<Handle> terms(std::initializer_list<Handle>{sum.value, next.value});
  out.value = lineage_.elementwise(rules::add, terms);
  out.samples += next.samples;
  out.at = Handle();
  out.batches.clear();
  for (const Contribution& made : next.made) {
    if (!out.made.empty() && out.made.back().worker == made.worker) {
      out.made.back().steps += made.steps;
      out.made.back().samples += made.samples;
    } else {
      out.made.push_back(made);
    }
  }
  return out;
}

Gradient Node::no_gradient(const Weights& weights) const {
  Gradient none;
  none.version = weights.version;
  none.progress = weights.progress;
  Contribution contribution;
  contribution.worker = self_;
  contribution.read_version = weights.version;
  contribution.first_position = last_position_;
  none.made.push_back(contribution);
  return none;
}

double Node::epochs_at(const Weights& weights) const {
  // Between two versions a worker reckons that the others have got as far as it has itself.
  const std::uint64_t local = weights.local_samples * (is_server() ? 1 : static_cast<std::uint64_t>(weights.participants));
  return static_cast<double>(weights.progress + local) / static_cast<double>(plan_.epoch_samples);
}

Weights Node::as_contribution(Weights weights) const {
  if (is_server() || !weights.made.empty()) return weights;
  Contribution contribution;
  contribution.worker = self_;
  contribution.read_version = weights.version;
  contribution.first_position = last_position_;
  weights.made.push_back(contribution);
  return weights;
}

}  // namespace straggler
