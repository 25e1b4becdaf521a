// Means of compressed gradients and of compressed differences of weights, by their messages or by their factors
// (decision 44).
#include <array>

#include "sim/lineage/compressed_mean.hpp"
#include "sim/training/algebra.hpp"

namespace straggler {

const Rule& Algebra::all_reduce_rule(const Gradient& part) const {
  // Of buckets each is packed by itself; their sums are those of the vectors.
  const bool sums =
      part->more.get().compressed && part->fragment().whole() && !plan_.compression->gathered && plan_.compression->buckets.bounds.empty();
  return sums ? rules::compressed_mean : all_reduce_rule();
}

const Rule& Algebra::all_reduce_rule(const Weights& part) const {
  return part->difference() && !plan_.compression->gathered ? rules::compressed_mean : all_reduce_rule();
}

Handle Algebra::compressed_mean(const std::vector<Handle>& values, int factor, const std::vector<double>& scalars) const {
  std::vector<double> all = {plan_.compression->name, static_cast<double>(factor), plan_.ring_sums ? 1.0 : 0.0};
  all.insert(all.end(), scalars.begin(), scalars.end());
  Handle mean = lineage_.elementwise(rules::compressed_mean, values, all);
  if (!plan_.statistics || factor == 2) return mean;
  const Rule& rule = plan_.ring_sums ? rules::ring_mean : rules::mean;
  return lineage_.elementwise(rules::with_statistics, std::array{mean, lineage_.elementwise(rule, values)});
}

Algebra::CompressedMean Algebra::compressed_mean(const std::vector<CompressedVector>& parts) const {
  const std::vector<double>& scalars = parts.front().form->scalars;
  if (!parts.front().form->factors) {
    std::vector<Handle> values;
    for (const CompressedVector& part : parts) values.push_back(part.value);
    return {compressed_mean(values, 0, scalars), nullptr};
  }
  const Handle left = orthogonal(left_mean(parts), scalars);
  const Handle both = lineage_.elementwise(rules::corrected, std::array{left, right_mean(parts, left)}, {1.0, 1.0});
  return {lineage_.elementwise(*plan_.compression->factors->product, std::array{both}, scalars),
          std::make_shared<const LowRank>(LowRank{left, both})};
}

Handle Algebra::mean_base(const std::vector<Weights>& parts) const {
  std::vector<Handle> bases;
  bool common = true;
  for (const Weights& part : parts) {
    bases.push_back(part->difference()->base);
    common = common && bases.back().key() == bases.front().key();
  }
  return common ? bases.front() : lineage_.elementwise(all_reduce_rule(), bases);
}

Handle Algebra::left_mean(const std::vector<CompressedVector>& parts) const {
  std::vector<Handle> left;
  for (const CompressedVector& part : parts) left.push_back(part.form->factors->left);
  return compressed_mean(left, 1, parts.front().form->scalars);
}

Handle Algebra::orthogonal(const Handle& left, const std::vector<double>& scalars) const {
  return lineage_.elementwise(*plan_.compression->factors->orthogonal, std::array{left}, scalars);
}

Handle Algebra::right_factor(const CompressedVector& part, const Handle& left) const {
  return lineage_.elementwise(*plan_.compression->factors->right, std::array{part.value, left}, part.form->scalars);
}

Handle Algebra::right_mean(const std::vector<CompressedVector>& parts, const Handle& left) const {
  std::vector<Handle> right;
  for (const CompressedVector& part : parts) right.push_back(right_factor(part, left));
  return compressed_mean(right, 2, parts.front().form->scalars);
}

}  // namespace straggler
