// Of (queries, keys): for each head the products of all pairs of places, [heads, queries, keys].
#include <stdexcept>

#include "models/layers/layer.hpp"

namespace straggler::layers::attention_scores {
namespace {

double products(const LayerSpec& layer) {
  return static_cast<double>(layer.out.size()) *
         (static_cast<double>(layer.in.channels) / static_cast<double>(layer.out.channels));  // heads divide the channels
}

const Register<LayerEntry> entry({
    .name = "attention_scores",
    .summary = "of (queries, keys): for each head the products of all pairs of places",
    .parameters = {{.name = "heads",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "parts of the channels, each with scores of its own",
                    .range = Range::at_least(1)}},
    .inputs = {2, 2},
    .shape = [](const LayerSpec& layer, std::span<const Shape> inputs) -> Shape {
      const Shape &queries = inputs[0], &keys = inputs[1];
      if (queries.width != 1 || keys.width != 1 || queries.channels != keys.channels)
        throw std::invalid_argument(shape_text(queries) + " and " + shape_text(keys) +
                                    " are not matching queries and keys; give two sequences of equal width");
      const std::size_t heads = layer.count("heads");
      if (queries.channels % heads != 0)
        throw std::invalid_argument("the features of " + shape_text(queries) + " do not split into " + std::to_string(heads) +
                                    " heads; choose a divisor of " + std::to_string(queries.channels));
      return {heads, queries.height, keys.height};
    },
    .multiply_adds = products,
    .backward_reads_inputs = true,
    .pair_multiply_adds = products,
    .makes_pairs = true,
});

}  // namespace
}  // namespace straggler::layers::attention_scores
