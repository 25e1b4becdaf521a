// A trainable network built from an architecture: its vector layout, initialization, and engines. The loss is softmax cross entropy of the
// last layer's output, the mean over its places.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

/// Offsets of a layer's tensors in the flat vector, in floats: parameters in the architecture's order, followed by all buffers (running
/// statistics), which a layer has side by side.
struct NetworkLayout {
  explicit NetworkLayout(const Architecture& architecture);
  /// Of LayerSpec::tensors[tensor].
  std::size_t own(const Architecture& architecture, LayerIndex layer, std::size_t tensor) const;
  std::vector<std::vector<std::size_t>> tensors;  // [layers][tensors that it reads: a tied one, then its own]: offsets
  std::vector<std::size_t> statistics;            // [layers]: offset of its first buffer; meaningless where there is none
  std::size_t parameters = 0, statistic_floats = 0;
};

/// With PyTorch's names; the output layer has no hidden weights. `buffers`: "bn1.running_mean", "bn1.running_var", … with offsets from the
/// start of the vector.
std::vector<TensorInfo> tensors_of(const Architecture& architecture);
std::vector<TensorInfo> buffers_of(const Architecture& architecture);

/// Tensors and buffers as their layers' rows say. Tensor NAME draws from the stream "model/NAME".
void initialize(const Architecture& architecture, std::uint64_t seed, float* weights);

/// Rows of LayerCost, as cost_model.hpp defines them.
std::vector<LayerCost> cost_of(const Architecture& architecture);

/// Computes architectures forward and backward. Its models expose their architecture.
struct NetworkEngine {
  std::string name, summary;
  /// Whether it supports all layers of the architecture, with these kernels on this processor.
  std::function<bool(const Architecture&, const ModelSetting&)> computes;
  /// Whether this process can use it with these kernels; null: always.
  bool (*usable)(const ModelSetting&) = nullptr;
  std::function<std::unique_ptr<Model>(Architecture, const ModelSetting&)> make;
  bool plain = false;  // slow: for what no other computes
};

/// `engine`: a name, or "auto" for the fastest that supports the network and is usable. Throws std::invalid_argument if there is no such
/// engine, or if it does not support the network.
const NetworkEngine& choose_engine(const Architecture& architecture, const ModelSetting& setting, const std::string& engine);
/// The engine that "auto" would choose if this process could use it, where it chooses `chosen` instead; null: it can.
const NetworkEngine* passed_over(const Architecture& architecture, const ModelSetting& setting, std::string_view chosen);
/// What keeps the network from engines that are not plain: the first layer of a kind without which one of them, `faster`, would compute
/// it.
struct Hindrance {
  const LayerSpec* layer;
  const NetworkEngine* faster;
};
std::optional<Hindrance> hindrance(const Architecture& architecture, const ModelSetting& setting);
/// The network, computed by the engine that choose_engine returns.
std::unique_ptr<Model> make_network(Architecture architecture, const ModelSetting& setting, const std::string& engine = "auto");

}  // namespace straggler
