// The rows of layers: what each declares, and how each refuses what does not fit.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "models/layers/layer.hpp"
#include "tests/support/text.hpp"

namespace straggler::test::layer_rows_test {
namespace {

LayerSpec made(const char* kind, const std::vector<Shape>& inputs, Parameters given = {}) {
  return make_layer(Registry<LayerEntry>::instance().at(kind), std::move(given), inputs, "here");
}

std::string refusal(const char* kind, const std::vector<Shape>& inputs, Parameters given = {}) {
  return error_of<std::invalid_argument>([&] { made(kind, inputs, given); });
}

Value numbers(std::vector<std::int64_t> numbers) { return numbers; }
Value number(std::int64_t number) { return number; }

}  // namespace

TEST_CASE("a row says what it is and declares, and computes forward and backward or neither") {
  CHECK(Registry<LayerEntry>::instance().entries().size() >= 21);
  for (const LayerEntry& entry : Registry<LayerEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.summary.empty());
    for (const Parameter& parameter : entry.parameters) CHECK_FALSE(parameter.meaning.empty());
    CHECK(bool(entry.forward) == bool(entry.backward));
    CHECK(entry.inputs.least >= 1);
    CHECK(entry.inputs.most >= entry.inputs.least);
    // Plain arithmetic alone has scratch and draws.
    if (!entry.forward) CHECK_FALSE((entry.scratch || entry.kept_indices || entry.draws));
  }
}

TEST_CASE("no parameter has the name of a layer: in a line both are keys") {
  const Registry<LayerEntry>& rows = Registry<LayerEntry>::instance();
  for (const LayerEntry& entry : rows.entries())
    for (const Parameter& parameter : entry.parameters) {
      CAPTURE(entry.name);
      CAPTURE(parameter.name);
      CHECK(rows.find(parameter.name) == nullptr);
      for (const char* word : {"repeat", "residual", "global_average_pool", "name", "from", "skip"}) CHECK(parameter.name != word);
    }
}

TEST_CASE("inputs that do not fit are refused with the shapes that disagree") {
  const auto names = [](const std::string& message, const char* one, const char* other) {
    CAPTURE(message);
    return has(message, one) && has(message, other);
  };
  CHECK(names(refusal("add", {{4, 8, 8}, {4, 8, 7}}), "4 x 8 x 8", "4 x 8 x 7"));
  CHECK(names(refusal("concat", {{4, 8, 8}, {2, 8, 7}}), "4 x 8 x 8", "2 x 8 x 7"));
  CHECK(names(refusal("embedding", {{3, 8, 8}}, {{"width", number(5)}, {"rows", number(9)}}), "3 x 8 x 8", "1 x 8 x 8"));
  CHECK(names(refusal("attention_scores", {{6, 5, 1}, {4, 5, 1}}, {{"heads", number(2)}}), "6 x 5 x 1", "4 x 5 x 1"));
  CHECK(names(refusal("attention_scores", {{6, 5, 1}, {6, 5, 1}}, {{"heads", number(4)}}), "6 x 5 x 1", "4 heads"));
  CHECK(names(refusal("attention_context", {{2, 5, 5}, {6, 4, 1}}), "2 x 5 x 5", "6 x 4 x 1"));
  CHECK(names(refusal("attention", {{6, 5, 2}}, {{"heads", number(2)}}), "6 x 5 x 2", "6 x 10 x 1"));
  CHECK(names(refusal("attention", {{6, 5, 1}}, {{"heads", number(4)}}), "6 x 5 x 1", "4 heads"));
  CHECK(names(refusal("attention", {{6, 5, 1}}, {{"heads", number(3)}, {"key_value_heads", number(2)}}), "3 heads", "2 heads"));
  CHECK(names(refusal("class_token", {{6, 5, 2}}), "6 x 5 x 2", "6 x 10 x 1"));
  CHECK(names(refusal("conv", {{3, 4, 9}}, {{"channels", number(8)}, {"window", numbers({5, 7})}}), "5 x 7 on", "3 x 4 x 9"));
  CHECK(names(refusal("conv", {{3, 9, 9}}, {{"channels", number(8)}, {"groups", number(2)}}), "3 x 9 x 9", "8 of the output"));
  CHECK(names(refusal("max_pool", {{3, 4, 9}}, {{"window", numbers({5})}}), "5 x 5 on", "3 x 4 x 9"));
  CHECK(names(refusal("max_pool", {{3, 9, 9}}, {{"window", numbers({2})}, {"pad", numbers({2, 0})}}), "2 x 2", "2 x 0"));
}

TEST_CASE("as many inputs as a row has, and the parameters that it declares") {
  CHECK(has(refusal("relu", {}), "needs 1 input and has 0"));
  CHECK(has(refusal("relu", {{1, 1, 1}, {1, 1, 1}}), "needs 1 input and has 2"));
  CHECK(has(refusal("add", {}), "needs at least 1 input and has 0"));
  CHECK(has(refusal("attention_context", {{1, 1, 1}}), "needs 2 inputs and has 1"));
  CHECK(has(refusal("linear", {{3, 1, 1}}), "features: is missing"));
  CHECK(has(refusal("relu", {{3, 1, 1}}, {{"slope", 0.1}}), "slope: "));
  CHECK(has(refusal("dropout", {{3, 1, 1}}, {{"rate", 1.0}}), "rate: 1 is out of range; it must be at least 0, below 1"));
  CHECK(has(refusal("relu", {{0, 1, 1}}), "its output is empty (0 x 1 x 1)"));
}

TEST_CASE("a window is one number or two; a pool's stride follows it; without a window an average is of all places") {
  // floor((9 + 2 - 3) / 2) + 1 = 5 rows, floor((8 + 0 - 2) / 2) + 1 = 4 columns.
  const LayerSpec conv =
      made("conv", {{2, 9, 8}}, {{"channels", number(4)}, {"window", numbers({3, 2})}, {"stride", number(2)}, {"pad", numbers({1, 0})}});
  CHECK(conv.window == Window{3, 2, 2, 1, 0});
  CHECK(conv.out == Shape{4, 5, 4});
  CHECK(conv.tensors.at(0).name == "here.weight");
  CHECK(conv.tensors[0].shape == std::vector<std::size_t>{4, 2, 3, 2});
  CHECK(conv.tensors.at(1).name == "here.bias");
  CHECK(conv.tensors[1].initial.size == doctest::Approx(1 / std::sqrt(12.0)));  // inputs of an output
  CHECK(conv.entry->multiply_adds(conv) == 4.0 * 5 * 4 * 2 * 6);
  CHECK(made("conv", {{2, 9, 8}}, {{"channels", number(4)}, {"bias", false}}).tensors.size() == 1);
  CHECK(made("conv", {{2, 9, 8}}, {{"channels", number(4)}}).window == Window{});
  CHECK(made("max_pool", {{2, 9, 8}}, {{"window", numbers({2})}}).window == Window{2, 2, 2, 0, 0});
  CHECK(made("max_pool", {{2, 9, 8}}, {{"window", numbers({3})}, {"stride", number(1)}}).out == Shape{2, 7, 6});
  CHECK(has(refusal("max_pool", {{2, 9, 8}}, {{"window", numbers({3, 2})}}), "3 x 2 has no stride"));
  CHECK(has(refusal("conv", {{2, 9, 8}}, {{"channels", number(4)}, {"window", numbers({3, 2, 1})}}), "window: has 3 numbers"));
  CHECK(made("average_pool", {{2, 9, 8}}).out == Shape{2, 1, 1});
  CHECK(made("average_pool", {{2, 9, 8}}).window == Window{9, 8, 1, 0, 0});
  CHECK(made("linear", {{2, 9, 8}}, {{"features", number(3)}, {"bias", false}}).tensors.size() == 1);
}

TEST_CASE("batch norm alone has state: a mean of zero and a variance of one for each channel") {
  for (const LayerEntry& entry : Registry<LayerEntry>::instance().entries()) {
    CAPTURE(entry.name);
    CHECK((entry.buffers != nullptr) == (entry.name == "batch_norm"));
  }
  const LayerSpec norm = made("batch_norm", {{3, 2, 2}});
  REQUIRE(norm.buffers.size() == 2);
  CHECK(norm.buffers[0].name == "here.running_mean");
  CHECK(norm.buffers[1].name == "here.running_var");
  CHECK(norm.buffers[1].shape == std::vector<std::size_t>{3});
  CHECK(norm.buffers[0].initial.size == 0);
  CHECK(norm.buffers[1].initial.size == 1);
}

}  // namespace straggler::test::layer_rows_test
