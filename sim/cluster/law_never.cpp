// It does not end.
#include <limits>

#include "sim/cluster/duration_law.hpp"

namespace straggler::cluster::law_never {
namespace {

class Never final : public DurationLaw {
 public:
  double quantile(double) const override { return std::numeric_limits<double>::infinity(); }
  double mean() const override { return std::numeric_limits<double>::infinity(); }
};

const Register<DurationLawEntry> entry({"never", "it does not end", {}, [](const Parameters&) { return std::make_unique<Never>(); }});

}  // namespace
}  // namespace straggler::cluster::law_never
