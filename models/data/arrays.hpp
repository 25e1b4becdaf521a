// Data that exist in this process alone, as arrays in Python do: `workload.data: {kind: arrays, content}`.
#pragma once
#include <memory>
#include <string>

#include "models/data/dataset.hpp"

namespace straggler {

/// Names samples, labels, shape and number of classes.
std::string content_of_arrays(const Dataset& data);

/// Scenarios find the data by their content while they live. Thread-safe.
void offer_arrays(const std::string& content, const std::shared_ptr<const Dataset>& data);

}  // namespace straggler
