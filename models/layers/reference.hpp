// Plain implementations of every layer: what the kernels must compute, in loops that can be read beside the formulas
// (docs/model.md). Any scalar: in double they are checked against central differences, and everything fast against them.
//
// Activations are sample-major: [rows][channels][height][width]. What backward passes compute is added to what is there, so that
// layers which feed several others need no special care; but for dense_backward_input, which assigns.
#pragma once
#include "models/layers/reference_convolution.hpp"
#include "models/layers/reference_dense.hpp"
#include "models/layers/reference_elementwise.hpp"
#include "models/layers/reference_embedding.hpp"
#include "models/layers/reference_loss.hpp"
#include "models/layers/reference_norm.hpp"
#include "models/layers/reference_pool.hpp"
