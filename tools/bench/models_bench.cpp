// Training steps of the gradient math, one thread: forward, backward, and SGD with momentum in the two passes that the executor
// makes of it. Items are samples. Every set of kernels that this processor runs: x86-64-v4/784-200-200-10/batch:32.
// tools/bench/compare_pytorch compares them with PyTorch.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "models/optimizers/optimizer.hpp"
#include "models/zoo/perceptron.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

/// Zeros that begin at a cache line, as the executor's buffers do.
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

void train(benchmark::State& state, const std::vector<std::size_t>& widths, std::size_t rows, const Kernels& kernels) {
  const Perceptron model(widths, kernels);
  const std::size_t n = model.parameters();
  const Floats weights(n), gradient(n), velocity(n), x(rows * widths.front());
  model.initialize(1, weights.get());
  RandomStream stream(1, "models_bench");
  for (std::size_t i = 0; i < rows * widths.front(); ++i) x.get()[i] = static_cast<float>(stream.uniform() - 0.5);
  std::vector<std::int32_t> labels(rows);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(stream.below(widths.back()));
  const std::vector<float> scale(rows, 1.0f / static_cast<float>(rows));
  const ElementwiseEntry &advance = Registry<ElementwiseEntry>::instance().at("sgd_velocity"),
                         &descend = Registry<ElementwiseEntry>::instance().at("sgd_descend");
  const std::vector<const float*> advance_inputs = {gradient.get(), weights.get(), velocity.get()},
                                  descend_inputs = {weights.get(), velocity.get()};
  const std::vector<double> advance_scalars = {0.9, 0.0}, descend_scalars = {0.01, 0.0};
  const std::unique_ptr<Workspace> workspace = model.workspace();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        model.gradient(weights.get(), {rows, x.get(), labels.data(), scale.data()}, false, gradient.get(), *workspace));
    advance.apply(kernels, {n}, advance_inputs, advance_scalars, velocity.get());
    descend.apply(kernels, {n}, descend_inputs, descend_scalars, weights.get());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}

std::string name_of(const Kernels& kernels, const std::vector<std::size_t>& widths, std::size_t rows) {
  std::string name = std::string(kernels.name) + "/";
  for (const std::size_t width : widths) name += (name.back() == '/' ? "" : "-") + std::to_string(width);
  return name + "/batch:" + std::to_string(rows);
}

void register_all() {
  struct Case {
    std::vector<std::size_t> widths;
    std::size_t rows;
  };
  const std::vector<Case> cases = {{{784, 200, 200, 10}, 32}, {{784, 200, 200, 10}, 256}, {{2, 128, 4}, 32}, {{2, 128, 4}, 256}};
  for (const std::string_view set : available_kernels())
    for (const Case& one : cases) {
      const Kernels& kernels = select_kernels(set);
      benchmark::RegisterBenchmark(name_of(kernels, one.widths, one.rows).c_str(),
                                   [one, &kernels](benchmark::State& state) { train(state, one.widths, one.rows, kernels); });
    }
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
