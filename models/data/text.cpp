// Pairs of neighbouring words in a text, for skip-gram (Mikolov et al., Distributed Representations of Words and Phrases and their
// Compositionality, 2013), as the word2vec program makes them:
//  - The vocabulary contains the words with at least `min_count` occurrences; other words are removed first.
//  - The rest is cut into sentences of 1,000 words, regardless of line ends.
//  - A word of share f of the text is kept with probability sqrt(t / f), t = `subsample` (equation 5 there; the program itself keeps
//    slightly more, sqrt(t / f) + t / f).
//  - Each kept word is a centre; R is drawn from 1 .. `window`, and the R kept words on either side, inside the sentence, are its contexts.
//    So the nearest words are in every window and the farthest in one of `window`.
// A share of the sentences, drawn by the seed, is held out: its pairs are the test samples. All draws happen once, when the data is read:
// every epoch is a pass over the same pairs. A pair takes 8 bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "models/data/dataset.hpp"
#include "models/data/permutation.hpp"
#include "models/data/text_file.hpp"
#include "models/data/word_list.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::text {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sentence_words = 1000;

[[noreturn]] void fail(const fs::path& path, const std::string& sentence) {
  throw DataError(fmt::format("{}: {}", path.string(), sentence));
}

/// Words of a text, numbered in the order of first occurrence.
class WordCounter {
 public:
  void add(std::string_view word) {
    auto at = numbers_.find(word);
    if (at == numbers_.end()) {
      at = numbers_.emplace(std::string(word), static_cast<std::uint32_t>(words_.size())).first;
      words_.push_back(at->first);
      counts_.push_back(0);
    }
    ++counts_[at->second];
    text_.push_back(at->second);
  }
  std::size_t size() const { return text_.size(); }
  const std::vector<std::string_view>& words() const { return words_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  std::vector<std::uint32_t>& text() { return text_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::string_view> words_;  // keys of numbers_, whose addresses are stable
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint32_t> text_;
};

struct Options {
  explicit Options(const Parameters& parameters)
      : letters(parameters.flag("letters")),
        limit(parameters.has("words") ? static_cast<std::size_t>(parameters.count("words")) : std::numeric_limits<std::size_t>::max()),
        min_count(static_cast<std::uint64_t>(parameters.count("min_count"))),
        vocabulary(parameters.has("vocabulary") ? static_cast<std::size_t>(parameters.count("vocabulary")) : most_words),
        window(static_cast<std::size_t>(parameters.count("window"))),
        subsample(parameters.number("subsample")),
        test_share(parameters.number("test_share")) {}
  bool letters;
  std::size_t limit;
  std::uint64_t min_count;
  std::size_t vocabulary, window;
  double subsample, test_share;
};

/// The letter as stored in a word, or 0 at the end of a word.
char letter_of(char c, bool letters) {
  if (letters) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c >= 'a' && c <= 'z' ? c : '\0';
  }
  return c == ' ' || (c >= '\t' && c <= '\r') ? '\0' : c;
}

WordCounter read_words(const fs::path& path, const Options& options) {
  TextFile file(path);
  WordCounter words;
  std::string word;
  for (std::string_view piece = file.next(); !piece.empty() && words.size() < options.limit; piece = file.next())
    for (const char c : piece) {
      if (c == '\0') fail(path, "holds zero bytes, which no text does; give a text, plain or compressed by gzip");
      if (const char letter = letter_of(c, options.letters); letter != '\0') {
        if (word.size() == longest_word) fail(path, fmt::format("has a word of more than {} bytes; give a text in words", longest_word));
        word += letter;
        continue;
      }
      if (!word.empty() && words.size() < options.limit) words.add(word);
      word.clear();
      if (words.words().size() > most_words)
        fail(path, fmt::format("has more than {} different words; give a text in words, or read fewer by `words`", most_words));
    }
  if (!word.empty() && words.size() < options.limit) words.add(word);
  return words;
}

/// A text as vocabulary numbers.
struct Text {
  std::shared_ptr<const WordList> vocabulary;
  std::vector<std::uint32_t> words;
};

Text read_text(const fs::path& path, const Options& options) {
  WordCounter counter = read_words(path, options);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < counter.words().size(); ++i)
    if (counter.counts()[i] >= options.min_count) kept.push_back(i);
  std::sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) {
    return counter.counts()[a] != counter.counts()[b] ? counter.counts()[a] > counter.counts()[b] : counter.words()[a] < counter.words()[b];
  });
  if (kept.size() > options.vocabulary) kept.resize(options.vocabulary);
  if (kept.size() < 2)
    fail(path, fmt::format("of its {} words ({} different ones) {} different ones are kept, and pairs need two; lower min_count ({}), or "
                           "take a longer text",
                           counter.size(), counter.words().size(), kept.size(), options.min_count));
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(counter.words().size(), none);
  auto vocabulary = std::make_shared<WordList>();
  for (const std::uint32_t word : kept) {
    number[word] = static_cast<std::uint32_t>(vocabulary->size());
    vocabulary->words.emplace_back(counter.words()[word]);
    vocabulary->counts.push_back(counter.counts()[word]);
  }
  Text text{std::move(vocabulary), std::move(counter.text())};
  for (std::uint32_t& word : text.words) word = number[word];
  std::erase(text.words, none);
  if (text.words.size() < 2 * sentence_words)
    fail(path, fmt::format("{} words are left of it; at least {} are needed, as whole sentences of {} are held out for the test",
                           text.words.size(), 2 * sentence_words, sentence_words));
  return text;
}

/// Calls train(centre, context) or test(centre, context) for every pair, in text order.
template <class Train, class Test>
void for_pairs(const Text& text, const Options& options, std::uint64_t seed, const Train& train, const Test& test) {
  std::vector<double> keep(text.vocabulary->size(), 1);
  for (std::size_t i = 0; options.subsample > 0 && i < keep.size(); ++i)
    keep[i] = std::sqrt(options.subsample * static_cast<double>(text.words.size()) / static_cast<double>(text.vocabulary->counts[i]));
  const std::size_t sentences = (text.words.size() + sentence_words - 1) / sentence_words;
  const auto share = static_cast<std::size_t>(std::llround(options.test_share * static_cast<double>(sentences)));
  const std::vector<std::uint32_t> held =
      choose(std::clamp<std::size_t>(share, 1, sentences - 1), sentences, RandomStream(seed, "data/text/test"));
  const std::uint64_t stream = RandomStream::stream_key(seed, "data/text/pairs");
  std::vector<std::uint32_t> kept;
  std::size_t next = 0;
  for (std::size_t sentence = 0; sentence < sentences; ++sentence) {
    RandomStream random(stream, sentence);
    kept.clear();
    const std::size_t end = std::min(text.words.size(), (sentence + 1) * sentence_words);
    for (std::size_t i = sentence * sentence_words; i < end; ++i) {
      const double chance = keep[text.words[i]];
      if (chance >= 1 || random.uniform() < chance) kept.push_back(text.words[i]);
    }
    const bool is_held = next < held.size() && held[next] == sentence;
    next += is_held;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::size_t radius = 1 + random.below(options.window);
      const std::size_t last = std::min(kept.size() - 1, i + radius);
      for (std::size_t j = i - std::min(i, radius); j <= last; ++j) {
        if (j == i) continue;
        if (is_held)
          test(kept[i], kept[j]);
        else
          train(kept[i], kept[j]);
      }
    }
  }
}

DataInfo describe(const fs::path& path, const Text& text, const Options& options, std::uint64_t seed) {
  DataInfo info;
  info.features = 1;
  info.shape = {1};
  info.classes = text.vocabulary->size();
  for_pairs(
      text, options, seed, [&](std::uint32_t, std::uint32_t) { ++info.train; }, [&](std::uint32_t, std::uint32_t) { ++info.test; });
  if (info.train == 0 || info.test == 0)
    fail(path, fmt::format("there are {} pairs of words to train on and {} to test; raise subsample ({}), or use a longer text", info.train,
                           info.test, options.subsample));
  if (info.train > std::numeric_limits<std::uint32_t>::max())
    fail(path, fmt::format("makes {} pairs of words, more than {}; use a smaller window or subsample, or fewer words", info.train,
                           std::numeric_limits<std::uint32_t>::max()));
  info.reading = sizeof(std::uint32_t) * text.words.capacity();
  info.vocabulary = text.vocabulary;
  info.origin = fmt::format("pairs of words of {}: {} words, {} different ones", path.filename().string(), text.words.size(), info.classes);
  return info;
}

DataInfo inspect(const Parameters& parameters, const fs::path& base, std::uint64_t seed) {
  const fs::path path = base / parameters.text("path");
  const Options options(parameters);
  return describe(path, read_text(path, options), options, seed);
}

Dataset load(const Parameters& parameters, const fs::path& base, std::uint64_t seed, unsigned /*threads*/) {
  const fs::path path = base / parameters.text("path");
  const Options options(parameters);
  const Text text = read_text(path, options);
  Dataset data;
  data.info = describe(path, text, options, seed);
  SampleFloats train, test;
  const auto into = [](std::size_t count, SampleFloats& centres, std::vector<std::int32_t>& contexts) {
    centres.reserve(count);
    contexts.reserve(count);
    return [&](std::uint32_t centre, std::uint32_t context) {
      centres.push_back(static_cast<float>(centre));
      contexts.push_back(static_cast<std::int32_t>(context));
    };
  };
  for_pairs(text, options, seed, into(data.info.train, train, data.train.labels), into(data.info.test, test, data.test.labels));
  data.train.inputs = SampleInputs(std::move(train), 1);
  data.test.inputs = SampleInputs(std::move(test), 1);
  return data;
}

std::vector<Parameter> declare() {
  return {{.name = "path", .type = ValueType::path, .required = true, .meaning = "the text, plain or .gz; text8 as it is"},
          {.name = "letters",
           .type = ValueType::boolean,
           .fallback = "true",
           .meaning = "words are runs of the letters a to z, in lower case; false: everything between blanks, unchanged"},
          {.name = "words", .type = ValueType::count, .meaning = "read only this many words of the text", .range = Range::at_least(1)},
          {.name = "min_count",
           .type = ValueType::count,
           .fallback = "5",
           .meaning = "words that occur less often are left out",
           .range = Range::at_least(1)},
          {.name = "vocabulary",
           .type = ValueType::count,
           .meaning = "keep only this many different words, the most frequent ones",
           .range = Range::between(2, static_cast<double>(most_words))},
          {.name = "window",
           .type = ValueType::count,
           .fallback = "5",
           .meaning = "contexts are at most this many words away; for each centre the distance is drawn from 1 to this",
           .range = Range::between(1, static_cast<double>(sentence_words))},
          {.name = "subsample",
           .fallback = "1e-3",
           .meaning = "words of a larger share of the text are thinned out to sqrt(subsample / share) of it; 0: none",
           .range = Range::between(0, 1)},
          {.name = "test_share",
           .type = ValueType::fraction,
           .fallback = "0.02",
           .meaning = "share of the text, in sentences of 1,000 words, that is held out to test on",
           .range = {0, 0.5, true, false}}};
}

const Register<DataEntry> entry(
    {"text", "pairs of words near each other in a text, for skip-gram; text8 or any text by `path`", declare(),
     [](const Parameters& parameters, const fs::path& base) { return inspect(parameters, base, 1); }, load, inspect, true,
     [](const Parameters& parameters, const fs::path& base) { return std::vector{base / parameters.text("path")}; }});

}  // namespace
}  // namespace straggler::data::text
