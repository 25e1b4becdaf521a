// Networks as lists of layers: the built-in ones as lists and back, what lines mean, and what is refused where.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/cost_model.hpp"
#include "models/zoo/layer_list.hpp"
#include "tests/support/text.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::layer_list_test {
namespace {

using Form = Nested::Form;

Nested word(const std::string& text) { return Nested::of_word(text); }
Nested list(std::vector<Nested> items) { return Nested::of_list(std::move(items)); }

/// map({{"conv", word("8")}, …})
Nested map(const std::vector<std::pair<std::string, Nested>>& items) {
  Nested made{Form::map, {}, false, {}, {}};
  for (const auto& [key, item] : items) made.add(key, item);
  return made;
}

std::vector<std::string> names_of(const Architecture& architecture) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors_of(architecture)) names.push_back(tensor.name);
  return names;
}

/// Equal but for the names of layers in tables.
void check_same(const Architecture& made, const Architecture& wanted) {
  CHECK(made.input == wanted.input);
  REQUIRE(made.layers.size() == wanted.layers.size());
  for (std::size_t l = 0; l < made.layers.size(); ++l) {
    const LayerSpec &own = made.layers[l], &expected = wanted.layers[l];
    CAPTURE(expected.name);
    CHECK(own.entry == expected.entry);
    CHECK(own.inputs == expected.inputs);
    CHECK(own.in == expected.in);
    CHECK(own.out == expected.out);
    CHECK(own.window == expected.window);
    for (const auto& [tensors, other] : {std::pair(&own.tensors, &expected.tensors), std::pair(&own.buffers, &expected.buffers)}) {
      REQUIRE(tensors->size() == other->size());
      for (std::size_t t = 0; t < tensors->size(); ++t) {
        CHECK((*tensors)[t].name == (*other)[t].name);
        CHECK((*tensors)[t].shape == (*other)[t].shape);
        CHECK((*tensors)[t].initial.rule == (*other)[t].initial.rule);
        CHECK((*tensors)[t].initial.size == (*other)[t].initial.size);
      }
    }
  }
  const CostTable own = cost_table(made), expected = cost_table(wanted);
  CHECK(own.forward_flops() == expected.forward_flops());
  CHECK(own.activation_bytes() == expected.activation_bytes());
  CHECK(own.operations() == expected.operations());
  CHECK(own.statistics == expected.statistics);
}

void check_round(const Architecture& architecture) {
  const Nested lines = layer_list(architecture);
  CAPTURE(flow_text(lines).substr(0, 2000));
  check_same(architecture_of(lines, {architecture.input}), architecture);
}

/// "PATH: what" of the refusal; empty: none.
std::string refusal(const Nested& layers, const Shape& input = {3, 8, 8}) {
  try {
    architecture_of(layers, {input, {{"classes", 10}}});
  } catch (const NestedError& wrong) {
    return wrong.path + ": " + wrong.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every built-in network is a list that reads back as the same network") {
  for (const CostModelEntry& entry : Registry<CostModelEntry>::instance().entries()) {
    if (!entry.architecture || entry.name == "layers") continue;
    CAPTURE(entry.name);
    check_round(entry.architecture(complete(entry.parameters, {})));
  }
  for (const char* const name :
       {"softmax", "mlp", "lenet5", "fedavg_cnn", "resnet8", "groups", "layer_norm", "embedding", "average_pool", "branches"}) {
    CAPTURE(name);
    check_round(network_named(name));
  }
}

TEST_CASE("LeNet-5 as a list") {
  CHECK(
      flow_text(layer_list(lenet5())) ==
      "[{conv: 6, window: 5, pad: 2, name: conv1}, relu, {max_pool: 2}, {conv: 16, window: 5, name: conv2}, relu, {max_pool: 2}, flatten, "
      "{linear: 120, name: fc1}, relu, {linear: 84, name: fc2}, relu, {linear: 10, name: fc3}]");
}

TEST_CASE("a network from its list trains to the same bits as the built-in one") {
  const Architecture built = resnet8(), listed = architecture_of(layer_list(built), {built.input});
  const std::vector<float> start = recipe_weights(built, 3);
  std::vector<std::vector<float>> ends;
  for (const Architecture& architecture : {built, listed}) {
    const std::unique_ptr<Model> model = make_network(architecture, ModelSetting{select_kernels("auto")});
    const std::unique_ptr<Workspace> workspace = model->workspace();
    std::vector<float> weights(model->length()), gradient(model->length());
    model->initialize(7, weights.data());
    for (std::size_t step = 0; step < 5; ++step) {
      const RecipeBatch batch = recipe_batch(architecture, 3, step, 4);
      model->gradient(weights.data(), batch.rows(), false, gradient.data(), *workspace);
      for (std::size_t i = 0; i < model->parameters(); ++i) weights[i] -= 0.05f * gradient[i];
    }
    ends.push_back(weights);
  }
  CHECK(ends[0] == ends[1]);
}

TEST_CASE("unnamed lines are numbered as parts of nn.Sequential, those inside of a line with its name before theirs") {
  const Nested block =
      list({map({{"conv", word("3")}, {"window", word("3")}, {"pad", word("1")}, {"bias", word("false")}}), word("batch_norm")});
  const Architecture made = architecture_of(
      list({map({{"conv", word("3")}, {"name", word("stem")}}), map({{"residual", block}}),
            map({{"residual", list({map({{"conv", word("4")}})})},
                 {"skip", map({{"conv", word("4")}, {"bias", word("false")}})},
                 {"name", word("wide")}}),
            map({{"repeat", map({{"times", word("2")}, {"layers", list({map({{"linear", word("4")}, {"bias", word("false")}})})}})}}),
            word("global_average_pool"), word("flatten"), map({{"linear", word("classes")}})}),
      {{3, 8, 8}, {{"classes", 10}}});
  CHECK(names_of(made) == std::vector<std::string>{"stem.weight", "stem.bias", "1.0.weight", "1.1.weight", "1.1.bias", "wide.0.weight",
                                                   "wide.0.bias", "wide.skip.weight", "3.0.0.weight", "3.1.0.weight", "6.weight",
                                                   "6.bias"});
  CHECK(buffers_of(made).front().name == "1.1.running_mean");
  CHECK(made.layers.back().out == Shape{10, 1, 1});
}

TEST_CASE("from and the names of add and concat lead to other lines than the one before; the nearest of a name counts") {
  const Architecture made = architecture_of(
      list({map({{"conv", word("3")}, {"name", word("a")}}), map({{"tanh", map({})}, {"from", word("input")}, {"name", word("b")}}),
            map({{"residual", list({map({{"relu", map({})}, {"name", word("a")}}), map({{"tanh", Nested()}, {"from", word("a")}})})},
                 {"name", word("inside")}}),
            map({{"concat", list({word("a"), word("inside"), word("input")})}})}),
      {{3, 8, 8}});
  // conv, tanh of the input, relu, tanh of that relu, the sum with what came into it (tanh), and the three joined.
  REQUIRE(made.layers.size() == 6);
  CHECK(made.layers[1].inputs == std::vector<LayerIndex>{network_input});
  CHECK(made.layers[3].inputs == std::vector<LayerIndex>{2});
  CHECK(made.layers[4].inputs == std::vector<LayerIndex>{3, 1});
  CHECK(made.layers[5].inputs == std::vector<LayerIndex>{0, 4, network_input});
  CHECK(made.layers[5].out == Shape{9, 8, 8});
}

TEST_CASE("a line that does not fit is refused at its place, with both shapes") {
  const Nested wide = map({{"conv", word("8")}, {"window", word("9")}});
  CHECK(refusal(list({word("relu"), wide})) ==
        "layers[1]: 1: the window is wider than its padded input: 9 x 9 on 3 x 8 x 8, padded by 0 x 0; make the input larger or the window "
        "smaller");
  const std::string sum = refusal(list({map({{"residual", list({map({{"conv", word("4")}})})}})}));
  CHECK(has(sum, "layers[0]: 0: turns 3 x 8 x 8 into 4 x 8 x 8"));
  CHECK(has(refusal(list({map({{"residual", list({word("relu"), wide})}})})), "layers[0].residual[1]: 0.1: the window is wider"));
  CHECK(has(refusal(list(
                {map({{"repeat", map({{"times", word("3")}, {"layers", list({map({{"conv", word("2")}, {"window", word("4")}})})}})}})})),
            "layers[0].repeat.layers[0]: 0.2.0: the window is wider than its padded input: 4 x 4 on 2 x 2 x 2"));
  const Nested joined = list({map({{"conv", word("4")}, {"name", word("a")}}), map({{"add", list({word("a"), word("input")})}})});
  CHECK(has(refusal(joined), "layers[1]: 1: 4 x 8 x 8 and 3 x 8 x 8 have different shapes"));
}

TEST_CASE("lines that are no layers") {
  CHECK(has(refusal(list({})), "layers: is empty; write a list of layers"));
  CHECK(has(refusal(word("relu")), "layers: is 'relu'; write a list of layers"));
  CHECK(has(refusal(list({word("rellu")})), "layers[0]: unknown layer 'rellu'; did you mean 'relu'?"));
  CHECK(has(refusal(list({map({{"convv", word("8")}})})), "layers[0]: unknown layer 'convv'; did you mean 'conv'?"));
  CHECK(has(refusal(list({map({{"name", word("a")}})})), "layers[0]: names no layer"));
  CHECK(has(refusal(list({list({})})), "layers[0]: is a list; write a layer"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"linear", word("8")}})})), "layers[0]: is both relu and linear; write two lines"));
  CHECK(has(refusal(list({map({{"conv", word("8")}, {"windw", word("3")}})})),
            "layers[0].windw: unknown key of conv 'windw'; did you mean 'window'?"));
  CHECK(
      has(refusal(list({map({{"conv", map({{"channel", word("8")}})}})})), "layers[0].conv.channel: unknown parameter of conv 'channel'"));
  CHECK(
      has(refusal(list({map({{"conv", map({{"channels", word("8")}})}, {"channels", word("8")}})})), "layers[0].channels: is there twice"));
  CHECK(has(refusal(list({map({{"linear", word("clases")}})})), "or classes"));
  CHECK(has(refusal(list({map({{"linear", word("0")}})})), "layers[0].linear: 0 is out of range"));
  CHECK(has(refusal(list({word("conv")})), "channels: is missing"));
  CHECK(has(refusal(list({map({{"relu", word("3")}})})), "layers[0].relu: has no parameters"));
  CHECK(has(refusal(list({map({{"linear", list({word("3")})}})})), "layers[0].linear: is a list; write a whole number"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"name", word("a")}}), map({{"relu", map({})}, {"name", word("a")}})})),
            "layers[1]: the name 'a' is there twice"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"name", word("input")}})})), "layers[0].name: is the network's input"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"from", word("later")}})})), "layers[0].from: unknown layer 'later'"));
  CHECK(has(refusal(list({map({{"add", list({word("input")})}, {"from", word("input")}})})), "layers[0].from: is of no use"));
  CHECK(has(refusal(list({word("add")})), "layers[0]: names no layers"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"from", list({})}})})), "layers[0].from: names no layers"));
  CHECK(has(refusal(list({map({{"relu", map({})}, {"from", list({word("input"), word("input")})}})})), "needs 1 input and has 2"));
  CHECK(has(refusal(list({map({{"residual", list({word("relu")})}, {"from", list({word("input"), word("input")})}})})),
            "layers[0].from: has 2 names; write one"));
  CHECK(has(refusal(list({map({{"repeat", word("3")}})})), "layers[0].repeat: must have two keys"));
  CHECK(has(refusal(list({map({{"repeat", map({{"times", word("0")}, {"layers", list({word("relu")})}})}})})),
            "layers[0].repeat.times: 0 is out of range"));
}

TEST_CASE("repeats inside of repeats end at a bound") {
  Nested inside = list({word("relu")});
  for (int depth = 0; depth < 4; ++depth) inside = list({map({{"repeat", map({{"times", word("100000")}, {"layers", inside}})}})});
  CHECK(has(refusal(inside), "a network has at most 100000"));
}

}  // namespace straggler::test::layer_list_test
