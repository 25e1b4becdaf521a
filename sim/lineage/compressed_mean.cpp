#include "sim/lineage/compressed_mean.hpp"

namespace straggler::rules {

const Rule compressed_mean{"compressed_mean"};

}  // namespace straggler::rules
