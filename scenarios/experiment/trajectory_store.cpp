#include "scenarios/experiment/trajectory_store.hpp"

#include <string_view>

#include "math_stamp.hpp"  // made by CMake

namespace straggler {

Key evaluation_key(const Key& weights, EvaluationSet set, std::size_t train_subset, const Key& stamp) {
  const std::uint64_t samples = set == EvaluationSet::train_subset ? train_subset : 0;
  return Hasher().add("evaluation").add(stamp).add(weights).add(static_cast<std::uint64_t>(set)).add(samples).key();
}

Key math_stamp() { return Hasher().add(std::string_view(STRAGGLER_MATH_STAMP)).key(); }

Evaluation KnownEvaluations::evaluate(const Handle& weights, EvaluationSet set) {
  const Key key = evaluation_key(weights.key(), set, train_subset_, stamp_);
  if (const auto known = store_.find(key)) {
    ++found_;
    return *known;
  }
  missing_.push_back(key);
  return {};
}

Evaluation StoringEvaluator::evaluate(const Handle& weights, EvaluationSet set) {
  const Key key = evaluation_key(weights.key(), set, train_subset_, stamp_);
  if (const auto known = store_.find(key)) return *known;
  const Evaluation value = math_.evaluate(weights, set);
  store_.keep(key, value);
  return value;
}

}  // namespace straggler
