// Inception-v3 for 299x299 images, layer by layer, as in torchvision, whose tensor names it uses.
#include "models/zoo/image_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::inception_v3 {
namespace {

/// Convolutions along one axis, 7 or 3 wide, that keep the size.
Window row(std::size_t width) { return {1, width, 1, 0, width / 2}; }
Window column(std::size_t height) { return {height, 1, 1, height / 2, 0}; }

class Inception {
 public:
  explicit Inception(const Shape& image) : build_(image) {}

  Architecture make(std::size_t classes, bool auxiliary) && {
    LayerIndex x = stem();
    x = block_a(x, "Mixed_5b", 32);
    x = block_a(x, "Mixed_5c", 64);
    x = block_a(x, "Mixed_5d", 64);
    x = block_b(x, "Mixed_6a");
    x = block_c(x, "Mixed_6b", 128);
    x = block_c(x, "Mixed_6c", 160);
    x = block_c(x, "Mixed_6d", 160);
    x = block_c(x, "Mixed_6e", 192);
    if (auxiliary) head(x, classes);
    x = block_d(x, "Mixed_7a");
    x = block_e(x, "Mixed_7b");
    x = block_e(x, "Mixed_7c");
    build_.linear(build_.flatten(build_.dropout(build_.global_average_pool(x))), "fc", classes);
    return std::move(build_).build();
  }

 private:
  /// torchvision's BasicConv2d.
  LayerIndex conv(LayerIndex from, const std::string& name, std::size_t channels, const Window& window) {
    return build_.relu(build_.batch_norm(build_.conv(from, name + ".conv", channels, window), name + ".bn"));
  }
  LayerIndex pooled_branch(LayerIndex x, const std::string& name, std::size_t channels) {
    return conv(build_.average_pool(x, Window::square(3, 1, 1)), name + ".branch_pool", channels, Window::square(1));
  }

  LayerIndex stem() {
    LayerIndex x = conv(network_input, "Conv2d_1a_3x3", 32, Window::square(3, 2));
    x = conv(x, "Conv2d_2a_3x3", 32, Window::square(3));
    x = conv(x, "Conv2d_2b_3x3", 64, Window::square(3, 1, 1));
    x = build_.max_pool(x, Window::square(3, 2));
    x = conv(x, "Conv2d_3b_1x1", 80, Window::square(1));
    x = conv(x, "Conv2d_4a_3x3", 192, Window::square(3));
    return build_.max_pool(x, Window::square(3, 2));
  }

  /// Figure 5 of the paper: 35x35, with a 5x5 and two successive 3x3.
  LayerIndex block_a(LayerIndex x, const std::string& name, std::size_t pool_channels) {
    const LayerIndex one = conv(x, name + ".branch1x1", 64, Window::square(1));
    LayerIndex five = conv(x, name + ".branch5x5_1", 48, Window::square(1));
    five = conv(five, name + ".branch5x5_2", 64, Window::square(5, 1, 2));
    LayerIndex three = conv(x, name + ".branch3x3dbl_1", 64, Window::square(1));
    three = conv(three, name + ".branch3x3dbl_2", 96, Window::square(3, 1, 1));
    three = conv(three, name + ".branch3x3dbl_3", 96, Window::square(3, 1, 1));
    return build_.concat({one, five, three, pooled_branch(x, name, pool_channels)});
  }

  /// Figure 10: from 35x35 to 17x17.
  LayerIndex block_b(LayerIndex x, const std::string& name) {
    const LayerIndex three = conv(x, name + ".branch3x3", 384, Window::square(3, 2));
    LayerIndex twice = conv(x, name + ".branch3x3dbl_1", 64, Window::square(1));
    twice = conv(twice, name + ".branch3x3dbl_2", 96, Window::square(3, 1, 1));
    twice = conv(twice, name + ".branch3x3dbl_3", 96, Window::square(3, 2));
    return build_.concat({three, twice, build_.max_pool(x, Window::square(3, 2))});
  }

  /// Figure 6: 17x17, with 7x7 split into rows and columns; `inner` channels between them.
  LayerIndex block_c(LayerIndex x, const std::string& name, std::size_t inner) {
    const LayerIndex one = conv(x, name + ".branch1x1", 192, Window::square(1));
    LayerIndex seven = conv(x, name + ".branch7x7_1", inner, Window::square(1));
    seven = conv(seven, name + ".branch7x7_2", inner, row(7));
    seven = conv(seven, name + ".branch7x7_3", 192, column(7));
    LayerIndex twice = conv(x, name + ".branch7x7dbl_1", inner, Window::square(1));
    twice = conv(twice, name + ".branch7x7dbl_2", inner, column(7));
    twice = conv(twice, name + ".branch7x7dbl_3", inner, row(7));
    twice = conv(twice, name + ".branch7x7dbl_4", inner, column(7));
    twice = conv(twice, name + ".branch7x7dbl_5", 192, row(7));
    return build_.concat({one, seven, twice, pooled_branch(x, name, 192)});
  }

  /// From 17x17 to 8x8.
  LayerIndex block_d(LayerIndex x, const std::string& name) {
    LayerIndex three = conv(x, name + ".branch3x3_1", 192, Window::square(1));
    three = conv(three, name + ".branch3x3_2", 320, Window::square(3, 2));
    LayerIndex seven = conv(x, name + ".branch7x7x3_1", 192, Window::square(1));
    seven = conv(seven, name + ".branch7x7x3_2", 192, row(7));
    seven = conv(seven, name + ".branch7x7x3_3", 192, column(7));
    seven = conv(seven, name + ".branch7x7x3_4", 192, Window::square(3, 2));
    return build_.concat({three, seven, build_.max_pool(x, Window::square(3, 2))});
  }

  /// Figure 7: 8x8, with parallel rows and columns.
  LayerIndex block_e(LayerIndex x, const std::string& name) {
    const LayerIndex one = conv(x, name + ".branch1x1", 320, Window::square(1));
    const LayerIndex three = conv(x, name + ".branch3x3_1", 384, Window::square(1));
    const LayerIndex three_row = conv(three, name + ".branch3x3_2a", 384, row(3));
    const LayerIndex three_column = conv(three, name + ".branch3x3_2b", 384, column(3));
    LayerIndex twice = conv(x, name + ".branch3x3dbl_1", 448, Window::square(1));
    twice = conv(twice, name + ".branch3x3dbl_2", 384, Window::square(3, 1, 1));
    const LayerIndex twice_row = conv(twice, name + ".branch3x3dbl_3a", 384, row(3));
    const LayerIndex twice_column = conv(twice, name + ".branch3x3dbl_3b", 384, column(3));
    return build_.concat(
        {one, build_.concat({three_row, three_column}), build_.concat({twice_row, twice_column}), pooled_branch(x, name, 192)});
  }

  /// The auxiliary classifier, used only in training.
  void head(LayerIndex x, std::size_t classes) {
    x = build_.average_pool(x, Window::square(5, 3));
    x = conv(x, "AuxLogits.conv0", 128, Window::square(1));
    x = conv(x, "AuxLogits.conv1", 768, Window::square(5));
    build_.linear(build_.flatten(build_.global_average_pool(x)), "AuxLogits.fc", classes);
  }

  ArchitectureBuilder build_;
};

const Register<ModelEntry> entry(image_network_entry(
    {.name = "inception_v3",
     .summary = "Inception-v3; as workload.cost: of 299x299 images, with classes (1000): 23,834,568 parameters, 5.71 G multiply-adds, "
                "without its auxiliary classifier",
     .reference = "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, Rethinking the Inception Architecture for Computer Vision, CVPR 2016; "
                  "torchvision.models.inception_v3",
     .least_side = 75,
     .architecture = [](const Parameters& parameters, const Shape& image,
                        std::size_t classes) { return Inception(image).make(classes, parameters.flag("auxiliary")); },
     .parameters = {{.name = "auxiliary",
                     .type = ValueType::boolean,
                     .fallback = "false",
                     .meaning = "with the auxiliary classifier (27,161,264 parameters)"}},
     .usual = ImageNetwork::Usual{{3, 299, 299}, 1000}}));

}  // namespace
}  // namespace straggler::zoo::inception_v3
