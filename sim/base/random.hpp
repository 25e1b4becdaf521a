// Named random streams. The stream of "worker/3/compute" follows only from the scenario's seed and that name, so a worker has the same
// delays under every scheme (common random numbers), and adding a worker changes no other worker's draws.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>

namespace straggler {

/// Philox4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011), counter-based: draw `index`
/// of a stream is found without drawing the ones before it. A UniformRandomBitGenerator, to be used with
/// Boost.Random's distributions (the standard library's differ between implementations).
class RandomStream {
 public:
  using result_type = std::uint32_t;

  /// The draws that belong to item `index` (a quantum, a sample, an epoch) of the stream `name`.
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0);
  /// The same, for a name hashed once by `stream_key`.
  RandomStream(std::uint64_t stream_key, std::uint64_t index);
  static std::uint64_t stream_key(std::uint64_t seed, std::string_view name);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() {
    if (used_ == 4) refill();
    return block_[used_++];
  }
  /// Uniform in [0, 1), 53 bits.
  double uniform() {
    const std::uint64_t high = (*this)(), low = (*this)();
    return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
  }
  /// Uniform in [0, bound), by rejection: no bias. bound > 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  void refill();
  std::uint64_t key_, index_, block_number_ = 0;
  result_type block_[4];
  unsigned used_ = 4;
};

}  // namespace straggler
