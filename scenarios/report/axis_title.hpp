// Readable names of a scenario's paths.
#pragma once
#include <string>

namespace straggler {

/// "cluster.workers[0].count" is "workers", "cluster.network.link.bandwidth" is "bandwidth", "training.batch.per_worker" is "batch per
/// worker".
std::string axis_title(const std::string& path);

}  // namespace straggler
