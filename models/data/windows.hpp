// Windows of a sequence of symbols: samples of a model that predicts the next symbol at each place. The end of the sequence is held out; no
// window lies in both parts.
#pragma once
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"

namespace straggler {

/// `context`, `stride` and `test_share`.
std::vector<Parameter> window_parameters();

inline constexpr std::size_t most_symbols = std::numeric_limits<std::int32_t>::max();  // of a sequence
inline constexpr std::size_t most_different_symbols = std::size_t{1} << 24;            // floats represent their numbers exactly up to here

struct WindowRule {
  explicit WindowRule(const Parameters& parameters);
  std::size_t context, stride;
  double test_share;

  /// Windows that begin at every `stride` symbols of so many, with the symbol after each: ⌊(n - 1 - context) / stride⌋ + 1.
  std::size_t windows(std::size_t symbols) const;
  /// Symbols of so many to train on.
  std::size_t to_train(std::size_t symbols) const;
};

/// `what`: the symbols, as "characters". Throws DataError for `path` if a part has no window.
DataInfo describe_windows(const WindowRule& rule, std::size_t symbols, std::size_t different, const std::string& what,
                          const std::filesystem::path& path);
/// As described.
Dataset cut_windows(const WindowRule& rule, DataInfo info, Symbols text);

}  // namespace straggler
