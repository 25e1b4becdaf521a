#include "models/formats/hf_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/readable.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::formats::hf {
namespace {

std::string value_of(const nlohmann::json& json) {
  return shown_text(shortened(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60));
}

}  // namespace

std::size_t Fields::count(const char* name, std::size_t most) const {
  if (!has(name)) refuse_model(path_, fmt::format("{} is missing; give the model's own config.json", name));
  const nlohmann::json& json = root_[name];
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value >= 1 && value <= most) return value;
  }
  refuse_model(path_, fmt::format("{} is {}; it must be a whole number from 1 to {}", name, value_of(json), readable_count(most)));
}

double Fields::number_or(const char* name, double otherwise) const {
  if (!has(name)) return otherwise;
  if (!root_[name].is_number()) refuse_model(path_, fmt::format("{} is {}; it must be a number", name, value_of(root_[name])));
  return root_[name].get<double>();
}

bool Fields::flag_or(const char* name, bool otherwise) const {
  if (!has(name)) return otherwise;
  if (!root_[name].is_boolean()) refuse_model(path_, fmt::format("{} is {}; it must be true or false", name, value_of(root_[name])));
  return root_[name].get<bool>();
}

std::string Fields::text_or(const char* name, const char* otherwise) const {
  if (!has(name)) return otherwise;
  if (!root_[name].is_string()) refuse_model(path_, fmt::format("{} is {}; it must be a text", name, value_of(root_[name])));
  return root_[name].get<std::string>();
}

std::string Fields::architecture() const {
  if (!has("architectures")) return {};
  const nlohmann::json& list = root_["architectures"];
  if (!list.is_array() || list.empty() || !list.front().is_string()) return {};
  return shown_text(shortened(list.front().get<std::string>(), 60));
}

std::size_t Fields::entries(const char* name) const { return has(name) && root_[name].is_object() ? root_[name].size() : 0; }

Attention attention_of(const Fields& fields, const char* width, const char* heads, const ModelFileOptions& options, const Family& family) {
  Attention its;
  its.width = fields.count(width, widest);
  its.heads = fields.count(heads, widest);
  // Of Hugging Face's classes: without the field their own number, with null as many as heads.
  const bool fewer = family.key_value_heads > 0 && !fields.stated("num_key_value_heads");
  its.key_value_heads = fields.count_or("num_key_value_heads", widest, fewer ? family.key_value_heads : its.heads);
  if (!fields.has("head_dim") && family.head_width == 0 && its.width % its.heads != 0)
    refuse_model(fields.path(), fmt::format("{} {} is not a multiple of {} {}; correct one of them", width, its.width, heads, its.heads));
  its.head_width = fields.count_or("head_dim", widest, family.head_width > 0 ? family.head_width : its.width / its.heads);
  if (its.heads % its.key_value_heads != 0)
    refuse_model(fields.path(), fmt::format("{} {} is not a multiple of num_key_value_heads {}; correct one of them", heads, its.heads,
                                            its.key_value_heads));
  its.keeps_pairs = !options.fused_attention;
  return its;
}

void add_products(LayerRows& rows, const std::string& name, const Attention& its) {
  const double pairs = static_cast<double>(its.heads) * its.tokens * its.tokens;
  const double multiply_adds = pairs * static_cast<double>(its.head_width);
  const bool dropout = its.dropout && its.keeps_pairs;
  const double kept = its.keeps_pairs ? (dropout ? 2 * pairs : pairs) : 0;
  rows.add(name + ".scores", {}, multiply_adds, kept, dropout ? 3 : 2);
  if (dropout) rows.dropped(pairs);
  rows.of_pairs();
  rows.add(name + ".context", {}, multiply_adds, its.queries(), 1);
  rows.of_pairs(its.queries());
}

std::size_t tokens_of(const Fields& fields, const ModelFileOptions& options, const char* field, std::size_t most, ModelFile& file,
                      std::size_t spare) {
  if (most > 0 && most <= spare)
    refuse_model(fields.path(),
                 fmt::format("{} is {}; it must be more than {}, since no token uses the first {} positions", field, most, spare, spare));
  if (options.sequence && most > 0 && *options.sequence > most - spare)
    refuse_model(
        fields.path(),
        fmt::format("has positions for {} tokens, but `sequence` is {}; write at most {}", most - spare, *options.sequence, most - spare),
        "sequence");
  if (options.sequence) return *options.sequence;
  const std::size_t tokens = fields.count(field, 10'000'000) - spare;
  file.assumed.push_back(fmt::format("a sample is {} tokens, its {}{}; `sequence` sets another number", readable_count(tokens), field,
                                     spare > 0 ? fmt::format(" without {}", spare) : std::string()));
  return tokens;
}

void say_attention(const Fields& fields, const ModelFileOptions& options, double tokens, ModelFile& file) {
  if (!options.fused_attention)
    file.assumed.emplace_back("attention keeps its products of all pairs of tokens for backward; `fused_attention: true` keeps none");
  const double window = fields.flag_or("use_sliding_window", true) ? fields.number_or("sliding_window", 0) : 0;
  if (window > 0 && window < tokens)
    file.assumed.push_back(fmt::format("attention computes all pairs of {} tokens, also those behind its sliding_window of {}",
                                       readable_count(static_cast<std::size_t>(tokens)), readable_number(window)));
  const std::string type = fields.text_or("torch_dtype", "float32");
  if (type != "float32")
    file.assumed.push_back(
        fmt::format("a gradient has 4 bytes a parameter, although its torch_dtype is {}; workload.precision sets others", in_quotes(type)));
}

std::string described(const Fields& fields, std::size_t blocks, std::size_t width) {
  return fmt::format("{} with {} block{} of width {}", fields.text_or("model_type", ""), blocks, blocks == 1 ? "" : "s",
                     readable_count(width));
}

void add_norm(LayerRows& rows, const std::string& name, std::size_t width, double kept, bool bias, std::size_t operations) {
  std::vector<LayerRows::Tensor> tensors = {{name + ".weight", {width}}};
  if (bias) tensors.push_back({name + ".bias", {width}});
  rows.add(name, std::move(tensors), 0, kept, operations);
}

bool is_body(const std::string& architecture) {
  return architecture.ends_with("Model") && architecture.find("Head") == std::string::npos;  // not GPT2LMHeadModel
}

void add_language_head(LayerRows& rows, const Fields& fields, ModelFile& file, const std::string& name, const LayerRows::Linear& head,
                       bool tied) {
  const std::string architecture = fields.architecture();
  if (is_body(architecture)) return;
  const double words = static_cast<double>(head.out), kept = head.places * words;
  if (fields.flag_or("tie_word_embeddings", tied))
    rows.add(name, {}, head.places * static_cast<double>(head.in) * words, kept, 1);
  else
    rows.linear(name, head, kept);
  if (!architecture.empty() && !architecture.ends_with("ForCausalLM") && !architecture.ends_with("LMHeadModel"))
    file.assumed.push_back(fmt::format("the head of a language model, instead of that of {}", architecture));
}

namespace {

// Defaults are those of the families' configuration classes in Hugging Face's transformers.
constexpr Family families[] = {{.name = "bert", .read = read_bert},
                               {.name = "deit", .read = read_vit, .images = true, .distilled = true},
                               {.name = "distilbert", .read = read_distilbert},
                               {.name = "gemma", .read = read_llama, .tied = true, .key_value_heads = 16, .head_width = 256},
                               {.name = "gpt2", .read = read_gpt2, .tied = true},
                               {.name = "gpt_neox", .read = read_gpt_neox},
                               {.name = "llama", .read = read_llama},
                               {.name = "mistral", .read = read_llama, .key_value_heads = 8},
                               {.name = "mixtral", .read = read_llama, .key_value_heads = 8, .experts = 8},
                               {.name = "opt", .read = read_opt, .tied = true},
                               {.name = "phi", .read = read_phi},
                               {.name = "qwen2", .read = read_llama, .qkv_bias = true, .key_value_heads = 32},
                               {.name = "qwen3", .read = read_llama, .head_norms = true, .key_value_heads = 32, .head_width = 128},
                               {.name = "roberta", .read = read_bert, .spare_positions = 2},
                               {.name = "vit", .read = read_vit, .images = true},
                               {.name = "xlm-roberta", .read = read_bert, .spare_positions = 2}};

/// Each makes one number of one.
constexpr std::string_view activations[] = {"gelu",       "gelu_10", "gelu_fast", "gelu_new",   "gelu_python", "gelu_pytorch_tanh",
                                            "leaky_relu", "linear",  "mish",      "quick_gelu", "relu",        "relu2",
                                            "relu6",      "sigmoid", "silu",      "swish",      "tanh"};

void check_activation(const Fields& fields) {
  for (const char* name : {"hidden_act", "hidden_activation", "activation_function", "activation"}) {
    const std::string given = fields.text_or(name, "relu");
    if (std::ranges::find(activations, given) == std::end(activations))
      refuse_model(fields.path(), fmt::format("{} {} is not known; known are {}", name, in_quotes(given),
                                              joined({std::begin(activations), std::end(activations)})));
  }
}

ModelFile read(const GivenFile& file, const ModelFileOptions& options) {
  const std::filesystem::path path = file.shown();
  const Fields fields(path, json_map(path, model_text(file, 16 << 20)));
  const std::string type = fields.text_or("model_type", "");
  std::vector<std::string> known;
  for (const Family& family : families) {
    if (type == family.name) {
      if (options.sequence && family.images)
        refuse_model(path, "is of an image model, whose places follow from its image_size and patch_size; remove `sequence`", "sequence");
      if (options.classes && !family.images)
        refuse_model(path, "is of a language model, whose outputs are its vocab_size; remove `classes`", "classes");
      check_activation(fields);
      return family.read(fields, options, family);
    }
    known.emplace_back(family.name);
  }
  refuse_model(path,
               fmt::format("model_type {} is not read; known are {}. Give the safetensors file beside it, or its torchinfo summary, or "
                           "straggler.cost_model(module, example) in Python",
                           in_quotes(type), joined(known)));
}

bool recognizes(const FileStart& start) {
  return trimmed(start.bytes).starts_with('{') && start.bytes.find("\"model_type\"") != std::string_view::npos;
}

const Register<ModelFormat> entry({.name = "hf_config",
                                   .summary = "a Hugging Face config.json (such as bert, gpt2, llama, mistral, opt or vit)",
                                   .example = "model.config.save_pretrained(\"FOLDER\")",
                                   .parameters = model_file_options(),
                                   .recognizes = recognizes,
                                   .read = read});

}  // namespace
}  // namespace straggler::formats::hf
