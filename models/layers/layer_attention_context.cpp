// Of (scores, values): for each head and place the values of all places, weighted by their scores.
#include <stdexcept>

#include "models/layers/layer.hpp"

namespace straggler::layers::attention_context {
namespace {

double products(const LayerSpec& layer) { return static_cast<double>(layer.out.size()) * static_cast<double>(layer.in.width); }

const Register<LayerEntry> entry({
    .name = "attention_context",
    .summary = "of (scores, values): for each head and place the values of all places, weighted by their scores",
    .inputs = {2, 2},
    .shape = [](const LayerSpec&, std::span<const Shape> inputs) -> Shape {
      const Shape &scores = inputs[0], &values = inputs[1];
      if (scores.width != values.height || values.channels % scores.channels != 0)
        throw std::invalid_argument(shape_text(scores) + " and " + shape_text(values) +
                                    " are not matching scores and values; give a score for each value and head");
      return {values.channels, scores.height, 1};
    },
    .multiply_adds = products,
    .backward_reads_inputs = true,
    .pair_multiply_adds = products,
});

}  // namespace
}  // namespace straggler::layers::attention_context
