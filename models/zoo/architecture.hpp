// The structure of a network: its layers, their inputs, and the names and shapes of their tensors. cost_model.hpp derives the costs; the
// engines compute it.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/layer.hpp"

namespace straggler {

/// In forward order, in which the framework registers the tensors.
struct Architecture {
  Shape input;
  std::vector<LayerSpec> layers;
};

/// A layer's name in tables, and the prefix of its tensors' names before ".weight"; usually equal.
struct LayerName {
  std::string layer, tensors;
  LayerName(const char* both) : layer(both), tensors(both) {}
  LayerName(std::string both) : layer(both), tensors(std::move(both)) {}
  LayerName(std::string table, std::string framework) : layer(std::move(table)), tensors(std::move(framework)) {}
};

/// Appends layers. Each call returns the layer's index and throws std::invalid_argument on unsuitable inputs or parameters.
class ArchitectureBuilder {
 public:
  explicit ArchitectureBuilder(Shape input) : made_{input, {}} {}

  /// Of a kind in Registry<LayerEntry>. Unnamed: "NAME OF ITS FIRST INPUT.KIND". `tied`: a layer whose first tensor is its first, too.
  LayerIndex layer(std::string_view kind, const std::vector<LayerIndex>& from, Parameters given = {},
                   const std::optional<LayerName>& name = {}, std::optional<LayerIndex> tied = {});

  LayerIndex conv(LayerIndex from, const LayerName& name, std::size_t channels, const Window& window, bool bias = false,
                  std::size_t groups = 1);
  LayerIndex batch_norm(LayerIndex from, const LayerName& name) { return layer("batch_norm", {from}, {}, name); }
  LayerIndex linear(LayerIndex from, const LayerName& name, std::size_t features) {
    return layer("linear", {from}, {{"features", whole(features)}}, name);
  }
  LayerIndex embedding(LayerIndex from, const LayerName& name, std::size_t rows, std::size_t width) {
    return layer("embedding", {from}, {{"width", whole(width)}, {"rows", whole(rows)}}, name);
  }
  LayerIndex layer_norm(LayerIndex from, const LayerName& name) { return layer("layer_norm", {from}, {}, name); }

  LayerIndex relu(LayerIndex from) { return layer("relu", {from}); }
  LayerIndex gelu(LayerIndex from) { return layer("gelu", {from}); }
  LayerIndex tanh(LayerIndex from) { return layer("tanh", {from}); }
  LayerIndex softmax(LayerIndex from) { return layer("softmax", {from}); }
  LayerIndex dropout(LayerIndex from, double rate = 0.5) { return layer("dropout", {from}, {{"rate", rate}}); }
  LayerIndex max_pool(LayerIndex from, const Window& window);
  LayerIndex average_pool(LayerIndex from, const Window& window);
  LayerIndex global_average_pool(LayerIndex from) { return layer("average_pool", {from}); }
  LayerIndex add(const std::vector<LayerIndex>& from) { return layer("add", from); }
  LayerIndex concat(const std::vector<LayerIndex>& from) { return layer("concat", from); }
  LayerIndex flatten(LayerIndex from) { return layer("flatten", {from}); }
  LayerIndex first_place(LayerIndex from) { return layer("first_place", {from}); }
  LayerIndex attention_scores(LayerIndex queries, LayerIndex keys, const std::string& name, std::size_t heads) {
    return layer("attention_scores", {queries, keys}, {{"heads", whole(heads)}}, name);
  }
  LayerIndex attention_context(LayerIndex scores, LayerIndex values, const std::string& name) {
    return layer("attention_context", {scores, values}, {}, name);
  }

  /// Layers from here on are part of this block (LayerSpec::block); empty: of none. Returns the block before.
  std::string within(std::string block) { return std::exchange(block_, std::move(block)); }

  const Shape& shape(LayerIndex layer) const;
  Architecture build() && { return std::move(made_); }

 private:
  void tie(LayerSpec& layer, LayerIndex to) const;
  static Value whole(std::size_t count) { return static_cast<std::int64_t>(count); }

  Architecture made_;
  std::string block_;
};

}  // namespace straggler
