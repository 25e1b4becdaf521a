// Gradient clipping by the global norm (Pascanu, Mikolov & Bengio, On the difficulty of training recurrent neural networks, 2013).
#pragma once
#include "sim/lineage/lineage.hpp"

namespace straggler::rules {

/// x · min(1, c / (|x| + 1e-6)), |x| over the parameters alone; scalar: c. As torch.nn.utils.clip_grad_norm_.
extern const Rule clipped;

}  // namespace straggler::rules
