#include "sim/training/algebra.hpp"

#include <algorithm>
#include <array>

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

Gradient Algebra::mean(const std::vector<Gradient>& parts, const Rule& rule) {
  if (parts.size() == 1) return parts.front();
  Gradient out = joined_gradients(parts);
  GradientState& state = out.edit();
  std::vector<Batch> batches;
  if (plan_.fuse) batches = fused_batches(parts);
  if (!batches.empty()) {
    state.value = lineage_.mean_gradient(state.at->value, batches);
    state.more.edit().batches = std::move(batches);
  } else {
    state.value = lineage_.elementwise(rule, values_of(parts));
  }
  return out;
}

Weights Algebra::as_sent(Weights weights) const {
  if (!plan_.rounding) return weights;
  const Handle whole = weights->value;
  weights.edit().value = lineage_.elementwise(*plan_.rounding, std::array{whole});
  return weights;
}

Weights Algebra::mean(const std::vector<Weights>& parts, const Rule& rule) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = lineage_.elementwise(rule, values_of(parts));
  state.more.edit().optimizer =
      &rule == &rules::ring_mean
          ? ring_averaged_states(lineage_, parts)
          : averaged_states(lineage_, parts, std::vector<double>(parts.size(), 1 / static_cast<double>(parts.size())));
  return out;
}

Weights Algebra::weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) {
  if (parts.size() == 1) return parts.front();
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = lineage_.elementwise(rules::weighted_mean, values_of(parts), shares);
  state.more.edit().optimizer = averaged_states(lineage_, parts, shares);
  return out;
}

Weights Algebra::blend(const Weights& mine, const std::vector<Weights>& parts, const std::vector<double>& shares) {
  Weights out = mine;
  out.edit().value = parts.size() == 1 && shares.front() == 1 ? parts.front()->value
                                                              : lineage_.elementwise(rules::weighted_mean, values_of(parts), shares);
  return out;
}

Gradient Algebra::weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares) {
  Gradient out = joined_gradients(parts);
  std::vector<Handle> values;
  std::vector<double> factors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->value.empty()) continue;  // took no step: adds nothing
    values.push_back(parts[i]->value);
    factors.push_back(shares[i]);
  }
  out.edit().value =
      values.size() == 1 && factors.front() == 1 ? values.front() : lineage_.elementwise(rules::weighted_mean, values, factors);
  return out;
}

Gradient Algebra::add(const Gradient& sum, const Gradient& next) {
  if (sum->value.empty()) return next;
  Gradient out = sum;
  const std::array<Handle, 2> terms{sum->value, next->value};
  GradientState& state = out.edit();
  state.value = lineage_.elementwise(rules::add, terms);
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

}  // namespace straggler
