// Pairs of words of a text: what is kept, how often, how far apart, and what is refused.
#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "models/data/dataset.hpp"
#include "models/data/word_list.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/floats.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

namespace straggler::text_test {
namespace {

namespace fs = std::filesystem;
using test::has;

class Folder : public test::TemporaryFolder {
 public:
  void write_gz(const char* name, const std::string& text) const {
    gzFile file = gzopen((*this / name).c_str(), "wb");
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
    gzclose(file);
  }
};

const DataEntry& text_entry() { return Registry<DataEntry>::instance().at("text"); }

Key content(const Folder& folder, Parameters given, std::uint64_t seed = 1) {
  if (!given.has("path")) given.set("path", std::string("text"));
  return content_of(text_entry(), complete(text_entry().parameters, std::move(given)), folder.path(), seed);
}

Dataset load(const Folder& folder, Parameters given, std::uint64_t seed = 1) {
  if (!given.has("path")) given.set("path", std::string("text"));
  return text_entry().load(complete(text_entry().parameters, std::move(given)), folder.path(), seed, 1);
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}
/// Word i of as many as one likes, of letters alone: "a", "b", …, "aa", ….
std::string name(std::size_t i) {
  std::string word(1, static_cast<char>('a' + i % 26));
  return i < 26 ? word : name(i / 26 - 1) + word;
}

/// Words 0 .. cycle-1 again and again: the distance of a pair follows from its words, while it is below cycle / 2.
std::string cycling(std::size_t count, std::size_t cycle) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += name(i % cycle) + ' ';
  return text;
}

using Pair = std::pair<std::string, std::string>;
std::vector<Pair> pairs_of(const Dataset& data, const DataSplit& split) {
  std::vector<Pair> pairs;
  const auto& words = data.info.vocabulary->words;
  for (std::size_t i = 0; i < split.count(); ++i)
    pairs.emplace_back(words[static_cast<std::size_t>(*split.inputs.rows(i, 1, nullptr))],
                       words[static_cast<std::size_t>(split.labels[i])]);
  return pairs;
}

constexpr double all_of_it = 0.0;  // subsample: none

}  // namespace

TEST_CASE("text: a gzip bomb of one word is refused at the first bytes that no word has") {
  const Folder folder;
  folder.write_gz("text", std::string(3 << 20, 'a'));  // 3 kB
  const auto refused = error_of([&] { load(folder, {}); });
  CHECK(has(refused, "text: has a word of more than 1048576 bytes; give a text in words"));
}

TEST_CASE("text: a gzip bomb of many words is refused after 16 MiB") {
  const Folder folder;
  std::string words;
  while (words.size() < 17'000'000) words += "a b c d e f g h ";
  folder.write_gz("text.gz", words);
  const Parameters given = complete(text_entry().parameters, {{"path", (folder.path() / "text.gz").string()}});
  CHECK(has(error_of([&] { text_entry().inspect(given, "/"); }), "unpacks to more than 50 times its size, which no text does"));
  // Only the first words of it, as far as 16 MiB.
  const Parameters few = complete(text_entry().parameters, {{"path", (folder.path() / "text.gz").string()}, {"words", std::int64_t{5000}}});
  CHECK(text_entry().inspect(few, "/").classes == 8);
  // A plain text may repeat itself.
  folder.write("text", words);
  CHECK(text_entry().inspect(complete(text_entry().parameters, {{"path", (folder.path() / "text").string()}}), "/").classes == 8);
}

TEST_CASE("text: the vocabulary is by falling count, then by the alphabet, without rare words") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 900; ++i) text += "The cat, the DOG\nsat9on ";  // the 1800; cat, dog, on, sat 900 each
  text += "once upon a a";
  folder.write("text", text);
  const Dataset data = load(folder, {{"min_count", std::int64_t{2}}});
  CHECK(data.info.vocabulary->words == std::vector<std::string>{"the", "cat", "dog", "on", "sat", "a"});
  CHECK(data.info.vocabulary->counts == std::vector<std::uint64_t>{1800, 900, 900, 900, 900, 2});
  CHECK(data.info.features == 1);
  CHECK(data.info.classes == 6);
  CHECK(data.info.train == data.train.count());
  CHECK(data.info.test == data.test.count());
  CHECK(data.train.inputs.count() == data.train.labels.size());

  CHECK(load(folder, {{"vocabulary", std::int64_t{3}}}).info.vocabulary->words == std::vector<std::string>{"the", "cat", "dog"});
  const Dataset as_is = load(folder, {{"letters", false}, {"min_count", std::int64_t{2}}});
  CHECK(as_is.info.vocabulary->words == std::vector<std::string>{"DOG", "The", "cat,", "sat9on", "the", "a"});
  // 3,000 words: 500 times six.
  CHECK(load(folder, {{"words", std::int64_t{3000}}}).info.vocabulary->counts == std::vector<std::uint64_t>{1000, 500, 500, 500, 500});
}

TEST_CASE("text: contexts at distance d occur for (window - d + 1) / window of the centres, inside sentences of 1,000 words") {
  const Folder folder;
  constexpr std::size_t words = 100'000, cycle = 50, window = 5;
  folder.write("text", cycling(words, cycle));
  const Dataset data = load(folder, {{"window", std::int64_t{window}}, {"subsample", all_of_it}, {"test_share", 0.5}});
  std::map<int, double> seen;
  const auto& vocabulary = data.info.vocabulary->words;
  std::map<std::string, int> place;
  for (std::size_t i = 0; i < cycle; ++i) place[name(i)] = static_cast<int>(i);
  for (const DataSplit* split : {&data.train, &data.test})
    for (std::size_t i = 0; i < split->count(); ++i) {
      const int from = place[vocabulary[static_cast<std::size_t>(*split->inputs.rows(i, 1, nullptr))]],
                to = place[vocabulary[static_cast<std::size_t>(split->labels[i])]];
      int distance = (to - from + 50) % 50;
      ++seen[distance > 25 ? distance - 50 : distance];
    }
  REQUIRE(seen.size() == 2 * window);
  for (const auto& [distance, count] : seen) {
    const double d = std::abs(distance), chance = (window - d + 1) / window, centres = words / 1000.0 * (1000 - d);
    CHECK(std::abs(count - centres * chance) <= 5 * std::sqrt(centres * chance * (1 - chance)) + 1e-9);
  }
  // Half of 100 sentences are held out, each of about as many pairs.
  CHECK(static_cast<double>(data.test.count()) == doctest::Approx(static_cast<double>(data.train.count())).epsilon(0.02));
}

TEST_CASE("text: pairs do not cross sentences, and a sentence is trained on or held out, never both") {
  const Folder folder;
  std::string text;
  for (std::size_t sentence = 0; sentence < 40; ++sentence)
    for (std::size_t i = 0; i < 1000; ++i) text += name(sentence * 10 + i % 10) + ' ';
  folder.write("text", text);
  const Dataset data = load(folder, {{"subsample", all_of_it}, {"test_share", 0.25}});
  std::map<std::string, std::size_t> sentence_of;
  for (std::size_t i = 0; i < 400; ++i) sentence_of[name(i)] = i / 10;
  std::set<std::size_t> trained, held;
  for (const auto& [split, sentences] : {std::pair(&data.train, &trained), std::pair(&data.test, &held)})
    for (const Pair& pair : pairs_of(data, *split)) {
      REQUIRE(sentence_of[pair.first] == sentence_of[pair.second]);
      sentences->insert(sentence_of[pair.first]);
    }
  CHECK(held.size() == 10);
  CHECK(trained.size() == 30);
  for (const std::size_t sentence : held) CHECK(trained.count(sentence) == 0);
}

TEST_CASE("text: a word of share f is kept with probability sqrt(t / f)") {
  const Folder folder;
  // Every second word is "the": its share is 1/2, the others have 1/200 each.
  constexpr std::size_t words = 200'000;
  std::string text;
  for (std::size_t i = 0; i < words; ++i) text += (i % 2 == 0 ? "the" : name(30 + i / 2 % 100)) + ' ';
  folder.write("text", text);
  // With a window of 1 every kept word has two pairs, but for the two ends of a sentence, which have one.
  for (const double t : {0.005, 0.02}) {
    const Dataset data = load(folder, {{"window", std::int64_t{1}}, {"subsample", t}});
    double the = 0, others = 0;
    for (const DataSplit* split : {&data.train, &data.test})
      for (const Pair& pair : pairs_of(data, *split)) ++(pair.first == "the" ? the : others);
    const double chance = std::sqrt(t / 0.5), n = words / 2.0, ends = 2 * words / 1000.0;
    CHECK(std::abs(the / 2 - n * chance) < 5 * std::sqrt(n * chance * (1 - chance)) + ends);
    CHECK(std::abs(others / 2 - n) <= ends);  // t / f is at least 1: all are kept
  }
}

TEST_CASE("text: the same pairs plain or compressed; sizes and a name are known without loading") {
  const Folder folder;
  const std::string text = cycling(20'000, 70);
  folder.write("text", text);
  folder.write_gz("text.gz", text);
  const Dataset plain = load(folder, {}), again = load(folder, {}), packed = load(folder, {{"path", std::string("text.gz")}});
  CHECK(test::floats(plain.train) == test::floats(again.train));
  CHECK(content(folder, {}) == content(folder, {}));
  CHECK(test::floats(plain.train) == test::floats(packed.train));
  CHECK(plain.train.labels == packed.train.labels);
  const Parameters parameters = complete(text_entry().parameters, {{"path", std::string("text")}});
  for (const std::uint64_t seed : {1u, 2u}) {
    const DataInfo info = text_entry().inspect_seeded(parameters, folder.path(), seed);
    const Dataset data = load(folder, {}, seed);
    CHECK(info.train == data.train.count());
    CHECK(info.test == data.test.count());
  }
  CHECK(content(folder, {}, 2) != content(folder, {}));
  CHECK(load(folder, {}, 2).train.labels != plain.train.labels);
  CHECK(content(folder, {{"window", std::int64_t{4}}}) != content(folder, {}));
  CHECK(content(folder, {{"subsample", 0.01}}) != content(folder, {}));
  CHECK(content(folder, {{"words", std::int64_t{19'999}}}) != content(folder, {}));
}

TEST_CASE("text: errors in one line") {
  const Folder folder;
  const auto refused = [&](Parameters given) { return error_of([&] { load(folder, given); }); };
  CHECK(has(refused({}), "no such file"));
  CHECK(has(refused({{"path", std::string(".")}}), "not a file"));
  folder.write("text", "");
  CHECK(has(refused({}), "of its 0 words"));
  folder.write("text", cycling(1500, 10));
  CHECK(has(refused({}), "1500 words are left of it; at least 2000"));
  folder.write("text", cycling(5000, 10));
  CHECK(refused({}).empty());
  CHECK(has(refused({{"min_count", std::int64_t{501}}}), "0 different ones are kept, and pairs need two; lower min_count (501)"));
  CHECK(has(refused({{"subsample", 1e-15}}), "raise subsample"));
  CHECK(has(refused({{"window", std::int64_t{0}}}), "window"));
  CHECK(has(refused({{"test_share", 0.0}}), "test_share"));
  CHECK(has(refused({{"vocabulary", std::int64_t{1}}}), "vocabulary"));
  folder.write("text", std::string("a b c\0d", 7) + cycling(5000, 10));
  CHECK(has(refused({}), "zero bytes"));
  folder.write_gz("text.gz", cycling(50'000, 300));
  fs::resize_file(folder.path() / "text.gz", fs::file_size(folder.path() / "text.gz") / 2);
  CHECK(has(refused({{"path", std::string("text.gz")}}), "cut off"));
  CHECK(has(error_of([] { complete(text_entry().parameters, {}); }), "path"));
}

TEST_CASE("vocabulary: written as word2vec does and read back") {
  const Folder folder;
  const WordList vocabulary{{"the", "caf\xC3\xA9", "x,y"}, {12, 5, 5}};
  CHECK(vocabulary_text(vocabulary) == "the 12\ncaf\xC3\xA9 5\nx,y 5\n");
  folder.write("v", vocabulary_text(vocabulary));
  const WordList read = read_vocabulary(folder.path() / "v");
  CHECK(read.words == vocabulary.words);
  CHECK(read.counts == vocabulary.counts);
  for (const auto& [text, said] : {std::pair("a 1\nb\n", ":2: not a word"), std::pair("a 1\n 2\n", ":2: not a word"),
                                   std::pair("a 1x\n", ":1: not a word"), std::pair("a 1\nb 1\na 2\n", ":3: the word 'a'")}) {
    folder.write("v", text);
    CHECK(has(error_of([&] { read_vocabulary(folder.path() / "v"); }), said));
  }
  CHECK(has(error_of([&] { read_vocabulary(folder.path() / "none"); }), "cannot be read"));
  folder.write("v", "a 1\n" + std::string(longest_word + 40, 'a') + " 1\n");
  CHECK(has(error_of([&] { read_vocabulary(folder.path() / "v"); }), ":2: has a word of more than 1048576 bytes"));
}

}  // namespace straggler::text_test
