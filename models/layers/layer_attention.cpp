// Self-attention with its projections, as PyTorch's fused ones: `qkv` and `out`.
#include <stdexcept>

#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_attention.hpp"

namespace straggler::layers::attention {
namespace {

std::size_t key_value_heads(const LayerSpec& layer) {
  return layer.count(layer.parameters.has("key_value_heads") ? "key_value_heads" : "heads");
}

reference::Attention attention(const LayerSpec& layer) {
  return {layer.in.channels, layer.in.height, layer.count("heads"), key_value_heads(layer), layer.parameters.flag("causal")};
}

template <class Scalar>
reference::AttentionWeights<const Scalar> weights_of(const LayerPass<Scalar>& pass) {
  return {pass.tensor(0), pass.tensor(1), pass.tensor(2), pass.tensor(3)};
}
template <class Scalar>
reference::AttentionWeights<Scalar> gradients_of(const LayerPass<Scalar>& pass) {
  return {pass.gradient(0), pass.gradient(1), pass.gradient(2), pass.gradient(3)};
}

const Register<LayerEntry> entry({
    .name = "attention",
    .summary = "self-attention of a sequence, with the projections of queries, keys, values and outputs",
    .parameters = {{.name = "heads",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "parts of the channels, each with queries of its own",
                    .range = Range::at_least(1)},
                   {.name = "key_value_heads",
                    .type = ValueType::count,
                    .meaning = "heads of keys and values, each for as many of queries; absent: as many as heads",
                    .range = Range::at_least(1)},
                   {.name = "causal",
                    .type = ValueType::boolean,
                    .fallback = "false",
                    .meaning = "whether a place sees only itself and those before it"}},
    .shape =
        [](const LayerSpec& layer, std::span<const Shape>) {
          const std::size_t heads = layer.count("heads"), shared = key_value_heads(layer);
          if (layer.in.width != 1)
            throw std::invalid_argument(shape_text(layer.in) + " is not a sequence such as " +
                                        shape_text({layer.in.channels, layer.in.places(), 1}) + "; give one of width 1");
          if (layer.in.channels % heads != 0)
            throw std::invalid_argument("the channels of " + shape_text(layer.in) + " do not split into " + std::to_string(heads) +
                                        " heads; choose a divisor of " + std::to_string(layer.in.channels));
          if (heads % shared != 0)
            throw std::invalid_argument(std::to_string(heads) + " heads do not share " + std::to_string(shared) +
                                        " heads of keys and values evenly; choose a divisor of " + std::to_string(heads));
          return layer.in;
        },
    .tensors =
        [](const LayerSpec& layer) {
          std::vector<TensorSpec> tensors;
          const auto add = [&](const std::string& name, std::size_t outputs) {
            for (TensorSpec& tensor : weight_and_bias({outputs, layer.in.channels}, true)) {
              tensor.name = name + "." + tensor.name;
              tensors.push_back(std::move(tensor));
            }
          };
          const std::size_t keys = layer.in.channels / layer.count("heads") * key_value_heads(layer);
          add("qkv", attention(layer).projected());
          tensors.front().matrices = {layer.in.channels, keys, keys};
          add("out", layer.in.channels);
          return tensors;
        },
    .multiply_adds =
        [](const LayerSpec& layer) {
          // Both projections, and for all pairs of places the scores and the context.
          const double channels = static_cast<double>(layer.in.channels), places = static_cast<double>(layer.in.height);
          return places * channels * (static_cast<double>(attention(layer).projected()) + channels) + 2 * places * places * channels;
        },
    .backward_reads_inputs = true,
    .inner_activations =
        [](const LayerSpec& layer) {
          // Queries, keys and values; the context; the shares of all heads.
          const reference::Attention own = attention(layer);
          return (own.projected() + own.channels) * own.places + own.heads * own.places * own.places;
        },
    .pair_multiply_adds =
        [](const LayerSpec& layer) {
          const double channels = static_cast<double>(layer.in.channels), places = static_cast<double>(layer.in.height);
          return 2 * places * places * channels;
        },
    .pair_activations =
        [](const LayerSpec& layer) {
          const reference::Attention own = attention(layer);
          return own.heads * own.places * own.places;
        },
    .operations = 5,  // projection, scores, softmax, context, projection
    .scratch = [](const LayerSpec& layer) { return 2 * attention(layer).one_pass(); },
    .forward =
        [](const auto& pass) {
          reference::attention_forward(attention(pass.layer), pass.rows, pass.x(), weights_of(pass), pass.y, pass.scratch);
        },
    .backward =
        [](const auto& pass) {
          reference::attention_backward(attention(pass.layer), pass.rows, pass.x(), weights_of(pass), pass.dy, gradients_of(pass),
                                        pass.dx(), pass.scratch);
        },
});

}  // namespace
}  // namespace straggler::layers::attention
