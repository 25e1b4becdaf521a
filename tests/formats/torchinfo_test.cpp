// torchinfo summaries: published totals, a small one by hand, and summaries that do not fit.
#include <doctest/doctest.h>

#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "tests/formats/files_of_models.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;
using straggler::test::read_sample;
using straggler::test::refusal_of;

namespace {

/// Two samples; a block whose inside is not shown, a module that is called twice, and one that does not learn.
const std::string small = R"(some line of a log
===================================================================================================================
Layer (type:depth-idx)                   Input Shape               Output Shape              Param #
===================================================================================================================
Net                                      [2, 3, 8, 8]              [2, 10]                   5
├─Conv2d: 1-1                            [2, 3, 8, 8]              [2, 4, 8, 8]              112
├─ReLU: 1-2                              [2, 4, 8, 8]              [2, 4, 8, 8]              --
├─Sequential: 1-3                        [2, 4, 8, 8]              [2, 6, 4, 4]              --
│    └─Block: 2-1                        [2, 4, 8, 8]              [2, 6, 4, 4]              1,000
│    └─Conv2d: 2-2                       [2, 6, 4, 4]              [2, 6, 4, 4]              (36)
│    └─Conv2d: 2-3                       [2, 6, 4, 4]              [2, 6, 4, 4]              (recursive)
├─Linear: 1-4                            [2, 7, 96]                [2, 7, 10]                970
===================================================================================================================
Total params: 2,123
Trainable params: 2,087
Non-trainable params: 36
Total mult-adds (M): 0.05
===================================================================================================================
Input size (MB): 0.00
Forward/backward pass size (MB): 0.02
Params size (MB): 0.01
Estimated Total Size (MB): 0.03
===================================================================================================================
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("torchinfo's ResNet-50: 25,557,032 parameters in 103 rows, 4.09 G multiply-adds for one of its two samples") {
  const ModelFile file = read_sample("torchinfo_resnet50.out");
  CHECK(file.format == "torchinfo");
  CHECK(file.table.layers.size() == 103);
  CHECK(file.table.parameters() == 25'557'032);
  // The file says 8.18 G for two samples, to three digits.
  CHECK(file.table.forward_flops() / 2 == doctest::Approx(8.18e9 / 2).epsilon(0.0013));
  const CostTable twin = cost_table(resnet_224x224(ResidualBlock::bottleneck, {3, 4, 6, 3}, 1000));
  CHECK(file.table.forward_flops() == doctest::Approx(twin.forward_flops()).epsilon(0.001));
  CHECK(file.table.activation_bytes() == doctest::Approx(355.66e6 / 4).epsilon(0.0001));
  CHECK(file.table.knows_activations);
  CHECK(file.table.layers.front().forward_flops == 2.0 * 112 * 112 * 9408);
}

TEST_CASE("torchinfo's BERT: FLOPs of all tokens, which its own total of 218.57 M multiply-adds leaves out") {
  const ModelFile file = read_sample("torchinfo_bert_base.out");
  CHECK(file.table.layers.size() == 17);
  CHECK(file.table.parameters() == 109'482'240);
  std::size_t blocks = 0;
  for (const CostLayer& layer : file.table.layers)
    if (layer.parameters() == 7'087'872) ++blocks;
  CHECK(blocks == 12);
  // Of the built-in network without the products of attention, which have no parameters; biases and norms inside blocks are a thousandth.
  const CostTable twin = cost_table(bert({.layers = 12, .features = 768, .heads = 12}, 512));
  CHECK(file.table.forward_flops() == doctest::Approx(test::flops_with_weights(twin)).epsilon(0.002));
  CHECK(file.table.forward_flops() > 100 * 218.57e6);
}

TEST_CASE("a small summary: shapes in other columns, blocks, modules that are called again, and what does not learn") {
  const test::TemporaryFolder folder;
  const ModelFile file = read_model_file(folder.write("summary.txt", small));
  const std::vector<CostLayer>& layers = file.table.layers;
  REQUIRE(layers.size() == 6);
  CHECK(file.table.parameters() == 2123);
  CHECK(layers[0].parameters() == 5);  // the network's own
  CHECK(layers[1].forward_flops == 2.0 * 112 * 64);
  CHECK(layers[1].operations == 2);  // with the ReLU behind it
  CHECK(layers[2].forward_flops == 2.0 * 1000 * 16);
  CHECK(layers[3].forward_flops == 2.0 * 36 * 16);
  CHECK(layers[4].parameters() == 0);
  CHECK(layers[4].forward_flops == layers[3].forward_flops);
  CHECK(layers[5].forward_flops == 2.0 * 970 * 7);
  // 0.02 MB forward and backward of two samples are 1250 numbers forward of one: what is shown, and the rest inside the block.
  const double shown = 10 + 4 * 64 + 6 * 16 + 6 * 16 + 70;
  CHECK(layers[2].activation_bytes == doctest::Approx(4 * (1250 - shown)));
  CHECK(file.table.activation_bytes() == doctest::Approx(4.0 * 1250));
  bool frozen = false, blocks = false;
  for (const std::string& sentence : file.missing) {
    frozen = frozen || has(sentence, "36 of its parameters do not learn");
    blocks = blocks || has(sentence, "1 block whose rows are not shown");
  }
  CHECK(frozen);
  CHECK(blocks);
}

TEST_CASE("rows that do not add up to the total are one more layer, or refused") {
  const test::TemporaryFolder folder;
  const ModelFile more = read_model_file(folder.write("more", replaced(small, "Total params: 2,123", "Total params: 2,223")));
  CHECK(more.table.parameters() == 2223);
  CHECK(more.table.layers.back().name == "not in the rows");
  CHECK(more.table.layers.back().parameters() == 100);
  CHECK(has(refusal_of(folder, replaced(small, "Total params: 2,123", "Total params: 2,122")), "its rows have 2123 parameters"));
  const ModelFile beyond = read_model_file(folder.write("beyond", replaced(small, "970", "99999999999999999999")));
  CHECK(beyond.table.layers.back().parameters() == 970);  // no number that any model has
  const ModelFile unknown = read_model_file(folder.write("unknown", replaced(small, "Forward/backward pass size", "Other size")));
  CHECK(!unknown.table.knows_activations);
  CHECK(unknown.table.input_bytes == 0);
}

TEST_CASE("without shapes each parameter is used at one place; the first of two summaries is read; trees in ASCII and half precision") {
  const test::TemporaryFolder folder;
  const ModelFile bare = read_model_file(folder.write("bare", replaced(small, "Output Shape", "Kernel Shape")));
  CHECK(bare.table.parameters() == 2123);
  CHECK(bare.table.layers[1].forward_flops == 2.0 * 112);
  CHECK(has(bare.missing.front(), "6 rows without an output shape"));
  CHECK(bare.assumed.size() == 2);

  const ModelFile two = read_model_file(folder.write("two", small + replaced(small, "Total params: 2,123", "Total params: 9,999")));
  CHECK(two.table.parameters() == 2123);
  CHECK(has(two.missing.back(), "the first one is read"));

  std::string ascii = small;
  for (const auto& [tree, plain] : {std::pair("├─", "+ "), std::pair("└─", "+ "), std::pair("│", "|")})
    while (ascii.find(tree) != std::string::npos) ascii = replaced(ascii, tree, plain);
  const ModelFile same = read_model_file(folder.write("ascii", ascii));
  const ModelFile drawn = read_model_file(folder.write("drawn", small));
  CHECK(same.table.forward_flops() == drawn.table.forward_flops());
  CHECK(same.table.layers[2].name == "Block: 2-1");
  CHECK(same.missing == drawn.missing);

  // 2,123 parameters in 4,246 bytes: two bytes a number, so the same outputs in half of the bytes.
  std::string half = replaced(small, "Params size (MB): 0.01", "Params size (kB): 4.25");
  half = replaced(half, "pass size (MB): 0.02", "pass size (kB): 10.00");
  CHECK(read_model_file(folder.write("half", half)).table.activation_bytes() == doctest::Approx(4.0 * 1250));
}

TEST_CASE("a module that is called again has the parameters of the one with the same output, not of the last one with as many channels") {
  const test::TemporaryFolder folder;
  const std::string row = "│    └─Conv2d: 2-3                       [2, 6, 4, 4]              [2, 6, 4, 4]              (recursive)\n";
  const std::string other = "│    └─Conv2d: 2-4                       [2, 6, 4, 4]              [2, 6, 2, 2]              200\n";
  const std::string third = replaced(row, "[2, 6, 4, 4]              (", "[2, 6, 3, 3]              (");
  std::string text = replaced(small, row, other + row + third);
  text = replaced(text, "Total params: 2,123", "Total params: 2,323");
  const ModelFile file = read_model_file(folder.write("file", text));
  CHECK(file.table.layers[5].forward_flops == 2.0 * 36 * 16);
  CHECK(file.table.layers[6].forward_flops == 2.0 * 200 * 9);
  CHECK(file.table.layers[6].name == "Conv2d: 2-3 #2");
}

TEST_CASE("a block is not taken for the layer in its name, and GPT-2's Conv1D is linear") {
  const test::TemporaryFolder folder;
  const std::string text = replaced(replaced(small, "├─Linear: 1-4 ", "├─Conv1D: 1-4 "), "Block: 2-1    ", "ConvBlock: 2-1");
  const ModelFile file = read_model_file(folder.write("file", text));
  CHECK(file.table.layers[5].forward_flops == 2.0 * 970 * 7);
  CHECK(file.table.layers[2].forward_flops == 2.0 * 1000 * 16);
  bool blocks = false;
  for (const std::string& sentence : file.missing) blocks = blocks || has(sentence, "1 block whose rows are not shown");
  CHECK(blocks);
}

TEST_CASE("summaries that are no whole ones are refused in one line") {
  const test::TemporaryFolder folder;
  CHECK(has(refusal_of(folder, small.substr(0, small.find("Total params"))), "ends before its Total params"));
  CHECK(has(refusal_of(folder, small.substr(0, small.find("Net "))), "has no rows of layers"));
  CHECK(has(refusal_of(folder, replaced(small, "Param #", "Param %")), "line 3 names no column Param #"));
  for (std::size_t length = 0; length < small.size(); length += 7) CHECK_NOTHROW(refusal_of(folder, small.substr(0, length)));
}
