// Pools, plainly, over `planes` = rows x channels planes. A global pool is one whose window covers the plane.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "models/layers/sliding.hpp"

namespace straggler::reference {

/// y = the largest input that the window meets, and `winner` its index in its plane: ties: the first; NaN ranks above all. Padding never
/// wins; every window must meet some input.
template <class Scalar>
void max_pool_forward(std::size_t planes, const SlidingWindow& window, const Scalar* x, Scalar* y, std::uint32_t* winner) {
  constexpr std::uint32_t none = UINT32_MAX;
  std::fill_n(winner, planes * window.outputs(), none);
  for (std::size_t plane = 0; plane < planes; ++plane, x += window.inputs(), y += window.outputs(), winner += window.outputs())
    for_each_meeting(window, [&](std::size_t, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i, ++output, input += window.stride) {
        if (winner[output] != none && !(x[input] > y[output] || std::isnan(x[input]))) continue;
        if (winner[output] != none && std::isnan(y[output])) continue;
        y[output] = x[input];
        winner[output] = static_cast<std::uint32_t>(input);
      }
    });
}

/// dx += dy at the winners.
template <class Scalar>
void max_pool_backward(std::size_t planes, const SlidingWindow& window, const std::uint32_t* winner, const Scalar* dy, Scalar* dx) {
  for (std::size_t plane = 0; plane < planes; ++plane, dx += window.inputs(), dy += window.outputs(), winner += window.outputs())
    for (std::size_t i = 0; i < window.outputs(); ++i) dx[winner[i]] += dy[i];
}

/// y = Σ of the inputs that the window meets / its places: padding counts as zeros.
template <class Scalar>
void average_pool_forward(std::size_t planes, const SlidingWindow& window, const Scalar* x, Scalar* y) {
  const Scalar share = Scalar(1) / static_cast<Scalar>(window.places());
  std::fill_n(y, planes * window.outputs(), Scalar(0));
  for (std::size_t plane = 0; plane < planes; ++plane, x += window.inputs(), y += window.outputs()) {
    for_each_meeting(window, [&](std::size_t, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) y[output + i] += x[input + i * window.stride];
    });
    for (std::size_t i = 0; i < window.outputs(); ++i) y[i] *= share;
  }
}

/// dx += dy / places.
template <class Scalar>
void average_pool_backward(std::size_t planes, const SlidingWindow& window, const Scalar* dy, Scalar* dx) {
  const Scalar share = Scalar(1) / static_cast<Scalar>(window.places());
  for (std::size_t plane = 0; plane < planes; ++plane, dx += window.inputs(), dy += window.outputs())
    for_each_meeting(window, [&](std::size_t, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) dx[input + i * window.stride] += share * dy[output + i];
    });
}

}  // namespace straggler::reference
