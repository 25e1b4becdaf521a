// report.html of an imported job: the measured step beside the replayed one, by parts, buckets and ranks.
#pragma once
#include <string>

#include "scenarios/report/import_replay.hpp"

namespace straggler {

/// The whole page. Requires: folder.is_job(). Runs its scenario, the timing alone.
std::string import_page(const ImportedFolder& folder);

}  // namespace straggler
