// Plain implementations of every layer, the reference of the kernels, in loops that match the formulas (docs/model.md). Any scalar: in
// double they are checked against central differences, and all fast code against them.
//
// Activations are sample-major: [rows][channels][height][width]. Backward passes add to their outputs, so that layers which feed several
// others need no special care; only dense_backward_input assigns.
#pragma once
#include "models/layers/reference_attention.hpp"
#include "models/layers/reference_convolution.hpp"
#include "models/layers/reference_dense.hpp"
#include "models/layers/reference_elementwise.hpp"
#include "models/layers/reference_embedding.hpp"
#include "models/layers/reference_loss.hpp"
#include "models/layers/reference_norm.hpp"
#include "models/layers/reference_pool.hpp"
