// Weibull times: F(t) = 1 - e^{-(t / s)^k} with shape k. The mean is s Γ(1 + 1/k), so s = mean / Γ(1 + 1/k). With k below 1 the young fail
// most often, with k above 1 the old; k = 1 is exponential.
#include <cmath>

#include "sim/cluster/duration_law.hpp"

namespace straggler::cluster::law_weibull {
namespace {

class Weibull final : public DurationLaw {
 public:
  Weibull(double mean, double shape) : mean_(mean), shape_(shape), scale_(mean / std::tgamma(1 + 1 / shape)) {}
  double quantile(double share) const override { return scale_ * std::pow(-std::log1p(-share), 1 / shape_); }
  double mean() const override { return mean_; }

 private:
  double mean_, shape_, scale_;
};

const Register<DurationLawEntry> entry(
    {"weibull",
     "random; with a shape below 1 the young end most often, above 1 the old",
     {mean_duration(),
      {.name = "shape", .type = ValueType::number, .required = true, .meaning = "1 is exponential", .range = Range::between(0.1, 100)}},
     [](const Parameters& parameters) { return std::make_unique<Weibull>(parameters.number("mean"), parameters.number("shape")); }});

}  // namespace
}  // namespace straggler::cluster::law_weibull
