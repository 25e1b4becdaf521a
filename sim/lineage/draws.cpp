#include "sim/lineage/draws.hpp"

#include "sim/base/key.hpp"

namespace straggler {

namespace {

/// Its upper 53 bits: a double holds every integer of that length.
double short_of(const Key& key) { return static_cast<double>(key.low >> 11); }

}  // namespace

double draw_number(std::uint64_t seed, Rank worker, std::uint64_t message) {
  return short_of(Hasher().add("compression of a message").add(seed).add(static_cast<std::uint64_t>(worker)).add(message).key());
}

double draw_number(std::uint64_t seed, std::uint64_t version) {
  return short_of(Hasher().add("compression at a version").add(seed).add(version).key());
}

}  // namespace straggler
