// Multilayer perceptron: dense layers with ReLU between them, cross entropy. [200, 200] is the "2NN" of McMahan et al.,
// Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017 (199,210 parameters on 28x28 images).
#include "models/zoo/image_network.hpp"
#include "models/zoo/multilayer_perceptron.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::mlp {
namespace {

const Register<ModelEntry> entry(network_entry({.name = "mlp",
                                                .summary = "multilayer perceptron: dense layers with ReLU between them, cross entropy",
                                                .parameters = {{.name = "hidden",
                                                                .type = ValueType::counts,
                                                                .fallback = "[200, 200]",
                                                                .meaning = "widths of the hidden layers, first to last",
                                                                .range = Range::at_least(1)}},
                                                .network =
                                                    [](const Parameters& parameters, const DataInfo& data) {
                                                      std::vector<std::size_t> widths{data.features};
                                                      for (const std::int64_t width : parameters.counts("hidden"))
                                                        widths.push_back(static_cast<std::size_t>(width));
                                                      widths.push_back(data.classes);
                                                      return multilayer_perceptron(widths);
                                                    }},
                                               false));

}  // namespace
}  // namespace straggler::zoo::mlp
