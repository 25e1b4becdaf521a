// A dense layer, y = act(w x + b), over a set of kernels. Activations are in panels (models/kernels/kernels.hpp).
#pragma once
#include <cstddef>

#include "models/kernels/kernels.hpp"

namespace straggler {

/// Reads its parameters at `offset` of a flat vector: w[out][in], then b[out].
class Dense {
 public:
  /// `relu`: its output is rectified. `rectified_input`: its input is the output of a ReLU, whose derivative backward applies.
  Dense(std::size_t in, std::size_t out, std::size_t offset, bool relu, bool rectified_input)
      : in_(in), out_(out), offset_(offset), relu_(relu), rectified_input_(rectified_input) {}

  std::size_t in() const { return in_; }
  std::size_t out() const { return out_; }
  std::size_t offset() const { return offset_; }
  std::size_t bias_offset() const { return offset_ + in_ * out_; }
  std::size_t parameters() const { return (in_ + 1) * out_; }

  void forward(const Kernels& kernels, std::size_t rows, const float* weights, const float* x, float* y) const {
    kernels.dense_forward(rows, in_, out_, x, weights + offset_, weights + bias_offset(), relu_, y);
  }
  /// dy: derivative by the layer's output before its own ReLU.
  void backward_weights(const Kernels& kernels, std::size_t rows, const float* x, const float* dy, bool accumulate, float* gradient) const {
    kernels.dense_backward_weights(rows, in_, out_, x, dy, accumulate, gradient + offset_, gradient + bias_offset());
  }
  /// dx: derivative by the output of the layer below before that layer's ReLU. The first layer of a model needs none.
  void backward_input(const Kernels& kernels, std::size_t rows, const float* weights, const float* x, const float* dy, float* dx) const {
    kernels.dense_backward_input(rows, in_, out_, dy, weights + offset_, x, rectified_input_, dx);
  }

 private:
  std::size_t in_, out_, offset_;
  bool relu_, rectified_input_;
};

}  // namespace straggler
