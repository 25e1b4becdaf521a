// A partition whose parts are lists of samples, drawn up once.
#pragma once
#include <memory>
#include <vector>

#include "models/data/partition.hpp"

namespace straggler {

/// `members`: the parts laid end to end in the order of the workers, as long as `sizes` says.
std::unique_ptr<Partition> partition_of_parts(StreamSizes sizes, std::vector<std::uint32_t> members, const PartitionRequest& request);

/// `samples` among `workers`, sizes that differ by at most one: the first ones have the remainder. Throws std::invalid_argument if
/// somebody would have none.
StreamSizes equal_parts(const PartitionRequest& request);

/// The samples of each class in ascending order, [classes]. Throws std::logic_error without labels: what timing alone may not ask for.
std::vector<std::vector<std::uint32_t>> samples_by_class(const PartitionRequest& request);

}  // namespace straggler
