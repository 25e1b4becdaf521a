#include "sim/base/random.hpp"

#include "sim/base/key.hpp"

namespace straggler {
namespace {

/// Philox4x32 with 10 rounds (Salmon et al., SC 2011, section 3.3 and table 2): the block of `low` and `high` under `key`.
void philox(std::uint64_t low, std::uint64_t high, std::uint64_t key, std::uint32_t (&block)[4]) {
  constexpr unsigned rounds = 10;
  constexpr std::uint64_t even = 0xD2511F53, odd = 0xCD9E8D57;            // multipliers
  constexpr std::uint32_t low_step = 0x9E3779B9, high_step = 0xBB67AE85;  // of the key: the golden ratio, and sqrt(3) - 1
  auto word = [](std::uint64_t pair, int half) { return static_cast<std::uint32_t>(pair >> 32 * half); };
  std::uint32_t c0 = word(low, 0), c1 = word(low, 1), c2 = word(high, 0), c3 = word(high, 1), k0 = word(key, 0), k1 = word(key, 1);
  for (unsigned round = 0; round < rounds; ++round, k0 += low_step, k1 += high_step) {
    const std::uint64_t first = even * c0, second = odd * c2;
    c0 = word(second, 1) ^ c1 ^ k0;
    c1 = word(second, 0);
    c2 = word(first, 1) ^ c3 ^ k1;
    c3 = word(first, 0);
  }
  block[0] = c0, block[1] = c1, block[2] = c2, block[3] = c3;
}

}  // namespace

std::uint64_t RandomStream::stream_key(std::uint64_t seed, std::string_view name) { return Hasher().add(seed).add(name).key().low; }

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) : RandomStream(stream_key(seed, name), index) {}

RandomStream::RandomStream(std::uint64_t stream_key, std::uint64_t index) : key_(stream_key), index_(index) {}

void RandomStream::refill() {
  philox(block_number_, index_, key_, block_);
  ++block_number_;
  used_ = 0;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() - std::numeric_limits<std::uint64_t>::max() % bound;
  for (;;) {
    const std::uint64_t high = (*this)(), low = (*this)();
    const std::uint64_t drawn = high << 32 | low;
    if (drawn < limit) return drawn % bound;
  }
}

}  // namespace straggler
