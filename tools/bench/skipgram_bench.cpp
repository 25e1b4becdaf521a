// Training steps of skip-gram as a run makes them: batches drawn from a partition, gradients and steps of SGD as nodes of the lineage, the
// executor on one thread. Pairs per second for every set of kernels: "KERNELS PAIRS_PER_SECOND", by processor time.
// tools/bench/compare_skipgram compares them with PyTorch. Usage: skipgram_bench [SECONDS [WORDS DIMENSION NEGATIVES BATCH [KERNELS]]]
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "models/data/word_list.hpp"
#include "models/executor/executor.hpp"
#include "models/optimizers/optimizer.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

struct Case {
  double seconds = 1;
  std::size_t words = 20'000, dimension = 100, negatives = 5, batch = 1024;
};

/// Uniformly random pairs of equally frequent words: the worst case for caches.
Dataset random_pairs(const Case& one) {
  constexpr std::size_t pairs = 1 << 20;
  auto vocabulary = std::make_shared<WordList>();
  vocabulary->words.resize(one.words);
  vocabulary->counts.assign(one.words, 100);
  Dataset data;
  data.info.features = 1;
  data.info.classes = one.words;
  data.info.train = pairs;
  data.info.vocabulary = vocabulary;
  RandomStream stream(1, "skipgram_bench");
  SampleFloats centres;
  for (std::size_t i = 0; i < pairs; ++i) {
    centres.push_back(static_cast<float>(stream.below(one.words)));
    data.train.labels.push_back(static_cast<std::int32_t>(stream.below(one.words)));
  }
  data.train.inputs = SampleInputs(std::move(centres), 1);
  return data;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double pairs_per_second(const Case& one, const Dataset& data, const Kernels& kernels) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("skipgram");
  const Parameters parameters = complete(
      entry.parameters, {{"dimension", static_cast<std::int64_t>(one.dimension)}, {"negatives", static_cast<std::int64_t>(one.negatives)}});
  const std::unique_ptr<Model> model = entry.make(parameters, data.info, ModelSetting{kernels});
  PartitionRequest request;
  request.samples = data.train.count();
  const std::unique_ptr<Partition> partition = Registry<PartitionEntry>::instance().at("iid").make({}, request);
  const OptimizerEntry& sgd = Registry<OptimizerEntry>::instance().at("sgd");
  const auto rule = sgd.make(complete(sgd.parameters, {{"learning_rate", 0.5}}), Schedule());
  Lineage lineage(Math::lazy, Key{1, 1});
  ExecutorOptions options;
  options.threads = 1;
  Executor executor(lineage, *model, data, *partition, kernels, options);
  Handle weights = lineage.initial();
  std::vector<Handle> state;
  std::size_t steps = 0;
  const auto step = [&] {
    const std::uint64_t epoch = data.train.count() / one.batch;
    Batch batch;
    batch.position = steps / epoch * data.train.count() + steps % epoch * one.batch;
    batch.size = static_cast<std::uint32_t>(one.batch);
    weights = rule->step(lineage, weights, lineage.gradient(weights, batch), 0, 1, state);
    if (++steps % 64 == 0) executor.force(weights);
  };
  while (steps < 128) step();
  const std::size_t before = steps;
  const double begin = processor_seconds();
  while (processor_seconds() - begin < one.seconds)
    for (int i = 0; i < 64; ++i) step();
  return static_cast<double>((steps - before) * one.batch) / (processor_seconds() - begin);
}

}  // namespace
}  // namespace straggler

int main(int count, char** arguments) {
  straggler::Case one;
  if (count > 1) one.seconds = std::atof(arguments[1]);
  std::size_t* const sizes[] = {&one.words, &one.dimension, &one.negatives, &one.batch};
  for (int i = 2; i < count && i < 6; ++i) *sizes[i - 2] = std::strtoull(arguments[i], nullptr, 10);
  const straggler::Dataset data = straggler::random_pairs(one);
  for (const std::string_view set : straggler::available_kernels())
    if (count < 7 || set == arguments[6])
      fmt::print("{} {:.0f}\n", set, straggler::pairs_per_second(one, data, straggler::select_kernels(set)));
}
