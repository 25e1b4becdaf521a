// A partition whose parts are lists of samples, built once.
#pragma once
#include <memory>
#include <vector>

#include "models/data/partition.hpp"

namespace straggler {

/// `members`: the parts, concatenated in worker order, with the lengths of `sizes`.
std::unique_ptr<Partition> partition_of_parts(StreamSizes sizes, std::vector<std::uint32_t> members, const PartitionRequest& request);

/// `samples` divided among `workers`; sizes differ by at most one, and the first parts get the remainder. Throws std::invalid_argument if a
/// worker would have none.
StreamSizes equal_parts(const PartitionRequest& request);
/// The same in proportion to `request.batches`, where there are any: boundaries are rounded down.
StreamSizes parts_by_batch(const PartitionRequest& request);

/// Throws std::invalid_argument unless samples have a class, by which the partition `kind` deals them.
void require_classes(const PartitionRequest& request, const char* kind);
/// The samples of each class in ascending order, [classes]. Throws std::logic_error without labels, which timing alone lacks.
std::vector<std::vector<std::uint32_t>> samples_by_class(const PartitionRequest& request);
/// The same, one class after another.
std::vector<std::uint32_t> sorted_by_class(const PartitionRequest& request);

}  // namespace straggler
