// Dropout (Srivastava et al. 2014): in training drops elements and scales the others up; in evaluation passes its input on.
#include "models/layers/layer_pass.hpp"
#include "models/layers/reference_elementwise.hpp"

namespace straggler::layers::dropout {
namespace {

double rate(const LayerSpec& layer) { return layer.parameters.number("rate"); }

const Register<LayerEntry> entry({
    .name = "dropout",
    .summary = "drops elements at random in training",
    .parameters = {{.name = "rate",
                    .type = ValueType::fraction,
                    .fallback = "0.5",
                    .meaning = "share that is dropped",
                    .range = {.low = 0, .high = 1, .high_open = true}}},
    .draws = [](const LayerSpec& layer) { return rate(layer) > 0; },
    .forward =
        [](const auto& pass) {
          if (!pass.training || rate(pass.layer) == 0) {
            std::copy_n(pass.x(), pass.count(), pass.y);
            return;
          }
          std::fill_n(pass.y, pass.count(), 0);
          reference::dropout(pass.rows, pass.layer.out.size(), pass.draws, pass.index, rate(pass.layer), pass.x(), pass.y);
        },
    .backward =
        [](const auto& pass) {
          if (rate(pass.layer) == 0) return reference::add(pass.count(), pass.dy, pass.dx());
          reference::dropout(pass.rows, pass.layer.out.size(), pass.draws, pass.index, rate(pass.layer), pass.dy, pass.dx());
        },
});

}  // namespace
}  // namespace straggler::layers::dropout
