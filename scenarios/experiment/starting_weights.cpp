#include "scenarios/experiment/starting_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "models/safetensors/safetensors.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

using Tensors = std::unordered_map<std::string, const TensorInfo*>;

std::string shape_text(const TensorInfo& tensor) {
  std::string text;
  for (const std::size_t size : tensor.shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::size_t elements(const TensorInfo& tensor) {
  std::size_t count = 1;
  for (const std::size_t size : tensor.shape) count *= size;
  return count;
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) { throw DataError(file.string() + ": " + what); }

/// False: it is not there.
bool copy(const std::filesystem::path& file, const SafetensorsFile& from, const Tensors& named, const TensorInfo& tensor, float* to) {
  const auto at = named.find(tensor.name);
  if (at == named.end()) return false;
  if (at->second->shape != tensor.shape)
    fail(file, fmt::format("tensor '{}' has shape {}, the model's has {}; give the weights of this model", tensor.name,
                           shape_text(*at->second), shape_text(tensor)));
  std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(at->second->offset), elements(tensor), to + tensor.offset);
  return true;
}

}  // namespace

std::vector<TensorInfo> all_tensors(const Model& model) {
  std::vector<TensorInfo> all = model.tensors();
  const std::vector<TensorInfo> buffers = model.buffers();
  all.insert(all.end(), buffers.begin(), buffers.end());
  return all;
}

StartingWeights read_starting_weights(const std::filesystem::path& file, const Model& model, std::uint64_t seed) {
  const SafetensorsFile read = read_safetensors(file);
  Tensors named;
  std::vector<std::string> names;
  for (const TensorInfo& tensor : read.tensors) {
    named.emplace(tensor.name, &tensor);
    names.push_back(tensor.name);
  }
  StartingWeights out;
  out.values.resize(model.length());
  model.initialize(seed, out.values.data());
  std::unordered_set<std::string> known;
  for (const TensorInfo& tensor : model.tensors()) {
    known.insert(tensor.name);
    if (copy(file, read, named, tensor, out.values.data())) continue;
    const std::string nearest = nearest_name(tensor.name, names);
    fail(file, fmt::format("has no tensor '{}' of shape {}, which the model has{}; give the weights of this model", tensor.name,
                           shape_text(tensor), nearest.empty() ? std::string() : fmt::format(" ('{}' is nearest)", nearest)));
  }
  std::size_t missing = 0;
  std::string first_missing;
  for (const TensorInfo& buffer : model.buffers()) {
    known.insert(buffer.name);
    if (copy(file, read, named, buffer, out.values.data())) continue;
    if (missing++ == 0) first_missing = buffer.name;
  }
  for (const TensorInfo& tensor : read.tensors)
    if (known.count(tensor.name) == 0)
      fail(file, fmt::format("has a tensor '{}', which the model has not; give the weights of this model", tensor.name));
  if (missing > 0)
    out.note = fmt::format("{} has none of {} of the model's running statistics (the first is '{}'): they start as without a file",
                           file.string(), missing, first_missing);
  return out;
}

}  // namespace straggler
