// Always the same time.
#include "sim/cluster/duration_law.hpp"

namespace straggler::cluster::law_constant {
namespace {

class Constant final : public DurationLaw {
 public:
  explicit Constant(double mean) : mean_(mean) {}
  double quantile(double) const override { return mean_; }
  double mean() const override { return mean_; }

 private:
  double mean_;
};

const Register<DurationLawEntry> entry(
    {"constant", "always the same time; a time alone is short for it", {mean_duration()}, [](const Parameters& parameters) {
       return std::make_unique<Constant>(parameters.number("mean"));
     }});

}  // namespace
}  // namespace straggler::cluster::law_constant
