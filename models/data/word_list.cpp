#include "models/data/word_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <unordered_set>

#include "models/data/dataset.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {

std::string vocabulary_text(const WordList& vocabulary) {
  std::string text;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) text += fmt::format("{} {}\n", vocabulary.words[i], vocabulary.counts[i]);
  return text;
}

WordList read_vocabulary(const std::filesystem::path& path) {
  FileLines lines(path, longest_word + 32);  // and a count
  if (!lines.opened())
    throw DataError(fmt::format("{}: cannot be read; give a vocabulary, lines of a word, a blank and a count", path.string()));
  WordList vocabulary;
  std::unordered_set<std::string> seen;
  for (std::string_view line; lines.next(line);) {
    const std::size_t number = lines.number();
    const std::size_t blank = line.find(' ');
    std::uint64_t count = 0;
    const char* const end = line.data() + line.size();
    const auto parsed = std::from_chars(blank == std::string::npos ? end : line.data() + blank + 1, end, count);
    if (blank == 0 || parsed.ec != std::errc() || parsed.ptr != end)
      throw DataError(fmt::format("{}:{}: not a word, a blank and a count; give the vocabulary that the run wrote", path.string(), number));
    if (vocabulary.size() == most_words)
      throw DataError(fmt::format("{}:{}: more than {} words; give the vocabulary that the run wrote", path.string(), number, most_words));
    if (!seen.emplace(line.substr(0, blank)).second)
      throw DataError(fmt::format("{}:{}: the word {} stands here again; each may stand there once", path.string(), number,
                                  in_quotes(line.substr(0, blank))));
    vocabulary.words.emplace_back(line.substr(0, blank));
    vocabulary.counts.push_back(count);
  }
  if (lines.too_long())
    throw DataError(fmt::format("{}:{}: has a word of more than {} bytes; give the vocabulary that the run wrote", path.string(),
                                lines.number(), longest_word));
  if (lines.broken()) throw DataError(fmt::format("{}: cannot be read to its end; check the disk", path.string()));
  return vocabulary;
}

}  // namespace straggler
