// The word vectors that a run of skipgram left behind.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/data/word_list.hpp"
#include "scenarios/results/out_file.hpp"

namespace straggler {

struct WordVectors {
  WordList vocabulary;
  std::size_t width = 0;
  std::vector<float> values;  // [words][width]: the input vectors, as trained
};

/// `path`: a result folder, or its model.safetensors (or another name); vocabulary.txt lies beside that. Throws DataError, or
/// ResultsError if the folder has results of a later version.
WordVectors read_word_vectors(const std::filesystem::path& path);

/// The number of a word. Throws DataError that names the nearest one.
std::size_t word_number(const WordVectors& vectors, std::string_view word);

struct Neighbour {
  std::size_t word = 0;
  double cosine = 0;
};
/// The words whose vectors are closest in direction to the word's, without the word itself, by falling cosine (of equals the more frequent
/// first). Fewer if there are no more; vectors of zeros have no neighbours and are none.
std::vector<Neighbour> nearest_words(const WordVectors& vectors, std::size_t word, std::size_t count);

/// word2vec's text format: a line "WORDS WIDTH", then a line for each word, the word and its numbers, as short as they can be to be read
/// back as they were. Throws ResultsError.
void write_word2vec(const WordVectors& vectors, OutFile& file);

}  // namespace straggler
