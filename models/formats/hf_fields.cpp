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

Attention attention_of(const Fields& fields, const char* width, const char* heads, const ModelFileOptions& options) {
  Attention its;
  its.width = fields.count(width, widest);
  its.heads = fields.count(heads, widest);
  its.key_value_heads = fields.count_or("num_key_value_heads", widest, its.heads);
  if (!fields.has("head_dim") && its.width % its.heads != 0)
    refuse_model(fields.path(), fmt::format("{} {} is not a multiple of {} {}; correct one of them", width, its.width, heads, its.heads));
  its.head_width = fields.count_or("head_dim", widest, its.width / its.heads);
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
  rows.add(name + ".context", {}, multiply_adds, its.queries(), 1);
}

std::size_t tokens_of(const Fields& fields, const ModelFileOptions& options, const char* field, std::size_t most, ModelFile& file) {
  if (options.sequence && most > 0 && *options.sequence > most)
    refuse_model(fields.path(),
                 fmt::format("has positions for {} tokens, but `sequence` is {}; write at most {}", most, *options.sequence, most),
                 "sequence");
  if (options.sequence) return *options.sequence;
  const std::size_t tokens = fields.count(field, 10'000'000);
  file.assumed.push_back(fmt::format("a sample is {} tokens, its {}; `sequence` sets another number", readable_count(tokens), field));
  return tokens;
}

void say_attention(const ModelFileOptions& options, ModelFile& file) {
  if (!options.fused_attention)
    file.assumed.emplace_back("attention keeps its products of all pairs of tokens for backward; `fused_attention: true` keeps none");
}

namespace {

constexpr Family families[] = {{"bert", read_bert},     {"gpt2", read_gpt2},   {"llama", read_llama}, {"mistral", read_llama},
                               {"mixtral", read_llama}, {"qwen2", read_llama}, {"vit", read_vit}};

ModelFile read(const GivenFile& file, const ModelFileOptions& options) {
  const std::filesystem::path path = file.shown();
  const Fields fields(path, json_map(path, model_text(file, 16 << 20)));
  const std::string type = fields.text_or("model_type", "");
  std::vector<std::string> known;
  for (const Family& family : families) {
    if (type == family.name) {
      if (options.sequence && type == "vit")
        refuse_model(path, "is of an image model, whose places follow from its image_size and patch_size; remove `sequence`", "sequence");
      if (options.classes && type != "vit")
        refuse_model(path, "is of a language model, whose outputs are its vocab_size; remove `classes`", "classes");
      return family.read(fields, options);
    }
    known.emplace_back(family.name);
  }
  refuse_model(path,
               fmt::format("model_type {} is not read; known are {}. Give its torchinfo summary, or {{kind: sizes}} or {{kind: even}} "
                           "as workload.cost.model",
                           in_quotes(type), joined(known)));
}

bool recognizes(const FileStart& start) {
  return trimmed(start.bytes).starts_with('{') && start.bytes.find("\"model_type\"") != std::string_view::npos;
}

const Register<ModelFormat> entry({.name = "hf_config",
                                   .summary = "a Hugging Face config.json (bert, gpt2, llama, mistral, mixtral, qwen2 or vit)",
                                   .example = "model.config.save_pretrained(\"FOLDER\")",
                                   .parameters = model_file_options(),
                                   .recognizes = recognizes,
                                   .read = read});

}  // namespace
}  // namespace straggler::formats::hf
