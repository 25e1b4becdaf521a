// ONNX: a published network against its built-in twin, made graphs against sums by hand, and damaged files.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "models/formats/protobuf.hpp"
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "tests/formats/files_of_models.hpp"
#include "tests/formats/onnx_writer.hpp"
#include "tests/support/sanitized.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

std::vector<double> flops_of(const CostTable& table) {
  std::vector<double> flops;
  for (const CostLayer& layer : table.layers)
    if (layer.forward_flops > 0) flops.push_back(layer.forward_flops);
  std::sort(flops.begin(), flops.end());
  return flops;
}

/// x [batch 4, 3, 9, 9] -> conv 8 channels, 3x3, stride 2, pad 1 -> [4, 8, 5, 5] -> norm, ReLU -> conv in 4 groups, 8 channels, 1x1
/// -> mean -> flatten -> 10 features.
OnnxFile small_network() {
  OnnxFile file;
  file.inputs = {value("x", {4, 3, 9, 9})};
  file.outputs = {value("y", {4, 10})};
  file.tensors = {weight("stem.weight", {8, 3, 3, 3}), weight("bn.weight", {8}),      weight("bn.bias", {8}),
                  weight("bn.running_mean", {8}),      weight("bn.running_var", {8}), weight("grouped.weight", {8, 2, 1, 1}),
                  weight("grouped.bias", {8}),         weight("fc.weight", {10, 8}),  weight("fc.bias", {10}),
                  weight("never used", {1000, 1000}),  weight("scale", {}),           weight("table", {5}, 7)};
  file.nodes = {node("Conv", {"x", "stem.weight"}, {"a"}, {list_attribute("strides", {2, 2}), list_attribute("pads", {1, 1, 1, 1})}),
                node("BatchNormalization", {"a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"}, {"b"}),
                node("Relu", {"b"}, {"c"}),
                node("Mul", {"c", "scale"}, {"d"}),
                node("Conv", {"d", "grouped.weight", "grouped.bias"}, {"e"}, {number_attribute("group", 4)}),
                node("GlobalAveragePool", {"e"}, {"f"}),
                node("Flatten", {"f"}, {"g"}),
                node("Gemm", {"g", "fc.weight", "fc.bias"}, {"y"}, {number_attribute("transB", 1)})};
  return file;
}

ModelFile read_made(const OnnxFile& made, const ModelFileOptions& options = {}) {
  const TemporaryFolder folder;
  return read_model_file(folder.write("model.onnx", made.bytes()), options);
}

}  // namespace

TEST_CASE("ResNet-50 of the ONNX project: 25,557,032 parameters beside 53,120 running statistics, and the built-in network's costs") {
  const ModelFile file = read_sample("light_resnet50.onnx");
  CHECK(file.format == "onnx");
  CHECK(file.table.parameters() == 25'557'032);
  CHECK(file.table.statistics == 53'120);
  CHECK(file.other_numbers == 53'120);
  CHECK(file.table.parameters() + file.other_numbers == 25'610'152);
  CHECK(file.missing.empty());
  const CostTable twin = cost_table(resnet_224x224(ResidualBlock::bottleneck, {3, 4, 6, 3}, 1000));
  CHECK(twin.parameters() == 25'557'032);
  CHECK(flops_of(file.table) == flops_of(twin));
  CHECK(flops_of(file.table).size() == 54);  // 53 convolutions and a linear layer
  CHECK(file.table.layers.size() == 107);    // and 53 norms
  CHECK(file.table.forward_flops() == doctest::Approx(twin.forward_flops()).epsilon(1e-14));
  CHECK(file.table.activation_bytes() == twin.activation_bytes());
  CHECK(file.table.input_bytes == twin.input_bytes);
  CHECK(file.table.operations() == twin.operations() + 1);  // and its softmax
}

TEST_CASE("VGG-19 of the ONNX project, counted layer by layer as in the paper's configuration E") {
  std::size_t parameters = 0, in = 3, side = 224;
  double products = 0;
  for (const std::vector<std::size_t>& group :
       std::vector<std::vector<std::size_t>>{{64, 64}, {128, 128}, {256, 256, 256, 256}, {512, 512, 512, 512}, {512, 512, 512, 512}}) {
    for (const std::size_t out : group) {
      parameters += 9 * in * out + out;
      products += static_cast<double>(9 * in * out * side * side);
      in = out;
    }
    side /= 2;
  }
  in *= side * side;
  for (const std::size_t out : {4096, 4096, 1000}) {
    parameters += in * out + out;
    products += static_cast<double>(in * out);
    in = out;
  }
  CHECK(parameters == 143'667'240);
  const ModelFile file = read_sample("light_vgg19.onnx");
  CHECK(file.table.parameters() == parameters);
  CHECK(file.table.forward_flops() == doctest::Approx(2 * products).epsilon(1e-14));
  CHECK(file.table.layers.size() == 19);
}

TEST_CASE("a made network: parameters by tensor, FLOPs and kept outputs of one of four samples") {
  const ModelFile file = read_made(small_network());
  const CostTable& table = file.table;
  REQUIRE(table.layers.size() == 4);
  CHECK(table.layers[0].name == "stem");
  CHECK(table.layers[1].name == "bn");
  CHECK(table.layers[2].name == "grouped");
  CHECK(table.layers[3].name == "fc");
  CHECK(table.layers[0].parameters() == 8 * 3 * 9);
  CHECK(table.layers[1].parameters() == 16);
  CHECK(table.layers[2].parameters() == 16 + 8);
  CHECK(table.layers[3].parameters() == 90);
  CHECK(table.statistics == 16);
  CHECK(table.layers[0].forward_flops == 2.0 * (8 * 5 * 5) * (3 * 9));
  CHECK(table.layers[1].forward_flops == 0);
  CHECK(table.layers[2].forward_flops == 2.0 * (8 * 5 * 5) * 2);
  CHECK(table.layers[3].forward_flops == 2.0 * 10 * 8);
  // Kept: the norm's input, ReLU's output, the grouped convolution's input, the mean as the linear layer's input, the output.
  CHECK(table.layers[0].activation_bytes == 4.0 * 200);
  CHECK(table.layers[1].activation_bytes == 4.0 * (200 + 200));
  CHECK(table.layers[2].activation_bytes == 4.0 * 8);
  CHECK(table.layers[3].activation_bytes == 4.0 * 10);
  CHECK(table.input_bytes == 4.0 * 3 * 81);
  CHECK(table.layers[1].tensors[1].name == "bn.bias");
  CHECK(table.layers[1].tensors[1].offset == 8 * 3 * 9 + 8);
}

TEST_CASE("a weight that two nodes use is one tensor; its copies and transposes are the same one") {
  OnnxFile file;
  file.inputs = {value("ids", {0, -1})};
  file.outputs = {value("y", {0, -1, 50})};
  file.tensors = {weight("wte.weight", {50, 16})};
  file.nodes = {node("Identity", {"wte.weight"}, {"copy"}), node("Gather", {"wte.weight", "ids"}, {"h"}),
                node("Transpose", {"copy"}, {"turned"}, {list_attribute("perm", {1, 0})}), node("MatMul", {"h", "turned"}, {"y"})};
  const ModelFile one = read_made(file);
  CHECK(one.table.parameters() == 50 * 16);
  CHECK(one.table.forward_flops() == 2.0 * 50 * 16);
  REQUIRE(one.assumed.size() == 2);
  CHECK(one.assumed[1].find("`sequence` sets another number") != std::string::npos);
  CHECK(read_made(file, {.sequence = 12}).table.forward_flops() == 2.0 * 12 * 50 * 16);
}

TEST_CASE("attention with shapes that are computed in the graph, as PyTorch exports it") {
  OnnxFile file;
  file.inputs = {value("x", {0, -1, 64})};
  file.outputs = {value("y", {0, -1, 64})};
  file.tensors = {weight("q", {64, 64}), weight("k", {64, 64}), weight("v", {64, 64}),
                  integers("zero", {0}), integers("one", {1}),  integers("heads", {4, 16})};
  const auto heads = [&](const std::string& from, const std::string& to) {
    file.nodes.push_back(node("MatMul", {"x", from}, {from + "1"}));
    file.nodes.push_back(node("Reshape", {from + "1", "split"}, {from + "2"}));
    file.nodes.push_back(node("Transpose", {from + "2"}, {to}, {list_attribute("perm", {0, 2, 1, 3})}));
  };
  file.nodes = {node("Shape", {"x"}, {"sides"}), node("Gather", {"sides", "zero"}, {"batch"}), node("Gather", {"sides", "one"}, {"tokens"}),
                node("Concat", {"batch", "tokens", "heads"}, {"split"}, {number_attribute("axis", 0)})};
  for (const char* part : {"q", "k", "v"}) heads(part, std::string(part) + "_heads");
  file.nodes.push_back(node("Transpose", {"k_heads"}, {"k_turned"}, {list_attribute("perm", {0, 1, 3, 2})}));
  file.nodes.push_back(node("MatMul", {"q_heads", "k_turned"}, {"scores"}));
  file.nodes.push_back(node("Softmax", {"scores"}, {"shares"}));
  file.nodes.push_back(node("MatMul", {"shares", "v_heads"}, {"context"}));
  const double n = 24;
  const ModelFile read = read_made(file, {.sequence = 24});
  CHECK(read.missing.empty());
  CHECK(read.table.parameters() == 3 * 64 * 64);
  CHECK(read.table.forward_flops() == 2 * (3 * n * 64 * 64 + 2 * n * n * 64));
}

TEST_CASE("constants of the program are weights of layers, and settings elsewhere; nodes without names have rows") {
  OnnxFile file;
  file.inputs = {value("x", {1, 4})};
  file.outputs = {value("y", {1, 3})};
  const auto constant = [](const std::string& name, const std::vector<std::int64_t>& sides) {
    return node("Constant", {}, {name}, {bytes_field(1, "value") + bytes_field(5, weight("", sides))});
  };
  file.nodes = {constant("w", {4, 3}), constant("mask", {1, 3}), node("MatMul", {"x", "w"}, {"h"}), node("Add", {"h", "mask"}, {"y"}),
                node("Gemm", {"y", "v"}, {""})};
  file.tensors = {weight("v", {3, 7})};
  const ModelFile read = read_made(file);
  CHECK(read.table.parameters() == 12 + 21);
  CHECK(read.table.layers.back().name == "unnamed");
}

TEST_CASE("weights that are cut, joined and stretched before a layer reads them are its weights") {
  OnnxFile file;  // as PyTorch exports a GRU without folding, and a class token
  file.inputs = {value("x", {7, 1, 16}), value("patches", {1, 4, 8})};
  file.outputs = {value("y", {7, 1, 1, 32}), value("z", {1, 5, 8})};
  file.tensors = {weight("w", {96, 16}),        weight("r", {96, 32}),  weight("b", {96}),    weight("never read", {96}),
                  weight("token", {1, 1, 8}),   integers("0", {0}),     integers("32", {32}), integers("96", {96}),
                  integers("shape", {1, 1, 8}), weight("table", {5, 8})};
  for (const char* each : {"w", "r", "b"}) {
    const std::string name = each;
    file.nodes.push_back(node("Slice", {name, "0", "32", "0"}, {name + "1"}));
    file.nodes.push_back(node("Slice", {name, "32", "96", "0"}, {name + "2"}));
    file.nodes.push_back(node("Concat", {name + "2", name + "1"}, {name + "3"}, {number_attribute("axis", 0)}));
    file.nodes.push_back(node("Unsqueeze", {name + "3", "0"}, {name + "4"}));
  }
  file.nodes.push_back(node("GRU", {"x", "w4", "r4", "b4"}, {"y"}));
  file.nodes.push_back(node("Expand", {"token", "shape"}, {"first"}));
  file.nodes.push_back(node("Concat", {"first", "patches"}, {"places"}, {number_attribute("axis", 1)}));
  file.nodes.push_back(node("Add", {"places", "table"}, {"z"}));
  const ModelFile read = read_made(file);
  CHECK(read.table.parameters() == 96 * 16 + 96 * 32 + 96 + 8 + 5 * 8);
  CHECK(read.table.layers.front().forward_flops == 2.0 * 96 * (16 + 32));
  CHECK(read.missing.empty());
  // A table that is added may be a constant: the file does not say.
  CHECK(read.assumed.back() == "table learns; a file does not tell constants that are added, as sines of positions, from weights");
  // Weights that another network makes are not found, and that is said.
  file.nodes.push_back(node("LSTM", {"x", "y", "r4"}, {"other"}));
  REQUIRE(read_made(file).missing.size() == 1);
  CHECK(read_made(file).missing[0] == "the parameters of 1 LSTM, whose weights the file does not hold as constants");
}

TEST_CASE("what an exporter has joined, folded or turned is told") {
  OnnxFile file;
  file.inputs = {value("x", {1, 3, 4, 4})};
  file.outputs = {value("y", {1, 3, 4, 4})};
  file.tensors = {weight("onnx::Conv_10", {3, 3, 1, 1}), weight("onnx::Conv_11", {3})};
  file.nodes = {node("Conv", {"x", "onnx::Conv_10", "onnx::Conv_11"}, {"h"}), node("Conv", {"h", "onnx::Conv_10", "onnx::Conv_11"}, {"y"})};
  const ModelFile folded = read_made(file);
  CHECK(folded.table.parameters() == 12);
  REQUIRE(folded.missing.size() == 1);
  CHECK(folded.missing[0] ==
        "the parameters of batch norms: the exporter folded them into 2 convolutions; export with "
        "training=torch.onnx.TrainingMode.TRAINING");
  CHECK(folded.assumed.back().find("onnx::Conv_10 and onnx::Conv_11, which several nodes read, are one tensor each") == 0);

  // An output that is tied to its embedding: the exporter turned the matrix.
  const auto filled = [](const std::string& name, const std::vector<std::int64_t>& sides, const std::vector<float>& numbers) {
    return weight(name, sides) + bytes_field(9, std::string(reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size()));
  };
  OnnxFile tied;
  tied.inputs = {value("ids", {1, 5})};
  tied.outputs = {value("y", {1, 5, 3})};
  tied.tensors = {filled("words", {3, 2}, {1, 2, 3, 4, 5, 6}), filled("onnx::MatMul_9", {2, 3}, {1, 3, 5, 2, 4, 6})};
  tied.nodes = {node("Gather", {"words", "ids"}, {"h"}), node("MatMul", {"h", "onnx::MatMul_9"}, {"y"})};
  const ModelFile turned = read_made(tied);
  CHECK(turned.table.parameters() == 6);
  CHECK(turned.table.forward_flops() == 2.0 * 5 * 2 * 3);
  CHECK(turned.assumed.back() == "onnx::MatMul_9 is the transpose of another tensor, and the same weight");
  tied.tensors[1] = filled("onnx::MatMul_9", {2, 3}, {1, 3, 5, 2, 4, 7});
  CHECK(read_made(tied).table.parameters() == 12);
}

TEST_CASE("resized, rearranged, chosen and padded values keep their shapes for the layers behind them") {
  const auto number = [](const std::string& name, const std::vector<float>& numbers) {
    return weight(name, {static_cast<std::int64_t>(numbers.size())}) +
           bytes_field(9, std::string(reinterpret_cast<const char*>(numbers.data()), 4 * numbers.size()));
  };
  OnnxFile file;
  file.inputs = {value("x", {2, 4, 6, 6})};
  file.outputs = {value("end", {2, 1})};
  file.tensors = {number("scales", {1, 1, 2, 1.5}),
                  integers("sizes", {2, 1, 6, 6}),
                  weight("w", {1, 1, 3, 3}),
                  integers("k", {5}),
                  weight("v", {4, 5}),
                  integers("four", {4}),
                  integers("pads", {1, 2, 3, 4}),
                  integers("two", {-1, 2}),
                  integers("last", {-1}),
                  integers("first", {-9223372036854775807}),
                  integers("0", {0}),
                  integers("all", {-1})};
  // Pads of PyTorch stand last side first: left, right, top, bottom of the image.
  const std::string zero = bytes_field(1, "value") + bytes_field(5, number_field(1, 1) + number_field(2, 7) + bytes_field(7, varint(0)));
  file.nodes = {node("Resize", {"x", "", "scales"}, {"a"}),                              // [2, 4, 12, 9]
                node("DepthToSpace", {"a"}, {"b"}, {number_attribute("blocksize", 2)}),  // [2, 1, 24, 18]
                node("ConstantOfShape", {"four"}, {"zeros"}, {zero}),
                node("Concat", {"pads", "zeros"}, {"p1"}, {number_attribute("axis", 0)}),
                node("Reshape", {"p1", "two"}, {"p2"}),                       // rows of two
                node("Slice", {"p2", "last", "first", "0", "last"}, {"p3"}),  // from the last row on
                node("Transpose", {"p3"}, {"p4"}, {list_attribute("perm", {1, 0})}),
                node("Reshape", {"p4", "all"}, {"p5"}),         // 0 0 3 1, 0 0 4 2
                node("Pad", {"b", "p5"}, {"c"}),                // [2, 1, 31, 21]
                node("Conv", {"c", "w"}, {"d"}),                // [2, 1, 29, 19]
                node("Resize", {"d", "", "", "sizes"}, {"e"}),  // [2, 1, 6, 6]
                node("TopK", {"e", "k"}, {"f", "places"}),      // [2, 1, 6, 5]
                node("Einsum", {"f", "v"}, {"g"}, {bytes_field(1, "equation") + bytes_field(4, "bchw, ow -> bcho")}),
                node("SpaceToDepth", {"g"}, {"h"}, {number_attribute("blocksize", 2)}),  // [2, 4, 3, 2]
                node("MatMul", {"h", "u"}, {"end"})};
  file.tensors.push_back(weight("u", {2, 1}));
  const ModelFile read = read_made(file);
  CHECK(read.missing.empty());
  CHECK(read.table.forward_flops() == 2.0 * (29 * 19 * 9 + 6 * 4 * 5 + 4 * 3 * 2));
  CHECK(read.table.parameters() == 9 + 20 + 2);
}

TEST_CASE("nodes that are not followed are named, not guessed") {
  OnnxFile file = small_network();
  file.nodes.push_back(node("Einsum", {"y", "fc.weight"}, {"z"}, {bytes_field(1, "equation") + bytes_field(4, "...i,oi->...o")}));
  file.nodes.push_back(node("MatMul", {"z", "stem.weight"}, {"w"}));
  const ModelFile read = read_made(file);
  REQUIRE(read.missing.size() == 1);
  CHECK(read.missing[0] == "the FLOPs of nodes whose kind or shapes are not followed: 1 Einsum and 1 MatMul");
  CHECK(read.table.parameters() == 216 + 16 + 24 + 90);
}

TEST_CASE("a cycle, a node before its input and an output that fits nothing end like any other graph") {
  OnnxFile file = small_network();
  file.nodes.push_back(node("Relu", {"loop"}, {"loop"}));
  file.nodes.push_back(node("MatMul", {"p", "fc.weight"}, {"q"}));
  file.nodes.push_back(node("MatMul", {"q", "fc.weight"}, {"p"}));
  file.nodes.push_back(node("Gemm", {"scalar", "fc.weight"}, {"declared"}));
  file.nodes.push_back(node("MatMul", {"scalar", "scalar"}, {"declared too"}));
  file.inputs.push_back(value("scalar", {}));
  file.outputs.push_back(value("declared", {4, 4}));
  file.outputs.push_back(value("declared too", {4, 4}));
  CHECK(read_made(file).table.parameters() == 216 + 16 + 24 + 90);
}

TEST_CASE("damaged files are refused in a line with the place") {
  const TemporaryFolder folder;
  const std::string whole = small_network().bytes();
  CHECK(refusal_of(folder, whole).empty());
  const auto says = [&](const std::string& bytes, const std::string& part) {
    const std::string said = refusal_of(folder, bytes);
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
  };
  says(whole.substr(0, whole.size() - 30), "is no whole ONNX model (at byte ");
  says(number_field(1, 8) + varint(7 << 3 | 2) + varint(std::uint64_t{1} << 62) + "rest", "field 7 would have 4611686018427387904 bytes");
  says(number_field(1, 8) + bytes_field(7, "") + "\xFF\xFF\xFF", "a number is cut off, or longer than ten bytes");
  says(number_field(1, 8) + bytes_field(7, std::string(1, static_cast<char>(5 << 3 | 3))), "3 is no type of a field");
  says(number_field(1, 8) + bytes_field(7, std::string(2, '\0')), "0 is no number of a field");
  OnnxFile negative;
  negative.tensors = {weight("w", {-5})};
  says(negative.bytes(), "a tensor has a side of -5");
  negative.tensors = {weight("w", {1'000'000'000, 1'000'000'000})};
  says(negative.bytes(), "a tensor would have 1e+18 numbers");
  negative.tensors = {weight("w", std::vector<std::int64_t>(17, 1))};
  says(negative.bytes(), "a tensor has more than 16 sides");
  negative.tensors = {};
  says(negative.bytes(), "has no parameters");
  // Graphs in graphs are passed over, however deep.
  std::string inner = bytes_field(4, "If");
  for (int i = 0; i < 10'000; ++i) inner = bytes_field(5, bytes_field(6, bytes_field(1, inner)));
  OnnxFile deep = small_network();
  deep.nodes.push_back(inner);
  CHECK(refusal_of(folder, deep.bytes()).empty());
}

TEST_CASE("no cut and no change of bytes does more than a refusal") {
  const TemporaryFolder folder;
  const std::string whole = small_network().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK_NOTHROW(refusal_of(folder, whole.substr(0, length)));
  std::mt19937 random(7);
  for (int i = 0; i < (sanitized ? 600 : 3000); ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    CHECK_NOTHROW(refusal_of(folder, bytes));
  }
}

TEST_CASE("packed and single numbers are one list, read up to its bound") {
  WireField packed;
  packed.type = WireField::Type::bytes;
  const std::string bytes = varint(1) + varint(300) + varint(~std::uint64_t{0});
  packed.bytes = bytes;
  std::vector<std::int64_t> numbers;
  append_integers(packed, 10, numbers);
  CHECK(numbers == std::vector<std::int64_t>{1, 300, -1});
  WireField single;
  single.value = 5;
  append_integers(single, 10, numbers);
  append_integers(packed, 5, numbers);
  CHECK(numbers == std::vector<std::int64_t>{1, 300, -1, 5, 1});
}
