// What files of other formats add to a profiler's trace.
#pragma once
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/timed_job.hpp"

namespace straggler {

/// The batch, and bytes of buckets that the trace does not have. `buckets`: those of the job are all-reduces, one by one.
void add_companions(TimedJob& job, const Companions& companions, bool buckets);

}  // namespace straggler
