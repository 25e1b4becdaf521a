// Hugging Face's config.json: parameters against the formulas of the papers, FLOPs against sums of products, and BERT against the built-in
// one, tensor by tensor.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "models/zoo/architecture_bert.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/recompute.hpp"
#include "tests/formats/files_of_models.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using straggler::test::has;
using straggler::test::read_sample;
using straggler::test::refusal_of;
using straggler::test::sample;

namespace {

nlohmann::json fields_of(const std::string& name) {
  std::ifstream in(sample(name));
  return nlohmann::json::parse(in);
}

bool any_holds(const std::vector<std::string>& sentences, const std::string& part) {
  for (const std::string& sentence : sentences)
    if (has(sentence, part)) return true;
  return false;
}

void check_tensors(const CostTable& table) {
  std::size_t offset = 0;
  std::set<std::string> names, layers;
  for (const CostLayer& layer : table.layers) {
    CHECK(layers.insert(layer.name).second);
    for (const TensorInfo& tensor : layer.tensors) {
      CHECK(tensor.offset == offset);
      CHECK(names.insert(tensor.name).second);
      offset += elements(tensor.shape);
    }
  }
  CHECK(offset == table.parameters());
}

}  // namespace

TEST_CASE("GPT-2's config.json: published parameters, its tied output layer, its positions as tokens") {
  const ModelFile file = read_sample("config_gpt2.json");
  CHECK(file.format == "hf_config");
  // Vocabulary, positions, 12 blocks of 12 h^2 + 13 h, the last norm: https://huggingface.co/openai-community/gpt2
  const std::size_t h = 768, words = 50257, n = 1024, blocks = 12;
  CHECK(words * h + n * h + blocks * (12 * h * h + 13 * h) + 2 * h == 124'439'808);
  CHECK(file.table.parameters() == 124'439'808);
  check_tensors(file.table);
  // A place meets every weight of the blocks and of the output layer once; attention adds two products of n^2 pairs.
  const double tokens = 1024;
  const double per_token = 2.0 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) + 2.0 * 2 * 12 * tokens * 768;
  CHECK(file.table.forward_flops() == doctest::Approx(tokens * per_token).epsilon(1e-12));
  CHECK(file.table.layers.back().name == "lm_head");
  CHECK(file.table.layers.back().tensors.empty());
  CHECK(any_holds(file.assumed, "1,024 tokens, its n_positions"));
  const ModelFile shorter = read_sample("config_gpt2.json", {.sequence = 128});
  CHECK(shorter.table.parameters() == 124'439'808);
  CHECK(!any_holds(shorter.assumed, "tokens, its"));
  CHECK(shorter.table.forward_flops() == doctest::Approx(128 * (2.0 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) + 4.0 * 12 * 128 * 768)));
}

TEST_CASE("GPT-2 in 16 bits keeps what llm.c allocates") {
  // "allocating 21216 MiB for activations": 64 sequences of 1,024 tokens, fused attention, no dropout, `-r 1`
  // (https://github.com/karpathy/llm.c/discussions/481, 2024). With -r 1 it keeps the output of one block's GELU, and computes those of the
  // others again, as `fill_in_activation_sizes` of its train_gpt2.cu says.
  nlohmann::json fields = fields_of("config_gpt2.json");
  for (const char* const rate : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) fields[rate] = 0;
  const test::TemporaryFolder folder;
  const CostTable table = read_model_file(folder.write("config.json", fields.dump()), {.fused_attention = true}).table;
  const double measured = 21'216.0 / 64 * 1048576, gelus = 11 * 2.0 * 1024 * 3072;
  const double ours = kept_bytes(table, Recompute::none, 2) - gelus;
  CHECK(ours == doctest::Approx(measured).epsilon(0.15));
  CHECK(ours / measured == doctest::Approx(0.975).epsilon(0.001));  // docs/model.md
  // A block keeps 16 numbers of the width for each token: 32 s b h.
  CHECK(table.layers[2].block == "transformer.h.0");
  double block = 0;
  for (const CostLayer& layer : table.layers) block += layer.block == "transformer.h.0" ? layer.activation_bytes / 2 : 0;
  CHECK(block == 32.0 * 1024 * 768);
}

TEST_CASE("Llama 2 7B's config.json: published parameters, and 13.21 GFLOP a token in products with weights") {
  const ModelFile file = read_sample("config_llama_2_7b.json");
  const std::size_t h = 4096, wide = 11008, words = 32000, blocks = 32;
  const std::size_t block = 4 * h * h + 3 * h * wide + 2 * h;
  CHECK(2 * words * h + blocks * block + h == 6'738'415'616);
  CHECK(file.table.parameters() == 6'738'415'616);
  check_tensors(file.table);
  const double tokens = 4096;
  const double weights = 2.0 * (32.0 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 32000.0 * 4096);
  CHECK(weights == 13'214'154'752.0);
  CHECK(test::flops_with_weights(file.table) / tokens == doctest::Approx(weights).epsilon(1e-12));
  CHECK(file.table.forward_flops() / tokens == doctest::Approx(weights + 4.0 * 32 * tokens * 4096).epsilon(1e-12));
  // Without the products of pairs nothing grows faster than the tokens.
  const ModelFile fused = read_sample("config_llama_2_7b.json", {.fused_attention = true});
  CHECK(file.table.activation_bytes() - fused.table.activation_bytes() == doctest::Approx(4.0 * 32 * 32 * tokens * tokens));
  CHECK(fused.table.forward_flops() == file.table.forward_flops());
  CHECK(any_holds(file.assumed, "fused_attention"));
  CHECK(!any_holds(fused.assumed, "fused_attention"));
}

TEST_CASE("BERT's config.json is the built-in BERT: every tensor, FLOP, byte and operation") {
  const ModelFile file = read_sample("config_bert_base_uncased.json", {.sequence = 128});
  const CostTable expected = cost_table(bert({.layers = 12, .features = 768, .heads = 12}, 128));
  CHECK(expected.parameters() == 109'482'240);
  CHECK(file.table.parameters() == 109'482'240);
  CHECK(file.table.forward_flops() == expected.forward_flops());
  CHECK(file.table.activation_bytes() == expected.activation_bytes());
  CHECK(file.table.operations() == expected.operations());
  CHECK(file.table.input_bytes == expected.input_bytes);
  REQUIRE(file.table.layers.size() == expected.layers.size());
  for (std::size_t i = 0; i < expected.layers.size(); ++i) {
    const CostLayer &read = file.table.layers[i], &built_in = expected.layers[i];
    CAPTURE(built_in.name);
    CHECK(read.name == built_in.name);
    CHECK(read.forward_flops == built_in.forward_flops);
    CHECK(read.activation_bytes == built_in.activation_bytes);
    CHECK(read.operations == built_in.operations);
    CHECK(read.mask_bytes == built_in.mask_bytes);
    CHECK(read.pairs.forward_flops == built_in.pairs.forward_flops);
    CHECK(read.pairs.activation_bytes == built_in.pairs.activation_bytes);
    CHECK(read.pairs.mask_bytes == built_in.pairs.mask_bytes);
    CHECK(read.block == built_in.block);
    CHECK(read.block_input == built_in.block_input);
    REQUIRE(read.tensors.size() == built_in.tensors.size());
    for (std::size_t t = 0; t < read.tensors.size(); ++t) {
      CHECK(read.tensors[t].name == built_in.tensors[t].name);
      CHECK(read.tensors[t].shape == built_in.tensors[t].shape);
    }
  }
  CHECK(any_holds(file.assumed, "without the head that BertForMaskedLM puts on it"));
  CHECK(any_holds(read_sample("config_bert_base_uncased.json").assumed, "512 tokens"));
}

TEST_CASE("ViT-B/16's config.json: published parameters with ImageNet's classes") {
  const ModelFile file = read_sample("config_vit_base_patch16_224.json");
  const std::size_t h = 768, wide = 3072, n = 14 * 14 + 1;
  const std::size_t block = 4 * (h * h + h) + 2 * h * wide + wide + h + 4 * h;
  const std::size_t body = h + n * h + 3 * 16 * 16 * h + h + 12 * block + 2 * h;
  CHECK(body == 85'798'656);
  CHECK(file.table.parameters() == body + 1000 * (h + 1));
  CHECK(file.table.parameters() == 86'567'656);
  check_tensors(file.table);
  CHECK(any_holds(file.assumed, "1000 classes"));
  const double products = 196.0 * 768 * 768 + 12 * (197.0 * (4.0 * 768 * 768 + 2.0 * 768 * 3072) + 2.0 * 197 * 197 * 768) + 768.0 * 1000;
  CHECK(file.table.forward_flops() == doctest::Approx(2 * products).epsilon(1e-12));
  CHECK(file.table.input_bytes == 4.0 * 3 * 224 * 224);
  CHECK(read_sample("config_vit_base_patch16_224.json", {.classes = 21843}).table.parameters() == body + 21843 * (h + 1));
  // The names of its classes say how many there are; a model without a head has a pooler.
  const test::TemporaryFolder folder;
  nlohmann::json fields = fields_of("config_vit_base_patch16_224.json");
  fields["id2label"] = {{"0", "cat"}, {"1", "dog"}, {"2", "neither"}};
  CHECK(read_model_file(folder.write("labels", fields.dump())).table.parameters() == body + 3 * (h + 1));
  fields["architectures"] = {"ViTModel"};
  CHECK(read_model_file(folder.write("pooled", fields.dump())).table.parameters() == body + h * h + h);
}

TEST_CASE("grouped keys, biases, experts and tied words change the parameters as the models' papers count them") {
  const test::TemporaryFolder folder;
  const auto parameters = [&](const nlohmann::json& fields) {
    return read_model_file(folder.write("config.json", fields.dump())).table.parameters();
  };
  nlohmann::json fields = fields_of("config_llama_2_7b.json");
  // Llama 3 8B: https://huggingface.co/meta-llama/Meta-Llama-3-8B, 8,030,261,248 parameters.
  fields.update({{"num_key_value_heads", 8}, {"intermediate_size", 14336}, {"vocab_size", 128256}});
  CHECK(parameters(fields) == 8'030'261'248);
  // Mistral 7B: 7,241,732,096.
  fields.update({{"model_type", "mistral"}, {"vocab_size", 32000}});
  CHECK(parameters(fields) == 7'241'732'096);
  // Mixtral 8x7B: 46,702,792,704.
  fields.update({{"model_type", "mixtral"}, {"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  CHECK(parameters(fields) == 46'702'792'704);
  // Qwen2 0.5B: tied, with biases of queries, keys and values: 494,032,768.
  fields = {{"model_type", "qwen2"},
            {"architectures", {"Qwen2ForCausalLM"}},
            {"hidden_size", 896},
            {"num_hidden_layers", 24},
            {"num_attention_heads", 14},
            {"num_key_value_heads", 2},
            {"intermediate_size", 4864},
            {"vocab_size", 151936},
            {"max_position_embeddings", 131072},
            {"tie_word_embeddings", true},
            {"rms_norm_eps", 1e-6}};
  CHECK(parameters(fields) == 494'032'768);
  // GPT-2 XL: 1,557,611,200; BERT-large: 335,141,888.
  nlohmann::json other = fields_of("config_gpt2.json");
  other.update({{"n_embd", 1600}, {"n_layer", 48}, {"n_head", 25}});
  CHECK(parameters(other) == 1'557'611'200);
  other = fields_of("config_bert_base_uncased.json");
  other.update({{"hidden_size", 1024}, {"num_hidden_layers", 24}, {"num_attention_heads", 16}, {"intermediate_size", 4096}});
  CHECK(parameters(other) == 335'141'888);
  // Of a token's experts only the chosen ones compute: 2 of 8 are a quarter.
  fields = fields_of("config_llama_2_7b.json");
  const ModelFile dense = read_sample("config_llama_2_7b.json", {.sequence = 64});
  fields.update({{"model_type", "mixtral"}, {"num_local_experts", 4}, {"num_experts_per_tok", 1}});
  const ModelFile sparse = read_model_file(folder.write("config.json", fields.dump()), {.sequence = 64});
  const double router = 2.0 * 64 * 32 * 4 * 4096;
  CHECK(sparse.table.forward_flops() == doctest::Approx(dense.table.forward_flops() + router).epsilon(1e-12));
}

TEST_CASE("families that differ from another one by a few fields have the parameters that are published of them") {
  const test::TemporaryFolder folder;
  const auto read = [&](const nlohmann::json& fields, const ModelFileOptions& options = {}) {
    const ModelFile file = read_model_file(folder.write("config.json", fields.dump()), options);
    check_tensors(file.table);
    return file;
  };
  // A place meets every weight of the blocks once; attention adds two products of all pairs.
  const auto flops = [](double weights, double tokens, double blocks, double width) {
    return 2 * tokens * weights + 4 * blocks * tokens * tokens * width;
  };
  const std::size_t h = 768, block = 12 * h * h + 13 * h;  // of BERT, GPT-2 and OPT

  // RoBERTa-base with its pooler: two of 514 rows of positions belong to padding.
  nlohmann::json fields = fields_of("config_bert_base_uncased.json");
  fields.update({{"model_type", "roberta"}, {"vocab_size", 50265}, {"max_position_embeddings", 514}, {"type_vocab_size", 1}});
  const ModelFile roberta = read(fields);
  CHECK((50265 + 514 + 1) * h + 2 * h + 12 * block + h * h + h == 124'645'632);
  CHECK(roberta.table.parameters() == 124'645'632);
  CHECK(any_holds(roberta.assumed, "a sample is 512 tokens, its max_position_embeddings without 2"));
  CHECK(has(refusal_of(folder, fields.dump(), {.sequence = 513}), "has positions for 512 tokens"));
  fields["max_position_embeddings"] = 2;
  CHECK(has(refusal_of(folder, fields.dump()), "must be more than 2"));

  // DistilBERT-base: https://huggingface.co/distilbert/distilbert-base-uncased
  fields = {{"model_type", "distilbert"},
            {"dim", 768},
            {"n_layers", 6},
            {"n_heads", 12},
            {"hidden_dim", 3072},
            {"vocab_size", 30522},
            {"max_position_embeddings", 512},
            {"activation", "gelu"}};
  CHECK((30522 + 512) * h + 2 * h + 6 * block == 66'362'880);
  CHECK(read(fields).table.parameters() == 66'362'880);
  CHECK(read(fields, {.sequence = 64}).table.forward_flops() == flops(6.0 * 12 * 768 * 768, 64, 6, 768));

  // OPT: https://arxiv.org/abs/2205.01068; 125M, and 350M, which reads words of 512 numbers and norms behind its sums.
  fields = {{"model_type", "opt"},
            {"hidden_size", 768},
            {"num_hidden_layers", 12},
            {"num_attention_heads", 12},
            {"ffn_dim", 3072},
            {"vocab_size", 50272},
            {"max_position_embeddings", 2048},
            {"word_embed_proj_dim", 768},
            {"activation_function", "relu"}};
  CHECK((50272 + 2050) * h + 12 * block + 2 * h == 125'239'296);
  CHECK(read(fields).table.parameters() == 125'239'296);
  CHECK(read(fields, {.sequence = 128}).table.forward_flops() == flops(12.0 * 12 * 768 * 768 + 50272.0 * 768, 128, 12, 768));
  fields.update({{"hidden_size", 1024},
                 {"num_hidden_layers", 24},
                 {"num_attention_heads", 16},
                 {"ffn_dim", 4096},
                 {"word_embed_proj_dim", 512},
                 {"do_layer_norm_before", false}});
  CHECK(read(fields).table.parameters() == 331'196'416);

  // Gemma 2B: https://arxiv.org/abs/2403.08295; tied, one key head, heads of 256.
  fields = {{"model_type", "gemma"},    {"hidden_size", 2048},        {"num_hidden_layers", 18}, {"num_attention_heads", 8},
            {"num_key_value_heads", 1}, {"intermediate_size", 16384}, {"vocab_size", 256000},    {"max_position_embeddings", 8192}};
  CHECK(read(fields).table.parameters() == 2'506'172'416);
  // Qwen3 0.6B: https://arxiv.org/abs/2505.09388; norms of each head of queries and keys.
  fields = {{"model_type", "qwen3"},      {"hidden_size", 1024},  {"num_hidden_layers", 28},
            {"num_attention_heads", 16},  {"head_dim", 128},      {"num_key_value_heads", 8},
            {"intermediate_size", 3072},  {"vocab_size", 151936}, {"max_position_embeddings", 40960},
            {"tie_word_embeddings", true}};
  CHECK(read(fields).table.parameters() == 596'049'920);
  // Phi-2: https://huggingface.co/microsoft/phi-2; one norm a block, biases everywhere, also of the output.
  fields = {{"model_type", "phi"},        {"hidden_size", 2560}, {"num_hidden_layers", 32},         {"num_attention_heads", 32},
            {"intermediate_size", 10240}, {"vocab_size", 51200}, {"max_position_embeddings", 2048}, {"hidden_act", "gelu_new"}};
  CHECK(read(fields).table.parameters() == 2'779'683'840);
  CHECK(read(fields, {.sequence = 32}).table.forward_flops() == flops(32.0 * 12 * 2560 * 2560 + 51200.0 * 2560, 32, 32, 2560));
  // Pythia 70M: https://arxiv.org/abs/2304.01373, table 1.
  fields = {{"model_type", "gpt_neox"},  {"hidden_size", 512},  {"num_hidden_layers", 6},         {"num_attention_heads", 8},
            {"intermediate_size", 2048}, {"vocab_size", 50304}, {"max_position_embeddings", 2048}};
  CHECK(read(fields).table.parameters() == 70'426'624);
  CHECK(read(fields, {.sequence = 32}).table.forward_flops() == flops(6.0 * 12 * 512 * 512 + 50304.0 * 512, 32, 6, 512));
  // DeiT-B, distilled: https://arxiv.org/abs/2012.12877; a token more than ViT, and classes of a teacher.
  fields = fields_of("config_vit_base_patch16_224.json");
  fields.update({{"model_type", "deit"}, {"architectures", {"DeiTForImageClassificationWithTeacher"}}});
  CHECK(read(fields).table.parameters() == 85'798'656 + 2 * 768 + 2 * 769'000);
  CHECK(read(fields).table.parameters() == 87'338'192);
  fields["architectures"] = {"DeiTForImageClassification"};
  CHECK(read(fields).table.parameters() == 86'569'192);
}

TEST_CASE("what a config leaves out has Hugging Face's value, and what plays no part in times is said") {
  const test::TemporaryFolder folder;
  nlohmann::json fields = fields_of("config_llama_2_7b.json");
  const auto read = [&] { return read_model_file(folder.write("config.json", fields.dump())); };
  // Without num_key_value_heads a Mistral has 8, with null as many as heads; a Llama has as many.
  fields.update({{"model_type", "mistral"}, {"intermediate_size", 14336}, {"sliding_window", 4096}, {"max_position_embeddings", 32768}});
  fields.erase("num_key_value_heads");
  const ModelFile mistral = read();
  CHECK(mistral.table.parameters() == 7'241'732'096);
  CHECK(any_holds(mistral.assumed, "attention computes all pairs of 32,768 tokens, also those behind its sliding_window of 4096"));
  fields["num_key_value_heads"] = nullptr;
  CHECK(read().table.parameters() == 7'241'732'096 + 32 * 2 * std::size_t{4096} * (4096 - 1024));
  fields["sliding_window"] = nullptr;
  CHECK(!any_holds(read().assumed, "sliding_window"));
  fields.update({{"model_type", "qwen2"}, {"sliding_window", 4096}, {"use_sliding_window", false}});
  CHECK(!any_holds(read().assumed, "sliding_window"));
  fields["torch_dtype"] = "bfloat16";
  CHECK(any_holds(read().assumed, "a gradient has 4 bytes a parameter, although its torch_dtype is 'bfloat16'"));
  fields["torch_dtype"] = "float32";
  CHECK(!any_holds(read().assumed, "torch_dtype"));
}

TEST_CASE("a config.json that does not fit is refused in one line that names the field") {
  const test::TemporaryFolder folder;
  const nlohmann::json good = fields_of("config_gpt2.json");
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json fields = good;
    fields[key] = value;
    return refusal_of(folder, fields.dump());
  };
  CHECK(with("n_embd", 768).empty());
  CHECK(has(with("n_embd", 0), "n_embd is 0; it must be a whole number from 1 to 1,000,000"));
  CHECK(has(with("n_embd", -768), "n_embd is -768"));
  CHECK(has(with("n_embd", 768.5), "n_embd is 768.5"));
  CHECK(has(with("n_embd", "768"), "n_embd is \"768\""));
  CHECK(has(with("n_layer", 1'000'000), "n_layer is 1000000"));
  CHECK(has(with("n_head", 7), "n_embd 768 is not a multiple of n_head 7"));
  CHECK(has(with("n_head", nullptr), "n_head is missing"));
  CHECK(has(with("attn_pdrop", "none"), "attn_pdrop is \"none\"; it must be a number"));
  CHECK(has(with("model_type", "t5"), "model_type 't5' is not read; known are bert, deit, distilbert, gemma, gpt2, "));
  CHECK(has(with("model_type", "t5"), "Give the safetensors file beside it, or its torchinfo summary, or straggler.cost_model("));
  CHECK(has(with("activation_function", "gelux"), "activation_function 'gelux' is not known; known are gelu, "));
  CHECK(has(with("model_type", 3), "model_type is 3; it must be a text"));
  CHECK(has(refusal_of(folder, good.dump(), {.sequence = 1025}), "has positions for 1024 tokens, but `sequence` is 1025"));
  CHECK(has(refusal_of(folder, good.dump(), {.classes = 10}), "remove `classes`"));
  CHECK(has(refusal_of(folder, good.dump().substr(0, 60)), "is not whole JSON"));
  std::string deep = R"({"model_type": )";
  for (int i = 0; i < 1000; ++i) deep += '[';
  CHECK(has(refusal_of(folder, deep), "nests lists and maps deeper"));
  nlohmann::json huge = fields_of("config_llama_2_7b.json");
  huge.update({{"hidden_size", 1'000'000}, {"num_attention_heads", 1'000'000}, {"num_key_value_heads", 1'000'000}});
  huge["num_hidden_layers"] = 2'000;
  CHECK(has(refusal_of(folder, huge.dump()), "parameters; write a model of at most 1e+13"));
  nlohmann::json vit = fields_of("config_vit_base_patch16_224.json");
  CHECK(has(refusal_of(folder, vit.dump(), {.sequence = 8}), "remove `sequence`"));
  vit["patch_size"] = 512;
  CHECK(has(refusal_of(folder, vit.dump()), "patch_size 512 is larger than image_size 224"));
}
