// Independent and identically distributed parts: the training set is shuffled once by the seed and cut into slices: equal ones, or in
// proportion to stated batches.
#include <numeric>

#include "models/data/partition_parts.hpp"
#include "models/data/permutation.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::partition_iid {
namespace {

std::unique_ptr<Partition> make(const Parameters& /*parameters*/, const PartitionRequest& request) {
  StreamSizes sizes = parts_by_batch(request);
  std::vector<std::uint32_t> shuffled(request.samples);
  std::iota(shuffled.begin(), shuffled.end(), 0u);
  shuffle(shuffled, RandomStream(request.seed, "partition/iid"));
  return partition_of_parts(std::move(sizes), std::move(shuffled), request);
}

const Register<PartitionEntry> entry(
    {"iid",
     "the training set is shuffled once and cut into one part per worker, equal or in proportion to unequal batches",
     {},
     false,
     [](const Parameters& /*parameters*/, const PartitionRequest& request) { return parts_by_batch(request); },
     make});

}  // namespace
}  // namespace straggler::data::partition_iid
