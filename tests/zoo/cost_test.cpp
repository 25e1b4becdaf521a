// Layer tables: against a measured table row by row, against published totals, and against what the definitions say.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/architecture_resnet.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/layer_list.hpp"
#include "sim/base/registry.hpp"

namespace straggler {
namespace {

CostTable table_of(const char* name, Parameters given = {}) {
  return cost_table(Registry<ModelEntry>::instance().at(name), std::move(given));
}

struct MeasuredRow {
  std::string name, kind;
  std::size_t parameters = 0;
  double macs = 0;
};

std::vector<MeasuredRow> measured_rows(const std::string& file) {
  std::ifstream in(STRAGGLER_SOURCE_DIR "/tests/tables/" + file);
  REQUIRE(in.good());
  std::vector<MeasuredRow> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#") || line.starts_with("layer,")) continue;
    std::stringstream cells(line);
    std::string parameters, macs;
    MeasuredRow row;
    std::getline(cells, row.name, ',');
    std::getline(cells, row.kind, ',');
    std::getline(cells, parameters, ',');
    std::getline(cells, macs, ',');
    row.parameters = std::stoull(parameters);
    row.macs = std::stod(macs);
    rows.push_back(row);
  }
  return rows;
}

std::string word_of(const LayerSpec& layer) { return layer.is("conv") ? "conv" : layer.is("batch_norm") ? "bn" : "fc"; }

/// `rows`, `parameters`, `macs`: the totals that the file's header states.
void check_against(const char* model, const Architecture& definition, const char* file, std::size_t rows, std::size_t parameters,
                   double macs) {
  CAPTURE(model);
  const std::vector<MeasuredRow> expected = measured_rows(file);
  const CostTable table = table_of(model);
  CHECK(expected.size() == rows);
  REQUIRE(table.layers.size() == expected.size());
  std::vector<std::string> kinds;
  for (const LayerSpec& layer : definition.layers)
    if (!layer.tensors.empty()) kinds.push_back(word_of(layer));
  REQUIRE(kinds.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(table.layers[i].name == expected[i].name);
    CHECK(kinds[i] == expected[i].kind);
    CHECK(table.layers[i].parameters() == expected[i].parameters);
    CHECK(table.layers[i].forward_flops == 2 * expected[i].macs);
  }
  CHECK(table.parameters() == parameters);
  CHECK(table.forward_flops() == 2 * macs);
}

TEST_CASE("the ResNets for 32x32 reproduce the tables of layers, row by row") {
  check_against("resnet18", resnet_32x32(ResidualBlock::basic, {2, 2, 2, 2}, 10), "resnet18_cifar_layers.csv", 41, 11'173'962, 555'422'720);
  check_against("resnet50", resnet_32x32(ResidualBlock::bottleneck, {3, 4, 6, 3}, 10), "resnet50_cifar_layers.csv", 107, 23'520'842,
                1'297'829'888);
}

/// Multiply-adds in G as published, of one sample; parameters exactly.
void check_totals(const char* model, Parameters given, std::size_t parameters, double published_gmacs, double within) {
  CAPTURE(model);
  const CostTable table = table_of(model, std::move(given));
  CHECK(table.parameters() == parameters);
  CHECK(table.forward_flops() / 2e9 == doctest::Approx(published_gmacs).epsilon(within));
}

TEST_CASE("totals are the published ones") {
  // torchvision's model pages (pytorch.org/vision/stable/models.html): num_params, and GFLOPS, which count a multiply-add once.
  check_totals("resnet50_imagenet", {}, 25'557'032, 4.09, 0.002);
  check_totals("vgg16", {}, 138'357'544, 15.47, 0.002);
  check_totals("inception_v3", {{"auxiliary", true}}, 27'161'264, 5.71, 0.03);  // GFLOPS of evaluation: without the head's 0.12 G
  // Without AuxLogits: Keras' InceptionV3 has 23,851,784 with 34,432 moving statistics of batch norm and no batch norm scales (17,216);
  // 23,851,784 - 34,432 + 17,216 = 23,834,568.
  check_totals("inception_v3", {}, 23'851'784 - 34'432 + 17'216, 5.71, 0.002);
  // Parameters of Hugging Face's BertModel from bert-base-uncased and bert-large-uncased. FLOPs: Jiao et al., TinyBERT, 2020, table 1:
  // 22.5 G FLOPs for BERT-base and 128 tokens.
  check_totals("bert_base", {}, 109'482'240, 22.5 / 2, 0.01);
  // Devlin et al. give 340 M; by the shapes: (30,522 + 512 + 2 + 2) h + 24 (12 h² + 13 h) + h² + h with h = 1024.
  const std::size_t h = 1024;
  check_totals("bert_large", {}, 335'141'888, 24 * (12.0 * h * h * 128 + 2.0 * 128 * 128 * h) / 1e9, 0.001);
  CHECK((30'522 + 512 + 2 + 2) * h + 24 * (12 * h * h + 13 * h) + h * h + h == 335'141'888);
}

TEST_CASE("parameters of the definitions: classes, tokens") {
  CHECK(table_of("resnet18", {{"classes", std::int64_t{100}}}).parameters() == 11'173'962 + 90 * 513);
  CHECK(table_of("vgg16", {{"classes", std::int64_t{10}}}).parameters() == 138'357'544 - 990 * 4097);
  // Products of a sequence with itself grow with its square, all else in proportion; the pooler sees one token.
  const auto macs = [](double tokens) { return 12 * (12.0 * 768 * 768 * tokens + 2 * tokens * tokens * 768) + 768 * 768; };
  for (const std::int64_t tokens : {1, 64, 384, 512})
    CHECK(table_of("bert_base", {{"sequence", tokens}}).forward_flops() == 2 * macs(static_cast<double>(tokens)));
  CHECK_THROWS_AS(table_of("bert_base", {{"sequence", std::int64_t{513}}}), std::invalid_argument);
  CHECK_THROWS_AS(table_of("bert_base", {{"sequence", std::int64_t{0}}}), std::invalid_argument);
  CHECK_THROWS_AS(bert({12, 768, 12}, 513), std::invalid_argument);
  CHECK_THROWS_AS(resnet_32x32(ResidualBlock::basic, {2, 2, 2}, 10), std::invalid_argument);
}

const TensorInfo* find_tensor(const CostTable& table, const std::string& name) {
  for (const CostLayer& layer : table.layers)
    for (const TensorInfo& tensor : layer.tensors)
      if (tensor.name == name) return &tensor;
  return nullptr;
}

TEST_CASE("tensors are named as in PyTorch and lie one after the other") {
  for (const ModelEntry& entry : Registry<ModelEntry>::instance().entries()) {
    if (!entry.has_own_cost()) continue;
    CAPTURE(entry.name);
    CHECK(!entry.summary.empty());
    CHECK(!entry.reference.empty());
    Parameters given;
    if (entry.name == "layers")
      given = {{"layers", layer_list(resnet_narrow({1, 1, 1}, 10))}, {"input", std::vector<std::int64_t>{3, 32, 32}}};
    const CostTable table = cost_table(entry, given);
    std::size_t offset = 0;
    std::set<std::string> names, layers;
    for (const CostLayer& layer : table.layers) {
      CHECK(layers.insert(layer.name).second);
      for (const TensorInfo& tensor : layer.tensors) {
        CHECK(tensor.offset == offset);
        CHECK(names.insert(tensor.name).second);
        std::size_t size = 1;
        for (const std::size_t width : tensor.shape) size *= width;
        offset += size;
      }
    }
    CHECK(offset == table.parameters());
    CHECK(table.layers.front().tensors.front().offset == 0);
  }
  using Dimensions = std::vector<std::size_t>;
  const auto check = [](const char* model, const char* name, const Dimensions& expected) {
    CAPTURE(name);
    const CostTable table = table_of(model, std::string(name).starts_with("AuxLogits") ? Parameters{{"auxiliary", true}} : Parameters{});
    const TensorInfo* const tensor = find_tensor(table, name);
    REQUIRE(tensor != nullptr);
    CHECK(tensor->shape == expected);
  };
  check("resnet18", "conv1.weight", {64, 3, 3, 3});
  check("resnet18", "layer4.1.conv2.weight", {512, 512, 3, 3});
  check("resnet18", "layer4.1.bn1.bias", {512});
  check("resnet18", "layer2.0.shortcut.0.weight", {128, 64, 1, 1});
  check("resnet18", "layer2.0.shortcut.1.bias", {128});
  check("resnet18", "linear.bias", {10});
  check("resnet50", "layer1.0.shortcut.0.weight", {256, 64, 1, 1});
  check("resnet50_imagenet", "layer3.0.downsample.0.weight", {1024, 512, 1, 1});
  check("resnet50_imagenet", "fc.weight", {1000, 2048});
  check("vgg16", "features.28.weight", {512, 512, 3, 3});
  check("vgg16", "features.0.bias", {64});
  check("vgg16", "classifier.0.weight", {4096, 25088});
  check("vgg16", "classifier.6.bias", {1000});
  check("inception_v3", "Conv2d_1a_3x3.conv.weight", {32, 3, 3, 3});
  check("inception_v3", "Mixed_6b.branch7x7dbl_2.conv.weight", {128, 128, 7, 1});
  check("inception_v3", "Mixed_6b.branch7x7_2.conv.weight", {128, 128, 1, 7});
  check("inception_v3", "Mixed_7c.branch3x3dbl_3b.bn.bias", {384});
  check("inception_v3", "AuxLogits.fc.weight", {1000, 768});
  check("bert_base", "embeddings.word_embeddings.weight", {30522, 768});
  check("bert_base", "embeddings.LayerNorm.bias", {768});
  check("bert_base", "encoder.layer.11.attention.self.query.weight", {768, 768});
  check("bert_base", "encoder.layer.0.intermediate.dense.bias", {3072});
  check("bert_large", "encoder.layer.23.output.dense.weight", {1024, 4096});
  check("bert_large", "pooler.dense.weight", {1024, 1024});
  for (const char* model : {"resnet18", "inception_v3"}) CHECK(find_tensor(table_of(model), "bn1.running_mean") == nullptr);
}

TEST_CASE("activations that backward reads again are kept, once") {
  // conv (read by its norm) -> norm (not read: the ReLU keeps its own output) -> relu -> conv -> flatten (no copy) -> linear.
  ArchitectureBuilder build({1, 8, 8});
  LayerIndex x = build.conv(network_input, "a", 4, Window::square(3, 1, 1));
  x = build.relu(build.batch_norm(x, "b"));
  x = build.conv(x, "c", 2, Window::square(2, 2), true);
  build.linear(build.flatten(x), "d", 5);
  const CostTable table = cost_table(std::move(build).build());
  REQUIRE(table.layers.size() == 4);
  CHECK(table.layers[0].activation_bytes == 4 * 4 * 64);  // read by the norm
  CHECK(table.layers[1].activation_bytes == 4 * 4 * 64);  // the ReLU's, which has no row
  CHECK(table.layers[2].activation_bytes == 4 * 2 * 16);  // the linear layer's input
  CHECK(table.layers[3].activation_bytes == 4 * 5);       // the network's output
  CHECK(table.layers[2].forward_flops == 2.0 * 2 * 16 * 4 * 4);
  CHECK(table.layers[2].parameters() == 2 * 4 * 4 + 2);
  CHECK(table.activation_bytes() == 4 * (256 + 256 + 32 + 5));

  // A sum keeps neither side, the ReLU after it keeps the sum; pools of averages keep nothing.
  ArchitectureBuilder residual({4, 8, 8});
  const LayerIndex first = residual.conv(network_input, "a", 4, Window::square(1));
  const LayerIndex second = residual.conv(network_input, "b", 4, Window::square(1));
  residual.linear(residual.flatten(residual.global_average_pool(residual.relu(residual.add({first, second})))), "c", 3);
  const CostTable sum = cost_table(std::move(residual).build());
  CHECK(sum.layers[0].activation_bytes == 0);
  CHECK(sum.layers[1].activation_bytes == 4 * (256 + 4));  // relu, and the pooled features, which the linear layer reads
  CHECK(sum.layers[2].activation_bytes == 4 * 3);
}

TEST_CASE("operations are what a framework issues: layers and what stands between them, but no flatten") {
  ArchitectureBuilder build({1, 8, 8});
  const LayerIndex x = build.relu(build.batch_norm(build.conv(network_input, "a", 4, Window::square(3, 1, 1)), "b"));
  build.linear(build.flatten(x), "c", 5);
  const CostTable table = cost_table(std::move(build).build());
  REQUIRE(table.layers.size() == 3);
  CHECK(table.layers[0].operations == 1);
  CHECK(table.layers[1].operations == 2);  // the norm and the ReLU, which has no row
  CHECK(table.layers[2].operations == 1);  // a flattened tensor is its input
  CHECK(table.operations() == 4);
  // 20 convolutions, as many norms, the stem's ReLU and 2 a block, a sum a block, a pool and a linear layer.
  CHECK(table_of("resnet18").operations() == 20 + 20 + 1 + 2 * 8 + 8 + 1 + 1);
}

TEST_CASE("attention in one layer costs what its parts cost") {
  ArchitectureBuilder whole({8, 6, 1}), parts({8, 6, 1});
  whole.layer("attention", {network_input}, {{"heads", std::int64_t{2}}}, LayerName("a"));
  const LayerIndex q = parts.linear(network_input, "q", 8), k = parts.linear(network_input, "k", 8),
                   v = parts.linear(network_input, "v", 8);
  parts.linear(parts.attention_context(parts.softmax(parts.attention_scores(q, k, "s", 2)), v, "c"), "out", 8);
  const CostTable one = cost_table(std::move(whole).build()), many = cost_table(std::move(parts).build());
  CHECK(one.parameters() == many.parameters());
  CHECK(one.forward_flops() == many.forward_flops());
  CHECK(one.activation_bytes() == many.activation_bytes());
  CHECK(one.operations() == many.operations() - 2);  // queries, keys and values in one product
  // Two heads of queries share one of keys and values: 8 + 4 + 4 outputs of the first projection.
  ArchitectureBuilder shared({8, 6, 1});
  shared.layer("attention", {network_input}, {{"heads", std::int64_t{2}}, {"key_value_heads", std::int64_t{1}}}, LayerName("a"));
  CHECK(cost_table(std::move(shared).build()).parameters() == 16 * 9 + 8 * 9);
}

TEST_CASE("activations of ResNet-18 for 32x32: each convolution's output and each ReLU's") {
  // Stages of 65,536, 32,768, 16,384 and 8,192 values a layer. Convolutions: the stem and 4 in stage 1, 4 and a shortcut in the others.
  // ReLUs: the stem's and 4 a stage. Then 512 pooled features and 10 outputs.
  const double convs = 5 * 65'536 + 5 * (32'768 + 16'384 + 8'192), relus = 5 * 65'536 + 4 * (32'768 + 16'384 + 8'192);
  CHECK(table_of("resnet18").activation_bytes() == 4 * (convs + relus + 512 + 10));
}

TEST_CASE("training costs three forward passes, three passes over the weights and three over the activations") {
  const CostTable table = table_of("resnet18");
  const TrainingCost cost = training_cost(table);
  CHECK(cost.flops_per_sample == 6.0 * 555'422'720);
  CHECK(cost.fixed_bytes == 12.0 * 11'173'962);
  CHECK(cost.bytes_per_sample == 3 * table.activation_bytes());
  CHECK(cost.dense_flops_per_sample == 3.0 * 2 * 512 * 10);  // its last layer
  const TrainingCost bert = training_cost(table_of("bert_base"));
  CHECK(bert.dense_flops_per_sample == bert.flops_per_sample);
}

TEST_CASE("layers that do not fit are refused with the layer's name") {
  ArchitectureBuilder build({3, 8, 8});
  const LayerIndex small = build.conv(network_input, "small", 4, Window::square(5));
  CHECK_THROWS_WITH_AS(build.conv(small, "c", 4, Window::square(5)), doctest::Contains("c: the window is wider"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(build.conv(small, "c", 0, Window::square(1)), doctest::Contains("c: channels: 0 is out of range"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(build.conv(small, "c", 1, Window::square(1, 0)), doctest::Contains("stride"), std::invalid_argument);
  CHECK_THROWS_AS(build.add({small, network_input}), std::invalid_argument);
  CHECK_THROWS_AS(build.concat({small, network_input}), std::invalid_argument);
  CHECK_THROWS_AS(build.relu(17), std::invalid_argument);
  CHECK_THROWS_AS(build.attention_scores(small, small, "s", 2), std::invalid_argument);
  ArchitectureBuilder text({6, 5, 1});
  CHECK_THROWS_WITH_AS(text.attention_scores(network_input, network_input, "s", 4), doctest::Contains("choose a divisor"),
                       std::invalid_argument);
  const LayerIndex scores = text.attention_scores(network_input, network_input, "s", 3);
  CHECK(text.shape(scores) == Shape{3, 5, 5});
  CHECK(text.shape(text.attention_context(scores, network_input, "c")) == Shape{6, 5, 1});
  CHECK_THROWS_AS(text.attention_context(network_input, scores, "c"), std::invalid_argument);
}

/// Of a trainable model, the table takes names and counts from its layers and deals its tensors out to them in order.
TEST_CASE("the table of a model that can be trained") {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("mlp");
  DataInfo data;
  data.features = 784;
  data.classes = 10;
  const std::unique_ptr<Model> model = entry.make(complete(entry.parameters, {}), data, ModelSetting{select_kernels("auto")});
  const CostTable table = cost_table(*model);
  REQUIRE(table.layers.size() == 3);
  CHECK(table.parameters() == 785 * 200 + 201 * 200 + 201 * 10);
  CHECK(table.layers[1].name == "2");
  REQUIRE(table.layers[1].tensors.size() == 2);
  CHECK(table.layers[1].tensors[0].name == "2.weight");
  CHECK(table.layers[1].tensors[1].offset == 785 * 200 + 200 * 200);
  CHECK(table.layers[1].parameters() == 201 * 200);
  CHECK(table.layers[1].forward_flops == model->cost()[1].forward_flops);
  CHECK(table.activation_bytes() == 4.0 * (200 + 200 + 10));
}

/// A model whose costs and tensors contradict each other.
class Contradiction final : public Model {
 public:
  Contradiction(std::vector<TensorInfo> tensors, std::vector<LayerCost> cost) : tensors_(std::move(tensors)), cost_(std::move(cost)) {}
  std::size_t parameters() const override { return 0; }
  std::vector<TensorInfo> tensors() const override { return tensors_; }
  std::vector<LayerCost> cost() const override { return cost_; }
  std::size_t workspace_bytes(std::size_t) const override { return 0; }
  void initialize(std::uint64_t, float*) const override {}
  std::unique_ptr<Workspace> workspace() const override { return nullptr; }
  double gradient(const float*, const Rows&, bool, float*, Workspace&) const override { return 0; }
  double evaluate(const float*, const Rows&, std::uint64_t&, Workspace&) const override { return 0; }

 private:
  std::vector<TensorInfo> tensors_;
  std::vector<LayerCost> cost_;
};

TEST_CASE("a model whose layers and tensors do not add up is a programming error") {
  const TensorInfo six{"w", {2, 3}, 0};
  CHECK(cost_table(Contradiction({six}, {{"pool", 0, 1, 0}, {"a", 6, 1, 0}, {"relu", 0, 1, 0}})).parameters() == 6);
  CHECK_THROWS_AS(cost_table(Contradiction({six}, {{"a", 5, 1, 0}})), std::logic_error);
  CHECK_THROWS_AS(cost_table(Contradiction({six}, {{"a", 7, 1, 0}})), std::logic_error);
  CHECK_THROWS_AS(cost_table(Contradiction({six, six}, {{"a", 6, 1, 0}})), std::logic_error);
  CHECK_THROWS_AS(cost_table(Contradiction({}, {{"a", 6, 1, 0}})), std::logic_error);
}

}  // namespace
}  // namespace straggler
