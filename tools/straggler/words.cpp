#include <fmt/format.h>

#include <filesystem>

#include "scenarios/results/word_vectors.hpp"
#include "sim/base/aside_file.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

/// Written under a temporary name first, so that it appears whole or not at all.
void write_vectors(const WordVectors& vectors, const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw ResultsError(fmt::format("{}: is a folder; name a file with --out", path.string()));
  AsideFile aside(path);
  OutFile file(aside.path(), path.string());
  write_word2vec(vectors, file);
  file.close();
  if ((error = aside.put_into_place())) throw ResultsError(fmt::format("{}: cannot be written there ({})", path.string(), error.message()));
}

void print_neighbours(const WordVectors& vectors, std::size_t word, std::size_t count) {
  print_text("{} ({} times)\n", vectors.vocabulary.words[word], vectors.vocabulary.counts[word]);
  for (const Neighbour& near : nearest_words(vectors, word, count))
    print_text("  {:<20} {:.3f}\n", vectors.vocabulary.words[near.word], near.cosine);
}

int execute_words(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("near", po::value<std::vector<std::string>>()->composing()->value_name("WORD,..."), "prints the nearest neighbours of each word");
  add("count", po::value<std::string>()->value_name("N"), "neighbours of each word (default: 10)");
  add("out,o", po::value<std::string>()->value_name("FILE"), "writes all vectors in word2vec's text format");
  Arguments arguments(words_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  if (!arguments.has("near") && !arguments.has("out")) throw UsageError("--near WORD,... or --out FILE is missing");
  const std::size_t count = arguments.has("count") ? arguments.count("count", 1) : 10;
  std::vector<std::string> words;
  if (arguments.has("near"))
    for (const std::string& list : arguments.get<std::vector<std::string>>("near"))
      for (const std::string& word : split_at_commas(list)) words.push_back(word);
  if (arguments.has("near") && words.empty()) throw UsageError("--near names no word; write --near king,queen");

  const WordVectors vectors = read_word_vectors(arguments.positional().front());
  std::vector<std::size_t> numbers;
  for (const std::string& word : words) numbers.push_back(word_number(vectors, word));
  if (arguments.has("out")) write_vectors(vectors, arguments.get<std::string>("out"));
  for (const std::size_t number : numbers) print_neighbours(vectors, number, count);
  return Exit::done;
}

}  // namespace

const Command words_command{"words", "RUN_DIR|model.safetensors", "nearest neighbours of words, and their vectors",
                            "  straggler words results/word2vec --near king,queen\n"
                            "  straggler words results/word2vec --out vectors.txt\n",
                            execute_words};

}  // namespace straggler::cli
