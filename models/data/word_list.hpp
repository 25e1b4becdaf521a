// The words of a text, most frequent first, and their numbers of occurrences.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace straggler {

inline constexpr std::size_t most_words = std::size_t{1} << 24;  // floats represent word numbers exactly up to here
inline constexpr std::size_t longest_word = 1 << 20;             // bytes; a few kilobytes of gzip unpack to gigabytes of one letter

struct WordList {
  std::vector<std::string> words;     // by falling count, then alphabetically
  std::vector<std::uint64_t> counts;  // [words]
  std::size_t size() const { return words.size(); }
};

/// Lines "WORD COUNT", as word2vec saves a vocabulary.
std::string vocabulary_text(const WordList& vocabulary);
/// Throws DataError.
WordList read_vocabulary(const std::filesystem::path& path);

}  // namespace straggler
