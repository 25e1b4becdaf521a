// Convolutions and pools of the set `generic`: the formulas in plain loops, the lanes of a panel innermost. See Kernels.
#pragma once
#include "models/kernels/kernels.hpp"

namespace straggler::generic {

void conv_forward(std::size_t rows, const Convolution& conv, const float* x, const float* w, const float* b, bool relu, float* y,
                  float* scratch);
void conv_backward_weights(std::size_t rows, const Convolution& conv, const float* x, const float* dy, bool accumulate, float* dw,
                           float* db, float* scratch);
void conv_backward_input(std::size_t rows, const Convolution& conv, const float* dy, const float* w, const float* x, bool relu, float* dx,
                         float* scratch);
void max_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* x, float* y, std::uint8_t* winner);
void max_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* dy, const std::uint8_t* winner,
                       float* dx);
void average_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* x, float* y);
void average_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& slide, const float* dy, const float* x, bool relu,
                           float* dx);

}  // namespace straggler::generic
