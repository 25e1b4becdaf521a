// The ResNets of the zoo as models that learn: sizes, names, shapes of data, and that they do.
#include <doctest/doctest.h>

#include "models/rules/elementwise.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/math_helpers.hpp"

namespace straggler::test::resnet_test {
namespace {

std::unique_ptr<Model> resnet(const char* name, std::vector<std::size_t> shape, std::size_t classes = 10, Parameters given = {}) {
  DataInfo data;
  data.features = 1;
  for (const std::size_t width : shape) data.features *= width;
  data.shape = std::move(shape);
  data.classes = classes;
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  return entry.make(complete(entry.parameters, std::move(given)), data, ModelSetting{select_kernels("auto")});
}

}  // namespace

TEST_CASE("ResNets have the parameters of their definitions, on colour images of 32x32 and grey ones of 28x28") {
  // A first convolution of one channel instead of three has 2 * 9 * its outputs fewer.
  const struct {
    const char* name;
    std::size_t parameters, stem, channels_of_norms;
  } known[] = {
      {"resnet8", 78'042, 16, 16 * 3 + 32 * 3 + 64 * 3},
      {"resnet18", 11'173'962, 64, 64 * 5 + 128 * 5 + 256 * 5 + 512 * 5},
      {"resnet50", 23'520'842, 64,
       64 + (64 + 64 + 256) * 3 + 256 + (128 + 128 + 512) * 4 + 512 + (256 + 256 + 1024) * 6 + 1024 + (512 + 512 + 2048) * 3 + 2048}};
  for (const auto& one : known) {
    CAPTURE(one.name);
    const std::unique_ptr<Model> colour = resnet(one.name, {3, 32, 32}), grey = resnet(one.name, {1, 28, 28});
    CHECK(colour->parameters() == one.parameters);
    CHECK(grey->parameters() == one.parameters - 2 * 9 * one.stem);
    CHECK(colour->statistics() == 2 * one.channels_of_norms);
    CHECK(colour->couples_samples());
    CHECK(colour->tensors().front().name == "conv1.weight");
    CHECK(colour->tensors().back().name == "linear.bias");
    CHECK(colour->buffers().front().name == "bn1.running_mean");
    CHECK(colour->buffers().front().offset == one.parameters);
    const CostTable definition = cost_table(Registry<ModelEntry>::instance().at(one.name)), learner = cost_table(*colour);
    CHECK(definition.parameters() == one.parameters);
    CHECK(learner.forward_flops() == definition.forward_flops());
    CHECK(learner.activation_bytes() == definition.activation_bytes());
  }
}

TEST_CASE("a ResNet refuses data that are not images, and images that are too small for nothing") {
  CHECK_THROWS_WITH_AS(resnet("resnet8", {784}), doctest::Contains("resnet8 takes images"), std::invalid_argument);
  CHECK(resnet("resnet18", {2, 1, 1}, 3)->parameters() > 0);  // paddings leave one place
}

TEST_CASE("ResNet-8 learns twelve samples, and its running statistics follow the batch's") {
  const std::unique_ptr<Model> model = resnet("resnet8", {1, 10, 10}, 3);
  const std::size_t rows = 12, parameters = model->parameters();
  const std::vector<float> x = numbers(rows * 100, 4), scale(rows, 1.0f / rows);
  const std::vector<std::int32_t> labels = labels_below(3, rows, 5);
  std::vector<float> weights(model->length()), gradient(model->length());
  model->initialize(1, weights.data());
  const std::unique_ptr<Workspace> workspace = model->workspace();
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    last = model->gradient(weights.data(), {rows, x.data(), labels.data(), scale.data()}, false, gradient.data(), *workspace);
    if (step == 0) first = last;
    for (std::size_t i = 0; i < parameters; ++i) weights[i] -= 0.1f * gradient[i];
    for (std::size_t i = parameters; i < weights.size(); ++i) weights[i] += statistics_momentum * (gradient[i] - weights[i]);
  }
  CHECK(first > 0.8);
  CHECK(last < 0.05);
  // 60 steps of 0.1: what was there at the start has 0.9^60 = 0.2 % left, and by the end the batch's hardly move.
  std::uint64_t correct = 0;
  CHECK(model->evaluate(weights.data(), {rows, x.data(), labels.data(), nullptr}, correct, *workspace) / rows < 0.3);
  CHECK(correct == rows);
}

}  // namespace straggler::test::resnet_test
