// How NCCL 2.4 chooses: by thresholds, not by a model of times.
#pragma once
#include <cstdint>

namespace straggler {

/// What NCCL 2.4 knows of a communicator.
struct NcclThresholds {
  double ranks = 2, hosts = 1;
  bool nvlink = false;
  double channels = 2;

  /// An all-reduce takes a tree up to that many bytes; infinite: always.
  double tree_bytes() const;
  /// LL up to that many bytes, on GPUs since Volta; `tree`: for a tree's chunks.
  double ll_bytes(double bytes, bool tree) const;
};

}  // namespace straggler
