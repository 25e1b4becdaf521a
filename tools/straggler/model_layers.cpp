#include "tools/straggler/model_layers.hpp"

#include "models/zoo/cost_model.hpp"
#include "models/zoo/layer_list.hpp"
#include "sim/base/registry.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

/// Of a model that does not fix them.
DataInfo usual_images() {
  DataInfo data;
  data.shape = {1, 28, 28};
  data.features = 28 * 28;
  data.classes = 10;
  return data;
}

/// Throws UsageError if the model is not one of layers.
Architecture architecture_of_model(const std::string& name) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(name);
  try {
    if (entry.cost_network) return entry.cost_network(complete(entry.cost_parameters, {}));
    if (entry.network) return entry.network(complete(entry.parameters, {}), usual_images());
  } catch (const std::invalid_argument&) {  // it wants parameters
  }
  throw UsageError("the model " + name + " is not a network whose layers are known; name another: straggler list models");
}

}  // namespace

void print_layers(const std::string& name) {
  const Architecture architecture = architecture_of_model(name);
  print_text("# {} of samples of {}\nkind: layers\nlayers:\n", name, shape_text(architecture.input));
  for (const Nested& line : layer_list(architecture).items) print_text("  - {}\n", flow_text(line));
}

}  // namespace straggler::cli
