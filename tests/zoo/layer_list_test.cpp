// Networks as lists of layers: the built-in ones as lists and back, what lines mean, and what is refused where.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo/layer_list.hpp"
#include "models/zoo/reference_network.hpp"
#include "sim/base/flow_reader.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/text.hpp"
#include "tests/zoo/networks.hpp"
#include "tests/zoo/same_network.hpp"

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

/// Through a text, as the list is printed and embedded.
void check_round(const Architecture& architecture) {
  const std::string text = flow_text(layer_list(architecture));
  CAPTURE(text.substr(0, 2000));
  check_same_network(architecture_of(read_flow(text), {architecture.input}), architecture);
}

/// Of images, or of as many features.
DataInfo data_of(const Shape& image) {
  DataInfo data;
  data.shape = {image.channels, image.height, image.width};
  data.features = image.size();
  data.classes = 4;
  return data;
}

/// Weights after `steps` of SGD on four samples each.
std::vector<float> trained(const Model& model, std::size_t steps) {
  const std::unique_ptr<Workspace> workspace = model.workspace();
  std::vector<float> weights(model.length()), gradient(model.length());
  model.initialize(7, weights.data());
  const std::vector<std::uint64_t> draws = {11, 12, 13, 14};
  for (std::size_t step = 0; step < steps; ++step) {
    const RecipeBatch batch = recipe_batch(*model.architecture(), 3, step, draws.size());
    Rows rows = batch.rows();
    if (model.draws()) rows.draws = draws.data();
    model.gradient(weights.data(), rows, false, gradient.data(), *workspace);
    for (std::size_t i = 0; i < model.parameters(); ++i) weights[i] -= 0.01f * gradient[i];
    for (std::size_t i = model.parameters(); i < weights.size(); ++i) weights[i] += 0.1f * (gradient[i] - weights[i]);
  }
  return weights;
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

TEST_CASE("every network of the registry is a list that reads back as the same network") {
  std::size_t found = 0;
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries()) {
    if (!entry.cost_network || std::ranges::any_of(entry.cost_parameters, &Parameter::required)) continue;  // `layers`: is a list
    CAPTURE(entry.name);
    check_round(entry.cost_network(complete(entry.cost_parameters, {})));
    ++found;
  }
  CHECK(found > 5);
  for (const char* const name :
       {"softmax", "mlp", "lenet5", "fedavg_cnn", "resnet8", "groups", "layer_norm", "embedding", "average_pool", "branches"}) {
    CAPTURE(name);
    check_round(network_named(name));
  }
}

TEST_CASE("every network of the registry that an engine trains ends with the same bits when it is given as a list") {
  const ModelEntry& layers = Registry<ModelEntry>::instance().at("layers");
  const ModelSetting setting{select_kernels("auto")};
  std::set<std::string> in_full;
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries()) {
    if (!entry.network || std::ranges::any_of(entry.parameters, &Parameter::required)) continue;
    CAPTURE(entry.name);
    std::unique_ptr<Model> built_in;
    std::string refused;
    DataInfo data;
    for (const std::size_t side : {8, 12, 32, 75}) {  // the smallest images that it takes
      data = data_of({1, side, side});
      refused = error_of<std::invalid_argument>([&] { built_in = entry.make(complete(entry.parameters, {}), data, setting); });
      if (built_in || has(refused, "cannot be trained")) break;
    }
    if (!built_in) {
      CHECK(has(refused, "is cost-only and cannot be trained"));
      continue;
    }
    if (built_in->architecture()->input.places() == 1) data.shape = {data.features};  // images are vectors to it
    const Nested list = read_flow(flow_text(layer_list(*built_in->architecture())));
    const std::unique_ptr<Model> listed = layers.make(complete(layers.parameters, {{"layers", list}}), data, setting);
    check_same_network(*listed->architecture(), *built_in->architecture());
    CHECK(listed->engine() == built_in->engine());
    const double flops = 3 * 4 * cost_table(*built_in).forward_flops();  // of a step
    const std::size_t steps = flops < 3e8 ? 20 : 1;
    if (sanitized && flops > 1e7) continue;
    const std::vector<float> ends = trained(*listed, steps);
    CHECK(std::ranges::all_of(ends, [](float weight) { return std::isfinite(weight); }));
    CHECK(ends == trained(*built_in, steps));
    if (steps == 20) in_full.insert(entry.name);
  }
  for (const char* const name : {"softmax", "mlp", "lenet5", "fedavg_cnn", "resnet8"}) CHECK((sanitized || in_full.contains(name)));
}

TEST_CASE("LeNet-5 as a list") {
  CHECK(
      flow_text(layer_list(lenet5())) ==
      "[{conv: 6, window: 5, pad: 2, name: conv1}, relu, {max_pool: 2}, {conv: 16, window: 5, name: conv2}, relu, {max_pool: 2}, flatten, "
      "{linear: 120, name: fc1}, relu, {linear: 84, name: fc2}, relu, {linear: 10, name: fc3}]");
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
  CHECK(!has(refusal(list({map({{"conv", word("8")}, {"stride", word("0")}})})), "or classes"));
  CHECK(has(refusal(list({map({{"dense", word("8")}})})), "layers[0]: unknown layer 'dense'; write linear"));
  CHECK(has(refusal(list({map({{"conv", word("8")}, {"kernel", word("3")}})})),
            "layers[0].kernel: unknown key of conv 'kernel'; did you mean 'window'?"));
  Nested quoted = word("32");
  quoted.quoted = true;
  CHECK(has(refusal(list({map({{"linear", quoted}})})), "layers[0].linear: is text in quotes; write a whole number without quotes"));
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

TEST_CASE("a tied linear layer has the tensor of another, and its gradient is the sum of both uses") {
  const auto network = [](bool tied) {
    Nested head = map({{"linear", word("rows")}, {"bias", word("false")}, {"name", word("head")}});
    if (tied) head.add("tied", word("tokens"));
    return architecture_of(list({map({{"embedding", word("3")}, {"rows", word("rows")}, {"name", word("tokens")}}), word("tanh"), head,
                                 word("flatten"), map({{"linear", word("2")}})}),
                           {{1, 4, 1}, {{"rows", 5}}});
  };
  const Architecture tied = network(true), apart = network(false);
  CHECK(names_of(tied) == std::vector<std::string>{"tokens.weight", "4.weight", "4.bias"});
  CHECK(tied.layers[2].tied == LayerIndex{0});
  CHECK(cost_table(tied).parameters() == cost_table(apart).parameters() - 15);
  CHECK(cost_table(tied).forward_flops() == cost_table(apart).forward_flops());
  check_round(tied);
  // The same numbers in both tensors of the other network.
  const ReferenceNetwork<double> one(tied), two(apart);
  std::vector<double> weights, gradient(one.layout().parameters), wider, by_use(two.layout().parameters);
  for (std::size_t i = 0; i < one.layout().parameters; ++i) weights.push_back(recipe_number(5, i));
  wider.assign(weights.begin(), weights.begin() + 15);
  wider.insert(wider.end(), weights.begin(), weights.end());
  const std::vector<double> inputs = {0, 3, 4, 1, 2, 2, 0, 4}, scale = {0.5, 0.25};
  const std::vector<std::int32_t> labels = {1, 0};
  ReferenceNetwork<double>::Memory memory = one.memory(), others = two.memory();
  CHECK(one.gradient(weights.data(), {2, inputs.data(), labels.data(), scale.data()}, false, gradient.data(), memory) ==
        two.gradient(wider.data(), {2, inputs.data(), labels.data(), scale.data()}, false, by_use.data(), others));
  for (std::size_t i = 0; i < 15; ++i) CHECK(gradient[i] == doctest::Approx(by_use[i] + by_use[15 + i]).epsilon(1e-12));
  for (std::size_t i = 15; i < gradient.size(); ++i) CHECK(gradient[i] == by_use[15 + i]);
}

TEST_CASE("what cannot be tied is refused at its line") {
  const Nested tokens = map({{"embedding", word("3")}, {"rows", word("5")}, {"name", word("tokens")}});
  const auto with_head = [&](const std::string& features, const std::string& to) {
    return refusal(list({tokens, word("tanh"), map({{"linear", word(features)}, {"tied", word(to)}})}), {1, 4, 1});
  };
  CHECK(with_head("5", "tokens") == "");
  CHECK(has(with_head("6", "tokens"), "layers[2]: 2: its weight of 6 x 3 cannot be that of 'tokens', which is 5 x 3; make them equal"));
  CHECK(has(with_head("5", "1"), "layers[2]: 2: a layer without weights cannot be tied"));
  CHECK(has(with_head("5", "input"), "layers[2].tied: is the network's input, which has no weight"));
  CHECK(has(with_head("5", "token"), "layers[2].tied: unknown layer 'token'; did you mean 'tokens'?"));
}

TEST_CASE("repeats inside of repeats end at a bound") {
  Nested inside = list({word("relu")});
  for (int depth = 0; depth < 4; ++depth) inside = list({map({{"repeat", map({{"times", word("100000")}, {"layers", inside}})}})});
  CHECK(has(refusal(inside), "a network has at most 100000"));
}

}  // namespace straggler::test::layer_list_test
