#include "models/zoo/architecture_bert.hpp"

#include <stdexcept>
#include <utility>

namespace straggler {
namespace {

constexpr std::size_t vocabulary = 30'522, positions = 512, segments = 2;
constexpr double dropout = 0.1;

LayerIndex embeddings(ArchitectureBuilder& build, std::size_t features) {
  const LayerIndex word = build.embedding(network_input, "embeddings.word_embeddings", vocabulary, features);
  const LayerIndex position = build.embedding(network_input, "embeddings.position_embeddings", positions, features);
  const LayerIndex segment = build.embedding(network_input, "embeddings.token_type_embeddings", segments, features);
  return build.dropout(build.layer_norm(build.add({word, segment, position}), "embeddings.LayerNorm"), dropout);
}

/// LayerNorm(x + dropout(dense(y)))
LayerIndex residual(ArchitectureBuilder& build, LayerIndex x, LayerIndex y, const std::string& name, std::size_t features) {
  const LayerIndex dense = build.dropout(build.linear(y, name + ".dense", features), dropout);
  return build.layer_norm(build.add({dense, x}), name + ".LayerNorm");
}

LayerIndex encoder_layer(ArchitectureBuilder& build, LayerIndex x, const std::string& name, const BertSize& size) {
  const std::string self = name + ".attention.self";
  const LayerIndex queries = build.linear(x, self + ".query", size.features);
  const LayerIndex keys = build.linear(x, self + ".key", size.features);
  const LayerIndex values = build.linear(x, self + ".value", size.features);
  const LayerIndex scores = build.attention_scores(queries, keys, self + ".scores", size.heads);
  const LayerIndex context = build.attention_context(build.dropout(build.softmax(scores), dropout), values, self + ".context");
  x = residual(build, x, context, name + ".attention.output", size.features);
  const LayerIndex wide = build.gelu(build.linear(x, name + ".intermediate.dense", 4 * size.features));
  return residual(build, x, wide, name + ".output", size.features);
}

}  // namespace

Architecture bert(const BertSize& size, std::size_t sequence) {
  if (sequence < 1 || sequence > positions)
    throw std::invalid_argument("sequence: " + std::to_string(sequence) + " tokens; BERT has positions for 1 to 512");
  ArchitectureBuilder build({1, sequence, 1});
  LayerIndex x = embeddings(build, size.features);
  for (std::size_t i = 0; i < size.layers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i);
    build.within(name);
    x = encoder_layer(build, x, name, size);
  }
  build.within({});
  build.tanh(build.linear(build.first_place(x), "pooler.dense", size.features));
  return std::move(build).build();
}

}  // namespace straggler
