// Embedding: the row of a table for the token at each place of the one input channel.
#include <stdexcept>

#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_embedding.hpp"

namespace straggler::layers::embedding {
namespace {

const Register<LayerEntry> entry({
    .name = "embedding",
    .summary = "the row of a table for each token",
    .parameters =
        {{.name = "width", .type = ValueType::count, .required = true, .meaning = "channels of the output", .range = Range::at_least(1)},
         {.name = "rows",
          .type = ValueType::count,
          .required = true,
          .meaning = "tokens that there are: 0, 1, …",
          .range = Range::at_least(1)}},
    .tokens = true,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      const Shape out{layer.count("width"), layer.in.height, layer.in.width};
      if (layer.in.channels != 1)
        throw std::invalid_argument(shape_text(layer.in) + " is not a token input, which " + shape_text(out) + " is made from; use " +
                                    shape_text({1, layer.in.height, layer.in.width}));
      return out;
    },
    .tensors = [](const LayerSpec& layer) -> std::vector<TensorSpec> {
      return {{"weight", {layer.count("rows"), layer.out.channels}, {InitialValues::Rule::normal, 1}}};
    },
    .forward =
        [](const auto& pass) {
          reference::embedding_forward(pass.rows, pass.layer.out.places(), pass.layer.count("rows"), pass.layer.out.channels, pass.x(),
                                       pass.tensor(0), pass.y);
        },
    .backward =
        [](const auto& pass) {
          reference::embedding_backward(pass.rows, pass.layer.out.places(), pass.layer.count("rows"), pass.layer.out.channels, pass.x(),
                                        pass.dy, pass.gradient(0));
        },
});

}  // namespace
}  // namespace straggler::layers::embedding
