// The network of plain layers: its whole gradient in double against central differences, float against double, and what it promises
// as an engine.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/key.hpp"
#include "sim/base/registry.hpp"
#include "tests/layers/derivatives.hpp"
#include "tests/support/math_helpers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::reference_network_test {
namespace {

/// Layer norm over places, dropout twice, average pools that overlap, an input that is added again and itself joined to what it feeds.
Architecture many_kinds() {
  ArchitectureBuilder build({2, 6, 5});
  LayerIndex x = build.conv(network_input, "a", 4, Window::square(3, 1, 1), true, 2);
  x = build.dropout(build.tanh(build.layer_norm(x, "norm")), 0.25);
  const LayerIndex pooled = build.average_pool(x, Window::square(3, 2, 1)), largest = build.max_pool(x, Window::square(3, 2, 1));
  x = build.batch_norm(build.add({pooled, largest, pooled}), "bn");
  x = build.relu(build.concat({x, build.average_pool(network_input, Window::square(3, 2, 1))}));
  x = build.dropout(build.linear(x, "places", 5), 0.5);
  build.linear(build.flatten(x), "head", 3);
  return std::move(build).build();
}

/// Attention with shared keys and values that looks back, and one that looks around; what stands beside them in transformers.
Architecture transformer_kinds() {
  ArchitectureBuilder build({1, 5, 1});
  const auto count = [](std::int64_t number) -> Value { return number; };
  LayerIndex x = build.layer("embedding", {network_input},
                             {{"width", count(8)}, {"rows", count(11)}, {"positions", std::string("learned")}}, LayerName("tokens"));
  LayerIndex y = build.layer("rms_norm", {x}, {}, LayerName("norm1"));
  y = build.layer("attention", {y}, {{"heads", count(4)}, {"key_value_heads", count(2)}, {"causal", true}}, LayerName("back"));
  x = build.add({x, y});
  x = build.add({x, build.layer("attention", {build.layer_norm(x, "norm2")}, {{"heads", count(2)}}, LayerName("around"))});
  x = build.layer("silu", {build.linear(x, "a", 6)});
  x = build.layer("gelu", {build.gelu(build.linear(x, "b", 5))}, {{"form", std::string("tanh")}});
  build.linear(build.flatten(x), "head", 3);
  return std::move(build).build();
}

/// What makes a sequence of an image, and what ViT does with it.
Architecture image_sequence_kinds() {
  ArchitectureBuilder build({2, 4, 6});
  LayerIndex x = build.layer("sequence", {build.conv(network_input, "patches", 4, Window::square(2, 2, 0), true)});
  x = build.layer("learned_positions", {build.layer("class_token", {x}, {}, LayerName("class"))}, {}, LayerName("places"));
  x = build.add({x, build.layer("attention", {x}, {{"heads", Value{std::int64_t{2}}}}, LayerName("around"))});
  build.linear(build.first_place(build.tanh(x)), "head", 3);
  return std::move(build).build();
}

struct Problem {
  Architecture architecture;
  std::vector<float> weights;
  RecipeBatch batch;
  std::vector<std::uint64_t> draws;

  Problem(Architecture network, std::size_t rows, std::uint64_t seed = 1)
      : architecture(std::move(network)), weights(recipe_weights(architecture, seed)), batch(recipe_batch(architecture, seed, 0, rows)) {
    for (std::size_t row = 0; row < rows; ++row) {
      draws.push_back(Hasher().add(std::uint64_t{row}).key().low);
      batch.scale[row] *= 1 + 0.25f * static_cast<float>(row % 3);  // not all equal
    }
  }
  Rows rows() const {
    Rows rows = batch.rows();
    rows.draws = draws.data();
    return rows;
  }
};

/// The same in double: loss and gradient at given weights.
class InDouble {
 public:
  explicit InDouble(const Problem& problem)
      : network_(problem.architecture),
        inputs_(as<double>(problem.batch.inputs)),
        scale_(as<double>(problem.batch.scale)),
        batch_{scale_.size(), inputs_.data(), problem.batch.labels.data(), scale_.data(), problem.draws.data()},
        memory_(network_.memory()) {}
  double operator()(const Doubles& weights, Doubles& gradient) {
    gradient.resize(weights.size());
    return network_.gradient(weights.data(), batch_, false, gradient.data(), memory_);
  }
  double evaluate(const Doubles& weights, std::uint64_t& correct) { return network_.evaluate(weights.data(), batch_, correct, memory_); }

 private:
  ReferenceNetwork<double> network_;
  Doubles inputs_, scale_;
  ReferenceNetwork<double>::Batch batch_;
  ReferenceNetwork<double>::Memory memory_;
};

std::unique_ptr<Model> reference_model(const Architecture& architecture, Precision precision = Precision::fp32) {
  return make_network(architecture, ModelSetting{select_kernels("auto"), precision}, "reference");
}

std::vector<Architecture> small_networks() {
  return {many_kinds(),           groups_network(),      layer_norm_network(),        embedding_network(),
          average_pool_network(), branches_network(),    dense_network({6, 9, 7, 4}), transformer_kinds(),
          language_network(),     language_network(0.3), image_sequence_kinds()};
}

}  // namespace

TEST_CASE("the full gradient of small networks of every kind of layer equals central differences") {
  for (const Architecture& architecture : small_networks()) {
    CAPTURE(architecture.layers.front().name);
    const Problem problem(architecture, 5);
    InDouble loss(problem);
    const Doubles weights = as<double>(problem.weights);
    Doubles gradient, unused;
    loss(weights, gradient);
    // Statistics of the batch stand behind the parameters, and the loss of training does not look at the running ones.
    const auto parameters = static_cast<std::ptrdiff_t>(NetworkLayout(architecture).parameters);
    const Doubles tail(weights.begin() + parameters, weights.end());
    check_derivative(Doubles(weights.begin(), weights.begin() + parameters), Doubles(gradient.begin(), gradient.begin() + parameters),
                     [&](Doubles v) {
                       v.insert(v.end(), tail.begin(), tail.end());
                       return loss(v, unused);
                     });
  }
}

TEST_CASE("a causal place depends on itself and those before it alone, and shares of attention are a mean") {
  // Values of one head are the inputs themselves, keys are zero: a place's context is the mean of what it sees.
  ArchitectureBuilder build({2, 4, 1});
  build.flatten(build.layer("attention", {network_input}, {{"heads", std::int64_t{1}}, {"causal", true}}, LayerName("a")));
  const Architecture architecture = std::move(build).build();
  const ReferenceNetwork<double> network(architecture);
  Doubles weights(network.layout().parameters, 0.0);
  for (std::size_t c = 0; c < 2; ++c) {
    weights[network.layout().tensors[0][0] + (4 + c) * 2 + c] = 1;  // values
    weights[network.layout().tensors[0][2] + c * 2 + c] = 1;        // output
  }
  // Its eight numbers are the scores: their loss tells them apart.
  const Doubles x = {1, 2, 3, 6, 0, 4, -1, 5}, means = {1, 1.5, 2, 3, 0, 2, 1, 2};
  double sum = 0;
  for (const double mean : means) sum += std::exp(mean);
  ReferenceNetwork<double>::Memory memory = network.memory();
  for (std::int32_t label = 0; label < 8; ++label) {
    std::uint64_t correct = 0;
    const double loss = network.evaluate(weights.data(), {1, x.data(), &label, nullptr, nullptr}, correct, memory);
    CHECK(loss == doctest::Approx(std::log(sum) - means[static_cast<std::size_t>(label)]).epsilon(1e-12));
  }
}

TEST_CASE("every kind of layer that can be trained is in one of these networks") {
  std::set<std::string> checked;
  for (const Architecture& architecture : small_networks())
    for (const LayerSpec& layer : architecture.layers) checked.insert(layer.entry->name);
  for (const LayerEntry& entry : Registry<LayerEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK(checked.contains(entry.name) == bool(entry.forward));
  }
}

TEST_CASE("the full gradients of softmax regression and of an MLP equal central differences") {
  const std::vector<std::vector<std::size_t>> models = {{7, 4}, {7, 9, 4}, {6, 8, 5, 3}};
  for (const std::vector<std::size_t>& widths : models) {
    CAPTURE(widths.size());
    constexpr std::size_t rows = 5;
    std::size_t parameters = 0;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) parameters += (widths[l] + 1) * widths[l + 1];
    const Doubles weights = numbers<double>(parameters, 1), x = numbers<double>(rows * widths.front(), 2), scale(rows, 1.0 / rows);
    const std::vector<std::int32_t> labels = labels_below(widths.back(), rows, 3);
    Doubles gradient(parameters), unused(parameters);
    const ReferenceNetwork<double> network(multilayer_perceptron(widths));
    ReferenceNetwork<double>::Memory memory = network.memory();
    const ReferenceNetwork<double>::Batch batch{rows, x.data(), labels.data(), scale.data()};
    network.gradient(weights.data(), batch, false, gradient.data(), memory);
    check_derivative(weights, gradient, [&](const Doubles& v) { return network.gradient(v.data(), batch, false, unused.data(), memory); });
  }
}

TEST_CASE("the gradients of ResNet-8 and LeNet-5 equal central differences where they are looked at") {
  for (const Architecture& architecture : {resnet8(), lenet5()}) {
    if (sanitized && architecture.layers.size() > lenet5().layers.size()) continue;
    const Problem problem(architecture, 2, 3);
    InDouble loss(problem);
    const Doubles weights = as<double>(problem.weights);
    Doubles gradient, unused;
    loss(weights, gradient);
    const std::size_t parameters = NetworkLayout(architecture).parameters;
    std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(parameters), gradient.end(), 0.0);  // the loss ignores running statistics
    // Some ReLU of thousands passes zero within any step: a smaller one than elsewhere, and a wider bound.
    constexpr double h = 1e-6;
    Doubles moved = weights;
    for (std::size_t i = 0; i < parameters; i += parameters / 12) {
      moved[i] = weights[i] + h;
      const double above = loss(moved, unused);
      moved[i] = weights[i] - h;
      const double below = loss(moved, unused);
      moved[i] = weights[i];
      CAPTURE(i);
      CHECK(std::abs((above - below) / (2 * h) - gradient[i]) <= 1e-6 * (1 + std::abs(gradient[i])));
    }
  }
}

TEST_CASE("float equals double to its rounding, in training and in evaluation") {
  std::vector<Architecture> networks = small_networks();
  networks.push_back(resnet8());
  for (const Architecture& architecture : networks) {
    CAPTURE(architecture.layers.front().name);
    const Problem problem(architecture, 7, 2);
    const std::unique_ptr<Model> model = reference_model(architecture);
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<float> gradient(model->length());
    Doubles exact;
    InDouble in_double(problem);
    const double loss = in_double(as<double>(problem.weights), exact);
    CHECK(model->gradient(problem.weights.data(), problem.rows(), false, gradient.data(), *workspace) ==
          doctest::Approx(loss).epsilon(1e-6));
    CHECK(distance(gradient, exact) < 5e-6);
    // Running statistics that are none of a batch: evaluation must look at them.
    std::vector<float> weights = problem.weights;
    for (std::size_t i = model->parameters(); i < weights.size(); ++i) weights[i] += 0.25f;
    std::uint64_t correct = 0, exactly = 0;
    CHECK(model->evaluate(weights.data(), problem.rows(), correct, *workspace) ==
          doctest::Approx(in_double.evaluate(as<double>(weights), exactly)).epsilon(1e-6));
    CHECK(correct == exactly);
  }
}

TEST_CASE("the statistics of a batch stand behind the gradient, times the sum of the scales") {
  // One batch norm over one channel: inputs 1, 3, 5, 7 have mean 4 and unbiased variance 20 / 3.
  ArchitectureBuilder build({1, 2, 1});
  build.linear(build.flatten(build.batch_norm(network_input, "bn")), "head", 2);
  const std::unique_ptr<Model> model = reference_model(std::move(build).build());
  REQUIRE(model->parameters() == 2 + 4 + 2);
  REQUIRE(model->statistics() == 2);
  CHECK(model->couples_samples());
  std::vector<float> weights(model->length()), gradient(model->length(), 1.0f);
  model->initialize(1, weights.data());
  CHECK(weights[8] == 0);
  CHECK(weights[9] == 1);
  const std::vector<float> inputs = {1, 3, 5, 7}, scale = {0.5f, 0.25f};
  const std::vector<std::int32_t> labels = {0, 1};
  model->gradient(weights.data(), {2, inputs.data(), labels.data(), scale.data()}, true, gradient.data(), *model->workspace());
  CHECK(gradient[8] == doctest::Approx(1 + 0.75 * 4));
  CHECK(gradient[9] == doctest::Approx(1 + 0.75 * 20 / 3));
}

TEST_CASE("a gradient is added to the buffer, no samples change nothing, and a workspace's history leaves no trace") {
  const Problem small(many_kinds(), 3), large(many_kinds(), 20, 2);
  const std::unique_ptr<Model> model = reference_model(small.architecture);
  const std::unique_ptr<Workspace> first = model->workspace(), second = model->workspace();
  std::vector<float> fresh(model->length()), used(model->length()), sum(model->length(), 2.0f);
  const double loss = model->gradient(small.weights.data(), small.rows(), false, fresh.data(), *first);
  model->gradient(large.weights.data(), large.rows(), false, used.data(), *second);
  CHECK(model->gradient(small.weights.data(), small.rows(), false, used.data(), *second) == loss);
  CHECK(used == fresh);
  model->gradient(small.weights.data(), small.rows(), true, sum.data(), *second);
  for (float& value : fresh) value += 2;
  CHECK(distance(sum, fresh) < 1e-6);
  CHECK(model->gradient(small.weights.data(), {}, true, used.data(), *second) == 0);
  CHECK(model->gradient(small.weights.data(), {}, false, sum.data(), *second) == 0);
  CHECK(sum == std::vector<float>(sum.size(), 0.0f));
}

TEST_CASE("a gradient that is called off writes nothing and leaves no trace") {
  const Problem problem(branches_network(), 4);
  const std::unique_ptr<Model> model = reference_model(problem.architecture);
  const std::unique_ptr<Workspace> workspace = model->workspace();
  std::vector<float> whole(model->length()), untouched(model->length(), 7.0f), again(model->length());
  model->gradient(problem.weights.data(), problem.rows(), false, whole.data(), *workspace);
  std::atomic<bool> cancelled = true;
  workspace->cancelled = &cancelled;
  model->gradient(problem.weights.data(), problem.rows(), false, untouched.data(), *workspace);
  CHECK(untouched == std::vector<float>(untouched.size(), 7.0f));
  cancelled = false;
  model->gradient(problem.weights.data(), problem.rows(), false, again.data(), *workspace);
  CHECK(again == whole);
}

TEST_CASE("a NaN weight anywhere gives a NaN loss") {
  for (const Architecture& architecture : {groups_network(), layer_norm_network(), branches_network()}) {
    const Problem problem(architecture, 4);
    const std::unique_ptr<Model> model = reference_model(architecture);
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<float> gradient(model->length());
    for (std::size_t i = 0; i < model->parameters(); ++i) {
      std::vector<float> weights = problem.weights;
      weights[i] = std::numeric_limits<float>::quiet_NaN();
      CAPTURE(i);
      std::uint64_t correct = 0;
      CHECK(std::isnan(model->gradient(weights.data(), problem.rows(), false, gradient.data(), *workspace)));
      CHECK(std::isnan(model->evaluate(weights.data(), problem.rows(), correct, *workspace)));
    }
  }
}

TEST_CASE("memory is as estimated, to the byte") {
  for (const Precision precision : {Precision::fp32, Precision::fp16})
    for (const Architecture& architecture : {many_kinds(), resnet8(), embedding_network(), transformer_kinds()}) {
      const ReferenceNetwork<float> network(architecture, precision);
      const Problem problem(architecture, 6);
      ReferenceNetwork<float>::Memory memory = network.memory();
      std::vector<float> gradient(problem.weights.size());
      const Rows rows = problem.rows();
      network.gradient(problem.weights.data(), {rows.count, rows.inputs, rows.labels, rows.scale, rows.draws}, false, gradient.data(),
                       memory);
      std::size_t bytes = memory.weights.bytes() + memory.inputs.bytes() + memory.statistics.bytes() + memory.scratch.bytes();
      for (const auto& buffer : memory.outputs) bytes += buffer.bytes();
      for (const auto& buffer : memory.derivatives) bytes += buffer.bytes();
      for (const auto& buffer : memory.kept) bytes += buffer.bytes();
      CHECK(bytes == network.memory_bytes(6));
    }
}

TEST_CASE("symbols are not rounded to the format of a network, whose own numbers are") {
  // bfloat16 has 256 and 258, and no 257.
  ArchitectureBuilder build({1, 1, 1});
  build.linear(build.embedding(network_input, "symbols", 300, 2), "head", 3);
  const Problem problem(std::move(build).build(), 1);
  const std::unique_ptr<Model> model = reference_model(problem.architecture, Precision::bf16);
  const auto gradient = [&](float symbol) {
    Rows rows = problem.rows();
    rows.inputs = &symbol;
    std::vector<float> all(model->length());
    model->gradient(problem.weights.data(), rows, false, all.data(), *model->workspace());
    return all;
  };
  for (const std::size_t symbol : {256u, 257u, 258u, 299u}) {
    const std::vector<float> all = gradient(static_cast<float>(symbol));
    for (std::size_t row = 0; row < 300; ++row) CHECK((all[2 * row] != 0) == (row == symbol));
  }
}

TEST_CASE("in FP16 and bfloat16 a dense layer equals rounding inputs, weights, outputs and derivatives by hand") {
  ArchitectureBuilder build({5, 1, 1});
  build.linear(network_input, "0", 3);
  const Problem problem(std::move(build).build(), 1);
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    const auto rounded = [&](float x) {
      round_to(precision, 1, &x, &x);
      return x;
    };
    float scores[3], top = -1e30f;
    for (std::size_t o = 0; o < 3; ++o) {
      float sum = 0;
      for (std::size_t i = 0; i < 5; ++i) sum += rounded(problem.weights[o * 5 + i]) * rounded(problem.batch.inputs[i]);
      scores[o] = rounded(sum + rounded(problem.weights[15 + o]));
      top = std::max(top, scores[o]);
    }
    double sum = 0;
    for (const float score : scores) sum += std::exp(static_cast<double>(score - top));
    const auto label = static_cast<std::size_t>(problem.batch.labels[0]);
    const std::unique_ptr<Model> model = reference_model(problem.architecture, precision);
    std::vector<float> gradient(model->length());
    const double loss = model->gradient(problem.weights.data(), problem.rows(), false, gradient.data(), *model->workspace());
    CHECK(loss == doctest::Approx(std::log(sum) - static_cast<double>(scores[label] - top)).epsilon(1e-6));
    for (std::size_t o = 0; o < 3; ++o) {
      const float share = static_cast<float>(std::exp(static_cast<double>(scores[o] - top)) / sum) - (o == label ? 1.0f : 0.0f);
      for (std::size_t i = 0; i < 5; ++i)
        CHECK(gradient[o * 5 + i] == doctest::Approx(rounded(share) * rounded(problem.batch.inputs[i])).epsilon(1e-6));
    }
    CHECK(gradient[15] == rounded(gradient[15]));  // Σ of one rounded derivative
  }
}

TEST_CASE("rounding changes a network by no more than the format's steps") {
  // 2^-11 and 2^-8 of each number, some tens of times over, in a random direction.
  const Problem problem(resnet8(), 8);
  std::vector<float> exact(problem.weights.size()), gradient(exact.size());
  const std::unique_ptr<Model> model = reference_model(problem.architecture);
  const double loss = model->gradient(problem.weights.data(), problem.rows(), false, exact.data(), *model->workspace());
  double last = 0;
  for (const Precision precision : {Precision::fp16, Precision::bf16}) {
    const std::unique_ptr<Model> coarse = reference_model(problem.architecture, precision);
    CHECK(coarse->gradient(problem.weights.data(), problem.rows(), false, gradient.data(), *coarse->workspace()) ==
          doctest::Approx(loss).epsilon(precision == Precision::fp16 ? 0.01 : 0.05));
    const double far = distance(gradient, exact);
    CHECK(far > 1e-4);
    CHECK(far < (precision == Precision::fp16 ? 0.05 : 0.3));
    CHECK(far > last);
    last = far;
  }
}

TEST_CASE("without draws a network that drops out cannot train, and can evaluate") {
  const Problem problem(many_kinds(), 2);
  const std::unique_ptr<Model> model = reference_model(problem.architecture);
  CHECK(model->draws());
  CHECK_FALSE(reference_model(groups_network())->draws());
  std::vector<float> gradient(model->length());
  const std::unique_ptr<Workspace> workspace = model->workspace();
  CHECK_THROWS_AS(model->gradient(problem.weights.data(), problem.batch.rows(), false, gradient.data(), *workspace), std::logic_error);
  std::uint64_t correct = 0;
  CHECK(std::isfinite(model->evaluate(problem.weights.data(), problem.batch.rows(), correct, *workspace)));
}

TEST_CASE("impossible computations are refused in one sentence") {
  const auto lacks = [](const Architecture& architecture) { return ReferenceNetwork<float>::lacks(architecture); };
  CHECK(lacks(many_kinds()).empty());
  ArchitectureBuilder softmax({3, 1, 1});
  softmax.linear(softmax.softmax(network_input), "head", 2);
  CHECK(lacks(std::move(softmax).build()).find("cost-only and cannot be trained") != std::string::npos);
  ArchitectureBuilder scored({3, 1, 1});
  scored.softmax(scored.linear(network_input, "head", 2));
  CHECK(lacks(std::move(scored).build()).ends_with("is a softmax, which the loss applies itself; leave it out"));
  ArchitectureBuilder loose({3, 1, 1});
  loose.linear(network_input, "loose", 4);
  loose.linear(network_input, "head", 2);
  CHECK(lacks(std::move(loose).build()).find("'loose' feeds nothing") != std::string::npos);
  ArchitectureBuilder fed({1, 3, 1});
  fed.embedding(fed.relu(network_input), "table", 4, 2);
  const Architecture fed_by_layer = std::move(fed).build();
  CHECK(lacks(fed_by_layer).find("feed it tokens") != std::string::npos);
  CHECK(lacks({}).find("without layers") != std::string::npos);
  CHECK_THROWS_AS(ReferenceNetwork<double>{fed_by_layer}, std::invalid_argument);
  CHECK_THROWS_AS(make_network(fed_by_layer, ModelSetting{select_kernels("auto")}), std::invalid_argument);
  CHECK_THROWS_AS(reference_model(fed_by_layer), std::invalid_argument);
  CHECK_THROWS_AS(make_network(many_kinds(), ModelSetting{select_kernels("auto")}, "refrence"), std::invalid_argument);
}

TEST_CASE("architectures refuse groups, rates and pads that make no sense") {
  ArchitectureBuilder build({4, 6, 6});
  CHECK_THROWS_AS(build.conv(network_input, "a", 6, Window::square(3), false, 3), std::invalid_argument);
  CHECK_THROWS_AS(build.conv(network_input, "a", 6, Window::square(3), false, 4), std::invalid_argument);
  CHECK_THROWS_AS(build.conv(network_input, "a", 6, Window::square(3), false, 0), std::invalid_argument);
  for (const double rate : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(build.dropout(network_input, rate), std::invalid_argument);
  CHECK_THROWS_AS(build.max_pool(network_input, Window::square(2, 2, 2)), std::invalid_argument);
  CHECK_THROWS_AS(build.embedding(network_input, "table", 5, 3), std::invalid_argument);
  CHECK(std::move(build).build().layers.empty());
}

}  // namespace straggler::test::reference_network_test
