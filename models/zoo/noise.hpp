// Words drawn with probability proportional to count^0.75 (Mikolov et al. 2013), by an alias table: one look-up per word.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace straggler {

/// Draws from a discrete distribution in constant time (Walker 1977; the table as in Vose 1991). Probabilities are exact to 2^-32 of 1 /
/// size.
class AliasTable {
 public:
  /// Weights: at least one, none negative, not all zero.
  explicit AliasTable(std::span<const double> weights);
  std::size_t size() const { return cells_.size(); }
  std::uint32_t draw(std::uint64_t bits) const {
    const std::uint64_t place = (bits >> 32) * cells_.size() >> 32;
    const Cell& cell = cells_[place];
    return static_cast<std::uint32_t>(bits) < cell.below ? static_cast<std::uint32_t>(place) : cell.alias;
  }

 private:
  struct Cell {
    std::uint32_t below = 0, alias = 0;  // the cell's own value if 32 random bits are below, else the alias
  };
  std::vector<Cell> cells_;
};

class Noise {
 public:
  explicit Noise(std::span<const std::uint64_t> counts);
  /// Negative number `index` of the sample with this draw key (Rows::draws). Words of SplitMix64 (Steele et al. 2014).
  std::uint32_t draw(std::uint64_t key, std::uint64_t index) const {
    std::uint64_t x = key + (index + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return table_.draw(x ^ (x >> 31));
  }

 private:
  AliasTable table_;
};

}  // namespace straggler
