// Families of which every block has the same two parts, attention and a wide layer, with the names of the tensors of Hugging Face's models.
// BERT, GPT-2, Llama and ViT are in hf_families.cpp.
#include <fmt/format.h>

#include "models/formats/hf_fields.hpp"

namespace straggler::formats::hf {
namespace {

/// What a family calls the parts of a block. `key` null: `query` makes queries, keys and values at once. `wide_norm` null: one norm is read
/// by attention and by the wide layer.
struct Block {
  const char *attention, *query, *key, *value, *output, *up, *down, *attention_norm, *wide_norm;
  bool bias = true;
  bool norms_behind = false;  // norms stand behind the sums, as in the first transformer
};

struct Sizes {
  Attention its;
  std::size_t h = 0, wide = 0, blocks = 0, words = 0;
  std::size_t drops = 0;  // operations of dropout behind each part
  double all() const { return its.tokens * d(h); }
};

void add_block(LayerRows& rows, const std::string& name, const Block& block, const Sizes& sizes) {
  const Attention& its = sizes.its;
  const auto linear = [&](const std::string& part, std::size_t in, std::size_t out, double kept, std::size_t operations) {
    rows.linear(name + part, {.in = in, .out = out, .places = its.tokens, .bias = block.bias}, kept, operations);
  };
  const auto norm = [&](const char* part, bool behind) {
    if (part != nullptr && behind == block.norms_behind) add_norm(rows, name + part, sizes.h, sizes.all());
  };
  const std::string self = block.attention;
  norm(block.attention_norm, false);
  if (block.key == nullptr) {
    linear(self + block.query, sizes.h, 3 * sizes.h, its.queries() + 2 * its.keys(), 1);
  } else {
    for (const char* part : {block.query, block.key, block.value}) linear(self + part, sizes.h, sizes.h, its.queries(), 1);
  }
  add_products(rows, name + self, its);
  linear(self + block.output, sizes.h, sizes.h, sizes.all(), 2 + sizes.drops);
  norm(block.attention_norm, true);
  norm(block.wide_norm, false);
  linear(block.up, sizes.h, sizes.wide, 2 * its.tokens * d(sizes.wide), 2);
  linear(block.down, sizes.wide, sizes.h, sizes.all(), 2 + sizes.drops);
  norm(block.wide_norm, true);
}

ModelFile finished(const Fields& fields, const ModelFileOptions& options, const Sizes& sizes, LayerRows&& rows, ModelFile&& file) {
  file.table = std::move(rows).table(fields.path());
  file.table.input_bytes = sizeof(float) * sizes.its.tokens;
  say_attention(fields, options, sizes.its.tokens, file);
  return std::move(file);
}

/// Names of fields.
struct Names {
  const char *width = "hidden_size", *heads = "num_attention_heads", *blocks = "num_hidden_layers", *wide = "intermediate_size";
  const char *dropout, *attention_dropout = "attention_dropout";
  double usual_dropout = 0;
};

/// `positions`: that the model has; 0: any number.
Sizes sizes_of(const Fields& fields, const ModelFileOptions& options, const Family& family, const Names& names, std::size_t positions,
               ModelFile& file) {
  Sizes sizes;
  sizes.its = attention_of(fields, names.width, names.heads, options, family);
  if (sizes.its.key_value_heads != sizes.its.heads || sizes.its.heads * sizes.its.head_width != sizes.its.width)
    refuse_model(fields.path(),
                 "has keys or heads of another number than its width, which is not read; give the safetensors file beside it");
  sizes.its.tokens = d(tokens_of(fields, options, "max_position_embeddings", positions, file));
  sizes.its.dropout = fields.number_or(names.attention_dropout, names.usual_dropout) > 0;
  sizes.h = sizes.its.width;
  sizes.wide = fields.count_or(names.wide, widest, 4 * sizes.h);
  sizes.blocks = fields.count(names.blocks, deepest);
  sizes.words = fields.count("vocab_size", most_words);
  sizes.drops = fields.number_or(names.dropout, names.usual_dropout) > 0 ? 1 : 0;
  file.what = described(fields, sizes.blocks, sizes.h);
  return sizes;
}

}  // namespace

// DistilBERT (Sanh et al. 2019): BERT without types of tokens and without a pooler.
ModelFile read_distilbert(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  const std::size_t positions = fields.count("max_position_embeddings", most_words);
  const Names names{
      .width = "dim", .heads = "n_heads", .blocks = "n_layers", .wide = "hidden_dim", .dropout = "dropout", .usual_dropout = 0.1};
  const Sizes sizes = sizes_of(fields, options, family, names, positions, file);
  LayerRows rows;
  rows.add("embeddings.word_embeddings", {{"embeddings.word_embeddings.weight", {sizes.words, sizes.h}}}, 0, 0, 1);
  rows.add("embeddings.position_embeddings", {{"embeddings.position_embeddings.weight", {positions, sizes.h}}}, 0, sizes.all(), 2);
  add_norm(rows, "embeddings.LayerNorm", sizes.h, sizes.all(), true, 1 + sizes.drops);
  const Block block{.attention = ".attention",
                    .query = ".q_lin",
                    .key = ".k_lin",
                    .value = ".v_lin",
                    .output = ".out_lin",
                    .up = ".ffn.lin1",
                    .down = ".ffn.lin2",
                    .attention_norm = ".sa_layer_norm",
                    .wide_norm = ".output_layer_norm",
                    .norms_behind = true};
  for (std::size_t i = 0; i < sizes.blocks; ++i) add_block(rows, fmt::format("transformer.layer.{}", i), block, sizes);
  if (const std::string architecture = fields.architecture(); !architecture.empty() && !is_body(architecture))
    file.assumed.push_back(fmt::format("the encoder, without the head that {} puts on it", architecture));
  return finished(fields, options, sizes, std::move(rows), std::move(file));
}

// OPT (Zhang et al. 2022): its table of positions has two rows more than positions; OPT-350M reads and predicts words of another width.
ModelFile read_opt(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  if (!fields.flag_or("layer_norm_elementwise_affine", true))
    refuse_model(fields.path(), "layer_norm_elementwise_affine is false, which is not read; give the safetensors file beside it");
  const std::size_t positions = fields.count("max_position_embeddings", most_words);
  const Sizes sizes = sizes_of(fields, options, family, {.wide = "ffn_dim", .dropout = "dropout", .usual_dropout = 0.1}, positions, file);
  const std::size_t h = sizes.h, narrow = fields.count_or("word_embed_proj_dim", widest, h);
  const bool first = fields.flag_or("do_layer_norm_before", true);
  const double n = sizes.its.tokens;
  const std::string decoder = "model.decoder.";
  LayerRows rows;
  rows.add(decoder + "embed_tokens", {{decoder + "embed_tokens.weight", {sizes.words, narrow}}}, 0, narrow == h ? 0 : n * d(narrow), 1);
  if (narrow != h) rows.linear(decoder + "project_in", {.in = narrow, .out = h, .places = n, .bias = false}, 0);
  rows.add(decoder + "embed_positions", {{decoder + "embed_positions.weight", {positions + 2, h}}}, 0, sizes.all(), 2);
  const Block block{.attention = ".self_attn",
                    .query = ".q_proj",
                    .key = ".k_proj",
                    .value = ".v_proj",
                    .output = ".out_proj",
                    .up = ".fc1",
                    .down = ".fc2",
                    .attention_norm = ".self_attn_layer_norm",
                    .wide_norm = ".final_layer_norm",
                    .bias = fields.flag_or("enable_bias", true),
                    .norms_behind = !first};
  for (std::size_t i = 0; i < sizes.blocks; ++i) add_block(rows, fmt::format("{}layers.{}", decoder, i), block, sizes);
  if (first && !fields.flag_or("_remove_final_layer_norm", false)) add_norm(rows, decoder + "final_layer_norm", h, sizes.all());
  if (narrow != h) rows.linear(decoder + "project_out", {.in = h, .out = narrow, .places = n, .bias = false}, n * d(narrow));
  add_language_head(rows, fields, file, "lm_head", {.in = narrow, .out = sizes.words, .places = n, .bias = false}, family.tied);
  return finished(fields, options, sizes, std::move(rows), std::move(file));
}

// Phi-1 and 2 (Li et al. 2023): one norm of a block for both parts, whose outputs are added to the stream together; the output has a bias.
ModelFile read_phi(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  if (fields.flag_or("qk_layernorm", false))
    refuse_model(fields.path(), "qk_layernorm is true, which is not read; give the safetensors file beside it");
  const Sizes sizes = sizes_of(fields, options, family, {.dropout = "resid_pdrop"}, 0, file);
  LayerRows rows;
  rows.add("model.embed_tokens", {{"model.embed_tokens.weight", {sizes.words, sizes.h}}}, 0, sizes.all(), 1);
  const Block block{.attention = ".self_attn",
                    .query = ".q_proj",
                    .key = ".k_proj",
                    .value = ".v_proj",
                    .output = ".dense",
                    .up = ".mlp.fc1",
                    .down = ".mlp.fc2",
                    .attention_norm = ".input_layernorm",
                    .wide_norm = nullptr};
  for (std::size_t i = 0; i < sizes.blocks; ++i) add_block(rows, fmt::format("model.layers.{}", i), block, sizes);
  add_norm(rows, "model.final_layernorm", sizes.h, sizes.all());
  add_language_head(rows, fields, file, "lm_head", {.in = sizes.h, .out = sizes.words, .places = sizes.its.tokens}, family.tied);
  return finished(fields, options, sizes, std::move(rows), std::move(file));
}

// GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023): one layer makes queries, keys and values.
ModelFile read_gpt_neox(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  if (!fields.flag_or("attention_bias", true))
    refuse_model(fields.path(), "attention_bias is false, which is not read; give the safetensors file beside it");
  const Sizes sizes = sizes_of(fields, options, family, {.dropout = "hidden_dropout"}, 0, file);
  LayerRows rows;
  rows.add("gpt_neox.embed_in", {{"gpt_neox.embed_in.weight", {sizes.words, sizes.h}}}, 0, sizes.all(), 1);
  const Block block{.attention = ".attention",
                    .query = ".query_key_value",
                    .key = nullptr,
                    .value = nullptr,
                    .output = ".dense",
                    .up = ".mlp.dense_h_to_4h",
                    .down = ".mlp.dense_4h_to_h",
                    .attention_norm = ".input_layernorm",
                    .wide_norm = ".post_attention_layernorm"};
  for (std::size_t i = 0; i < sizes.blocks; ++i) add_block(rows, fmt::format("gpt_neox.layers.{}", i), block, sizes);
  add_norm(rows, "gpt_neox.final_layer_norm", sizes.h, sizes.all());
  add_language_head(rows, fields, file, "embed_out", {.in = sizes.h, .out = sizes.words, .places = sizes.its.tokens, .bias = false},
                    family.tied);
  return finished(fields, options, sizes, std::move(rows), std::move(file));
}

}  // namespace straggler::formats::hf
