#include "sim/collectives/buckets.hpp"

#include <algorithm>
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

/// Throws unless the tensors are in the order of the forward pass, of layers that there are.
void check_tensors(const std::vector<GradientTensor>& tensors, std::size_t layers) {
  for (std::size_t i = tensors.size(), later = layers; i-- > 0; later = tensors[i].layer) {
    if (tensors[i].layer >= layers) {
      throw std::invalid_argument("tensor " + std::to_string(i) + " is of layer " + std::to_string(tensors[i].layer) + "; there are " +
                                  std::to_string(layers));
    }
    if (tensors[i].layer > later) {
      throw std::invalid_argument("tensor " + std::to_string(i) + " is of layer " + std::to_string(tensors[i].layer) +
                                  ", the next one of layer " + std::to_string(later) + "; list them in the order of the forward pass");
    }
  }
}

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                 double first_bucket_bytes, double bucket_bytes) {
  check_limit(first_bucket_bytes, "the first bucket's limit");
  check_limit(bucket_bytes, "a bucket's limit");
  const std::vector<double> through = shares_through(layer_flops);
  check_tensors(tensors, layer_flops.size());
  std::vector<Bucket> buckets;
  bool full = true;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const GradientTensor& tensor = tensors[i];
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

std::vector<Bucket> merge_gradients(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                    const MergeTimes& times) {
  const std::vector<double> through = shares_through(layer_flops);
  check_tensors(tensors, layer_flops.size());
  std::vector<Bucket> buckets;
  double free = 0, begins = 0;  // seconds: when the bucket before is through, and when the last bucket would begin
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const double ready = through[tensors[i].layer] * times.backward;
    const bool joins = !buckets.empty() && ready - begins < times.start;
    if (!joins) {
      if (!buckets.empty()) free = begins + times.start + static_cast<double>(buckets.back().bytes) * times.per_byte;
      buckets.push_back({0, 0, 0});
    }
    Bucket& bucket = buckets.back();
    bucket.bytes += tensors[i].bytes;
    ++bucket.tensors;
    bucket.ready = through[tensors[i].layer];
    begins = std::max(free, ready);
  }
  return buckets;
}

std::vector<Bucket> merge_by_time(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                  double backward_seconds, double cycle, double most_bytes) {
  check_limit(most_bytes, "a bucket's limit");
  if (!(cycle > 0)) throw std::invalid_argument("the cycle is " + std::to_string(cycle) + " s; give more than 0");
  const std::vector<double> through = shares_through(layer_flops);
  check_tensors(tensors, layer_flops.size());
  std::vector<Bucket> buckets;
  double tick = -1;  // of the last bucket
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const double leaves = std::ceil(through[tensors[i].layer] * backward_seconds / cycle);
    if (leaves != tick || static_cast<double>(buckets.back().bytes + tensors[i].bytes) > most_bytes) {
      buckets.push_back({0, 0, backward_seconds > 0 ? std::min(1.0, leaves * cycle / backward_seconds) : 1});
      tick = leaves;
    }
    buckets.back().bytes += tensors[i].bytes;
    ++buckets.back().tensors;
  }
  return buckets;
}

}  // namespace straggler
