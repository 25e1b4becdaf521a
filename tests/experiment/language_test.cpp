// Language models end to end: data of characters, a decoder in the scenario, what it learns, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "models/zoo/layer_list.hpp"
#include "models/zoo/reference_network.hpp"
#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/check_text.hpp"
#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::language_test {
namespace {

/// Sentences of a small grammar: after a letter follow few others.
std::string sentences(std::size_t count) {
  std::minstd_rand random(1);
  const std::array<const char*, 4> who = {"the cat", "a dog", "my bird", "one fish"}, does = {" sees", " hears", " likes", " follows"};
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += std::string(who[random() / 7 % 4]) + does[random() / 7 % 4] + " " + who[random() / 7 % 4] + ".\n";
  return text;
}

std::string decoder(const std::string& dropped = "") {
  const std::string drop = dropped.empty() ? "" : ", {dropout: " + dropped + "}";
  return "{kind: layers, engine: reference, layers: [{embedding: 16, rows: vocabulary, positions: learned}" + drop +
         ", {residual: [layer_norm, {attention: {heads: 2, causal: true}}" + drop +
         "]}, {residual: [layer_norm, {linear: 32}, gelu, {linear: 16}]}, layer_norm, {linear: vocabulary}]}";
}

struct Language {
  TemporaryFolder folder;
  Language() { folder.write("text", sentences(300)); }
  std::string path() const { return (folder / "text").string(); }
  std::string scenario(const std::string& model, const std::string& more = "", const std::string& scheme = "{kind: ssgd}",
                       const std::string& stop = "{updates: 60}") const {
    return scenario_text({.workers = equal_workers(2),
                          .model = model,
                          .data = "{kind: characters, path: " + path() + ", context: 12" + more + "}",
                          .scheme = scheme,
                          .batch = "{per_worker: 16}",
                          .optimizer = "{kind: adamw, learning_rate: 0.01, weight_decay: 0.01}",
                          .stop = stop,
                          .evaluate = "{every: {updates: 20}}"});
  }
};

std::string refusal(const std::string& yaml) {
  return error_of<ScenarioErrors>([&] { Experiment(read_scenario_text(yaml, "test.yaml"), {}); });
}

/// Mean of -ln p over the characters to test on, p their shares of those to train on.
double unigram_loss(const std::string& text, std::size_t to_train) {
  std::map<char, double> times;
  for (std::size_t i = 0; i < to_train; ++i) ++times[text[i]];
  double loss = 0;
  for (std::size_t i = to_train; i < text.size(); ++i) loss -= std::log(times.at(text[i]) / static_cast<double>(to_train));
  return loss / static_cast<double>(text.size() - to_train);
}

}  // namespace

TEST_CASE("stride: context is what holds without a stride") {
  const Language language;
  const auto read = [&](const std::string& more, std::vector<std::string> sets = {}) {
    return read_scenario_text(language.scenario(decoder(), more), "test.yaml", sets);
  };
  CHECK(read(", stride: context") == read(""));
  CHECK(read(", stride: 5", {"workload.data.stride=context"}) == read(""));
  CHECK_FALSE(read(", stride: 5") == read(""));
  CHECK(has(refusal(language.scenario(decoder(), ", stride: contxt")),
            "workload.data.stride: 'contxt' is not a number; write a whole number such as 8, or context"));
  CHECK(has(refusal(language.scenario(decoder(), ", stride: [5]")), "a whole number such as 8, or context"));
}

TEST_CASE("a decoder learns more of a text than how frequent each character is") {
  const Language language;
  const Result result = run(language.scenario(decoder()));
  const RunRecord& record = result.record;
  const std::string text = sentences(300);
  CHECK(*record.final_test_loss < 0.6 * unigram_loss(text, text.size() * 9 / 10));
  CHECK(*record.final_test_accuracy > 2 * *record.guessing_accuracy);
  CHECK(*record.final_test_accuracy <= 1);
  CHECK(record.symbols);
  // The most frequent of the labels of all places to test on.
  const DataEntry& entry = Registry<DataEntry>::instance().at("characters");
  const Dataset data = entry.load(complete(entry.parameters, {{"path", language.path()}, {"context", std::int64_t{12}}}), {}, 1, 1);
  std::vector<double> times(data.info.symbols);
  for (std::size_t sample = 0; sample < data.test.count(); ++sample)
    for (std::size_t place = 0; place < 12; ++place) ++times[static_cast<std::size_t>(data.test.labels_of(sample)[place])];
  CHECK(*record.guessing_accuracy == *std::max_element(times.begin(), times.end()) / (12.0 * static_cast<double>(data.test.count())));
}

TEST_CASE("loss and accuracy of a run are those of its weights in double, over all places") {
  const Language language;
  const std::string yaml = language.scenario(decoder());
  const Result result = run(yaml);
  const Scenario scenario = read_scenario_text(yaml, "test.yaml");
  const Blueprint blueprint(scenario, "auto");
  const ReferenceNetwork<double> network(*blueprint.model->architecture());
  const Dataset data = blueprint.load_data(scenario, 1);
  const std::vector<double> weights(result.weights.begin(), result.weights.end());
  ReferenceNetwork<double>::Memory memory = network.memory();
  double loss = 0;
  std::uint64_t correct = 0;
  for (std::size_t sample = 0; sample < data.test.count(); ++sample) {
    std::vector<float> inputs(12);
    data.test.inputs.copy(sample, inputs.data());
    const std::vector<double> exact(inputs.begin(), inputs.end());
    loss += network.evaluate(weights.data(), {1, exact.data(), data.test.labels_of(sample), nullptr, nullptr}, correct, memory);
  }
  const auto count = static_cast<double>(data.test.count());
  CHECK(*result.record.final_test_loss == doctest::Approx(loss / count).epsilon(1e-5));
  CHECK(*result.record.final_test_accuracy == doctest::Approx(static_cast<double>(correct) / (12 * count)).epsilon(1e-12));
}

TEST_CASE("with dropout a decoder ends with the same bits on any number of threads, and is evaluated without") {
  const Language language;
  const std::string yaml = language.scenario(decoder("0.2"), ", stride: 5", "{kind: asgd}");
  RunOptions options;
  options.threads = 1;
  const Result once = run(yaml, {}, options);
  for (const unsigned threads : {2u, 5u}) {
    options.threads = threads;
    const Result again = run(yaml, {}, options);
    CHECK(again.weights == once.weights);
    CHECK(again.record.final_test_loss == once.record.final_test_loss);
  }
  CHECK(run(yaml, {"seed=2"}).weights != once.weights);
  // Before the first update the loss is that of the network that drops nothing.
  const auto first = [&](const std::string& model) {
    return *run(language.scenario(model), {"training.stop={updates: 1}", "training.evaluate={every: {updates: 1}}"})
                .record.curve[0]
                .test_loss;
  };
  CHECK(first(decoder("0.2")) == first(decoder("0")));
}

TEST_CASE("a batch of windows is cut into parts by its places, and summed in their order") {
  const Language language;
  // 29 parts of at most 21 windows, in 16 lanes.
  const std::string one = "[{count: 1, device: node}]";
  const auto weights = [&](unsigned threads) {
    RunOptions options;
    options.threads = threads;
    return run(language.scenario(decoder(), ", stride: 3", "{kind: ssgd}", "{updates: 2}"),
               {"cluster.workers=" + one, "training.batch.per_worker=600"}, options)
        .weights;
  };
  CHECK(weights(1) == weights(4));
}

TEST_CASE("networks of measures refuse symbols, and networks of symbols measures, at the line") {
  const Language language;
  const auto layers = [](const std::string& list) { return "{kind: layers, layers: [" + list + "]}"; };
  const std::string on_text = refusal(language.scenario(layers("{linear: 16}, relu, {linear: vocabulary}")));
  CHECK(has(on_text, "workload.model.layers[0]: linear reads measures, and these data are symbols of a vocabulary of"));
  CHECK(has(on_text, "begin with {embedding: WIDTH, rows: vocabulary}"));
  const std::string on_images =
      refusal(scenario_text({.model = decoder(), .data = "{kind: synthetic_images, samples: 100, test_samples: 10}"}));
  CHECK(has(on_images, "workload.model.layers[0]: embedding reads symbols, and these data are measures, 3 x 32 x 32"));
  CHECK(has(refusal(language.scenario(layers("{embedding: 8, rows: vocabulary}, {linear: classes}"))), "workload.model.layers[1]"));
  CHECK(has(refusal(language.scenario(layers("{embedding: 8, rows: vocabulary}, {linear: 7}"))),
            "workload.model.layers[1]: the network makes 7 x 12 x 1 of a sample, and to predict the next of"));
  CHECK(has(refusal(language.scenario(layers("{embedding: 8, rows: 3, name: tokens}, {linear: vocabulary}"))),
            "workload.model.layers: the embedding 'tokens' has 3 rows, and these data have "));
  for (const char* const model : {"{kind: mlp}", "{kind: softmax}", "{kind: lenet5}", "{kind: quadratic}"}) {
    const std::string refused = refusal(language.scenario(model));
    CHECK(has(refused, "workload.model"));
    CHECK(has(refused, "learns from measures, and data characters are symbols of a vocabulary of"));
  }
  CHECK(has(refusal(language.scenario("{kind: skipgram}")), "use data: {kind: text, path: FILE}"));
  CHECK(has(refusal(language.scenario(decoder(), ", partition: {kind: dirichlet, alpha: 1}")),
            "workload.data.partition: dirichlet deals samples by their class, and a window of a text has none"));
  CHECK(has(refusal(language.scenario(decoder(), ", augment: {flip: true}")), "workload.data.augment"));
  CHECK(has(refusal(language.scenario(decoder(), ", test_share: 0.001")), "workload.data.path"));
}

TEST_CASE("attention that sees what it predicts is warned of") {
  const Language language;
  std::string ahead = decoder();
  const std::string causal = ", causal: true";
  ahead.erase(ahead.find(causal), causal.size());
  const auto warned = [&](const std::string& model) {
    const std::vector<std::string> all = run(language.scenario(model, "", "{kind: ssgd}", "{updates: 1}")).record.warnings;
    return std::count_if(all.begin(), all.end(), [](const std::string& text) { return has(text, "is not causal, so each place sees"); });
  };
  CHECK(warned(ahead) == 1);
  CHECK(warned(decoder()) == 0);
}

TEST_CASE("check says what the data hold, and a sample costs all of its places") {
  const Language language;
  const Scenario scenario = read_scenario_text(language.scenario(decoder()), "test.yaml");
  CHECK(read_scenario_text(write_scenario(scenario), "written.yaml") == scenario);
  const Explanation explained = Experiment(scenario, {}).explain();
  const std::string text = sentences(300);
  const std::size_t symbols = std::set<char>(text.begin(), text.end()).size();
  CHECK(explained.classes == symbols);
  CHECK(explained.context == 12);
  CHECK(explained.train_samples == (text.size() * 9 / 10 - 13) / 12 + 1);
  const Blueprint blueprint(scenario, "auto");
  const double linear = 16 * 48 + 16 * 16 + 2 * 16 * 32 + 16.0 * static_cast<double>(symbols), attention = 2 * 12 * 16;
  CHECK(blueprint.cost.forward_flops() == doctest::Approx(2 * 12 * (linear + attention)));
  CHECK(blueprint.cost.input_bytes == 4 * 12);
}

}  // namespace straggler::test::language_test
