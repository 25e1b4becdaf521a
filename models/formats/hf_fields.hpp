// The fields of a Hugging Face config.json, and what its families share.
#pragma once
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/formats/model_file.hpp"
#include "models/formats/reading.hpp"

namespace straggler::formats::hf {

/// Checked access. Every function throws DataError that names the field.
class Fields {
 public:
  Fields(std::filesystem::path path, nlohmann::json root) : path_(std::move(path)), root_(std::move(root)) {}

  const std::filesystem::path& path() const { return path_; }
  bool has(const char* name) const { return stated(name) && !root_[name].is_null(); }
  /// Perhaps as null.
  bool stated(const char* name) const { return root_.contains(name); }
  /// A whole number from 1 to `most`.
  std::size_t count(const char* name, std::size_t most) const;
  std::size_t count_or(const char* name, std::size_t most, std::size_t otherwise) const {
    return has(name) ? count(name, most) : otherwise;
  }
  double number_or(const char* name, double otherwise) const;
  bool flag_or(const char* name, bool otherwise) const;
  std::string text_or(const char* name, const char* otherwise) const;
  /// The first of `architectures`; empty: none.
  std::string architecture() const;
  /// Entries of a map; 0: it is not there.
  std::size_t entries(const char* name) const;

 private:
  std::filesystem::path path_;
  nlohmann::json root_;
};

inline double d(std::size_t count) { return static_cast<double>(count); }

inline constexpr std::size_t widest = 1'000'000, most_words = 100'000'000, deepest = 2'000;

/// Sizes of a block of attention.
struct Attention {
  std::size_t width = 0, heads = 1, key_value_heads = 1, head_width = 0;
  double tokens = 1;
  bool keeps_pairs = true, dropout = false;
  /// Numbers of the queries of a sample, and of its keys or values.
  double queries() const { return tokens * static_cast<double>(heads * head_width); }
  double keys() const { return tokens * static_cast<double>(key_value_heads * head_width); }
};

/// What tells the families of one reader apart: a row for each `model_type`.
struct Family {
  const char* name;
  ModelFile (*read)(const Fields& fields, const ModelFileOptions& options, const Family& family);
  bool images = false;              // its places follow from the image, its outputs are classes
  bool distilled = false;           // an image has a second token, which predicts the classes of a teacher
  bool tied = false;                // the output's weight is the embedding's, where the file says nothing
  bool qkv_bias = false;            // queries, keys and values have biases
  bool head_norms = false;          // queries and keys of a head pass a norm
  std::size_t key_value_heads = 0;  // where the file has none; 0: as many as heads
  std::size_t head_width = 0;       // likewise; 0: the width by the heads
  std::size_t experts = 0;          // likewise; 0: it has none
  std::size_t spare_positions = 0;  // first rows of the position table, which no token uses
};

/// Heads must divide the width unless the file or the family gives a head's width.
Attention attention_of(const Fields& fields, const char* width, const char* heads, const ModelFileOptions& options, const Family& family);
/// The rows of both products, named as in the built-in BERT: backward reads the shares (and, with dropout, what is left of them).
void add_products(LayerRows& rows, const std::string& name, const Attention& its);

/// Readers turn the fields into rows, and append to `file` what they assume.
ModelFile read_bert(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_distilbert(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_gpt2(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_gpt_neox(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_llama(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_opt(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_phi(const Fields& fields, const ModelFileOptions& options, const Family& family);
ModelFile read_vit(const Fields& fields, const ModelFileOptions& options, const Family& family);

/// Whether it is a model without a head: "GPT2Model".
bool is_body(const std::string& architecture);
/// "gpt2 with 12 blocks of width 768".
std::string described(const Fields& fields, std::size_t blocks, std::size_t width);
/// With scale and, of layer norm, bias.
void add_norm(LayerRows& rows, const std::string& name, std::size_t width, double kept, bool bias = true, std::size_t operations = 1);
/// A language model's output, unless the file's architecture is the body alone ("GPT2Model"): `tied` to the embedding, or a weight of its
/// own, with a bias if `bias`.
void add_language_head(LayerRows& rows, const Fields& fields, ModelFile& file, const std::string& name, const LayerRows::Linear& head,
                       bool tied);

/// Tokens of a sample: the option's, else the field's, which a sentence says. `most`: the model's positions, 0 where it has any number;
/// no token uses the first `spare`.
std::size_t tokens_of(const Fields& fields, const ModelFileOptions& options, const char* field, std::size_t most, ModelFile& file,
                      std::size_t spare = 0);
/// Says how attention was counted, and what of the file says nothing about time.
void say_attention(const Fields& fields, const ModelFileOptions& options, double tokens, ModelFile& file);

}  // namespace straggler::formats::hf
