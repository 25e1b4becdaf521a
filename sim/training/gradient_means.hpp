// The means of all workers' gradients, apart from the collectives that move them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/training/algebra.hpp"

namespace straggler {

/// The mean that an all-reduce makes of what its members bring, in the order of ranks.
template <class T>
T all_reduced(const Algebra& algebra, std::vector<T> parts) {
  const bool sent = parts.size() > 1;  // one alone sends nothing
  if (sent)
    for (T& part : parts) part = algebra.as_sent(std::move(part));
  T mean = algebra.mean(parts, algebra.all_reduce_rule(parts.front()));
  if (sent && !compressed_form(Payload(parts.front()))) mean = algebra.as_sent(std::move(mean));
  if constexpr (std::is_same_v<T, Gradient>) mean.edit().summed_apart();
  return mean;
}

/// The n-th gradients of all workers belong together. Where workers move shards, none has a whole mean, yet its value is that of an
/// all-reduce.
class GradientMeans {
 public:
  explicit GradientMeans(Rank workers) : brought_(index_of(workers)), taken_(index_of(workers)) {}
  void bring(Rank worker, Gradient mine);
  /// Each worker takes a mean once. Only that of rank 0 carries the contributions. Throws std::logic_error before all have brought theirs.
  Gradient take(Rank worker, const Algebra& algebra);

 private:
  struct Round {
    std::vector<Gradient> parts;  // [workers]; empty once there is a mean
    std::size_t brought = 0, taken = 0;
    Gradient mean, for_others;
  };
  Round& round(std::uint64_t number);

  std::vector<std::uint64_t> brought_, taken_;  // [workers]
  std::deque<Round> rounds_;                    // that not all have taken
  std::uint64_t first_ = 0;                     // the number of the first of them
};

}  // namespace straggler
