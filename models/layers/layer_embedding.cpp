// Embedding: the row of a table for the token at each place of the one input channel, and a row for the place.
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
          .range = Range::at_least(1)},
         {.name = "positions",
          .type = ValueType::choice,
          .fallback = "none",
          .meaning = "learned: a row for each place is added",
          .choices = {"none", "learned"}}},
    .tokens = true,
    .shape = [](const LayerSpec& layer, std::span<const Shape>) -> Shape {
      const Shape out{layer.count("width"), layer.in.height, layer.in.width};
      if (layer.in.channels != 1)
        throw std::invalid_argument(shape_text(layer.in) + " is not a token input, which " + shape_text(out) + " is made from; use " +
                                    shape_text({1, layer.in.height, layer.in.width}));
      return out;
    },
    .tensors = [](const LayerSpec& layer) -> std::vector<TensorSpec> {
      const InitialValues initial{InitialValues::Rule::normal, 1};
      std::vector<TensorSpec> tensors{{"weight", {layer.count("rows"), layer.out.channels}, initial}};
      if (layer.parameters.text("positions") == "learned")
        tensors.push_back({"positions", {layer.out.places(), layer.out.channels}, initial});
      return tensors;
    },
    .forward =
        [](const auto& pass) {
          const std::size_t places = pass.layer.out.places(), channels = pass.layer.out.channels;
          reference::embedding_forward(pass.rows, places, pass.layer.count("rows"), channels, pass.x(), pass.tensor(0), pass.y);
          if (pass.tensor(1)) reference::positions_forward(pass.rows, places, channels, pass.tensor(1), pass.y);
        },
    .backward =
        [](const auto& pass) {
          const std::size_t places = pass.layer.out.places(), channels = pass.layer.out.channels;
          reference::embedding_backward(pass.rows, places, pass.layer.count("rows"), channels, pass.x(), pass.dy, pass.gradient(0));
          if (pass.gradient(1)) reference::positions_backward(pass.rows, places, channels, pass.dy, pass.gradient(1));
        },
});

}  // namespace
}  // namespace straggler::layers::embedding
