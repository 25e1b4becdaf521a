// The numbers of a run, or of one of its workers, that a claim may compare.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "sim/record/record.hpp"

namespace straggler {

/// One of metric_names(); none: it has no value in this run.
std::optional<double> metric_of(const RunRecord& record, const std::string& metric);

/// One of worker_metric_names(), or one of the run. `rank` is below the number of workers.
std::optional<double> worker_metric_of(const RunRecord& record, std::size_t rank, const std::string& metric);

}  // namespace straggler
