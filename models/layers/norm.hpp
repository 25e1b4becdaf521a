// The constant shared by all implementations of batch norm and layer norm.
#pragma once

namespace straggler {

/// Added to a variance before its square root: PyTorch's default.
inline constexpr double norm_epsilon = 1e-5;

}  // namespace straggler
