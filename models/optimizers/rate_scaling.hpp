// Scaling of the learning rate with the number of workers.
#pragma once

namespace straggler {

/// Times 1, n or √n, where n gradients are averaged in an update (Goyal et al. 2017; Krizhevsky 2014).
enum class RateScaling { none, linear, square_root };

}  // namespace straggler
