// Adam, AdamW, Adagrad and LARS: their formulas in double, their registers, and PyTorch's ten steps
// (reference/optimizer_steps.csv, made by reference/make_optimizer_reference.py).
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "models/optimizers/optimizer.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/panel_network.hpp"
#include "tests/optimizers/handle_values.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::adaptive_test {
namespace {

constexpr std::size_t n = 3001;

std::unique_ptr<UpdateRule> make(const char* kind, Parameters given) {
  const OptimizerEntry& entry = Registry<OptimizerEntry>::instance().at(kind);
  return entry.make(complete(entry.parameters, std::move(given)), Schedule());
}

/// The n numbers before the registers, within `units` last places of a float of size 1.
void check_close(const std::vector<float>& actual, const std::vector<double>& expected, double units) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(actual[i]) - expected[i]));
  CHECK(worst <= units * 0x1p-24);
}

/// Adam in double, with a count of steps.
struct AdamInDouble {
  double rate, beta1, beta2, epsilon, decay;
  bool decoupled;
  std::vector<double> w, m = std::vector<double>(w.size()), v = std::vector<double>(w.size());
  int steps = 0;
  void step(const std::vector<float>& g) {
    ++steps;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = static_cast<double>(g[i]) + (decoupled ? 0 : decay * w[i]);
      if (decoupled) w[i] -= rate * decay * w[i];
      m[i] = beta1 * m[i] + (1 - beta1) * d;
      v[i] = beta2 * v[i] + (1 - beta2) * d * d;
      w[i] -= rate * m[i] / (1 - std::pow(beta1, steps)) / (std::sqrt(v[i] / (1 - std::pow(beta2, steps))) + epsilon);
    }
  }
};

}  // namespace

TEST_CASE("adam and adamw follow their formulas over five steps and after a reset, the correction kept in a register") {
  for (const Kernels* kernels : all_kernels())
    for (const char* kind : {"adam", "adamw"})
      for (const double decay : {0.0, 0.05}) {
        CAPTURE(kernels->name);
        CAPTURE(kind);
        CAPTURE(decay);
        const auto rule = make(kind, {{"learning_rate", 0.01}, {"beta1", 0.8}, {"beta2", 0.9}, {"epsilon", 1e-3}, {"weight_decay", decay}});
        HandleValues values(*kernels, n, 1);
        AdamInDouble expected{0.01, 0.8, 0.9, 1e-3, decay, kind == std::string("adamw"), as<double>(numbers(n, 1))};
        Handle weights = values.leaf(as<float>(expected.w));
        std::vector<Handle> state;
        for (std::uint64_t step = 0; step < 7; ++step) {
          if (step == 5) {
            state.clear();
            expected = AdamInDouble{0.01, 0.8, 0.9, 1e-3, decay, expected.decoupled, expected.w};
          }
          const std::vector<float> g = numbers(n, 10 + step);
          weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
          expected.step(g);
          REQUIRE(state.size() == 2);
          check_close(values.of(weights), expected.w, 64);
          check_close(values.of(state[0]), expected.m, 8);
          check_close(values.of(state[1]), expected.v, 8);
          CHECK(values.of(state[0])[n] == doctest::Approx(1 - std::pow(0.8, expected.steps)).epsilon(1e-6));
          CHECK(values.of(state[1])[n] == doctest::Approx(1 - std::pow(0.9, expected.steps)).epsilon(1e-6));
          CHECK(values.of(weights)[n] == 0.0f);
        }
      }
}

TEST_CASE("averaged moments of workers that took different numbers of steps stay averages of their gradients") {
  // Worker A took 3 steps, all along gradient 1, B one step along gradient 5. m / c is the mean of the four with their weights
  // (1 - b) b^(age) / 2, whatever their number: not m / (1 - b^t) with any whole t.
  const auto rule = make("adam", {{"learning_rate", 0.5}, {"beta1", 0.5}, {"beta2", 0.5}});
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    HandleValues values(*kernels, 1, 1);
    const Handle weights = values.leaf({0.0f}), one = values.leaf({1.0f}), five = values.leaf({5.0f});
    std::vector<Handle> a, b;
    for (int step = 0; step < 3; ++step) rule->step(values.lineage(), weights, one, 0, 1, a);
    rule->step(values.lineage(), weights, five, 0, 1, b);
    std::vector<Handle> mean;
    for (std::size_t k = 0; k < 2; ++k)
      mean.push_back(values.lineage().elementwise(rules::weighted_mean, std::array{a[k], b[k]}, {0.5, 0.5}));
    const double sum_a = 0.5 + 0.25 + 0.125, sum_b = 0.5;
    const double first = (sum_a * 1 + sum_b * 5) / 2, correction = (sum_a + sum_b) / 2, second = (sum_a * 1 + sum_b * 25) / 2;
    CHECK(values.of(mean[0])[0] == static_cast<float>(first));
    CHECK(values.of(mean[0])[1] == static_cast<float>(correction));
    CHECK(values.of(mean[1])[0] == static_cast<float>(second));
    // One more step along 3 from there.
    const Handle next = rule->step(values.lineage(), weights, values.leaf({3.0f}), 0, 1, mean);
    const double c = 0.5 * correction + 0.5, m = 0.5 * first + 1.5, v = 0.5 * second + 4.5;
    CHECK(values.of(next)[0] == doctest::Approx(-0.5 * (m / c) / std::sqrt(v / c)).epsilon(1e-6));
  }
}

TEST_CASE("adagrad follows its formula, with decay of weights and rate and a start above 0") {
  for (const Kernels* kernels : all_kernels())
    for (const double more : {0.0, 0.1}) {
      CAPTURE(kernels->name);
      CAPTURE(more);
      const auto rule =
          make("adagrad", {{"learning_rate", 0.02}, {"rate_decay", more}, {"weight_decay", more}, {"initial", more}, {"epsilon", 1e-3}});
      HandleValues values(*kernels, n, 1);
      std::vector<double> w = as<double>(numbers(n, 1)), sum(n, more);
      Handle weights = values.leaf(as<float>(w));
      std::vector<Handle> state;
      for (int t = 1; t <= 4; ++t) {
        const std::vector<float> g = numbers(n, 10 + static_cast<std::uint64_t>(t));
        weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
        for (std::size_t i = 0; i < n; ++i) {
          const double d = g[i] + more * w[i];
          sum[i] += d * d;
          w[i] -= 0.02 / (1 + (t - 1) * more) * d / (std::sqrt(sum[i]) + 1e-3);
        }
        REQUIRE(state.size() == 1);
        CHECK(values.of(state[0])[n] == static_cast<float>(t));
        check_close(values.of(weights), w, 64);
      }
    }
}

TEST_CASE("lars scales each tensor's rate by its trust ratio; vectors and tensors without a direction are exempt") {
  // A matrix, a bias, a matrix of zeros, a matrix whose gradient is 0.
  const std::vector<TensorInfo> tensors = {{"a", {100, 7}, 0}, {"b", {13}, 700}, {"c", {5, 5}, 713}, {"d", {3, 4}, 738}};
  constexpr std::size_t size = 750;
  const auto within = [&](std::size_t i) {
    std::size_t t = 0;
    while (t + 1 < tensors.size() && tensors[t + 1].offset <= i) ++t;
    return t;
  };
  for (const Kernels* kernels : all_kernels())
    for (const double decay : {0.0, 0.02}) {
      CAPTURE(kernels->name);
      const auto rule = make("lars", {{"learning_rate", 2.0}, {"momentum", 0.5}, {"weight_decay", decay}, {"trust", 0.01}});
      HandleValues values(*kernels, size, 0, tensors);
      std::vector<double> w = as<double>(numbers(size, 1)), v(size);
      for (std::size_t i = 0; i < size; ++i)
        if (within(i) == 2) w[i] = 0;
      Handle weights = values.leaf(as<float>(w));
      std::vector<Handle> state;
      for (std::uint64_t step = 0; step < 3; ++step) {
        std::vector<float> g = numbers(size, 10 + step);
        for (std::size_t i = 0; i < size; ++i)
          if (within(i) == 3) g[i] = 0;
        weights = rule->step(values.lineage(), weights, values.leaf(g), 0, 1, state);
        std::array<double, 4> norm_w{}, norm_g{};
        for (std::size_t i = 0; i < size; ++i) norm_w[within(i)] += w[i] * w[i], norm_g[within(i)] += static_cast<double>(g[i]) * g[i];
        for (std::size_t i = 0; i < size; ++i) {
          const std::size_t t = within(i);
          const double of_w = std::sqrt(norm_w[t]), of_g = std::sqrt(norm_g[t]), here = t == 1 ? 0 : decay;
          const double ratio = t != 1 && of_w > 0 && of_g > 0 ? 0.01 * of_w / (of_g + decay * of_w) : 1;
          v[i] = 0.5 * v[i] + 2.0 * ratio * (g[i] + here * w[i]);
          w[i] -= v[i];
        }
        check_close(values.of(state[0]), v, 64);
        check_close(values.of(weights), w, 64);
      }
    }
}

TEST_CASE("squared norms come out the same wherever the memory lies, and from any length") {
  for (const Kernels* kernels : all_kernels())
    for (const std::size_t size : {0u, 1u, 15u, 17u, 1023u, 1025u, 5000u}) {
      CAPTURE(kernels->name);
      CAPTURE(size);
      const std::vector<float> x = numbers(size, 3);
      double expected = 0;
      for (const float number : x) expected += static_cast<double>(number) * static_cast<double>(number);
      std::vector<float> moved(size + 3);
      std::copy(x.begin(), x.end(), moved.begin() + 3);
      CHECK(kernels->squared_norm(size, x.data()) == doctest::Approx(expected).epsilon(1e-5));
      CHECK(kernels->squared_norm(size, x.data()) == kernels->squared_norm(size, moved.data() + 3));
    }
}

TEST_CASE("optimizers refuse invalid parameters") {
  for (const char* kind : {"adam", "adamw", "adagrad", "lars"}) {
    CAPTURE(kind);
    CHECK_THROWS_AS(make(kind, {}), std::invalid_argument);
    CHECK_THROWS_AS(make(kind, {{"learning_rate", 0.0}}), std::invalid_argument);
    CHECK_THROWS_AS(make(kind, {{"learning_rate", 0.1}, {"weight_decay", -0.1}}), std::invalid_argument);
    CHECK_THROWS_AS(make(kind, {{"learning_rate", 0.1}, {"nesterov", true}}), std::invalid_argument);
  }
  for (const char* kind : {"adam", "adamw"})
    for (const char* beta : {"beta1", "beta2"}) {
      CHECK_THROWS_AS(make(kind, {{"learning_rate", 0.1}, {beta, 1.0}}), std::invalid_argument);
      CHECK_THROWS_AS(make(kind, {{"learning_rate", 0.1}, {beta, -0.1}}), std::invalid_argument);
    }
  CHECK_THROWS_AS(make("adam", {{"learning_rate", 0.1}, {"epsilon", 0.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make("lars", {{"learning_rate", 0.1}, {"trust", 0.0}}), std::invalid_argument);
  CHECK_THROWS_AS(make("adagrad", {{"learning_rate", 0.1}, {"initial", -1.0}}), std::invalid_argument);
}

namespace {

const std::vector<std::size_t> widths = {12, 16, 5};
constexpr std::size_t rows = 8, steps = 10;

/// In [-1/2, 1/2), exact in float; as in the script.
float number(std::uint64_t salt, std::uint64_t i) {
  auto x = static_cast<std::uint32_t>(i * 2654435761u + salt * 40503u + 12345u);
  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return static_cast<float>(static_cast<double>(x >> 8) / 16777216.0 - 0.5);
}

std::vector<float> initial_weights() {
  std::vector<float> weights;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    for (std::size_t i = 0; i < widths[l] * widths[l + 1]; ++i) weights.push_back(number(2 * l, i));
    for (std::size_t i = 0; i < widths[l + 1]; ++i) weights.push_back(number(2 * l + 1, i));
  }
  return weights;
}

std::map<std::string, std::map<std::string, std::vector<double>>> read_reference() {
  std::ifstream file(STRAGGLER_SOURCE_DIR "/tests/zoo/reference/optimizer_steps.csv");
  REQUIRE(file.good());
  std::map<std::string, std::map<std::string, std::vector<double>>> reference;
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

}  // namespace

TEST_CASE("ten steps of adam, adamw and adagrad on an mlp equal PyTorch's, in every set of kernels") {
  // PyTorch's own float32 is off by up to 1.2e-6 of the change of the weights (the script prints it).
  const auto reference = read_reference();
  const std::map<std::string, std::pair<const char*, Parameters>> cases = {
      {"adam", {"adam", {{"learning_rate", 0.01}}}},
      {"adam_decay", {"adam", {{"learning_rate", 0.01}, {"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-4}, {"weight_decay", 0.1}}}},
      {"adamw", {"adamw", {{"learning_rate", 0.01}, {"weight_decay", 0.1}}}},
      {"adagrad", {"adagrad", {{"learning_rate", 0.05}}}},
      {"adagrad_decay",
       {"adagrad", {{"learning_rate", 0.05}, {"rate_decay", 0.1}, {"weight_decay", 0.1}, {"initial", 0.01}, {"epsilon", 1e-6}}}}};
  REQUIRE(reference.size() == cases.size());
  for (const Kernels* kernels : all_kernels())
    for (const auto& each : cases) {
      const std::string& name = each.first;
      const auto& optimizer = each.second;
      CAPTURE(kernels->name);
      CAPTURE(name);
      const std::vector<double>&losses = reference.at(name).at("loss"), &expected = reference.at(name).at("weight");
      REQUIRE(losses.size() == steps);
      const PanelNetwork model(multilayer_perceptron(widths), {*kernels});
      REQUIRE(expected.size() == model.parameters());
      const auto rule = make(optimizer.first, optimizer.second);
      HandleValues values(*kernels, model.parameters(), 1);
      const std::vector<float> start = initial_weights(), scale(rows, 1.0f / rows);
      Handle weights = values.leaf(start);
      std::vector<Handle> state;
      const std::unique_ptr<Workspace> workspace = model.workspace();
      for (std::size_t step = 0; step < steps; ++step) {
        std::vector<float> x, gradient(model.parameters());
        std::vector<std::int32_t> labels;
        for (std::size_t i = 0; i < rows * widths.front(); ++i) x.push_back(number(100 + step, i));
        for (std::size_t i = 0; i < rows; ++i)
          labels.push_back(
              static_cast<std::int32_t>((static_cast<double>(number(200 + step, i)) + 0.5) * static_cast<double>(widths.back())));
        const double loss =
            model.gradient(values.of(weights).data(), {rows, x.data(), labels.data(), scale.data()}, false, gradient.data(), *workspace);
        CHECK(loss == doctest::Approx(losses[step]).epsilon(2e-6));
        weights = rule->step(values.lineage(), weights, values.leaf(gradient), 0, 1, state);
      }
      double off = 0, change = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        off += std::pow(static_cast<double>(values.of(weights)[i]) - expected[i], 2);
        change += std::pow(expected[i] - static_cast<double>(start[i]), 2);
      }
      CHECK(std::sqrt(off / change) < 1e-5);
    }
}

}  // namespace straggler::test::adaptive_test
