// Common parts of the entries of networks.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

/// Completes an entry that has `network`, which an engine trains. With `choices` it has the parameters `engine`, the engine that computes
/// it, and `convolution`, the algorithm.
ModelEntry network_entry(ModelEntry entry, bool choices = true);

struct ImageNetwork {
  std::string name, summary, reference = {};
  std::size_t least_side = 1;  // of accepted images
  std::function<Architecture(const Parameters&, const Shape& image, std::size_t classes)> architecture = {};
  std::vector<Parameter> parameters = {};  // of its own
  /// Images and classes of which its costs are known without data.
  struct Usual {
    Shape image;
    std::size_t classes;
  };
  std::optional<Usual> usual = {};
};

/// Accepts the images of the data set, of any shape.
ModelEntry image_network_entry(ImageNetwork network);

/// Of a list in a text (sim/base/flow_reader.hpp). `classes`, and what `words` has, stand for numbers.
Architecture architecture_of(std::string_view list, const Shape& input, std::size_t classes,
                             std::map<std::string, std::int64_t> words = {});

}  // namespace straggler
