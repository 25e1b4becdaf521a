// Softmax regression: scores = w x + b, loss = -log softmax(scores)[label]. Convex.
#include "models/zoo/image_network.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::softmax {
namespace {

const Register<ModelEntry> entry(network_entry({.name = "softmax",
                                                .summary = "softmax regression: one dense layer, cross entropy (convex)",
                                                .network =
                                                    [](const Parameters&, const DataInfo& data) {
                                                      return multilayer_perceptron({data.features, data.classes});
                                                    }},
                                               false));

}  // namespace
}  // namespace straggler::zoo::softmax
