#include "sim/training/gradient_means.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace straggler {

GradientMeans::Round& GradientMeans::round(std::uint64_t number) {
  while (first_ + rounds_.size() <= number) rounds_.emplace_back().parts.resize(brought_.size());
  return rounds_[number - first_];
}

void GradientMeans::bring(Rank worker, Gradient mine) {
  Round& mean = round(brought_[index_of(worker)]++);
  mean.parts[index_of(worker)] = std::move(mine);
  ++mean.brought;
}

Gradient GradientMeans::take(Rank worker, const Algebra& algebra) {
  Round& mean = round(taken_[index_of(worker)]++);
  if (mean.brought < brought_.size())
    throw std::logic_error("worker " + std::to_string(worker) + " asks for a mean of gradients of which " +
                           std::to_string(brought_.size() - mean.brought) + " are missing");
  if (!mean.parts.empty()) {
    mean.mean = all_reduced(algebra, std::exchange(mean.parts, {}));
    mean.for_others = mean.mean;
    mean.for_others.edit().more.edit().made.clear();
  }
  Gradient out = worker == 0 ? std::move(mean.mean) : mean.for_others;
  if (++mean.taken == taken_.size()) {  // all take them in order
    rounds_.pop_front();
    ++first_;
  }
  return out;
}

}  // namespace straggler
