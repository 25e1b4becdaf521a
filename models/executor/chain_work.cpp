#include "models/executor/chain_work.hpp"

#include <algorithm>
#include <stdexcept>

namespace straggler {

void compute_chain(Lineage& lineage, Executor& executor, const RemoteChain& chain) {
  std::vector<Handle> outputs;
  {
    // Dropped before anything is computed: a step may then overwrite weights that nothing else needs.
    std::vector<Handle> given, nodes, inputs;
    for (const RemoteValue& value : chain.inputs) {
      given.push_back(lineage.leaf(value.key));
      executor.give(given.back(), {value.floats, executor.length()});
    }
    for (const RemoteChain::Node& node : chain.nodes) {
      inputs.clear();
      for (const std::int32_t input : node.inputs)
        inputs.push_back(input >= 0 ? nodes.at(static_cast<std::size_t>(input)) : given.at(static_cast<std::size_t>(~input)));
      nodes.push_back(lineage.make(*node.formula, inputs));
      if (nodes.back().key() != node.key) throw std::logic_error("a formula does not belong to the key that it came with");
    }
    for (const RemoteChain::Output& output : chain.outputs) outputs.push_back(nodes.at(output.node));
  }
  if (chain.lane)
    return executor.gradient_lane({chain.inputs.at(0).floats, executor.length()}, *chain.nodes.at(0).formula, *chain.lane,
                                  {chain.outputs.at(0).floats, executor.length()});
  if (!outputs.empty()) executor.force(outputs.back());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::span<const float> value = executor.value(outputs[i]);
    std::copy(value.begin(), value.end(), chain.outputs[i].floats);
  }
}

}  // namespace straggler
