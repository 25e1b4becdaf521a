// The layers of each family in forward order, with the names of the tensors of Hugging Face's models. Numbers kept for backward follow the
// rule of models/zoo/cost_model.hpp: inputs of linear layers, norms, GELUs and products; outputs of softmax and tanh; the network's own
// output.
#include <fmt/format.h>

#include <algorithm>

#include "models/formats/hf_fields.hpp"
#include "sim/base/readable.hpp"

namespace straggler::formats::hf {
namespace {

/// The attention of BERT and ViT: query, key, value, products and output, then `drops` dropouts and the residual sum.
void attention_block(LayerRows& rows, const std::string& name, const char* self, const Attention& its, bool bias, std::size_t drops) {
  const std::size_t h = its.width;
  for (const char* part : {".query", ".key", ".value"})
    rows.linear(name + self + part, {.in = h, .out = h, .places = its.tokens, .bias = bias}, its.queries());
  add_products(rows, name + self, its);
  rows.linear(name + ".attention.output.dense", {.in = h, .out = h, .places = its.tokens}, its.tokens * d(h), 2 + drops);
  rows.dropped(d(drops) * its.tokens * d(h));
}

}  // namespace

ModelFile read_bert(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  Attention its = attention_of(fields, "hidden_size", "num_attention_heads", options, family);
  const std::size_t h = its.width, wide = fields.count("intermediate_size", widest), blocks = fields.count("num_hidden_layers", deepest);
  const std::size_t words = fields.count("vocab_size", most_words), positions = fields.count("max_position_embeddings", most_words);
  const std::size_t n = tokens_of(fields, options, "max_position_embeddings", positions, file, family.spare_positions);
  its.tokens = d(n);
  its.dropout = fields.number_or("attention_probs_dropout_prob", 0.1) > 0;
  const std::size_t drops = fields.number_or("hidden_dropout_prob", 0.1) > 0 ? 1 : 0;
  const double all = d(n) * d(h);
  file.what = described(fields, blocks, h);
  LayerRows rows;
  const auto embedding = [&](const char* name, std::size_t count, double kept, std::size_t operations) {
    rows.add(std::string("embeddings.") + name, {{fmt::format("embeddings.{}.weight", name), {count, h}}}, 0, kept, operations);
  };
  embedding("word_embeddings", words, 0, 1);
  embedding("position_embeddings", positions, 0, 1);
  embedding("token_type_embeddings", fields.count_or("type_vocab_size", widest, 2), all, 2);
  add_norm(rows, "embeddings.LayerNorm", h, all, true, 1 + drops);
  rows.dropped(d(drops) * all);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string name = fmt::format("encoder.layer.{}", i);
    rows.within(name, i == 0 ? 0 : all);
    attention_block(rows, name, ".attention.self", its, true, drops);
    add_norm(rows, name + ".attention.output.LayerNorm", h, all);
    rows.linear(name + ".intermediate.dense", {.in = h, .out = wide, .places = d(n)}, 2 * d(n) * d(wide), 2);
    rows.linear(name + ".output.dense", {.in = wide, .out = h, .places = d(n)}, all, 2 + drops);
    rows.dropped(d(drops) * all);
    const bool last = i + 1 == blocks;  // the pooler reads the first place alone
    add_norm(rows, name + ".output.LayerNorm", h, last ? d(h) : all, true, last ? 2 : 1);
  }
  rows.within({});
  rows.linear("pooler.dense", {.in = h, .out = h}, d(h), 2);
  file.table = std::move(rows).table(fields.path());
  file.table.input_bytes = sizeof(float) * d(n);
  const std::string architecture = fields.architecture();
  if (!architecture.empty() && !is_body(architecture))
    file.assumed.push_back(fmt::format("the encoder with its pooler, without the head that {} puts on it", architecture));
  say_attention(fields, options, its.tokens, file);
  return file;
}

ModelFile read_gpt2(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  Attention its = attention_of(fields, "n_embd", "n_head", options, family);
  const std::size_t h = its.width, blocks = fields.count("n_layer", deepest), wide = fields.count_or("n_inner", widest, 4 * h);
  const std::size_t words = fields.count("vocab_size", most_words), positions = fields.count("n_positions", most_words);
  if (fields.flag_or("add_cross_attention", false))
    refuse_model(fields.path(), "add_cross_attention is true, and only decoders alone are read; give the torchinfo summary");
  const std::size_t n = tokens_of(fields, options, "n_positions", positions, file);
  its.tokens = d(n);
  its.dropout = fields.number_or("attn_pdrop", 0.1) > 0;
  const std::size_t drops = fields.number_or("resid_pdrop", 0.1) > 0 ? 1 : 0;
  const double all = d(n) * d(h);
  file.what = described(fields, blocks, h);
  LayerRows rows;
  rows.add("transformer.wte", {{"transformer.wte.weight", {words, h}}}, 0, 0, 1);
  const bool drops_first = fields.number_or("embd_pdrop", 0.1) > 0;
  rows.add("transformer.wpe", {{"transformer.wpe.weight", {positions, h}}}, 0, all, drops_first ? 3 : 2);
  if (drops_first) rows.dropped(all);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string name = fmt::format("transformer.h.{}", i);
    rows.within(name, i == 0 ? 0 : all);
    add_norm(rows, name + ".ln_1", h, all);
    rows.linear(name + ".attn.c_attn", {.in = h, .out = 3 * h, .places = d(n), .transposed = true}, 3 * all);
    add_products(rows, name + ".attn", its);
    rows.linear(name + ".attn.c_proj", {.in = h, .out = h, .places = d(n), .transposed = true}, all, 2 + drops);
    rows.dropped(d(drops) * all);
    add_norm(rows, name + ".ln_2", h, all);
    rows.linear(name + ".mlp.c_fc", {.in = h, .out = wide, .places = d(n), .transposed = true}, 2 * d(n) * d(wide), 2);
    rows.linear(name + ".mlp.c_proj", {.in = wide, .out = h, .places = d(n), .transposed = true}, all, 2 + drops);
    rows.dropped(d(drops) * all);
  }
  rows.within({});
  add_norm(rows, "transformer.ln_f", h, all);
  add_language_head(rows, fields, file, "lm_head", {.in = h, .out = words, .places = d(n), .bias = false}, family.tied);
  file.table = std::move(rows).table(fields.path());
  file.table.input_bytes = sizeof(float) * d(n);
  say_attention(fields, options, its.tokens, file);
  return file;
}

ModelFile read_llama(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  Attention its = attention_of(fields, "hidden_size", "num_attention_heads", options, family);
  const std::size_t h = its.width, wide = fields.count("intermediate_size", widest), blocks = fields.count("num_hidden_layers", deepest);
  const std::size_t words = fields.count("vocab_size", most_words);
  const std::size_t experts = family.experts > 0 ? fields.count_or("num_local_experts", 1024, family.experts) : 0;
  const std::size_t chosen = experts > 0 ? fields.count_or("num_experts_per_tok", experts, std::min<std::size_t>(2, experts)) : 0;
  if (experts * blocks > 20'000)
    refuse_model(fields.path(), fmt::format("{} blocks of {} experts are more than any model has; correct one of them", blocks, experts));
  const std::size_t n = tokens_of(fields, options, "max_position_embeddings", 0, file);
  its.tokens = d(n);
  its.dropout = fields.number_or("attention_dropout", 0) > 0;
  const bool bias = fields.flag_or("attention_bias", false), wide_bias = fields.flag_or("mlp_bias", false);
  const bool qkv_bias = bias || family.qkv_bias;
  const std::size_t q = its.heads * its.head_width, kv = its.key_value_heads * its.head_width;
  const double all = d(n) * d(h), inner = d(n) * d(wide);
  file.what = described(fields, blocks, h);
  LayerRows rows;
  rows.add("model.embed_tokens", {{"model.embed_tokens.weight", {words, h}}}, 0, all, 1);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string name = fmt::format("model.layers.{}", i), self = name + ".self_attn";
    rows.within(name, i == 0 ? 0 : all);
    const auto projection = [&](const char* part, std::size_t in, std::size_t out, double kept, std::size_t operations, bool biased) {
      rows.linear(self + part, {.in = in, .out = out, .places = d(n), .bias = biased}, kept, operations);
    };
    add_norm(rows, name + ".input_layernorm", h, all, false);
    projection(".q_proj", h, q, its.queries(), 2, qkv_bias);  // rotated
    projection(".k_proj", h, kv, its.keys(), 2, qkv_bias);
    projection(".v_proj", h, kv, its.keys(), 1, qkv_bias);
    if (family.head_norms) {
      add_norm(rows, self + ".q_norm", its.head_width, its.queries(), false);
      add_norm(rows, self + ".k_norm", its.head_width, its.keys(), false);
    }
    add_products(rows, self, its);
    projection(".o_proj", q, h, all, 2, bias);
    add_norm(rows, name + ".post_attention_layernorm", h, all, false);
    if (experts == 0) {
      rows.linear(name + ".mlp.gate_proj", {.in = h, .out = wide, .places = d(n), .bias = wide_bias}, 2 * inner, 2);
      rows.linear(name + ".mlp.up_proj", {.in = h, .out = wide, .places = d(n), .bias = wide_bias}, 2 * inner, 2);
      rows.linear(name + ".mlp.down_proj", {.in = wide, .out = h, .places = d(n), .bias = wide_bias}, all, 2);
    } else {
      const double share = d(n) * d(chosen) / d(experts);  // places of an expert if all are chosen alike
      rows.linear(name + ".block_sparse_moe.gate", {.in = h, .out = experts, .places = d(n), .bias = false}, d(n) * d(experts), 2);
      for (std::size_t e = 0; e < experts; ++e) {
        const std::string expert = fmt::format("{}.block_sparse_moe.experts.{}", name, e);
        rows.linear(expert + ".w1", {.in = h, .out = wide, .places = share, .bias = false}, 2 * share * d(wide), 2);
        rows.linear(expert + ".w2", {.in = wide, .out = h, .places = share, .bias = false}, share * d(h), 2);
        rows.linear(expert + ".w3", {.in = h, .out = wide, .places = share, .bias = false}, 2 * share * d(wide), 2);
      }
    }
  }
  rows.within({});
  add_norm(rows, "model.norm", h, all, false);
  add_language_head(rows, fields, file, "lm_head", {.in = h, .out = words, .places = d(n), .bias = false}, family.tied);
  if (experts > 0) file.assumed.push_back(fmt::format("tokens choose all {} experts equally often", experts));
  file.table = std::move(rows).table(fields.path());
  file.table.input_bytes = sizeof(float) * d(n);
  say_attention(fields, options, its.tokens, file);
  return file;
}

ModelFile read_vit(const Fields& fields, const ModelFileOptions& options, const Family& family) {
  ModelFile file;
  Attention its = attention_of(fields, "hidden_size", "num_attention_heads", options, family);
  const std::size_t h = its.width, wide = fields.count("intermediate_size", widest), blocks = fields.count("num_hidden_layers", deepest);
  const std::size_t image = fields.count("image_size", 100'000), patch = fields.count("patch_size", 100'000);
  const std::size_t channels = fields.count_or("num_channels", widest, 3);
  if (image < patch)
    refuse_model(fields.path(), fmt::format("patch_size {} is larger than image_size {}; correct one of them", patch, image));
  const std::string type = fields.text_or("model_type", "");
  const std::size_t patches = (image / patch) * (image / patch), n = patches + (family.distilled ? 2 : 1);
  its.tokens = d(n);
  its.dropout = fields.number_or("attention_probs_dropout_prob", 0) > 0;
  const bool bias = fields.flag_or("qkv_bias", true);
  const std::size_t drops = fields.number_or("hidden_dropout_prob", 0) > 0 ? 1 : 0;
  const double all = d(n) * d(h);
  file.what = described(fields, blocks, h);
  const std::string architecture = fields.architecture();
  const bool pooled = is_body(architecture);
  LayerRows rows;
  const std::string embeddings = type + ".embeddings";
  std::vector<LayerRows::Tensor> tokens = {{embeddings + ".cls_token", {1, 1, h}}};
  if (family.distilled) tokens.push_back({embeddings + ".distillation_token", {1, 1, h}});
  tokens.push_back({embeddings + ".position_embeddings", {1, n, h}});
  rows.add(embeddings, std::move(tokens), 0, 0, 2);
  const std::string projection = embeddings + ".patch_embeddings.projection";
  rows.add(projection, {{projection + ".weight", {h, channels, patch, patch}}, {projection + ".bias", {h}}},
           d(patches) * d(h) * d(channels) * d(patch) * d(patch), all, 1 + drops);
  rows.dropped(d(drops) * all);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::string name = fmt::format("{}.encoder.layer.{}", type, i);
    rows.within(name, i == 0 ? 0 : all);
    add_norm(rows, name + ".layernorm_before", h, all);
    attention_block(rows, name, ".attention.attention", its, bias, drops);
    add_norm(rows, name + ".layernorm_after", h, all);
    rows.linear(name + ".intermediate.dense", {.in = h, .out = wide, .places = d(n)}, 2 * d(n) * d(wide), 2);
    rows.linear(name + ".output.dense", {.in = wide, .out = h, .places = d(n)}, all, 2 + drops);
    rows.dropped(d(drops) * all);
  }
  rows.within({});
  add_norm(rows, type + ".layernorm", h, d(h), true, 2);  // and its first place
  if (pooled) {
    rows.linear(type + ".pooler.dense", {.in = h, .out = h}, d(h), 2);
  } else {
    std::size_t classes = options.classes.value_or(fields.entries("id2label"));
    if (classes == 0) classes = fields.count_or("num_labels", widest, 0);
    if (classes == 0) {
      classes = 1000;
      file.assumed.emplace_back("1000 classes, those of ImageNet; `classes` sets another number");
    }
    if (architecture.ends_with("WithTeacher")) {
      rows.linear("cls_classifier", {.in = h, .out = classes}, d(classes));
      rows.linear("distillation_classifier", {.in = h, .out = classes}, d(classes));
    } else {
      rows.linear("classifier", {.in = h, .out = classes}, d(classes));
    }
  }
  file.table = std::move(rows).table(fields.path());
  file.table.input_bytes = sizeof(float) * d(channels) * d(image) * d(image);
  say_attention(fields, options, its.tokens, file);
  return file;
}

}  // namespace straggler::formats::hf
