// Common parts of the entries of image networks.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

struct ImageNetwork {
  std::string name, summary;
  std::size_t least_side = 1;  // of accepted images
  std::function<Architecture(const Shape& image, std::size_t classes)> architecture;
};

/// Parameters `engine`: the engine that computes it; `convolution`: the algorithm.
ModelEntry network_entry(std::string name, std::string summary,
                         std::function<Architecture(const Parameters&, const DataInfo&)> architecture);

/// Accepts the images of the data set, of any shape.
ModelEntry image_network_entry(ImageNetwork network);

}  // namespace straggler
