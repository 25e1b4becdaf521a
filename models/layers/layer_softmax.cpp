#include "models/layers/layer.hpp"

namespace straggler::layers::softmax {
namespace {

const Register<LayerEntry> entry({.name = "softmax", .summary = "softmax over the width", .backward_reads_output = true});

}  // namespace
}  // namespace straggler::layers::softmax
