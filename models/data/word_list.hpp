// The words of a text, most frequent first, and how often each occurs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace straggler {

struct WordList {
  std::vector<std::string> words;     // by falling count, equal ones by the alphabet
  std::vector<std::uint64_t> counts;  // [words]
  std::size_t size() const { return words.size(); }
};

/// Lines "WORD COUNT", as word2vec saves a vocabulary.
std::string vocabulary_text(const WordList& vocabulary);
/// Throws DataError.
WordList read_vocabulary(const std::filesystem::path& path);

}  // namespace straggler
