// What the formats of model files share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/formats/given_file.hpp"
#include "models/zoo/cost_model.hpp"

namespace straggler {

/// Far beyond any model; products of two such numbers fit into 64 bits.
inline constexpr std::uint64_t most_model_parameters = 10'000'000'000'000;

/// Throws DataError: "PATH: sentence". `key`: of the option that is wrong.
[[noreturn]] void refuse_model(const std::filesystem::path& path, const std::string& sentence, const std::string& key = {});

/// A whole file of at most `most` bytes. Throws DataError; `key`: of the option that names the file.
std::string model_text(const std::filesystem::path& path, std::uintmax_t most, const std::string& key = {});
std::string model_text(const GivenFile& file, std::uintmax_t most);

/// The root of a JSON file, a map. Throws DataError.
nlohmann::json json_map(const std::filesystem::path& path, std::string_view text);

/// Appends layers whose tensors lie one after the other.
class LayerRows {
 public:
  using Shape = std::vector<std::size_t>;
  struct Tensor {
    std::string name;
    Shape shape;
  };

  /// `multiply_adds`: of one sample, forward. `kept`: numbers of its outputs, and of those of element-wise operations behind it, that
  /// backward reads. `operations`: that a framework issues one by one.
  void add(std::string name, std::vector<Tensor> tensors, double multiply_adds, double kept, std::size_t operations);
  /// y = x W (+ b) at each of `places`. The weight is [out, in]; with `transposed`, [in, out].
  struct Linear {
    std::size_t in = 0, out = 0;
    double places = 1;
    bool bias = true, transposed = false;
  };
  void linear(const std::string& name, const Linear& its, double kept, std::size_t operations = 1);
  /// Of the layer that was added last: numbers that dropout behind it drops or keeps.
  void dropped(double numbers) { made_.layers.back().mask_bytes += numbers; }
  /// All of the layer that was added last is of pairs of places in attention, but for `others` of the numbers that it keeps.
  void of_pairs(double others = 0);
  /// Layers from here on are of this block, which reads so many numbers that no layer outside of blocks keeps; empty: of none.
  void within(std::string block, double input = 0);

  /// Where no block was named, those are blocks that frameworks number: `transformer.h.0` of the layer `transformer.h.0.ln_1`. Throws
  /// DataError where the parameters are more than any model's; `key`: of the option that gives them.
  CostTable table(const std::filesystem::path& path, const std::string& key = {}) &&;

 private:
  CostTable made_;
  std::string block_;
  double block_input_ = 0;  // bytes
  double parameters_ = 0;
  std::size_t offset_ = 0;
};

/// `most` words, then how many more there are: "Einsum, If and 3 more".
std::string some_of(const std::vector<std::string>& words, std::size_t most = 6);

}  // namespace straggler
