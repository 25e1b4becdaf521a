#include "models/layers/layer.hpp"

namespace straggler::layers::gelu {
namespace {

const Register<LayerEntry> entry({.name = "gelu", .summary = "Gaussian error linear unit", .backward_reads_inputs = true});

}  // namespace
}  // namespace straggler::layers::gelu
