// Lion and Muon: in double against fifty steps of PyTorch (reference/muon_steps.csv, made by reference/make_muon_reference.py), and the
// optimizers in float against that. Which weights are hidden, by their layers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "models/optimizers/newton_schulz.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/reference_network.hpp"
#include "tests/optimizers/handle_values.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"

namespace straggler::test::muon_test {
namespace {

using Doubles = std::vector<double>;

std::unique_ptr<UpdateRule> make(const char* kind, Parameters given) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, std::move(given)), Schedule());
}

struct LionInDouble {
  double rate, beta1, beta2, decay;
  Doubles w, m = Doubles(w.size());
  void step(const Doubles& g) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = beta1 * m[i] + (1 - beta1) * g[i];
      w[i] -= rate * ((d > 0) - (d < 0) + decay * w[i]);
      m[i] = beta2 * m[i] + (1 - beta2) * g[i];
    }
  }
};

/// [rows][columns], by the definition, entry by entry.
Doubles orthogonal_in_double(std::size_t rows, std::size_t columns, const Doubles& u) {
  const bool tall = rows > columns;
  const std::size_t n = std::min(rows, columns), m = std::max(rows, columns);
  double norm = 0;
  for (const double number : u) norm += number * number;
  Doubles x(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) x[i * m + j] = (tall ? u[j * columns + i] : u[i * columns + j]) / (std::sqrt(norm) + 1e-7);
  for (int iteration = 0; iteration < 5; ++iteration) {
    Doubles a(n * n), by(n * n), next(n * m);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < m; ++j) a[i * n + k] += x[i * m + j] * x[k * m + j];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) {
        by[i * n + k] = -4.7750 * a[i * n + k];
        for (std::size_t j = 0; j < n; ++j) by[i * n + k] += 2.0315 * a[i * n + j] * a[j * n + k];
      }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        next[i * m + j] = 3.4445 * x[i * m + j];
        for (std::size_t k = 0; k < n; ++k) next[i * m + j] += by[i * n + k] * x[k * m + j];
      }
    x = next;
  }
  Doubles out(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[i * columns + j] = tall ? x[j * m + i] : x[i * m + j];
  return out;
}

struct MuonInDouble {
  double rate, momentum, adamw_rate, beta1, beta2, decay;
  bool nesterov;
  std::vector<TensorInfo> tensors;
  Doubles w, first = Doubles(w.size()), second = Doubles(w.size());
  int steps = 0;
  void step(const Doubles& g) {
    ++steps;
    for (const TensorInfo& tensor : tensors)
      if (tensor.matrices.empty())
        adamw(tensor.offset, tensor.numbers(), g);
      else
        hidden(tensor, g);
  }

 private:
  void adamw(std::size_t begin, std::size_t n, const Doubles& g) {
    for (std::size_t i = begin; i < begin + n; ++i) {
      first[i] = beta1 * first[i] + (1 - beta1) * g[i];
      second[i] = beta2 * second[i] + (1 - beta2) * g[i] * g[i];
      w[i] -= adamw_rate * decay * w[i];
      w[i] -= adamw_rate * first[i] / (1 - std::pow(beta1, steps)) / (std::sqrt(second[i] / (1 - std::pow(beta2, steps))) + 1e-8);
    }
  }
  void hidden(const TensorInfo& tensor, const Doubles& g) {
    const std::size_t columns = tensor.numbers() / tensor.shape.front();
    std::size_t at = tensor.offset;
    for (const std::size_t rows : tensor.matrices) {
      Doubles u;
      for (std::size_t i = at; i < at + rows * columns; ++i) {
        first[i] = momentum * first[i] + g[i];
        u.push_back(nesterov ? g[i] + momentum * first[i] : first[i]);
      }
      const Doubles x = orthogonal_in_double(rows, columns, u);
      const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
      for (std::size_t i = 0; i < x.size(); ++i) w[at + i] = (1 - rate * decay) * w[at + i] - rate * scale * x[i];
      at += rows * columns;
    }
  }
};

/// Singular values that are as far apart as those of gradients.
std::vector<float> stretched(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::vector<float> u = numbers(rows * columns, seed);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] *= std::pow(0.9f, static_cast<float>(i / columns % 40)) * 1e-3f;
  return u;
}

/// As in the script: in [-1/2, 1/2), exact in float.
double number(std::uint64_t salt, std::uint64_t i) {
  auto x = static_cast<std::uint32_t>(i * 2654435761u + salt * 40503u + 12345u);
  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return static_cast<double>(x >> 8) / 16777216.0 - 0.5;
}

const std::vector<std::size_t> widths = {12, 24, 16, 5};
constexpr std::size_t samples = 8, steps = 50;

Doubles initial_weights() {
  Doubles weights;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    for (std::size_t i = 0; i < widths[l] * widths[l + 1]; ++i) weights.push_back(number(2 * l, i));
    for (std::size_t i = 0; i < widths[l + 1]; ++i) weights.push_back(number(2 * l + 1, i));
  }
  return weights;
}

std::map<std::string, std::map<std::string, Doubles>> read_reference() {
  std::ifstream file(STRAGGLER_SOURCE_DIR "/tests/zoo/reference/muon_steps.csv");
  REQUIRE(file.good());
  std::map<std::string, std::map<std::string, Doubles>> reference;
  std::string line;
  std::getline(file, line);
  REQUIRE(line == "case,kind,index,value");
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::array<std::string, 4> row;
    for (std::string& one : row) std::getline(cells, one, ',');
    reference[row[0]][row[1]].push_back(std::stod(row[3]));
  }
  return reference;
}

/// Fifty steps of `optimizer`, whose weights are `w`, on the network in double.
template <class InDouble>
void check_training(InDouble optimizer, const std::map<std::string, Doubles>& expected) {
  const ReferenceNetwork<double> network(multilayer_perceptron(widths));
  ReferenceNetwork<double>::Memory memory = network.memory();
  const Doubles scale(samples, 1.0 / samples);
  REQUIRE(expected.at("loss").size() == steps);
  REQUIRE(expected.at("weight").size() == optimizer.w.size());
  for (std::size_t step = 0; step < steps; ++step) {
    Doubles x, gradient(optimizer.w.size());
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < samples * widths.front(); ++i) x.push_back(number(100 + step, i));
    for (std::size_t i = 0; i < samples; ++i)
      labels.push_back(static_cast<std::int32_t>((number(200 + step, i) + 0.5) * static_cast<double>(widths.back())));
    const double loss =
        network.gradient(optimizer.w.data(), {samples, x.data(), labels.data(), scale.data()}, false, gradient.data(), memory);
    CHECK(loss == doctest::Approx(expected.at("loss")[step]).epsilon(1e-9));
    optimizer.step(gradient);
  }
  CHECK(distance(optimizer.w, expected.at("weight")) < 1e-9);
}

/// Every kind of tensor: a tall and a wide matrix, a convolution, a fused one in three, a single row, a large one; and what AdamW steps.
std::vector<TensorInfo> many_tensors() {
  std::vector<TensorInfo> tensors = {{"table", {19, 6}, 0},       {"tall", {70, 13}, 0, {70}},     {"bias", {70}, 0},
                                     {"wide", {13, 70}, 0, {13}}, {"conv", {8, 3, 3, 2}, 0, {8}},  {"qkv", {40, 24}, 0, {24, 8, 8}},
                                     {"row", {1, 33}, 0, {1}},    {"large", {128, 300}, 0, {128}}, {"scores", {10, 13}, 0}};
  std::size_t at = 0;
  for (TensorInfo& tensor : tensors) {
    tensor.offset = at;
    at += tensor.numbers();
  }
  return tensors;
}

std::size_t numbers_in(const std::vector<TensorInfo>& tensors) { return tensors.back().offset + tensors.back().numbers(); }

/// A block of attention over six symbols of eleven.
Architecture decoder() {
  ArchitectureBuilder build({1, 6, 1});
  const auto whole = [](std::int64_t number) -> Value { return number; };
  const LayerIndex x = build.layer("embedding", {network_input},
                                   {{"width", whole(8)}, {"rows", whole(11)}, {"positions", std::string("learned")}}, LayerName("tokens"));
  const LayerIndex y = build.layer("attention", {x}, {{"heads", whole(2)}, {"causal", true}}, LayerName("attention"));
  build.linear(build.layer_norm(build.add({x, y}), "norm"), "head", 11);
  return std::move(build).build();
}

/// Each symbol is followed by one that it and the one before decide.
struct Text {
  static constexpr std::size_t samples = 20, places = 6;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  Text() {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      std::size_t before = sample % 11, symbol = sample * 5 % 11;
      for (std::size_t place = 0; place < places; ++place) {
        inputs.push_back(static_cast<float>(symbol));
        const std::size_t next = (before + 2 * symbol + 1) % 11;
        labels.push_back(static_cast<std::int32_t>(next));
        before = symbol;
        symbol = next;
      }
    }
  }
};

}  // namespace

TEST_CASE("fifty steps of lion and muon in double equal PyTorch's to 1e-9") {
  const auto reference = read_reference();
  REQUIRE(reference.size() == 4);
  const std::vector<TensorInfo> tensors = tensors_of(multilayer_perceptron(widths));
  check_training(LionInDouble{0.01, 0.9, 0.99, 0, initial_weights()}, reference.at("lion"));
  check_training(LionInDouble{0.003, 0.8, 0.95, 0.5, initial_weights()}, reference.at("lion_decay"));
  check_training(MuonInDouble{0.02, 0.95, 0.01, 0.9, 0.999, 0, true, tensors, initial_weights()}, reference.at("muon"));
  check_training(MuonInDouble{0.05, 0.8, 0.005, 0.8, 0.95, 0.1, false, tensors, initial_weights()}, reference.at("muon_decay"));
}

TEST_CASE("the nearly orthogonal matrix is within 1e-3 of the one in double, for any sides, in every set of kernels") {
  const std::pair<std::size_t, std::size_t> sides[] = {{1, 1},   {1, 40},   {40, 1},   {5, 31},  {33, 32},
                                                       {64, 64}, {20, 100}, {100, 20}, {70, 300}};
  for (const Kernels* kernels : all_kernels())
    for (const auto& [rows, columns] : sides) {
      CAPTURE(kernels->name);
      CAPTURE(rows);
      CAPTURE(columns);
      std::vector<float> u = stretched(rows, columns, rows + columns), x(u.size());
      const Doubles expected = orthogonal_in_double(rows, columns, as<double>(u));
      newton_schulz(*kernels, rows, columns, u.data(), x.data());
      CHECK(distance(x, expected) < 1e-3);
      newton_schulz(*kernels, rows, columns, u.data(), u.data());
      CHECK(same_bits(u, x));
    }
}

TEST_CASE(
    "one step of muon from given gradients equals the one in double to 1e-3 of its length, tensor by tensor, with and without state") {
  const std::vector<TensorInfo> tensors = many_tensors();
  const std::size_t n = numbers_in(tensors);
  for (const Kernels* kernels : tried(all_kernels()))
    for (const bool nesterov : {true, false}) {
      CAPTURE(kernels->name);
      CAPTURE(nesterov);
      const auto rule = make("muon", {{"learning_rate", 0.02},
                                      {"momentum", 0.9},
                                      {"nesterov", nesterov},
                                      {"adamw_learning_rate", 0.003},
                                      {"adamw_beta1", 0.8},
                                      {"adamw_beta2", 0.95},
                                      {"weight_decay", 0.2}});
      HandleValues values(*kernels, n, 1, tensors);
      MuonInDouble expected{0.02, 0.9, 0.003, 0.8, 0.95, 0.2, nesterov, tensors, as<double>(numbers(n, 1))};
      Handle weights = values.leaf(as<float>(expected.w));
      std::vector<Handle> state;
      for (std::uint64_t step = 0; step < 3; ++step) {
        const Doubles before = expected.w;
        const std::vector<float> g = numbers(n, 10 + step);
        weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
        expected.step(as<double>(g));
        REQUIRE(state.size() == 2);
        for (const TensorInfo& tensor : tensors) {
          CAPTURE(tensor.name);
          double off = 0, moved = 0;
          for (std::size_t i = tensor.offset; i < tensor.offset + tensor.numbers(); ++i) {
            off += std::pow(static_cast<double>(values.of(weights)[i]) - expected.w[i], 2);
            moved += std::pow(expected.w[i] - before[i], 2);
          }
          CHECK(std::sqrt(off / moved) < 1e-3);
        }
        CHECK(values.of(weights)[n] == 0.0f);
      }
    }
}

TEST_CASE("fifty steps of muon train attention as in double, where queries, keys and values are three matrices") {
  const Architecture architecture = decoder();
  const std::vector<TensorInfo> tensors = tensors_of(architecture);
  const auto qkv = std::find_if(tensors.begin(), tensors.end(), [](const TensorInfo& each) { return each.name == "attention.qkv.weight"; });
  REQUIRE(qkv != tensors.end());
  REQUIRE(qkv->matrices == std::vector<std::size_t>{8, 8, 8});
  std::vector<TensorInfo> whole = tensors;
  whole[static_cast<std::size_t>(qkv - tensors.begin())].matrices = {24};
  const std::size_t n = numbers_in(tensors);
  std::vector<float> initial(n);
  initialize(architecture, 1, initial.data());
  const Text text;
  const ReferenceNetwork<double> network(architecture);
  ReferenceNetwork<double>::Memory memory = network.memory();
  const Doubles inputs = as<double>(text.inputs), scale(Text::samples, 1.0 / Text::samples);
  const auto in_double = [&](const std::vector<TensorInfo>& by) {
    MuonInDouble muon{0.02, 0.95, 0.01, 0.9, 0.999, 0, true, by, as<double>(initial)};
    Doubles losses;
    for (std::size_t step = 0; step < steps; ++step) {
      Doubles gradient(n);
      losses.push_back(network.gradient(muon.w.data(), {Text::samples, inputs.data(), text.labels.data(), scale.data()}, false,
                                        gradient.data(), memory));
      muon.step(gradient);
    }
    CHECK(losses.back() < 0.5 * losses.front());
    return muon.w;
  };
  const Doubles expected = in_double(tensors), fused = in_double(whole);
  const std::vector<float> scale_in_float = as<float>(scale);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const std::unique_ptr<Model> model = make_network(architecture, {*kernels}, "panels");
    const std::unique_ptr<Workspace> workspace = model->workspace();
    const auto rule = make("muon", {{"learning_rate", 0.02}, {"adamw_learning_rate", 0.01}});
    HandleValues values(*kernels, n, 1, tensors);
    Handle weights = values.leaf(initial);
    std::vector<Handle> state;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::vector<float> now = values.of(weights);
      std::vector<float> gradient(n);
      model->gradient(now.data(), {Text::samples, text.inputs.data(), text.labels.data(), scale_in_float.data()}, false, gradient.data(),
                      *workspace);
      weights = rule->step(values.lineage(), weights, values.leaf(gradient), 0, 1, state);
    }
    std::vector<float> ended = values.of(weights);
    ended.resize(n);
    CHECK(distance(ended, expected) < 5e-3);
    CHECK(distance(ended, fused) > 0.1);
  }
}

TEST_CASE("the memory that a step of muon asks for is that of its largest tensor") {
  const ElementwiseEntry& entry = Registry<ElementwiseEntry>::instance().at("muon_descend");
  REQUIRE((entry.scratch_bytes != nullptr));
  const std::vector<TensorInfo> all = many_tensors(), none = {{"bias", {70}, 0}};
  CHECK(entry.scratch_bytes({70, none}) == 0);
  // A copy of the tensor and X twice, in panels, besides the squares A, cA² and bA + cA².
  const std::size_t large = 128 * 300 + 2 * panel_floats(300, 128) + 4 * 128 * 128;
  CHECK(entry.scratch_bytes({numbers_in(all), all}) >= large * sizeof(float));
  CHECK(entry.scratch_bytes({numbers_in(all), all}) < 1.1 * static_cast<double>(large * sizeof(float)));
}

TEST_CASE("muon without hidden weights is adamw, bit for bit") {
  constexpr std::size_t n = 501;
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const auto muon = make("muon", {{"learning_rate", 0.5}, {"adamw_learning_rate", 0.01}, {"weight_decay", 0.1}});
    const auto adamw = make("adamw", {{"learning_rate", 0.01}, {"weight_decay", 0.1}});
    const std::vector<TensorInfo> tensors = {{"weight", {n - 3, 1}, 0}, {"bias", {3}, n - 3}};
    for (const auto& of : {std::vector<TensorInfo>(), tensors}) {
      HandleValues values(*kernels, n, 1, of);
      Handle a = values.leaf(numbers(n, 1)), b = a;
      std::vector<Handle> of_a, of_b;
      for (std::uint64_t step = 0; step < 3; ++step) {
        const Handle g = values.leaf(numbers(n, 10 + step));
        a = muon->step(values.lineage(), a, g, 0, 1, of_a);
        b = adamw->step(values.lineage(), b, g, 0, 1, of_b);
      }
      CHECK(same_bits(values.of(a), values.of(b)));
    }
  }
}

TEST_CASE("a gradient of zeros moves no hidden weight, and one with a NaN makes only its matrix NaN") {
  const std::vector<TensorInfo> tensors = {{"qkv", {6, 5}, 0, {2, 2, 2}}};
  for (const Kernels* kernels : all_kernels()) {
    const auto rule = make("muon", {{"learning_rate", 0.1}, {"adamw_learning_rate", 0.1}});
    HandleValues values(*kernels, 30, 1, tensors);
    const std::vector<float> w = numbers(30, 1);
    std::vector<float> g(30);
    std::vector<Handle> state;
    CHECK(values.of(rule->step(values.lineage(), values.leaf(w), values.leaf(g), 0, 1, state))[7] == w[7]);
    g = numbers(30, 2);
    g[13] = std::numeric_limits<float>::quiet_NaN();
    state.clear();
    const std::vector<float> next = values.of(rule->step(values.lineage(), values.leaf(w), values.leaf(g), 0, 1, state));
    for (std::size_t i = 0; i < 30; ++i) CHECK(std::isnan(next[i]) == (i / 10 == 1));
  }
}

TEST_CASE("one step of lion from given gradients has the signs of the one in double, but for directions below 1e-6 of the largest") {
  constexpr std::size_t n = 5003;
  for (const Kernels* kernels : all_kernels())
    for (const double decay : {0.0, 0.5}) {
      CAPTURE(kernels->name);
      CAPTURE(decay);
      const auto rule = make("lion", {{"learning_rate", 0.01}, {"beta1", 0.8}, {"beta2", 0.95}, {"weight_decay", decay}});
      HandleValues values(*kernels, n);
      LionInDouble expected{0.01, 0.8, 0.95, decay, as<double>(numbers(n, 1))};
      Handle weights = values.leaf(as<float>(expected.w));
      std::vector<Handle> state;
      for (std::uint64_t step = 0; step < 4; ++step) {
        std::vector<float> g = numbers(n, 10 + step);
        g[7] = 0.0f;  // in every step: it never moves
        Doubles along(n);
        double largest = 0;
        for (std::size_t i = 0; i < n; ++i) {
          along[i] = std::abs(0.8 * expected.m[i] + (1 - 0.8) * static_cast<double>(g[i]));
          largest = std::max(largest, along[i]);
        }
        weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
        expected.step(as<double>(g));
        REQUIRE(state.size() == 1);
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double off = std::abs(static_cast<double>(values.of(weights)[i]) - expected.w[i]);
          if (i == 7 || along[i] > 1e-6 * largest)
            worst = std::max(worst, off);
          else
            expected.w[i] = static_cast<double>(values.of(weights)[i]);
        }
        CHECK(worst < 8 * 0x1p-24);
      }
    }
}

TEST_CASE("lion and muon refuse what they cannot use") {
  CHECK_THROWS_AS(make("lion", {}), std::invalid_argument);
  CHECK_THROWS_AS(make("lion", {{"learning_rate", 0.1}, {"beta2", 1.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make("muon", {{"learning_rate", 0.1}}), std::invalid_argument);
  CHECK_THROWS_AS(make("muon", {{"learning_rate", 0.1}, {"adamw_learning_rate", 0.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make("muon", {{"learning_rate", 0.1}, {"adamw_learning_rate", 0.1}, {"momentum", 1.0}}), std::invalid_argument);
}

}  // namespace straggler::test::muon_test
