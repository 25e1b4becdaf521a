#include "scenarios/experiment/trajectory_store.hpp"

#include <string_view>

#include "math_stamp.hpp"  // made by CMake

namespace straggler {

Key math_stamp() { return Hasher().add(std::string_view(STRAGGLER_MATH_STAMP)).key(); }

Key evaluation_key(const Key& weights, EvaluationSet set, std::size_t train_subset, const Key& stamp) {
  const std::uint64_t samples = set == EvaluationSet::train_subset ? train_subset : 0;
  return Hasher().add("evaluation").add(stamp).add(weights).add(static_cast<std::uint64_t>(set)).add(samples).key();
}

Key loss_scale_key(const Key& weights, const Key& stamp) { return Hasher().add("loss scale").add(stamp).add(weights).key(); }

Key value_root(const Key& root, const Key& stamp) { return Hasher().add("values").add(stamp).add(root).key(); }

}  // namespace straggler
