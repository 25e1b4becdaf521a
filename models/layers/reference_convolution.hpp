// Convolution, plainly: y[o] = b[o] + Σ_c Σ_place w[o][c][place] x[c][output · stride + place - pad], over the channels c of o's group.
#pragma once
#include <cstddef>

#include "models/layers/sliding.hpp"

namespace straggler::reference {

struct Convolution {
  std::size_t rows, in, out;  // channels
  std::size_t groups;         // of `in` / groups and `out` / groups channels each
  SlidingWindow window;

  std::size_t group_in() const { return in / groups; }
  /// The offset of the weights of output o and the c-th channel of its group, and that channel's index.
  std::size_t weight(std::size_t o, std::size_t c) const { return (o * group_in() + c) * window.places(); }
  std::size_t channel(std::size_t o, std::size_t c) const { return o / (out / groups) * group_in() + c; }
};

/// Calls visit(weight, input plane, output plane) with the offsets of every pair of channels that a weight joins.
template <class Visit>
void for_each_pair(const Convolution& layer, const Visit& visit) {
  for (std::size_t row = 0; row < layer.rows; ++row)
    for (std::size_t o = 0; o < layer.out; ++o)
      for (std::size_t c = 0; c < layer.group_in(); ++c)
        visit(layer.weight(o, c), (row * layer.in + layer.channel(o, c)) * layer.window.inputs(),
              (row * layer.out + o) * layer.window.outputs());
}

/// b may be null.
template <class Scalar>
void convolution_forward(const Convolution& layer, const Scalar* x, const Scalar* w, const Scalar* b, Scalar* y) {
  for (std::size_t i = 0; i < layer.rows * layer.out * layer.window.outputs(); ++i)
    y[i] = b ? b[i / layer.window.outputs() % layer.out] : Scalar(0);
  for_each_pair(layer, [&](std::size_t weight, std::size_t in, std::size_t out) {
    for_each_meeting(layer.window, [&](std::size_t place, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) y[out + output + i] += w[weight + place] * x[in + input + i * layer.window.stride];
    });
  });
}

/// dw += Σ dy x, db += Σ dy (null: none).
template <class Scalar>
void convolution_backward_weights(const Convolution& layer, const Scalar* x, const Scalar* dy, Scalar* dw, Scalar* db) {
  for_each_pair(layer, [&](std::size_t weight, std::size_t in, std::size_t out) {
    for_each_meeting(layer.window, [&](std::size_t place, std::size_t output, std::size_t input, std::size_t count) {
      Scalar sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += dy[out + output + i] * x[in + input + i * layer.window.stride];
      dw[weight + place] += sum;
    });
  });
  for (std::size_t i = 0; db && i < layer.rows * layer.out * layer.window.outputs(); ++i)
    db[i / layer.window.outputs() % layer.out] += dy[i];
}

/// dx += Σ w dy.
template <class Scalar>
void convolution_backward_input(const Convolution& layer, const Scalar* dy, const Scalar* w, Scalar* dx) {
  for_each_pair(layer, [&](std::size_t weight, std::size_t in, std::size_t out) {
    for_each_meeting(layer.window, [&](std::size_t place, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) dx[in + input + i * layer.window.stride] += w[weight + place] * dy[out + output + i];
    });
  });
}

/// im2col: columns[channels][places][outputs], the inputs that each output meets, zero at padding. With it a convolution is a matrix
/// product (Chellapilla, Puri, Simard 2006).
template <class Scalar>
void to_columns(std::size_t channels, const SlidingWindow& window, const Scalar* x, Scalar* columns) {
  std::fill_n(columns, channels * window.places() * window.outputs(), Scalar(0));
  for (std::size_t c = 0; c < channels; ++c, x += window.inputs(), columns += window.places() * window.outputs())
    for_each_meeting(window, [&](std::size_t place, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) columns[place * window.outputs() + output + i] = x[input + i * window.stride];
    });
}

/// The transpose (col2im): adds each column's number to its input.
template <class Scalar>
void add_columns(std::size_t channels, const SlidingWindow& window, const Scalar* columns, Scalar* dx) {
  for (std::size_t c = 0; c < channels; ++c, dx += window.inputs(), columns += window.places() * window.outputs())
    for_each_meeting(window, [&](std::size_t place, std::size_t output, std::size_t input, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) dx[input + i * window.stride] += columns[place * window.outputs() + output + i];
    });
}

}  // namespace straggler::reference
