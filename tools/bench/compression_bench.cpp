// Gigabytes of gradient per second of each compressor: its arithmetic (rule), writing a message (encode), both as one (sent) and reading
// one (decode), on one core, ten million values distributed like gradients. Bytes are those of the uncompressed vector.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

constexpr std::size_t values = 10'000'000;

/// Many small values and few large ones: normal, times two to a normal power.
const std::vector<float>& gradient() {
  static const std::vector<float> made = [] {
    std::mt19937 chance(1);
    std::normal_distribution<float> draw(0, 1);
    std::vector<float> v(values);
    for (float& x : v) x = draw(chance) * std::exp2(2 * draw(chance));
    return v;
  }();
  return made;
}

/// Sixty tensors, like a network of a few tens of layers.
const std::vector<TensorInfo>& tensors() {
  static const std::vector<TensorInfo> made = [] {
    std::vector<TensorInfo> all;
    const std::size_t rows = 500, columns = 333, size = rows * columns;
    for (std::size_t offset = 0; offset + size <= values; offset += size) all.push_back({"weight", {rows, columns}, offset});
    if (const std::size_t end = all.size() * size; end < values) all.push_back({"bias", {values - end}, end});
    return all;
  }();
  return made;
}

struct Case {
  Case(const CompressorEntry& compressor, bool feedback) : entry(compressor), q(values) {
    Parameters given;
    given.set("error_feedback", feedback);
    scalars = entry.scalars(complete(entry.parameters, given));
    if (entry.draws != Draws::none) scalars.push_back(draw_number(1, 1));
    apply();
    message = entry.encode(scalars, layout(), q);
  }
  VectorLayout layout() const { return {values, tensors()}; }
  /// Contents of a message: q, or its factors.
  void apply() {
    if (!entry.factors) return run(*entry.rule, {gradient().data()}, q);
    left.resize(values);
    right.resize(values);
    run(*entry.factors->left, {gradient().data()}, q);
    run(*entry.factors->orthogonal, {q.data()}, left);
    run(*entry.factors->right, {gradient().data(), left.data()}, right);
    for (std::size_t i = 0; i < values; ++i) q[i] = left[i] + right[i];
  }
  void run(const Rule& rule, const std::vector<const float*>& inputs, std::vector<float>& out) const {
    Extent extent{values};
    extent.tensors = tensors();
    Registry<ElementwiseEntry>::instance().at(rule.name).apply(select_kernels("auto"), extent, inputs, scalars, out.data());
  }
  const CompressorEntry& entry;
  std::vector<double> scalars;
  std::vector<float> q, left, right;
  std::vector<std::byte> message;
};

template <class F>
void measure(benchmark::State& state, F f) {
  for (auto _ : state) {
    f();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(values * sizeof(float)));
}

void add_cases(const CompressorEntry& entry, bool feedback) {
  const std::string name = entry.name + (feedback ? "/feedback" : "");
  const auto add = [&](const char* what, void (*run)(Case&)) {
    benchmark::RegisterBenchmark((name + "/" + what).c_str(), [&entry, feedback, run](benchmark::State& state) {
      Case one(entry, feedback);
      measure(state, [&] { run(one); });
    })->Unit(benchmark::kMillisecond);
  };
  add("rule", [](Case& one) { one.apply(); });
  add("encode", [](Case& one) { benchmark::DoNotOptimize(one.entry.encode(one.scalars, one.layout(), one.q)); });
  add("sent", [](Case& one) {
    one.apply();
    benchmark::DoNotOptimize(one.entry.encode(one.scalars, one.layout(), one.q));
  });
  add("decode", [](Case& one) { one.entry.decode(one.scalars, one.layout(), one.message, one.q); });
}

}  // namespace
}  // namespace straggler

int main(int argc, char** argv) {
  using namespace straggler;
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries()) {
    if (!entry.rule) continue;
    add_cases(entry, complete(entry.parameters, {}).flag("error_feedback"));
    if (entry.name == "signsgd") add_cases(entry, true);
  }
  benchmark::RegisterBenchmark("copy", [](benchmark::State& state) {
    std::vector<float> to(values);
    measure(state, [&] { std::copy(gradient().begin(), gradient().end(), to.begin()); });
  })->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
