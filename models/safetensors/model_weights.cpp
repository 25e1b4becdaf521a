#include "models/safetensors/model_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "models/safetensors/refuse.hpp"
#include "models/safetensors/typed.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr float huge = 1e30f;

std::string text(const std::vector<std::size_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

class Tensors {
 public:
  explicit Tensors(const std::filesystem::path& path) : path_(path), file_(read_typed_safetensors(path)) {
    for (const TypedTensor& tensor : file_.tensors) named_.emplace(tensor.name, &tensor);
  }

  /// False: the tensor is absent.
  bool copy(const TensorInfo& wanted, std::vector<float>& weights) const {
    const auto at = named_.find(wanted.name);
    if (at == named_.end()) return false;
    const TypedTensor& tensor = *at->second;
    if (tensor.shape != wanted.shape && wanted.name.ends_with(".positions") && tensor.shape.size() == 2 &&
        tensor.shape[1] == wanted.shape.at(1))
      refuse(path_,
             fmt::format("tensor '{}' is for samples of {} places, and those of these data have {}; of a text set workload.data.context "
                         "to {}, or give weights of a model of {} places",
                         wanted.name, tensor.shape[0], wanted.shape[0], tensor.shape[0], wanted.shape[0]));
    if (tensor.shape != wanted.shape)
      refuse(path_, fmt::format("tensor '{}' has shape {}, the model's has {}; give the weights of this model", wanted.name,
                                text(tensor.shape), text(wanted.shape)));
    if (tensor.type != NumberType::f32 && tensor.type != NumberType::f16 && tensor.type != NumberType::bf16)
      refuse(path_, fmt::format("tensor '{}' has type {}; weights are F32, F16 or BF16", wanted.name, name_of(tensor.type)));
    const std::vector<float> values = tensor.floats();
    if (!std::all_of(values.begin(), values.end(), [](float x) { return std::abs(x) < huge; }))
      refuse(path_,
             fmt::format("tensor '{}' holds numbers that are not finite, or huge; give weights that have not diverged", wanted.name));
    std::copy(values.begin(), values.end(), weights.begin() + static_cast<std::ptrdiff_t>(wanted.offset));
    return true;
  }

  /// For a variance from a file: its root is taken.
  void refuse_negative(const TensorInfo& variance, const std::vector<float>& weights) const {
    const auto from = weights.begin() + static_cast<std::ptrdiff_t>(variance.offset);
    if (std::any_of(from, from + static_cast<std::ptrdiff_t>(variance.shape.at(0)), [](float x) { return x < 0; }))
      refuse(path_, fmt::format("tensor '{}' holds a variance below 0; give the weights of a model that was trained", variance.name));
  }

  [[noreturn]] void refuse_absent(const TensorInfo& wanted) const {
    std::vector<std::string> names;
    for (const TypedTensor& tensor : file_.tensors) names.push_back(tensor.name);
    const std::string nearest = nearest_name(wanted.name, names);
    refuse(path_, fmt::format("has no tensor '{}' of shape {}, which the model has{}; give the weights of this model", wanted.name,
                              text(wanted.shape), nearest.empty() ? std::string() : fmt::format(" ({} is nearest)", in_quotes(nearest))));
  }

  void refuse_others(const std::vector<TensorInfo>& known) const {
    std::unordered_set<std::string> names;
    for (const TensorInfo& tensor : known) names.insert(tensor.name);
    for (const TypedTensor& tensor : file_.tensors)
      if (!names.contains(tensor.name) && !is_counter(tensor))
        refuse(path_, fmt::format("has a tensor {} of shape {}, which the model has not; give the weights of this model",
                                  in_quotes(tensor.name), text(tensor.shape)));
  }

 private:
  const std::filesystem::path& path_;
  const TypedFile file_;
  std::unordered_map<std::string, const TypedTensor*> named_;
};

}  // namespace

std::vector<TensorInfo> all_tensors(const Model& model) {
  std::vector<TensorInfo> all = model.tensors();
  const std::vector<TensorInfo> buffers = model.buffers();
  all.insert(all.end(), buffers.begin(), buffers.end());
  return all;
}

ModelWeights read_model_weights(const std::filesystem::path& path, const Model& model, std::uint64_t seed) {
  const Tensors file(path);
  ModelWeights out;
  out.values.resize(model.length());
  model.initialize(seed, out.values.data());
  for (const TensorInfo& tensor : model.tensors())
    if (!file.copy(tensor, out.values)) file.refuse_absent(tensor);
  for (const TensorInfo& buffer : model.buffers()) {
    if (!file.copy(buffer, out.values))
      out.absent.push_back(buffer.name);
    else if (buffer.name.ends_with(".running_var"))
      file.refuse_negative(buffer, out.values);
  }
  file.refuse_others(all_tensors(model));
  return out;
}

std::vector<float> read_trained_weights(const std::filesystem::path& path, const Model& model) {
  ModelWeights read = read_model_weights(path, model, 0);
  if (!read.absent.empty())
    refuse(path, fmt::format("has no tensor '{}', a running statistic of the model; give the weights of a model that was trained",
                             read.absent.front()));
  return std::move(read.values);
}

}  // namespace straggler
