// Gradient buckets: which tensors leave together, and when they are ready in backward.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace straggler {

/// One parameter tensor, in the order of the forward pass.
struct GradientTensor {
  std::uint64_t bytes = 0;
  std::size_t layer = 0;
};

struct Bucket {
  std::uint64_t bytes = 0;
  std::size_t tensors = 0;
  /// Share of backward's time after which the last of its gradients is ready, in [0, 1].
  double ready = 1;
  /// Share of all parameters if it is compressed, otherwise 0.
  double compressed_share = 0;
};

/// Tensors are taken in reverse order; a bucket is full when it holds at least its limit (DistributedDataParallel's rule; Li et al.,
/// PyTorch Distributed, 2020). Backward spends time on a layer in proportion to `layer_flops` ([layers], forward; all 0: the same on each);
/// a layer's gradients are there when backward is through it. Limits are positive; without limits call it with infinity: one bucket,
/// ready at 1. No tensors, no buckets. Throws std::invalid_argument on other limits, on FLOPs that are negative or not finite, and on
/// tensors out of order or of a layer that `layer_flops` does not know.
std::vector<Bucket> make_buckets(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                 double first_bucket_bytes, double bucket_bytes);

/// Seconds of backward, and of an all-reduce of n bytes: start + n · per_byte.
struct MergeTimes {
  double backward = 0, start = 0, per_byte = 0;
};

/// A tensor joins the one before it in backward's order if it is ready before that one's all-reduce would have begun and paid its start:
/// then waiting for it costs less than another start. Shi, Chu, Li, MG-WFBP: Efficient Data Communication for Distributed Synchronous SGD
/// Algorithms, INFOCOM 2019, algorithm 1. Tensors as for make_buckets.
std::vector<Bucket> merge_gradients(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                    const MergeTimes& times);

/// Tensors that become ready between two ticks, every `cycle` seconds from the beginning of backward, leave together at the second one, in
/// buckets of at most `most_bytes` (a larger tensor alone); the last ones leave at the end of backward. Horovod's rule
/// (HOROVOD_CYCLE_TIME, HOROVOD_FUSION_THRESHOLD; Sergeev & Del Balso 2018). Tensors as for make_buckets.
std::vector<Bucket> merge_by_time(const std::vector<GradientTensor>& tensors, const std::vector<double>& layer_flops,
                                  double backward_seconds, double cycle, double most_bytes);

}  // namespace straggler
