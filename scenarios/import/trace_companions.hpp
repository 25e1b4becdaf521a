// What files of other formats add to a profiler's trace.
#pragma once
#include "scenarios/import/import_format.hpp"
#include "scenarios/import/timed_job.hpp"

namespace straggler {

/// Throws DataError where a companion is of another job or model: its numbers differ from the gradients that `trace` exchanges in a step by
/// more than 1 %. `gradients`: 0 if the trace does not tell.
void refuse_unrelated(const Companions& companions, double gradients, const std::string& trace);

/// The batch, and bytes of buckets that the trace does not have. `buckets`: those of the job are all-reduces, one by one.
void add_companions(TimedJob& job, const Companions& companions, bool buckets);

}  // namespace straggler
