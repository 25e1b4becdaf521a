// Training steps of the gradient math, one thread: forward, backward, and SGD with momentum, in the same pass where the executor does it
// so, else in two more. Items are samples. Perceptrons with every set of kernels that this processor runs
// (x86-64-v4/784-200-200-10/batch:32), networks of the zoo by their names with the fastest, and once more by each engine that computes them
// (x86-64-v4/lenet5:panels/batch:32): the choice of `auto` should be the fastest of these. "transformer" is no model of the zoo, and
// "transformer_gradient" the same without SGD. "peak" is the peak rate of the core: its items are FLOPs. "memory" is what the core moves to
// and from memory: its items are bytes. "evaluate:lenet5" and "forward:lenet5" are samples evaluated as the executor does, and bare forward
// passes. tools/bench/compare_pytorch compares training steps with PyTorch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/rules/elementwise.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/network.hpp"
#include "models/zoo/stepped_gradient.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "tools/bench/fma_peak.hpp"

namespace straggler {
namespace {

/// Zeros aligned to a cache line, like the executor's buffers.
class Floats {
 public:
  explicit Floats(std::size_t count) : data_(new (std::align_val_t{64}) float[count]()) {}
  float* get() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(float* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  std::unique_ptr<float[], Delete> data_;
};

struct Case {
  std::string model;                // of the registry; "": a perceptron of these widths
  std::vector<std::size_t> widths;  // inputs first, classes last
  DataInfo data;
  std::size_t rows;
  std::string engine = "auto";
  Architecture (*network)() = nullptr;  // of no registry, but named `model`
  std::size_t tokens = 0;               // that inputs are drawn from; 0: inputs are not tokens
  bool steps = true;                    // false: the gradient alone

  std::string name() const {
    std::string text = model;
    if (engine != "auto") text += ":" + engine;
    for (const std::size_t width : widths) text += (text.empty() ? "" : "-") + std::to_string(width);
    return text + "/batch:" + std::to_string(rows);
  }
};

Case perceptron(std::vector<std::size_t> widths, std::size_t rows) {
  DataInfo data;
  data.features = widths.front();
  data.classes = widths.back();
  return {"", std::move(widths), std::move(data), rows};
}

Case images(const char* model, std::vector<std::size_t> shape, std::size_t rows) {
  DataInfo data;
  data.features = 1;
  for (const std::size_t width : shape) data.features *= width;
  data.shape = std::move(shape);
  data.classes = 10;
  return {model, {}, std::move(data), rows};
}

constexpr std::size_t context = 64, vocabulary = 96;

/// Four blocks of a decoder as GPT-2's, 128 wide, with four heads.
Architecture transformer() {
  ArchitectureBuilder build({1, context, 1});
  const auto count = [](std::int64_t number) -> Value { return number; };
  LayerIndex x = build.layer("embedding", {network_input},
                             {{"width", count(128)}, {"rows", count(vocabulary)}, {"positions", std::string("learned")}}, "tokens");
  for (int block = 0; block < 4; ++block) {
    const std::string name = "block" + std::to_string(block);
    LayerIndex y = build.layer_norm(x, name + ".norm1");
    y = build.layer("attention", {y}, {{"heads", count(4)}, {"causal", true}}, LayerName(name + ".attention"));
    x = build.add({x, y});
    y = build.gelu(build.linear(build.layer_norm(x, name + ".norm2"), name + ".up", 512));
    x = build.add({x, build.linear(y, name + ".down", 128)});
  }
  x = build.flatten(build.global_average_pool(build.layer_norm(x, "norm")));  // the mean over the places
  build.linear(x, "head", vocabulary);
  return std::move(build).build();
}

Case sequences(const char* name, std::size_t rows, bool steps) {
  DataInfo data;
  data.features = context;
  data.classes = vocabulary;
  return {name, {}, std::move(data), rows, "auto", transformer, vocabulary, steps};
}

Parameters model_parameters(const Case& one) {
  if (one.engine == "auto") return {};
  return {{"engine", one.engine}};
}

std::unique_ptr<Model> make(const Case& one, const Kernels& kernels) {
  if (one.network) return make_network(one.network(), {kernels}, one.engine);
  if (one.model.empty()) return make_network(multilayer_perceptron(one.widths), {kernels});
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(one.model);
  return entry.make(complete(entry.parameters, model_parameters(one)), one.data, ModelSetting{kernels});
}

/// Forward, then backward to the weights and the inputs; the first layer's inputs need no gradient.
double training_flops(const Model& model) {
  double all = 0, first = 0;
  for (const LayerCost& layer : model.cost()) {
    if (all == 0) first = layer.forward_flops;
    all += layer.forward_flops;
  }
  return 3 * all - first;
}

/// Bytes that the passes of a step move if no cache keeps anything from one pass to the next. Weights: read forward and backward, their
/// gradient written; momentum reads the gradient and the velocity and writes it; descent reads both and writes the weights: 9 passes.
/// Outputs of layers: written, and read by the next layer forward and backward; their gradients: written, and read twice: 6 passes.
double step_bytes(const Model& model, std::size_t rows) {
  double outputs = 0;
  for (const LayerCost& layer : model.cost()) outputs += layer.activation_bytes;
  return 9.0 * sizeof(float) * static_cast<double>(model.parameters()) + 6 * outputs * static_cast<double>(rows);
}

void train(benchmark::State& state, const Case& one, const Kernels& kernels) {
  const std::unique_ptr<Model> made = make(one, kernels);
  const Model& model = *made;
  const std::size_t n = model.parameters(), rows = one.rows, features = one.data.features;
  const Floats weights(model.length()), gradient(model.length()), velocity(n), x(rows * features);
  model.initialize(1, weights.get());
  RandomStream stream(1, "models_bench");
  for (std::size_t i = 0; i < rows * features; ++i)
    x.get()[i] = one.tokens > 0 ? static_cast<float>(stream.below(one.tokens)) : static_cast<float>(stream.uniform() - 0.5);
  std::vector<std::int32_t> labels(rows);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(stream.below(one.data.classes));
  const std::vector<float> scale(rows, 1.0f / static_cast<float>(rows));
  const ElementwiseEntry &advance = Registry<ElementwiseEntry>::instance().at("sgd_velocity"),
                         &descend = Registry<ElementwiseEntry>::instance().at("sgd_descend");
  const std::vector<const float*> advance_inputs = {gradient.get(), weights.get(), velocity.get()},
                                  descend_inputs = {weights.get(), velocity.get()};
  const std::vector<double> advance_scalars = {0.9, 0.0}, descend_scalars = {0.01, 0.0};
  const std::unique_ptr<Workspace> workspace = model.workspace();
  const Rows batch = {rows, x.get(), labels.data(), scale.data()};
  const WeightStep step = {.rate = 0.01f,
                           .momentum = 0.9f,
                           .decay = 0,
                           .w = weights.get(),
                           .v = velocity.get(),
                           .w_out = weights.get(),
                           .v_out = velocity.get()};
  const SteppedGradient* const together = model.stepped();
  for (auto _ : state) {
    if (together && one.steps) {
      benchmark::DoNotOptimize(together->gradient_and_step(weights.get(), batch, false, gradient.get(), step, *workspace));
      continue;
    }
    benchmark::DoNotOptimize(model.gradient(weights.get(), batch, false, gradient.get(), *workspace));
    if (!one.steps) continue;
    advance.apply(kernels, {n}, advance_inputs, advance_scalars, velocity.get());
    descend.apply(kernels, {n}, descend_inputs, descend_scalars, weights.get());
  }
  state.counters["flops"] = training_flops(model);
  state.counters["bytes"] = step_bytes(model, rows) / static_cast<double>(rows);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}

/// As the executor evaluates: a test set of 10,000 samples in memory, 1,000 at a time. `bare`: 128 samples an iteration, always the same
/// ones, which are already in panels and stay in a cache.
void evaluate(benchmark::State& state, const Case& one, const Kernels& kernels, bool bare) {
  constexpr std::size_t chunk = 1000;
  const std::unique_ptr<Model> made = make(one, kernels);
  const Model& model = *made;
  const std::size_t features = one.data.features, samples = bare ? 128 : 10'000;
  const Floats weights(model.length()), x(samples * features);
  model.initialize(1, weights.get());
  RandomStream stream(1, "models_bench");
  for (std::size_t i = 0; i < samples * features; ++i) x.get()[i] = static_cast<float>(stream.uniform() - 0.5);
  std::vector<std::int32_t> labels(samples);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(stream.below(one.data.classes));
  const std::unique_ptr<Workspace> workspace = model.workspace();
  std::uint64_t correct = 0;
  for (auto _ : state)
    for (std::size_t at = 0; at < samples; at += chunk) {
      Rows rows;
      rows.count = std::min(chunk, samples - at);
      (bare && model.takes_panels() ? rows.panels : rows.inputs) = x.get() + at * features;
      rows.labels = labels.data() + at;
      benchmark::DoNotOptimize(model.evaluate(weights.get(), rows, correct, *workspace));
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(samples));
}

void peak(benchmark::State& state) {
  double flops = 0;
  for (auto _ : state) flops += fma_flops(100'000);
  state.SetItemsProcessed(static_cast<std::int64_t>(flops));
}

/// a = b + 3 c on arrays beyond the caches (McCalpin's STREAM triad).
void memory(benchmark::State& state) {
  constexpr std::size_t floats = std::size_t{1} << 24;
  const Floats a(floats), b(floats), c(floats);
  const Kernels& kernels = select_kernels("auto");
  for (auto _ : state) kernels.descend(floats, -3, b.get(), c.get(), a.get());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(3 * floats * sizeof(float)));
}

/// All sets except the reference, whose speed does not matter.
std::vector<std::string> able_engines(Case one) {
  std::vector<std::string> able;
  for (const NetworkEngine& engine : Registry<NetworkEngine>::instance().entries()) {
    if (engine.name == "reference") continue;
    one.engine = engine.name;
    try {
      make(one, select_kernels("auto"));
      able.push_back(engine.name);
    } catch (const std::invalid_argument&) {  // this engine lacks a layer of the network
    }
  }
  return able;
}

void register_all() {
  const std::vector<Case> perceptrons = {perceptron({784, 200, 200, 10}, 32), perceptron({784, 200, 200, 10}, 256),
                                         perceptron({2, 128, 4}, 32), perceptron({2, 128, 4}, 256)};
  const std::vector<Case> networks = {images("lenet5", {1, 28, 28}, 32),     images("lenet5", {1, 28, 28}, 256),
                                      images("fedavg_cnn", {1, 28, 28}, 32), images("resnet18", {3, 32, 32}, 32),
                                      sequences("transformer", 16, true),    sequences("transformer_gradient", 16, false)};
  const auto add = [](const Case& one, const Kernels& kernels) {
    benchmark::RegisterBenchmark((std::string(kernels.name) + "/" + one.name()).c_str(),
                                 [one, &kernels](benchmark::State& state) { train(state, one, kernels); });
  };
  for (const std::string_view set : available_kernels())
    for (const Case& one : perceptrons) add(one, select_kernels(set));
  for (const Case& one : networks)
    if (one.network || Registry<ModelEntry>::instance().find(one.model)) {
      add(one, select_kernels("auto"));
      for (const std::string& engine : able_engines(one)) {
        Case by_engine = one;
        by_engine.engine = engine;
        add(by_engine, select_kernels("auto"));
      }
    }
  for (const Case& one : {perceptrons[0], networks[0], networks[2]})
    for (const bool bare : {false, true})
      benchmark::RegisterBenchmark(((bare ? "forward:" : "evaluate:") + one.name().substr(0, one.name().find('/'))).c_str(),
                                   [one, bare](benchmark::State& state) { evaluate(state, one, select_kernels("auto"), bare); });
  benchmark::RegisterBenchmark("peak", peak);
  benchmark::RegisterBenchmark("memory", memory);
}

}  // namespace
}  // namespace straggler

int main(int argc, char** argv) {
  straggler::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
