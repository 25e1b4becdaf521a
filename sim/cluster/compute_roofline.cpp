// A device as rates of arithmetic and of memory. The slower one governs: Williams, Waterman, Patterson, Roofline: An Insightful Visual
// Performance Model for Multicore Architectures, CACM 52(4), 2009.
#include <cmath>
#include <stdexcept>
#include <string>

#include "sim/cluster/compute.hpp"

namespace straggler {
namespace {

void require(bool good, const char* what, double value, const char* right) {
  if (!good) throw std::invalid_argument(std::string("roofline: ") + what + " is " + std::to_string(value) + "; it must be " + right);
}

void require_amount(const char* what, double value) { require(std::isfinite(value) && value >= 0, what, value, "finite and at least 0"); }
void require_rate(const char* what, double value) { require(std::isfinite(value) && value > 0, what, value, "finite and above 0"); }

class RooflineTime final : public ComputeTime {
 public:
  explicit RooflineTime(const Roofline& roofline)
      : launch_(roofline.launch),
        compute_per_sample_(arithmetic_of(roofline)),
        fixed_memory_(roofline.fixed_bytes / roofline.memory_bandwidth),
        memory_per_sample_(roofline.bytes_per_sample / (roofline.memory_bandwidth * roofline.memory_efficiency.value_or(1))),
        issue_(roofline.issue),
        in_turn_(roofline.memory_efficiency) {
    require_amount("launch", roofline.launch);
    require_amount("issue", roofline.issue);
    require_amount("flops_per_sample", roofline.flops_per_sample);
    require_amount("fixed_bytes", roofline.fixed_bytes);
    require_amount("bytes_per_sample", roofline.bytes_per_sample);
    require_rate("peak", roofline.peak);
    require_rate("efficiency", roofline.efficiency);
    require_amount("dense_flops_per_sample", roofline.dense_flops_per_sample);
    require(roofline.dense_flops_per_sample <= roofline.flops_per_sample, "dense_flops_per_sample", roofline.dense_flops_per_sample,
            "at most flops_per_sample");
    if (roofline.dense_efficiency) require_rate("dense_efficiency", *roofline.dense_efficiency);
    if (roofline.memory_efficiency) require_rate("memory_efficiency", *roofline.memory_efficiency);
    require_rate("memory_bandwidth", roofline.memory_bandwidth);
    require_amount("the seconds of a sample's arithmetic", compute_per_sample_);
    require_amount("the seconds of the weights' bytes", fixed_memory_);
    require_amount("the seconds of a sample's bytes", memory_per_sample_);
  }

  Split at(std::int64_t samples) const override {
    if (samples < 1) throw std::invalid_argument("a computation has " + std::to_string(samples) + " samples; it must have at least 1");
    const double size = static_cast<double>(samples);
    const double arithmetic = size * compute_per_sample_, memory = fixed_memory_ + size * memory_per_sample_;
    if (in_turn_) {
      if (issue_ > arithmetic + memory) return {launch_ + issue_, 0};
      return {launch_ + fixed_memory_, compute_per_sample_ + memory_per_sample_};
    }
    if (issue_ > arithmetic && issue_ > memory) return {launch_ + issue_, 0};
    if (arithmetic >= memory) return {launch_, compute_per_sample_};
    return {launch_ + fixed_memory_, memory_per_sample_};
  }

 private:
  static double arithmetic_of(const Roofline& roofline) {
    if (!roofline.dense_efficiency) return roofline.flops_per_sample / (roofline.peak * roofline.efficiency);
    const double dense = roofline.dense_flops_per_sample;
    return (roofline.flops_per_sample - dense) / (roofline.peak * roofline.efficiency) +
           dense / (roofline.peak * *roofline.dense_efficiency);
  }

  double launch_, compute_per_sample_, fixed_memory_, memory_per_sample_, issue_;  // seconds
  bool in_turn_;
};

}  // namespace

std::unique_ptr<ComputeTime> roofline_time(const Roofline& roofline) { return std::make_unique<RooflineTime>(roofline); }

}  // namespace straggler
