// What every implementation of batch norm and layer norm agrees on.
#pragma once

namespace straggler {

/// Added to a variance before its root is taken: PyTorch's default.
inline constexpr double norm_epsilon = 1e-5;

}  // namespace straggler
