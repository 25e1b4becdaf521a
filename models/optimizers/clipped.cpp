#include "models/optimizers/clipped.hpp"

#include <array>
#include <utility>

#include "sim/lineage/clipping.hpp"

namespace straggler {
namespace {

class Clipped final : public UpdateRule {
 public:
  Clipped(std::unique_ptr<UpdateRule> rule, double norm) : rule_(std::move(rule)), norm_(norm) {}
  Handle step(Lineage& lineage, const Handle& weights, const Handle& gradient, double epochs, double averaged,
              std::vector<Handle>& state) const override {
    return rule_->step(lineage, weights, lineage.elementwise(rules::clipped, std::array{gradient}, {norm_}), epochs, averaged, state);
  }
  double learning_rate(double epochs, double averaged) const override { return rule_->learning_rate(epochs, averaged); }
  std::optional<double> weight_of_steps(double steps) const override { return rule_->weight_of_steps(steps); }
  std::string_view needs_norms() const override { return "training.clip"; }
  bool needs_norms_of_tensors() const override { return rule_->needs_norms_of_tensors(); }
  std::string_view needs_tensors() const override { return rule_->needs_tensors(); }

 private:
  std::unique_ptr<UpdateRule> rule_;
  double norm_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_clipped(std::unique_ptr<UpdateRule> rule, double norm) {
  return std::make_unique<Clipped>(std::move(rule), norm);
}

}  // namespace straggler
