#include "sim/lineage/clipping.hpp"

namespace straggler::rules {

const Rule clipped{"clipped"};

}  // namespace straggler::rules
