#include "scenarios/results/word_vectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/data/dataset.hpp"
#include "models/safetensors/safetensors.hpp"
#include "scenarios/results/reader.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace fs = std::filesystem;

WordVectors read_word_vectors(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) refuse_newer_results(path);
  const fs::path model = fs::is_directory(path, error) ? path / "model.safetensors" : path, words = model.parent_path() / "vocabulary.txt";
  if (!fs::exists(model, error))
    throw DataError(
        fmt::format("{}: no such file; give the result folder of a run of model skipgram (not --timing-only), or its "
                    "model.safetensors",
                    model.string()));
  SafetensorsFile file = read_safetensors(model);
  const auto at = std::find_if(file.tensors.begin(), file.tensors.end(), [](const TensorInfo& one) { return one.name == "input.weight"; });
  if (at == file.tensors.end() || at->shape.size() != 2)
    throw DataError(
        fmt::format("{}: holds no word vectors (input.weight, a row for each word); give a run of model skipgram", model.string()));
  if (!fs::exists(words, error))
    throw DataError(
        fmt::format("{}: no such file; the words of {} must be in the same folder, as the run wrote them", words.string(), model.string()));
  WordVectors vectors;
  vectors.vocabulary = read_vocabulary(words);
  if (vectors.vocabulary.size() != at->shape[0])
    throw DataError(fmt::format("{}: has {} words, {} has vectors of {}; both must be of one run", words.string(),
                                vectors.vocabulary.size(), model.string(), at->shape[0]));
  vectors.width = at->shape[1];
  const auto first = file.values.begin() + static_cast<std::ptrdiff_t>(at->offset);
  vectors.values.assign(first, first + static_cast<std::ptrdiff_t>(at->shape[0] * at->shape[1]));
  return vectors;
}

std::size_t word_number(const WordVectors& vectors, std::string_view word) {
  const std::vector<std::string>& words = vectors.vocabulary.words;
  if (const auto at = std::find(words.begin(), words.end(), word); at != words.end()) return static_cast<std::size_t>(at - words.begin());
  const std::string near = nearest_name(word, words);
  throw DataError(fmt::format("the vocabulary of {} words has no {}; {}", words.size(), in_quotes(word),
                              near.empty() ? "use a word of vocabulary.txt" : fmt::format("did you mean {}?", in_quotes(near))));
}

std::vector<Neighbour> nearest_words(const WordVectors& vectors, std::size_t word, std::size_t count) {
  const auto row = [&](std::size_t number) { return vectors.values.data() + number * vectors.width; };
  const auto product = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < vectors.width; ++i) sum += static_cast<double>(row(a)[i]) * static_cast<double>(row(b)[i]);
    return sum;
  };
  const double length = std::sqrt(product(word, word));
  std::vector<Neighbour> all;
  for (std::size_t other = 0; other < vectors.vocabulary.size(); ++other) {
    const double cosine = product(word, other) / (length * std::sqrt(product(other, other)));
    if (other != word && !std::isnan(cosine)) all.push_back({other, cosine});
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end(),
                    [](const Neighbour& a, const Neighbour& b) { return a.cosine != b.cosine ? a.cosine > b.cosine : a.word < b.word; });
  all.erase(end, all.end());
  return all;
}

void write_word2vec(const WordVectors& vectors, OutFile& file) {
  file.print("{} {}\n", vectors.vocabulary.size(), vectors.width);
  for (std::size_t word = 0; word < vectors.vocabulary.size(); ++word) {
    const float* const row = vectors.values.data() + word * vectors.width;
    file.print("{} {}\n", vectors.vocabulary.words[word], fmt::join(row, row + vectors.width, " "));
  }
}

}  // namespace straggler
