// Networks for images: what their entries have in common.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

struct ImageNetwork {
  std::string name, summary;
  std::size_t least_side = 1;  // of the images that it takes
  std::function<Architecture(const Shape& image, std::size_t classes)> architecture;
};

/// Takes the images of the data set, of whatever shape. Parameters `engine`: who computes it;
/// `convolution`: how.
ModelEntry image_network_entry(ImageNetwork network);

}  // namespace straggler
