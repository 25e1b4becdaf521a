// Softmax regression: scores = w x + b, loss = -log softmax(scores)[label]. Convex.
#include "models/zoo/perceptron.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::softmax {
namespace {

const Register<ModelEntry> entry({
    .name = "softmax",
    .summary = "softmax regression: one dense layer, cross entropy (convex)",
    .parameters = {},
    .make = [](const Parameters&, const DataInfo& data, const ModelSetting& setting) -> std::unique_ptr<Model> {
      return std::make_unique<Perceptron>(std::vector<std::size_t>{data.features, data.classes}, setting.kernels, setting.precision);
    },
});

}  // namespace
}  // namespace straggler::zoo::softmax
