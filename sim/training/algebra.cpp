#include "sim/training/algebra.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "sim/lineage/clipping.hpp"
#include "sim/lineage/compressed_mean.hpp"
#include "sim/training/average.hpp"
#include "sim/training/backend.hpp"
#include "sim/training/whole.hpp"

namespace straggler {

namespace {

template <class T>
std::vector<Handle> values_of(const std::vector<T>& parts) {
  std::vector<Handle> values;
  values.reserve(parts.size());
  for (const T& part : parts) {
    if constexpr (std::is_same_v<T, Gradient>)
      values.push_back(part->value());
    else
      values.push_back(part->value);
  }
  return values;
}

/// Steps of one worker are one contribution.
void append(Contributions& all, const Contribution& made) {
  if (all.empty() || all.back().worker != made.worker) return all.push_back(made);
  all.back().steps += made.steps;
  all.back().samples += made.samples;
  all.back().spent += made.spent;
}

template <class T>
std::vector<CompressedVector> compressed_vectors(const std::vector<T>& parts) {
  std::vector<CompressedVector> vectors;
  for (const T& part : parts) vectors.push_back(compressed_vector(part));
  return vectors;
}

/// Names of the vectors attached to any of the parts, in the order in which they first come.
std::vector<std::string> attached_names(const std::vector<Weights>& parts) {
  std::vector<std::string> names;
  for (const Weights& part : parts)
    for (const AttachedVector& vector : part->attached())
      if (std::find(names.begin(), names.end(), vector.name) == names.end()) names.push_back(vector.name);
  return names;
}

/// Σ shares[i] (attached vector of part i), for every name. A part without it counts as zero.
AttachedVectors averaged_attached(Lineage& lineage, const std::vector<Weights>& parts, const std::vector<double>& shares) {
  AttachedVectors means;
  for (const std::string& name : attached_names(parts)) {
    std::vector<Handle> vectors;
    std::vector<double> factors;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Handle vector = find_attached(parts[i]->attached(), name);
      if (vector.empty()) continue;
      vectors.push_back(vector);
      factors.push_back(shares[i]);
    }
    means.push_back({name, lineage.elementwise(rules::weighted_mean, vectors, factors)});
  }
  return means;
}

/// The same around a ring, in which every rank has its piece: all have attached the same ones.
AttachedVectors ring_averaged_attached(Lineage& lineage, const std::vector<Weights>& parts) {
  AttachedVectors means;
  for (const AttachedVector& first : parts.front()->attached()) {
    std::vector<Handle> vectors;
    for (const Weights& part : parts) vectors.push_back(find_attached(part->attached(), first.name));
    means.push_back({first.name, lineage.elementwise(rules::ring_mean, vectors)});
  }
  return means;
}

/// Without its value: the version of the first, and the contributions of all, in order.
Weights joined_weights(const std::vector<Weights>& parts) {
  Weights out;
  WeightsState& state = out.edit();
  state.version = parts.front()->version;
  state.progress = parts.front()->progress;
  state.participants = parts.front()->participants;
  state.more.edit().fragment = parts.front()->fragment();
  Contributions& made = state.more.edit().made;
  for (const Weights& part : parts) {
    state.local_samples += part->local_samples;
    for (const Contribution& each : part->made()) made.push_back(each);
  }
  return out;
}

Gradient joined_gradients(const std::vector<Gradient>& parts) {
  Gradient out;
  GradientState& state = out.edit();
  state.at = parts.front()->at;
  state.averaged = 0;
  GradientState::More& more = state.more.edit();
  more.fragment = parts.front()->fragment();
  for (const Gradient& part : parts) {
    more.samples += part->samples();
    more.of_weights = more.of_weights || part->of_weights();
    state.averaged += part->averaged;
    part->add_made(more.made);
  }
  return out;
}

/// If all parts are plain means over equally many batches at the same weights, their mean is one large batch: these.
std::vector<Batch> joined_batches(const std::vector<Gradient>& parts) {
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

/// The rule's sum over a fragment alone where it depends on where the vector ends.
std::vector<double> scalars_of(const Rule& rule, const Fragment& fragment) {
  if (&rule != &rules::ring_mean || fragment.whole()) return {};
  return {static_cast<double>(fragment.index), static_cast<double>(fragment.count)};
}

/// Along a part of a gradient: zero elsewhere.
void require_numbers_alone(const UpdateRule& rule, const Fragment& part, const std::string& stepping) {
  const std::string_view who = rule.needs_tensors().empty() ? rule.needs_norms() : rule.needs_tensors();
  if (who.empty()) return;
  throw UnsupportedOperation(stepping + " steps along part " + std::to_string(part.index + 1) + " of " + std::to_string(part.count) +
                             " of a gradient, and " + std::string(who) +
                             " needs the whole; join the parts before the step, or use an optimizer of single numbers, such as adamw");
}

}  // namespace

namespace {

/// What the parts count in a mean of weighed batches: the batches of the workers that contributed to them.
template <class T>
std::vector<double> batches_in(const Batches& batches, const std::vector<T>& parts) {
  std::vector<double> counts;
  counts.reserve(parts.size());
  for (const T& part : parts) {
    double samples = 0;
    Rank before = anyone;
    for (const Contribution& made : part->made())
      if (const Rank worker = std::exchange(before, made.worker); worker != made.worker)
        samples += static_cast<double>(batches.of(made.worker));
    counts.push_back(samples);
  }
  return counts;
}

/// In mean batches.
double mean_batches_in(const std::vector<double>& batches, const TrainingPlan& plan) {
  return std::accumulate(batches.begin(), batches.end(), 0.0) / plan.batches.mean(plan.workers);
}

}  // namespace

/// Σ_j (m_j / b) g_j. Each micro-batch moves the running statistics r by a share μ, r ← r + μ (s_j - r), and a step moves them by μ towards
/// those of its gradient, which are therefore Σ_j (1 - μ)^(k - j) s_j + ((1 - μ)^k - (1 - μ)) / μ · r.
Handle Algebra::accumulated(const Handle& weights, const Batch& batch) const {
  const auto split = EvenSplit<std::uint32_t>::of(batch.size, static_cast<std::uint32_t>(plan_.accumulate));
  std::vector<Handle> parts;
  std::vector<double> shares;
  for (std::uint32_t j = 0; j < plan_.accumulate && split.size(j) > 0; ++j) {
    parts.push_back(lineage_.gradient(weights, {batch.position + split.begin(j), batch.stream, split.size(j)}));
    shares.push_back(static_cast<double>(split.size(j)) / static_cast<double>(batch.size));
  }
  if (parts.size() == 1) return parts.front();
  Handle mean = lineage_.elementwise(rules::weighted_mean, parts, shares);
  const double moved = plan_.statistics_momentum, kept = 1 - moved;
  if (moved == 0) return mean;
  const std::size_t count = parts.size();
  for (std::size_t j = 0; j < count; ++j) shares[j] = std::pow(kept, static_cast<double>(count - 1 - j));
  parts.push_back(weights);
  shares.push_back((std::pow(kept, static_cast<double>(count)) - kept) / moved);
  return lineage_.elementwise(rules::with_statistics, std::array{mean, lineage_.elementwise(rules::weighted_mean, parts, shares)});
}

Handle Algebra::taken(const Handle& weights, const Batch& batch) const {
  const Handle whole = plan_.accumulate > 1 ? accumulated(weights, batch) : lineage_.gradient(weights, batch);
  return plan_.worker_clip > 0 ? lineage_.elementwise(rules::clipped, std::array{whole}, {plan_.worker_clip}) : whole;
}

Gradient Algebra::mean(const std::vector<Gradient>& parts, const Rule& rule) const {
  std::vector<double> counts;
  if (plan_.weighs_batches) counts = batches_in(*batches_, parts);
  if (parts.size() == 1) return plan_.weighs_batches ? counted_as(parts.front(), mean_batches_in(counts, plan_)) : parts.front();
  Gradient out = joined_gradients(parts);
  GradientState& state = out.edit();
  if (&rule == &rules::compressed_mean) {
    CompressedMean mean = compressed_mean(compressed_vectors(parts));
    state.derive(std::move(mean.value));
    state.more.edit().product = std::move(mean.product);
    return out;
  }
  if (plan_.weighs_batches) {
    state.averaged = static_cast<float>(mean_batches_in(counts, plan_));
    state.derive(lineage_.elementwise(rules::weighted_mean, values_of(parts), Average::shares(std::move(counts))));
    return out;
  }
  std::vector<Batch> batches = joined_batches(parts);
  const auto fusible = [](const Gradient& part) { return part->fusible(); };
  if (plan_.fuse && !batches.empty() && std::all_of(parts.begin(), parts.end(), fusible)) {
    Handle value = lineage_.mean_gradient(state.at->value, batches);
    state.mean_over(std::move(value), std::move(batches), true);
  } else {
    Handle value = lineage_.elementwise(rule, values_of(parts), scalars_of(rule, state.fragment()));
    state.mean_over(std::move(value), std::move(batches), false);
  }
  return out;
}

Weights Algebra::as_sent(Weights weights) const {
  if (!plan_.rounding || weights->difference()) return weights;
  const Handle whole = weights->value;
  weights.edit().value = lineage_.elementwise(*plan_.rounding, std::array{whole});
  return weights;
}

Gradient Algebra::as_sent(Gradient gradient) const {
  if (!plan_.rounding || !gradient->of_weights() || gradient->more.get().compressed) return gradient;
  return replaced(gradient, lineage_.elementwise(*plan_.rounding, std::array{gradient->value()}));
}

Weights Algebra::mean(const std::vector<Weights>& parts, const Rule& rule) const {
  if (parts.size() == 1) return whole(parts.front());
  if (plan_.weighs_batches) return weighted_mean(parts, Average::shares(batches_in(*batches_, parts)));
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  const bool compressed = &rule == &rules::compressed_mean;
  if (compressed) {
    CompressedMean mean = compressed_mean(compressed_vectors(parts));
    state.value = moved(mean_base(parts), mean.value);
    state.more.edit().product = std::move(mean.product);
  } else {
    state.value = lineage_.elementwise(rule, values_of(parts), scalars_of(rule, state.fragment()));
  }
  state.more.edit().attached =
      &rule == &rules::ring_mean || (compressed && plan_.ring_sums)
          ? ring_averaged_attached(lineage_, parts)
          : averaged_attached(lineage_, parts, std::vector<double>(parts.size(), 1 / static_cast<double>(parts.size())));
  return out;
}

Weights Algebra::weighted_mean(const std::vector<Weights>& parts, const std::vector<double>& shares) const {
  if (parts.size() == 1) return whole(parts.front());
  Weights out = joined_weights(parts);
  WeightsState& state = out.edit();
  state.value = lineage_.elementwise(rules::weighted_mean, values_of(parts), shares);
  state.more.edit().attached = averaged_attached(lineage_, parts, shares);
  return out;
}

Weights Algebra::blend(const Weights& mine, const std::vector<Weights>& parts, const std::vector<double>& shares) const {
  Weights out = mine;
  out.edit().value = parts.size() == 1 && shares.front() == 1 ? parts.front()->value
                                                              : lineage_.elementwise(rules::weighted_mean, values_of(parts), shares);
  return out;
}

Gradient Algebra::weighted_sum(const std::vector<Gradient>& parts, const std::vector<double>& shares) const {
  Gradient out = joined_gradients(parts);
  std::vector<Handle> values;
  std::vector<double> factors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i]->value().empty()) continue;  // took no step: adds nothing
    values.push_back(parts[i]->value());
    factors.push_back(shares[i]);
  }
  if (values.empty()) return out;  // nobody took a step
  out.edit().derive(values.size() == 1 && factors.front() == 1 ? values.front()
                                                               : lineage_.elementwise(rules::weighted_mean, values, factors));
  return out;
}

Gradient Algebra::add(const Gradient& sum, const Gradient& next) const {
  if (sum->value().empty()) return next;
  Gradient out = sum;
  const std::array<Handle, 2> terms{sum->value(), next->value()};
  GradientState& state = out.edit();
  std::vector<Batch> batches, others;
  if (plan_.newest_weights) {
    batches = sum->summed_batches();
    others = next->summed_batches();
  }
  Handle value = lineage_.elementwise(rules::add, terms);
  if (batches.empty() || others.empty()) {
    state.derive(std::move(value));
  } else {
    batches.insert(batches.end(), others.begin(), others.end());
    state.sum_over(std::move(value), std::move(batches));
  }
  GradientState::More& more = state.more.edit();
  more.samples = sum->samples() + next->samples();
  for (const Contribution& made : next->made()) append(more.made, made);
  return out;
}

Gradient Algebra::vote(const std::vector<Gradient>& parts) const {
  const CompressedForm form = *compressed_vector(parts.front()).form;
  Gradient out = mean(parts);
  GradientState& state = out.edit();
  Handle value = lineage_.elementwise(*plan_.compression->vote, values_of(parts), form.scalars);
  if (plan_.statistics) value = lineage_.elementwise(rules::with_statistics, std::array{value, state.value()});
  state.derive(std::move(value));
  state.more.edit().compressed = form;
  return out;
}

Weights Algebra::stepped(Weights weights, const Gradient& gradient, Optimizer& optimizer, double epochs, Rank self) const {
  if (gradient->more.there() && !gradient->fragment().whole())
    require_numbers_alone(optimizer.rule(), gradient->fragment(), plan_.name_of(self));
  WeightsState& state = weights.edit();
  state.value = optimizer.rule().step(lineage_, state.value, gradient->value(), epochs, gradient->averaged, optimizer.state());
  state.local_samples += gradient->samples();
  Contributions& all = state.more.edit().made;
  const bool worker = self < plan_.workers;
  if (!worker || (all.empty() && !gradient->more.there())) {
    gradient->add_made(all);
    return weights;
  }
  for (const Contribution& made : gradient->made()) {
    if (made.worker == self)
      append(all, made);
    else
      all.push_back(made);
  }
  return weights;
}

Weights Algebra::next_version(const Weights& before, Rank publisher) const {
  Weights next;
  WeightsState& state = next.edit();
  state.participants = before->participants;
  state.value = before->value;
  state.version = before->version + 1;
  // A worker with weights of its own assumes that the others have made as much progress as itself.
  const bool shared = plan_.versions == Versions::shared;
  state.progress =
      before->progress + (shared ? before->local_samples : plan_.samples_beside(before->local_samples, publisher, before->participants));
  if (before->attached().empty()) return next;
  state.more = before->more;
  state.more.edit().made.clear();
  return next;
}

// Values derived from one payload

Handle Algebra::combination(const std::vector<Term>& terms) const {
  std::vector<Handle> vectors;
  std::vector<double> factors;
  for (const Term& term : terms) {
    if (term.vector.empty()) continue;
    vectors.push_back(term.vector);
    factors.push_back(term.factor);
  }
  if (vectors.empty()) return {};
  if (vectors.size() == 1 && factors.front() == 1) return vectors.front();
  return lineage_.elementwise(rules::weighted_mean, vectors, factors);
}

Handle Algebra::move(const Handle& from, const Handle& to) const {
  return lineage_.elementwise(rules::corrected, std::array{to, from}, {1, -1});
}

Handle Algebra::moved(const Handle& from, const Handle& move) const {
  return lineage_.elementwise(rules::corrected, std::array{move, from}, {1, 1});
}

Handle Algebra::product(const std::vector<Handle>& vectors) const { return lineage_.elementwise(rules::product, vectors); }

Gradient Algebra::replaced(const Gradient& gradient, Handle value) const {
  Gradient out = gradient;
  out.edit().derive(std::move(value));
  return out;
}

Gradient Algebra::corrected(const Gradient& gradient, const std::vector<Term>& terms) const {
  std::vector<Handle> vectors = {gradient->value()};
  std::vector<double> factors = {1};
  for (const Term& term : terms) {
    if (term.vector.empty()) continue;
    vectors.push_back(term.vector);
    factors.push_back(term.factor);
  }
  if (vectors.size() == 1) return gradient;
  return replaced(gradient, lineage_.elementwise(rules::corrected, vectors, factors));
}

Gradient Algebra::scaled(const Gradient& gradient, double factor) const {
  if (factor == 1) return gradient;
  return replaced(gradient, lineage_.elementwise(rules::corrected, std::array{gradient->value()}, {factor}));
}

Gradient Algebra::counted_as(const Gradient& gradient, double workers) const {
  Gradient out = gradient;
  out.edit().averaged = static_cast<float>(workers);
  return out;
}

namespace {
/// Scalars that name a fragment, for the rules that act on one; the whole vector has none.
std::vector<double> with_fragment(std::vector<double> scalars, const Fragment& fragment) {
  scalars.push_back(fragment.index);
  scalars.push_back(fragment.count);
  return scalars;
}

void require_plain(const TrainingPlan& plan, const Fragment& fragment) {
  if (!fragment.whole() && plan.statistics)
    throw std::invalid_argument("fragments of a model whose vectors end in running statistics or a loss scale; exchange it whole");
}
}  // namespace

Gradient Algebra::difference(const Weights& from, const Weights& to, Fragment fragment) const {
  require_plain(plan_, fragment);
  Gradient out;
  GradientState& state = out.edit();
  state.at = from;
  state.derive(lineage_.elementwise(rules::difference, std::array{from->value, to->value}, with_fragment({}, fragment)));
  state.more.edit().of_weights = true;
  state.more.edit().made = to->made();
  state.more.edit().samples = to->local_samples;
  state.more.edit().fragment = fragment;
  return out;
}

Gradient Algebra::part(const Gradient& gradient, Fragment fragment) const {
  require_plain(plan_, fragment);
  if (!gradient->fragment().whole()) throw std::invalid_argument("a part of a gradient that is a part already; take it of the whole");
  if (fragment.whole()) return gradient;
  Gradient out = replaced(gradient, lineage_.elementwise(rules::part, std::array{gradient->value()}, with_fragment({}, fragment)));
  out.edit().more.edit().fragment = fragment;
  return out;
}

Gradient Algebra::joined(const std::vector<Gradient>& fragments) const {
  for (std::uint32_t k = 0; k < fragments.size(); ++k)
    if (fragments[k]->fragment() != Fragment{k, static_cast<std::uint32_t>(fragments.size())})
      throw std::invalid_argument("these gradients are not the " + std::to_string(fragments.size()) +
                                  " parts of one, in order; join what an all-gather of all parts returns");
  Gradient out = replaced(fragments.front(), mixture(values_of(fragments)));
  out.edit().more.edit().fragment = Fragment();
  return out;
}

Weights Algebra::blend(const Weights& mine, const Weights& other, double share, Fragment fragment) const {
  Weights out = mine;
  WeightsState& state = out.edit();
  state.version = other->version;
  state.progress = other->progress;
  if (share == 0) return out;
  state.value = share == 1 && fragment.whole()
                    ? other->value
                    : lineage_.elementwise(rules::blend, std::array{mine->value, other->value}, with_fragment({share}, fragment));
  return out;
}

Handle Algebra::mixture(const std::vector<Handle>& chunks) const {
  // The last chunk's vector comes first: running statistics that stay where they are come from the first input.
  std::vector<Handle> vectors;
  std::vector<double> which(chunks.size());
  for (std::size_t k = chunks.size(); k-- > 0;) {
    const auto same = [&](const Handle& vector) { return vector.key() == chunks[k].key(); };
    const auto found = std::find_if(vectors.begin(), vectors.end(), same);
    which[k] = static_cast<double>(found - vectors.begin());
    if (found == vectors.end()) vectors.push_back(chunks[k]);
  }
  return vectors.size() == 1 ? vectors.front() : lineage_.elementwise(rules::mixture, vectors, which);
}

Weights Algebra::with_statistics(const Weights& stepped, const Gradient& from) const {
  if (!plan_.statistics) return stepped;
  Weights out = stepped;
  out.edit().value = lineage_.elementwise(rules::with_statistics, std::array{stepped->value, from->value()});
  return out;
}

Weights Algebra::without_contributions(Weights weights) const {
  WeightsState& state = weights.edit();
  state.local_samples = 0;
  if (state.more.there()) state.more.edit().made.clear();
  return weights;
}

Weights Algebra::attach(Weights weights, std::string_view name, Handle vector) const {
  AttachedVectors& attached = weights.edit().more.edit().attached;
  std::erase_if(attached, [name](const AttachedVector& each) { return each.name == name; });
  if (!vector.empty()) attached.push_back({std::string(name), std::move(vector)});
  return weights;
}

Weights Algebra::without_attached(Weights weights) const {
  if (!weights->attached().empty()) weights.edit().more.edit().attached.clear();
  return weights;
}

std::optional<Handle> Algebra::taken_at(const Gradient& gradient, const Weights& weights) const {
  std::vector<Batch> batches;
  gradient->add_batches(batches);
  if (batches.empty()) return std::nullopt;
  if (plan_.worker_clip == 0 && plan_.accumulate == 1) return lineage_.mean_gradient(weights->value, batches);
  std::vector<Handle> clipped;
  for (const Batch& batch : batches) clipped.push_back(taken(weights->value, batch));
  return clipped.size() == 1 ? clipped.front() : lineage_.elementwise(rules::mean, clipped);
}

std::optional<Gradient> Algebra::retaken(const Gradient& gradient, const Weights& weights) const {
  Handle value;
  if (const std::optional<Handle> mean = taken_at(gradient, weights)) {
    value = *mean;
  } else {
    for (const Batch& batch : gradient->summed_batches()) {
      const Handle one = taken(weights->value, batch);
      value = value.empty() ? one : lineage_.elementwise(rules::add, std::array{value, one});
    }
    if (value.empty()) return std::nullopt;
  }
  Gradient out = replaced(gradient, std::move(value));
  out.edit().more.edit().newest = true;
  return out;
}

}  // namespace straggler
