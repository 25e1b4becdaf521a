// Network files are read by compiled parts of Boost, which the page does not hold.
#include "sim/cluster/graph_text.hpp"

#include <stdexcept>

namespace straggler {

GraphText read_graph_text(const std::string& path) {
  throw std::invalid_argument(path + ": the page reads no files of networks; run the scenario with the program");
}

}  // namespace straggler
