// A quadratic bowl with known optimum and curvature, to check schemes against theory: the loss of sample x at weights w is
//   1/2 (w - x)' A (w - x),  A = diag(a_1 … a_d),  a_j = condition^(-(j-1)/(d-1)): from 1 down to 1/condition.
// Over a set the minimum lies at the mean of the samples, with loss 1/2 Σ a_j var_j; labels are ignored. Along coordinate j gradient
// descent shrinks the distance to the optimum by 1 - lr a_j per step, and SGD on batches of b independent samples of variance v_j converges
// to variance lr a_j v_j / (b (2 - lr a_j)) around it. Nothing is classified: its accuracy is always 0.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "models/zoo/model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::quadratic {
namespace {

class Quadratic final : public Model {
 public:
  Quadratic(std::size_t dimensions, double condition, double start) : start_(start) {
    for (std::size_t j = 0; j < dimensions; ++j) {
      const double share = dimensions > 1 ? static_cast<double>(j) / static_cast<double>(dimensions - 1) : 0;
      curvature_.push_back(static_cast<float>(std::pow(condition, -share)));
    }
  }
  std::size_t parameters() const override { return curvature_.size(); }
  std::vector<TensorInfo> tensors() const override { return {{"weight", {parameters()}, 0}}; }
  /// Sums a difference, its square, and its product with the curvature.
  std::vector<LayerCost> cost() const override {
    return {{"quadratic", parameters(), 4 * static_cast<double>(parameters()), static_cast<double>(parameters()) * sizeof(float)}};
  }
  std::size_t workspace_bytes(std::size_t /*rows*/) const override { return parameters() * sizeof(double); }
  void initialize(std::uint64_t /*seed*/, float* weights) const override { std::fill_n(weights, parameters(), static_cast<float>(start_)); }
  std::unique_ptr<Workspace> workspace() const override {
    auto scratch = std::make_unique<Sums>();
    scratch->gradient.resize(parameters());
    return scratch;
  }

  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    std::vector<double>& sum = static_cast<Sums&>(workspace).gradient;
    std::fill(sum.begin(), sum.end(), 0.0);
    double loss = 0;
    for (std::size_t i = 0; i < rows.count && !workspace.called_off(); ++i) {
      const float* const x = rows.inputs + i * parameters();
      double row = 0;
      for (std::size_t j = 0; j < parameters(); ++j) {
        const double off = static_cast<double>(weights[j]) - x[j];
        sum[j] += static_cast<double>(rows.scale[i]) * off;
        row += curvature_[j] * off * off;
      }
      loss += static_cast<double>(rows.scale[i]) * row / 2;
    }
    for (std::size_t j = 0; j < parameters(); ++j)
      gradient[j] = static_cast<float>(curvature_[j] * sum[j]) + (accumulate ? gradient[j] : 0.0f);
    return loss;
  }

  double evaluate(const float* weights, const Rows& rows, std::uint64_t& /*correct*/, Workspace& /*workspace*/) const override {
    double loss = 0;
    for (std::size_t i = 0; i < rows.count; ++i)
      for (std::size_t j = 0; j < parameters(); ++j) {
        const double off = static_cast<double>(weights[j]) - rows.inputs[i * parameters() + j];
        loss += curvature_[j] * off * off / 2;
      }
    return loss;
  }

 private:
  struct Sums final : Workspace {
    std::vector<double> gradient;
  };
  std::vector<float> curvature_;  // the diagonal of A
  double start_;
};

const Register<ModelEntry> entry(
    {.name = "quadratic",
     .summary = "quadratic bowl around the mean of the samples, curvature and optimum known: for theory; its accuracy is always 0",
     .parameters =
         {{"condition", ValueType::number, "10", false, "largest over smallest curvature; the largest is 1", Range::between(1, 1e6), {}},
          {"start", ValueType::number, "10", false, "initial value of every weight", Range::between(-1e6, 1e6), {}}},
     .make = [](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) -> std::unique_ptr<Model> {
       if (setting.precision != Precision::fp32)
         throw std::invalid_argument("quadratic is computed in fp32 only, to be compared with theory; remove precision");
       if (data.features == 0) throw std::invalid_argument("quadratic needs samples of at least one number; give other data");
       return std::make_unique<Quadratic>(data.features, parameters.number("condition"), parameters.number("start"));
     }});

}  // namespace
}  // namespace straggler::zoo::quadratic
