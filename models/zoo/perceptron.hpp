// A chain of dense layers with ReLU between them and softmax cross entropy at the end: softmax regression (no hidden layer)
// and multilayer perceptrons.
#pragma once
#include <vector>

#include "models/layers/cross_entropy.hpp"
#include "models/layers/dense.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

class Perceptron final : public Model {
 public:
  /// `widths`: features, hidden layers, classes; at least two, none zero. Throws std::invalid_argument.
  /// `precision`: of weights in use, inputs, outputs of layers and their derivatives. Sums, the loss and what `gradient` gives are fp32.
  Perceptron(std::vector<std::size_t> widths, const Kernels& kernels, Precision precision = Precision::fp32);
  std::size_t parameters() const override;
  /// Names as in the state_dict of PyTorch's nn.Sequential(Linear, ReLU, Linear, …): "0.weight", "0.bias", "2.weight", …
  std::vector<TensorInfo> tensors() const override;
  /// Per dense layer: 2 in out FLOPs forward; ReLU and the addition of biases count none.
  std::vector<LayerCost> cost() const override;
  std::size_t workspace_bytes(std::size_t rows) const override;
  /// PyTorch's default for nn.Linear: weights and biases uniform in ±1/√in. Tensor NAME draws from the stream "model/NAME".
  void initialize(std::uint64_t seed, float* weights) const override;
  std::unique_ptr<Workspace> workspace() const override;
  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override;
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override;

 private:
  /// Forward through all layers for one block of samples.
  void forward(const float* weights, std::size_t rows, const float* inputs, Workspace& workspace) const;
  /// The weights as the layers use them.
  const float* in_use(const float* weights, Workspace& workspace) const;
  /// In place, where numbers are not kept in fp32.
  void round(float* panels, std::size_t rows, std::size_t features) const;

  std::vector<Dense> layers_;
  SoftmaxCrossEntropy loss_;
  const Kernels& kernels_;
  Precision precision_;
};

}  // namespace straggler
