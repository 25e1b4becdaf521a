// What is made of compressed gradients: means of what their messages carry, of their factors, and votes (docs/decisions/044).
#include <array>

#include "sim/lineage/compressed_mean.hpp"
#include "sim/training/algebra.hpp"

namespace straggler {

namespace {

const CompressedForm* form_of(const Gradient& gradient) {
  const std::optional<CompressedForm>& form = gradient->more.get().compressed;
  return form ? &*form : nullptr;
}

std::vector<Handle> values_of(const std::vector<Gradient>& parts) {
  std::vector<Handle> values;
  for (const Gradient& part : parts) values.push_back(part->value());
  return values;
}

}  // namespace

Gradient Algebra::vote(const std::vector<Gradient>& parts) const {
  const CompressedForm form = *form_of(parts.front());
  Gradient out = mean(parts);
  GradientState& state = out.edit();
  Handle value = lineage_.elementwise(*plan_.compression->vote, values_of(parts), form.scalars);
  if (plan_.statistics) value = lineage_.elementwise(rules::with_statistics, std::array{value, state.value()});
  state.derive(std::move(value));
  state.more.edit().compressed = form;
  return out;
}

const Rule& Algebra::all_reduce_rule(const Gradient& part) const {
  // Of buckets each is packed by itself; their sums are those of the vectors.
  const bool sums = form_of(part) && part->fragment().whole() && !plan_.compression->gathered && plan_.compression->bounds.empty();
  return sums ? rules::compressed_mean : all_reduce_rule();
}

Handle Algebra::compressed_mean(const std::vector<Handle>& values, int factor, const std::vector<double>& scalars) const {
  std::vector<double> all = {plan_.compression->name, static_cast<double>(factor), plan_.ring_sums ? 1.0 : 0.0};
  all.insert(all.end(), scalars.begin(), scalars.end());
  const Handle mean = lineage_.elementwise(rules::compressed_mean, values, all);
  if (!plan_.statistics || factor == 2) return mean;
  const Rule& rule = plan_.ring_sums ? rules::ring_mean : rules::mean;
  return lineage_.elementwise(rules::with_statistics, std::array{mean, lineage_.elementwise(rule, values)});
}

Handle Algebra::left_mean(const std::vector<Gradient>& parts) const {
  std::vector<Handle> left;
  for (const Gradient& part : parts) left.push_back(form_of(part)->factors->left);
  return compressed_mean(left, 1, form_of(parts.front())->scalars);
}

Handle Algebra::orthogonal(const Handle& left, const std::vector<double>& scalars) const {
  return lineage_.elementwise(*plan_.compression->factors->orthogonal, std::array{left}, scalars);
}

Handle Algebra::right_factor(const Gradient& part, const Handle& left) const {
  return lineage_.elementwise(*plan_.compression->factors->right, std::array{part->value(), left}, form_of(part)->scalars);
}

Handle Algebra::right_mean(const std::vector<Gradient>& parts, const Handle& left) const {
  std::vector<Handle> right;
  for (const Gradient& part : parts) right.push_back(right_factor(part, left));
  return compressed_mean(right, 2, form_of(parts.front())->scalars);
}

void Algebra::mean_product(const std::vector<Gradient>& parts, GradientState& out) const {
  const std::vector<double> scalars = form_of(parts.front())->scalars;
  const Handle left = orthogonal(left_mean(parts), scalars);
  const Handle both = lineage_.elementwise(rules::corrected, std::array{left, right_mean(parts, left)}, {1.0, 1.0});
  out.derive(lineage_.elementwise(*plan_.compression->factors->product, std::array{both}, scalars));
  out.more.edit().product = std::make_shared<const LowRank>(LowRank{left, both});
}

}  // namespace straggler
