// Convolution as matrix products, sample by sample: the formulas of reference_convolution.hpp, fast enough for training. A dense layer has
// a plane of one place; then the whole batch is one product.
#pragma once
#include <cstddef>

#include "models/kernels/product.hpp"
#include "models/layers/reference_convolution.hpp"

namespace straggler {

class ConvolutionProducts {
 public:
  explicit ConvolutionProducts(const reference::Convolution& layer)
      : layer_(layer),
        depth_(layer.group_in() * layer.window.places()),
        group_out_(layer.out / layer.groups),
        direct_(layer.window.places() == 1 && layer.window.inputs() == layer.window.outputs() && layer.window.pad_height == 0 &&
                layer.window.pad_width == 0),
        dense_(direct_ && layer.groups == 1 && layer.window.inputs() == 1) {}

  /// Floats of `columns` below; may be 0.
  std::size_t column_floats() const { return direct_ ? 0 : depth_ * layer_.window.outputs(); }

  /// b may be null.
  void forward(const float* x, const float* w, const float* b, float* y, float* columns) const {
    if (dense_) multiply(layer_.rows, layer_.out, layer_.in, {x}, {w, true}, false, y);
    for_each_group([&](std::size_t group, std::size_t in, std::size_t out) {
      multiply(group_out_, layer_.window.outputs(), depth_, {w + group * group_out_ * depth_}, {columns_of(x + in, columns)}, false,
               y + out);
    });
    for (std::size_t plane = 0; b && plane < layer_.rows * layer_.out; ++plane)
      for (std::size_t i = 0; i < layer_.window.outputs(); ++i) y[plane * layer_.window.outputs() + i] += b[plane % layer_.out];
  }

  /// dw += Σ dy x, db += Σ dy (null: none).
  void backward_weights(const float* x, const float* dy, float* dw, float* db, float* columns) const {
    if (dense_) multiply(layer_.out, layer_.in, layer_.rows, {dy, true}, {x}, true, dw);
    for_each_group([&](std::size_t group, std::size_t in, std::size_t out) {
      multiply(group_out_, depth_, layer_.window.outputs(), {dy + out}, {columns_of(x + in, columns), true}, true,
               dw + group * group_out_ * depth_);
    });
    for (std::size_t plane = 0; db && plane < layer_.rows * layer_.out; ++plane)
      for (std::size_t i = 0; i < layer_.window.outputs(); ++i) db[plane % layer_.out] += dy[plane * layer_.window.outputs() + i];
  }

  /// dx += Σ w dy.
  void backward_input(const float* dy, const float* w, float* dx, float* columns) const {
    if (dense_) multiply(layer_.rows, layer_.in, layer_.out, {dy}, {w}, true, dx);
    for_each_group([&](std::size_t group, std::size_t in, std::size_t out) {
      multiply(depth_, layer_.window.outputs(), group_out_, {w + group * group_out_ * depth_, true}, {dy + out}, direct_,
               direct_ ? dx + in : columns);
      if (!direct_) reference::add_columns(layer_.group_in(), layer_.window, columns, dx + in);
    });
  }

 private:
  /// Calls visit(group, inputs, outputs) with the offsets of every channel group of every row; not for a dense layer.
  template <class Visit>
  void for_each_group(const Visit& visit) const {
    for (std::size_t row = 0; !dense_ && row < layer_.rows; ++row)
      for (std::size_t group = 0; group < layer_.groups; ++group)
        visit(group, (row * layer_.in + group * layer_.group_in()) * layer_.window.inputs(),
              (row * layer_.out + group * group_out_) * layer_.window.outputs());
  }
  const float* columns_of(const float* x, float* columns) const {
    if (direct_) return x;
    reference::to_columns(layer_.group_in(), layer_.window, x, columns);
    return columns;
  }

  reference::Convolution layer_;
  std::size_t depth_, group_out_;
  bool direct_;  // the inputs are the columns
  bool dense_;
};

/// y = b + w x: in double by definition, in float as matrix products.
inline void convolve(const reference::Convolution& layer, const double* x, const double* w, const double* b, double* y, double*) {
  reference::convolution_forward(layer, x, w, b, y);
}
inline void convolve(const reference::Convolution& layer, const float* x, const float* w, const float* b, float* y, float* columns) {
  ConvolutionProducts(layer).forward(x, w, b, y, columns);
}

/// dw, db and dx += the derivatives (db, dx null: none).
inline void convolve_backward(const reference::Convolution& layer, const double* x, const double* w, const double* dy, double* dw,
                              double* db, double* dx, double*) {
  reference::convolution_backward_weights(layer, x, dy, dw, db);
  if (dx) reference::convolution_backward_input(layer, dy, w, dx);
}
inline void convolve_backward(const reference::Convolution& layer, const float* x, const float* w, const float* dy, float* dw, float* db,
                              float* dx, float* columns) {
  const ConvolutionProducts products(layer);
  products.backward_weights(x, dy, dw, db, columns);
  if (dx) products.backward_input(dy, w, dx, columns);
}

}  // namespace straggler
