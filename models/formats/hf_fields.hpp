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
  bool has(const char* name) const { return root_.contains(name) && !root_[name].is_null(); }
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

/// Heads must divide the width unless the file gives a head's width.
Attention attention_of(const Fields& fields, const char* width, const char* heads, const ModelFileOptions& options);
/// The rows of both products, named as in the built-in BERT: backward reads the shares (and, with dropout, what is left of them).
void add_products(LayerRows& rows, const std::string& name, const Attention& its);

/// A family reads its fields into rows; it appends to `file` what it assumes.
struct Family {
  const char* name;
  ModelFile (*read)(const Fields& fields, const ModelFileOptions& options);
};
ModelFile read_gpt2(const Fields& fields, const ModelFileOptions& options);
ModelFile read_llama(const Fields& fields, const ModelFileOptions& options);
ModelFile read_bert(const Fields& fields, const ModelFileOptions& options);
ModelFile read_vit(const Fields& fields, const ModelFileOptions& options);

/// Tokens of a sample: the option's, else the field's with a sentence. `most`: positions that the model has; 0: any number.
std::size_t tokens_of(const Fields& fields, const ModelFileOptions& options, const char* field, std::size_t most, ModelFile& file);
/// Says how attention was counted.
void say_attention(const ModelFileOptions& options, ModelFile& file);

}  // namespace straggler::formats::hf
