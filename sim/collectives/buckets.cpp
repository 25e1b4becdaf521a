#include "sim/collectives/buckets.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace straggler {
namespace {

void check_limit(double bytes, const char* which) {
  if (!(bytes > 0)) throw std::invalid_argument(std::string(which) + " is " + std::to_string(bytes) + " bytes; give more than 0");
}

/// [layers] the share of backward's time after which it is through the layer.
std::vector<double> shares_through(const std::vector<double>& layer_flops) {
  double total = 0;
  for (std::size_t layer = 0; layer < layer_flops.size(); ++layer) {
    if (!(layer_flops[layer] >= 0) || !std::isfinite(layer_flops[layer])) {
      throw std::invalid_argument("layer " + std::to_string(layer) + " has " + std::to_string(layer_flops[layer]) +
                                  " FLOPs; give a finite number, 0 or more");
    }
    total += layer_flops[layer];
  }
  const bool even = total == 0;
  std::vector<double> through(layer_flops.size());
  double done = 0;
  for (std::size_t layer = layer_flops.size(); layer-- > 0;) through[layer] = done += even ? 1 : layer_flops[layer];
  for (double& share : through) share /= done;
  return through;
}

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                 double first_bucket_bytes, double bucket_bytes) {
  check_limit(first_bucket_bytes, "the first bucket's limit");
  check_limit(bucket_bytes, "a bucket's limit");
  const std::vector<double> through = shares_through(layer_flops);
  std::vector<Bucket> buckets;
  std::size_t later = layer_flops.size();
  bool full = true;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const GradientTensor& tensor = tensors[i];
    if (tensor.layer >= layer_flops.size()) {
      throw std::invalid_argument("tensor " + std::to_string(i) + " is of layer " + std::to_string(tensor.layer) + "; there are " +
                                  std::to_string(layer_flops.size()));
    }
    if (tensor.layer > later) {
      throw std::invalid_argument("tensor " + std::to_string(i) + " is of layer " + std::to_string(tensor.layer) +
                                  ", the next one of layer " + std::to_string(later) + "; list them in the order of the forward pass");
    }
    later = tensor.layer;
    if (full) buckets.push_back({0, 0, 0});
    Bucket& bucket = buckets.back();
    bucket.bytes += tensor.bytes;
    ++bucket.tensors;
    bucket.ready = through[tensor.layer];
    full = static_cast<double>(bucket.bytes) >= (buckets.size() == 1 ? first_bucket_bytes : bucket_bytes);
  }
  if (std::isinf(first_bucket_bytes) && !buckets.empty()) buckets.front().ready = 1;
  return buckets;
}

}  // namespace straggler
