// softmax and mlp: what they promise as models, and their gradients in every set of kernels against the reference.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/panel_network.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::zoo_test {
namespace {

DataInfo data_of(std::size_t features, std::size_t classes) {
  DataInfo data;
  data.features = features;
  data.classes = classes;
  return data;
}

std::unique_ptr<Model> make_model(const char* name, Parameters given, const DataInfo& data, const Kernels& kernels) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  return entry.make(complete(entry.parameters, std::move(given)), data, ModelSetting{kernels});
}

struct Problem {
  std::vector<std::size_t> widths;
  std::size_t rows;
  std::vector<float> x, scale;
  std::vector<std::int32_t> labels;

  Problem(std::vector<std::size_t> layers, std::size_t count)
      : widths(std::move(layers)),
        rows(count),
        x(numbers(rows * widths.front(), 1)),
        scale(rows, 1.0f / static_cast<float>(rows)),
        labels(labels_below(widths.back(), rows, 2)) {}
  Rows all() const { return {rows, x.data(), labels.data(), scale.data()}; }
};

double gradient_in_double(const Problem& problem, const std::vector<float>& weights, std::vector<double>& gradient) {
  const ReferenceNetwork<double> network(multilayer_perceptron(problem.widths));
  ReferenceNetwork<double>::Memory memory = network.memory();
  const std::vector<double> w = as<double>(weights), x = as<double>(problem.x), scale = as<double>(problem.scale);
  return network.gradient(w.data(), {problem.rows, x.data(), problem.labels.data(), scale.data()}, false, gradient.data(), memory);
}

/// Rows whose label has the largest score, by the definition, in double precision.
std::uint64_t rows_classified(const Problem& problem, const std::vector<float>& weights) {
  std::uint64_t correct = 0;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    const float* const x = problem.x.data() + row * problem.widths.front();
    std::vector<double> values(x, x + problem.widths.front());
    const float* layer = weights.data();
    for (std::size_t k = 1; k < problem.widths.size(); ++k) {
      const std::size_t inputs = problem.widths[k - 1], outputs = problem.widths[k];
      std::vector<double> scores(outputs);
      for (std::size_t o = 0; o < outputs; ++o) {
        scores[o] = layer[outputs * inputs + o];
        for (std::size_t i = 0; i < inputs; ++i) scores[o] += static_cast<double>(layer[o * inputs + i]) * values[i];
        if (k + 1 < problem.widths.size()) scores[o] = std::max(scores[o], 0.0);
      }
      layer += outputs * (inputs + 1);
      values = scores;
    }
    correct += std::max_element(values.begin(), values.end()) - values.begin() == problem.labels[row] ? 1 : 0;
  }
  return correct;
}

}  // namespace

TEST_CASE("the default mlp on 28x28 images is the 2NN of McMahan et al. 2017: 199,210 parameters") {
  const std::unique_ptr<Model> model = make_model("mlp", {}, data_of(784, 10), select_kernels("auto"));
  CHECK(model->parameters() == 785 * 200 + 201 * 200 + 201 * 10);
  const std::vector<TensorInfo> tensors = model->tensors();
  REQUIRE(tensors.size() == 6);
  std::size_t offset = 0;
  const std::vector<std::string> names = {"0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"};
  const std::vector<std::vector<std::size_t>> tensor_shapes = {{200, 784}, {200}, {200, 200}, {200}, {10, 200}, {10}};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(tensors[i].name == names[i]);
    CHECK(tensors[i].shape == tensor_shapes[i]);
    CHECK(tensors[i].offset == offset);
    std::size_t count = 1;
    for (const std::size_t width : tensors[i].shape) count *= width;
    offset += count;
  }
  CHECK(offset == model->parameters());

  const std::vector<LayerCost> cost = model->cost();
  REQUIRE(cost.size() == 3);
  CHECK(cost[0].parameters == 785 * 200);
  CHECK(cost[0].forward_flops == 2 * 784 * 200);
  CHECK(cost[0].activation_bytes == 200 * 4);
  CHECK(cost[2].parameters == 201 * 10);
  CHECK(cost[2].forward_flops == 2 * 200 * 10);
  CHECK_FALSE(model->couples_samples());
}

TEST_CASE("a perceptron refuses widths that are none") {
  const Kernels& kernels = select_kernels("auto");
  CHECK_THROWS_AS(make_model("softmax", {}, data_of(0, 10), kernels), std::invalid_argument);
  CHECK_THROWS_AS(make_model("mlp", {}, data_of(10, 0), kernels), std::invalid_argument);
  CHECK_THROWS_AS(make_model("mlp", {{"hidden", std::vector<std::int64_t>{5, 0}}}, data_of(4, 2), kernels), std::invalid_argument);
  CHECK(make_model("mlp", {{"hidden", std::vector<std::int64_t>{}}}, data_of(4, 2), kernels)->parameters() == 10);  // no hidden layer
}

TEST_CASE("initial weights are uniform in ±1/sqrt(in), follow from the seed and differ from tensor to tensor") {
  const std::unique_ptr<Model> model =
      make_model("mlp", {{"hidden", std::vector<std::int64_t>{400, 400}}}, data_of(400, 400), select_kernels("auto"));
  std::vector<float> weights(model->parameters()), again(weights.size()), other(weights.size());
  model->initialize(7, weights.data());
  model->initialize(7, again.data());
  model->initialize(8, other.data());
  CHECK(weights == again);
  CHECK(weights != other);
  std::set<float> first_of_tensors;
  for (const TensorInfo& tensor : model->tensors()) {
    first_of_tensors.insert(weights[tensor.offset]);
    if (tensor.shape.size() < 2) continue;
    const double bound = 1 / std::sqrt(400.0), count = 160'000;
    double sum = 0, squares = 0, largest = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + 160'000; ++i) {
      const double w = weights[i];
      sum += w;
      squares += w * w;
      largest = std::max(largest, std::abs(w));
    }
    // Variance bound²/3. The mean of n draws is off by bound/√(3n) (standard deviation), that of squares by bound² √(4/45 n).
    CHECK(std::abs(sum / count) < 5 * bound / std::sqrt(3 * count));
    CHECK(std::abs(squares / count - bound * bound / 3) < 5 * bound * bound * std::sqrt(4 / (45 * count)));
    CHECK(largest <= bound);
    CHECK(largest > 0.999 * bound);
  }
  CHECK(first_of_tensors.size() == 6);
}

TEST_CASE("gradients equal the reference's in every set of kernels") {
  const std::vector<Problem> problems = {{{784, 10}, 32},       {{2, 128, 4}, 32}, {{784, 200, 200, 10}, 32}, {{30, 20, 10, 5}, 1},
                                         {{12, 17, 33, 3}, 45}, {{3, 5, 2}, 600},  {{20, 40, 7}, 300}};
  for (const Kernels* kernels : all_kernels())
    for (const Problem& problem : problems) {
      CAPTURE(kernels->name);
      CAPTURE(problem.rows);
      CAPTURE(problem.widths.size());
      const PanelNetwork model(multilayer_perceptron(problem.widths), {*kernels});
      std::vector<float> weights(model.parameters()), gradient(weights.size(), std::numeric_limits<float>::quiet_NaN());
      model.initialize(3, weights.data());
      std::vector<double> expected(weights.size());
      const double expected_loss = gradient_in_double(problem, weights, expected);
      const std::unique_ptr<Workspace> workspace = model.workspace();
      const double loss = model.gradient(weights.data(), problem.all(), false, gradient.data(), *workspace);
      CHECK(loss == doctest::Approx(expected_loss).epsilon(1e-6));
      CHECK(distance(gradient, expected) < 2e-6);

      // The same workspace again, onto what is there: twice the gradient.
      model.gradient(weights.data(), problem.all(), true, gradient.data(), *workspace);
      for (double& value : expected) value *= 2;
      CHECK(distance(gradient, expected) < 2e-6);

      std::uint64_t correct = 0;
      const double evaluated =
          model.evaluate(weights.data(), {problem.rows, problem.x.data(), problem.labels.data(), nullptr}, correct, *workspace);
      CHECK(evaluated / static_cast<double>(problem.rows) == doctest::Approx(expected_loss).epsilon(1e-6));
      CHECK(correct == rows_classified(problem, weights));
    }
}

TEST_CASE("a workspace's history and its earlier sizes leave no trace in the bits") {
  const Problem large({9, 14, 6}, 500), small({9, 14, 6}, 37);
  for (const Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name);
    const PanelNetwork model(multilayer_perceptron({9, 14, 6}), {*kernels});
    std::vector<float> weights(model.parameters()), fresh(weights.size()), used(weights.size());
    model.initialize(1, weights.data());
    const std::unique_ptr<Workspace> first = model.workspace(), second = model.workspace();
    const double loss = model.gradient(weights.data(), small.all(), false, fresh.data(), *first);
    model.gradient(weights.data(), large.all(), false, used.data(), *second);
    CHECK(model.gradient(weights.data(), small.all(), false, used.data(), *second) == loss);
    CHECK(used == fresh);
  }
}

TEST_CASE("a gradient that is called off leaves no trace in the next one") {
  const Problem problem({9, 14, 6}, 200);
  const PanelNetwork model(multilayer_perceptron({9, 14, 6}), {*all_kernels().front()});
  std::vector<float> weights(model.parameters()), whole(weights.size()), untouched(weights.size(), 7.0f), again(weights.size());
  model.initialize(1, weights.data());
  const std::unique_ptr<Workspace> workspace = model.workspace();
  model.gradient(weights.data(), problem.all(), false, whole.data(), *workspace);
  std::atomic<bool> cancelled = true;
  workspace->cancelled = &cancelled;
  model.gradient(weights.data(), problem.all(), false, untouched.data(), *workspace);
  CHECK(untouched == std::vector<float>(weights.size(), 7.0f));  // it ended before the first layer's gradient
  cancelled = false;
  model.gradient(weights.data(), problem.all(), false, again.data(), *workspace);
  CHECK(again == whole);
}

TEST_CASE("accuracy counts samples whose highest score is their label") {
  // Identity weights on one-hot inputs: every sample is classified as its own class.
  const std::size_t classes = 5, rows = 211;
  std::vector<float> x(rows * classes, 0.0f);
  std::vector<std::int32_t> labels(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    x[row * classes + row % classes] = 1;
    labels[row] = static_cast<std::int32_t>(row % 10 == 0 ? (row + 1) % classes : row % classes);  // one in ten labelled wrong
  }
  for (const Kernels* kernels : all_kernels()) {
    const PanelNetwork model(multilayer_perceptron({classes, classes}), {*kernels});
    std::vector<float> weights(model.parameters(), 0.0f);
    for (std::size_t c = 0; c < classes; ++c) weights[c * classes + c] = 1;
    std::uint64_t correct = 100;
    const double loss = model.evaluate(weights.data(), {rows, x.data(), labels.data(), nullptr}, correct, *model.workspace());
    CHECK(correct == 100 + rows - 22);
    // Scores 1 at the own class and 0 elsewhere: log(e + 4), less the label's score.
    CHECK(loss == doctest::Approx(static_cast<double>(rows) * std::log(std::exp(1.0) + 4) - static_cast<double>(rows - 22)).epsilon(1e-6));
  }
}

TEST_CASE("a NaN weight anywhere gives a NaN loss") {
  const Problem problem({6, 5, 4}, 40);
  for (const Kernels* kernels : all_kernels()) {
    const PanelNetwork model(multilayer_perceptron(problem.widths), {*kernels});
    std::vector<float> weights(model.parameters()), gradient(weights.size());
    const std::unique_ptr<Workspace> workspace = model.workspace();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      model.initialize(1, weights.data());
      weights[i] = std::numeric_limits<float>::quiet_NaN();
      CAPTURE(i);
      std::uint64_t correct = 0;
      CHECK(std::isnan(model.gradient(weights.data(), problem.all(), false, gradient.data(), *workspace)));
      CHECK(std::isnan(model.evaluate(weights.data(), problem.all(), correct, *workspace)));
    }
  }
}

TEST_CASE("no samples: no loss, a zero gradient unless it accumulates") {
  const PanelNetwork model(multilayer_perceptron({3, 2}), {select_kernels("auto")});
  std::vector<float> weights(model.parameters(), 1.0f), gradient(model.parameters(), 5.0f);
  const std::unique_ptr<Workspace> workspace = model.workspace();
  CHECK(model.gradient(weights.data(), {}, true, gradient.data(), *workspace) == 0);
  CHECK(gradient == std::vector<float>(gradient.size(), 5.0f));
  CHECK(model.gradient(weights.data(), {}, false, gradient.data(), *workspace) == 0);
  CHECK(gradient == std::vector<float>(gradient.size(), 0.0f));
}

}  // namespace straggler::test::zoo_test
