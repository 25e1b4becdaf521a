// Word vectors from a text to neighbours and word2vec's format, as users meet them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tests/program/workplace.hpp"
#include "tests/support/scenarios.hpp"

namespace words_test {

using straggler::test::equal_workers;
using straggler::test::scenario_text;
using straggler::test::Workplace;

namespace {

const std::string scenario =
    scenario_text({.name = "words",
                   .seed = 2,
                   .node = "{compute: {affine: {overhead: 1ms, per_sample: 10us}}, jitter: {kind: lognormal, sigma: 0.3}}",
                   .workers = equal_workers(2),
                   .network = "{link: {bandwidth: 1Gbps, latency: 50us}}",
                   .model = "{kind: skipgram, dimension: 16}",
                   .data = "{kind: text, path: text, subsample: 0, window: 4}",
                   .scheme = "{kind: asgd}",
                   .optimizer = "{kind: sgd, learning_rate: 10}",
                   .stop = "{epochs: 3}",
                   .evaluate = "{every: {epochs: 1}}"});

/// 30,000 words: topic after topic, twenty words of the same ten ("aa", "ab", … of the first, "ba", … of the second).
std::string topics() {
  std::minstd_rand random(1);
  std::string text;
  for (int i = 0; i < 1500; ++i) {
    const auto topic = random() % 6;
    for (int j = 0; j < 20; ++j) text += {static_cast<char>('a' + topic), static_cast<char>('a' + random() % 10), j % 7 == 6 ? '\n' : ' '};
  }
  return text;
}

/// The numbers of tensor input.weight (models/safetensors says how the file is laid out).
std::vector<float> input_vectors(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  const std::size_t begin = header["input.weight"]["data_offsets"][0], end = header["input.weight"]["data_offsets"][1];
  std::vector<float> values((end - begin) / sizeof(float));
  std::memcpy(values.data(), file.data() + 8 + length + begin, end - begin);
  return values;
}

}  // namespace

TEST_CASE("words: neighbours are of the word's topic, and the vectors are those of the run, for any number of threads") {
  const Workplace place;
  place.write("words.yaml", scenario);
  place.write("text", topics());
  const auto done = place.shell("straggler run words.yaml --out run --threads 1");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  REQUIRE(place.shell("straggler run words.yaml --out two --threads 3").code == 0);
  for (const char* file : {"model.safetensors", "vocabulary.txt", "curve.csv"})
    CHECK(place.read(std::string("run/") + file) == place.read(std::string("two/") + file));
  // From log 2 for each of 1 + 5 products down; better than a sixth of all pairs, which chance would give.
  CHECK(place.summary("run")["final_test_loss"].get<double>() < 6 * 0.6931 - 0.5);
  CHECK(place.summary("run")["final_test_accuracy"].get<double>() > 1.0 / 6);

  const auto near = place.shell("straggler words run --near aa,cb --near ej --count 9 -o vectors.txt");
  REQUIRE_MESSAGE(near.code == 0, near.err);
  std::istringstream lines(near.out);
  std::string line, word, cosine;
  int of_topic = 0, others = 0;
  char topic = 0;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    cells >> word >> cosine;
    if (line[0] != ' ') {
      topic = word[0];
      continue;
    }
    ++(word[0] == topic ? of_topic : others);
  }
  CHECK(of_topic + others == 27);
  CHECK(of_topic >= 25);

  // word2vec's format, read back: every number as in the model.
  const std::vector<float> expected = input_vectors(place.read("run/model.safetensors"));
  std::istringstream vectors(place.read("vectors.txt")), vocabulary(place.read("run/vocabulary.txt"));
  std::size_t words = 0, width = 0, at = 0;
  vectors >> words >> width;
  CHECK(words == 60);
  CHECK(width == 16);
  REQUIRE(expected.size() == words * width);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < words; ++i) {
    std::string own, count;
    vectors >> word;
    vocabulary >> own >> count;
    CHECK(word == own);
    seen.insert(word);
    for (std::size_t j = 0; j < width; ++j) {
      vectors >> cosine;
      CHECK(std::stof(cosine) == expected[at++]);
    }
  }
  CHECK(seen.size() == 60);
  CHECK(place.shell("straggler words run/model.safetensors --near aa").code == 0);
}

TEST_CASE("words: errors in one line") {
  const Workplace place;
  place.write("words.yaml", scenario);
  place.write("text", topics());
  const auto said = [&](const std::string& command, const std::string& part) {
    const auto done = place.shell(command);
    CAPTURE(command);
    CAPTURE(done.err);
    CHECK(done.code == 2);
    CHECK(done.err.find(part) != std::string::npos);
    CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  };
  REQUIRE(place.shell("straggler run words.yaml --out run --set training.stop.epochs=0.1").code == 0);
  said("straggler words run", "--near WORD,... or --out FILE is missing");
  said("straggler words run --near ,", "names no word");
  said("straggler words run --near aaa", "the vocabulary of 60 words has no");
  said("straggler words run --near aa --count 0", "at least 1");
  said("straggler words run -o .", "is a folder");
  said("straggler words run -o none/vectors.txt", "none/vectors.txt");
  said("straggler words nowhere --near aa", "no such file");
  REQUIRE(place.shell("mkdir alone && cp run/model.safetensors alone").code == 0);
  said("straggler words alone --near aa", "vocabulary.txt: no such file");
  place.write("alone/vocabulary.txt", "aa 3\n");
  said("straggler words alone --near aa", "both must be of one run");
  REQUIRE(place.shell("straggler run words.yaml --out timed --timing-only").code == 0);
  said("straggler words timed --near aa", "no such file");

  said("straggler check words.yaml --set workload.model=mlp", "mlp does not learn from pairs of words");
  said("straggler check words.yaml --set workload.data=coordinates", "skipgram learns from pairs of words");
  said("straggler check words.yaml --set workload.data.path=none", "none: no such file");
  said("straggler check words.yaml --set workload.data.window=0", "window");
  said("straggler check words.yaml --set workload.model.dimension=0", "dimension");
  REQUIRE(place
              .shell("straggler run words.yaml --out mlp --set workload.model=mlp --set workload.data=coordinates "
                     "--set training.optimizer.learning_rate=0.1 --set training.stop.epochs=0.1")
              .code == 0);
  said("straggler words mlp --near aa", "holds no word vectors");
  CHECK(!std::filesystem::exists(place.folder() / "mlp/vocabulary.txt"));
}

}  // namespace words_test
