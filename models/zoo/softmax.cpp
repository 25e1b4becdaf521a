// Softmax regression: scores = w x + b, loss = -log softmax(scores)[label]. Convex.
#include "models/zoo/multilayer_perceptron.hpp"
#include "models/zoo/network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::softmax {
namespace {

const Register<ModelEntry> entry({
    .name = "softmax",
    .summary = "softmax regression: one dense layer, cross entropy (convex)",
    .parameters = {},
    .make =
        [](const Parameters&, const DataInfo& data, const ModelSetting& setting) {
          return make_network(multilayer_perceptron({data.features, data.classes}), setting);
        },
});

}  // namespace
}  // namespace straggler::zoo::softmax
