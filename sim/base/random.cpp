#include "sim/base/random.hpp"

#include <Random123/philox.h>

#include "sim/base/key.hpp"

namespace straggler {

std::uint64_t RandomStream::stream_key(std::uint64_t seed, std::string_view name) { return Hasher().add(seed).add(name).key().low; }

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) : RandomStream(stream_key(seed, name), index) {}

RandomStream::RandomStream(std::uint64_t stream_key, std::uint64_t index) : key_(stream_key), index_(index) {}

void RandomStream::refill() {
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(block_number_), static_cast<std::uint32_t>(block_number_ >> 32),
                                               static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32)}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)}};
  const r123::Philox4x32::ctr_type drawn = r123::Philox4x32()(counter, key);
  for (unsigned i = 0; i < 4; ++i) block_[i] = drawn[i];
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
