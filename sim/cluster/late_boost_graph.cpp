// The two functions of libboost_graph that its headers call, taken from the library when a file of a graph is first read: it brings regular
// expressions and Unicode tables with it, a quarter of the time in which the program starts.
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>

#include "sim/base/late_library.hpp"

namespace straggler {
namespace {
const LateLibrary library(STRAGGLER_BOOST_GRAPH, "libboost-graph1.74.0");
}
}  // namespace straggler

// Symbols as the Itanium C++ ABI names them.
namespace boost {

void read_graphml(std::istream& in, mutate_graph& graph, std::size_t which) {
  static auto* const late =
      straggler::library.function<void(std::istream&, mutate_graph&, std::size_t)>("_ZN5boost12read_graphmlERSiRNS_12mutate_graphEm");
  late(in, graph, which);
}

namespace detail::graph {

bool read_graphviz_new(const std::string& text, mutate_graph* graph) {
  static auto* const late = straggler::library.function<bool(const std::string&, mutate_graph*)>(
      "_ZN5boost6detail5graph17read_graphviz_newERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPNS1_12mutate_graphE");
  return late(text, graph);
}

}  // namespace detail::graph
}  // namespace boost
