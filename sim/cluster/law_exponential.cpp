// Exponential times: the rate of ends does not depend on the age. F(t) = 1 - e^{-t / mean}.
#include <cmath>

#include "sim/cluster/duration_law.hpp"

namespace straggler::cluster::law_exponential {
namespace {

class Exponential final : public DurationLaw {
 public:
  explicit Exponential(double mean) : mean_(mean) {}
  double quantile(double share) const override { return -std::log1p(-share) * mean_; }
  double mean() const override { return mean_; }

 private:
  double mean_;
};

const Register<DurationLawEntry> entry(
    {"exponential", "random, without memory of its age", {mean_duration()}, [](const Parameters& parameters) {
       return std::make_unique<Exponential>(parameters.number("mean"));
     }});

}  // namespace
}  // namespace straggler::cluster::law_exponential
