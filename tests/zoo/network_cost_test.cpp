// What networks say they cost, by the definitions of cost_model.hpp, against figures worked out by hand.
#include <doctest/doctest.h>

#include "models/zoo/cost_model.hpp"
#include "tests/zoo/networks.hpp"

namespace straggler::test::network_cost_test {
namespace {

struct Expected {
  const char* name;
  std::size_t parameters;
  double multiply_adds, activation_floats;
};

void check(const std::vector<LayerCost>& cost, const std::vector<Expected>& expected) {
  REQUIRE(cost.size() == expected.size());
  for (std::size_t l = 0; l < cost.size(); ++l) {
    CAPTURE(expected[l].name);
    CHECK(cost[l].name == expected[l].name);
    CHECK(cost[l].parameters == expected[l].parameters);
    CHECK(cost[l].forward_flops == 2 * expected[l].multiply_adds);
    CHECK(cost[l].activation_bytes == 4 * expected[l].activation_floats);
  }
}

struct Totals {
  std::size_t parameters = 0;
  double multiply_adds = 0;
};
Totals totals(const std::vector<LayerCost>& cost) {
  Totals sum;
  for (const LayerCost& layer : cost) {
    sum.parameters += layer.parameters;
    sum.multiply_adds += layer.forward_flops / 2;
  }
  return sum;
}

}  // namespace

TEST_CASE("LeNet-5 costs what one counts by hand") {
  // Kept for backward: what ReLUs give, what convolutions and dense layers are given (the pools' outputs), and the scores.
  check(cost_of(lenet5()), {{"conv1", 6 * 25 + 6, 28.0 * 28 * 6 * 25, 28.0 * 28 * 6 + 14 * 14 * 6},
                            {"conv2", 16 * 6 * 25 + 16, 10.0 * 10 * 16 * 6 * 25, 10.0 * 10 * 16 + 5 * 5 * 16},
                            {"fc1", 401 * 120, 400.0 * 120, 120},
                            {"fc2", 121 * 84, 120.0 * 84, 84},
                            {"fc3", 85 * 10, 84.0 * 10, 10}});
  CHECK(totals(cost_of(lenet5())).parameters == 61'706);
}

TEST_CASE("a group of channels costs its share") {
  // 4 channels to 8 in two groups, 3x3 on 6x6; then 8 by themselves, stride 2 to 2x2.
  check(cost_of(groups_network()),
        {{"a", 8 * 2 * 9 + 8, 36.0 * 8 * 2 * 9, 36.0 * 8}, {"b", 8 * 9, 4.0 * 8 * 9, 4.0 * 8}, {"c", 33 * 5, 32.0 * 5, 5}});
}

TEST_CASE("networks have the parameters and multiply-adds that are known of them") {
  struct Known {
    const char* name;
    std::size_t parameters;
    double multiply_adds;
  };
  // ResNet-8: 16 channels on 32x32, 32 on 16x16, 64 on 8x8; where the width doubles a 1x1 shortcut.
  const double resnet8_conv = 3.0 * 9 * 16 * 1024 + 2.0 * 16 * 16 * 9 * 1024 + (16.0 * 32 * 9 + 32 * 32 * 9 + 16 * 32) * 256 +
                              (32.0 * 64 * 9 + 64 * 64 * 9 + 32 * 64) * 64;
  for (const Known& known : {Known{"resnet18", 11'173'962, 555'422'720}, Known{"resnet50", 23'520'842, 1'297'829'888},
                             Known{"resnet8", 78'042, resnet8_conv + 640}, Known{"mlp", 199'210, 784.0 * 200 + 200 * 200 + 2000},
                             Known{"fedavg_cnn", 1'663'370, 784.0 * 32 * 25 + 196.0 * 64 * 32 * 25 + 3136.0 * 512 + 5120}}) {
    CAPTURE(known.name);
    const Architecture architecture = network_named(known.name);
    const Totals sum = totals(cost_of(architecture));
    CHECK(sum.parameters == known.parameters);
    CHECK(sum.multiply_adds == known.multiply_adds);
    const std::unique_ptr<Model> model = make_network(architecture, ModelSetting{select_kernels("auto")});
    CHECK(model->parameters() == known.parameters);
    const Totals own = totals(model->cost());
    CHECK(own.parameters == known.parameters);
    CHECK(own.multiply_adds == known.multiply_adds);
    const CostTable table = cost_table(architecture), of_model = cost_table(*model);
    CHECK(of_model.forward_flops() == table.forward_flops());
    CHECK(of_model.activation_bytes() == table.activation_bytes());
  }
}

}  // namespace straggler::test::network_cost_test
