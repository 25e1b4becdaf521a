#include "scenarios/search/run_search.hpp"

#include <fmt/format.h>

#include "models/kernels/kernels.hpp"
#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/search/crossover.hpp"
#include "scenarios/search/find.hpp"

namespace straggler {
namespace {

Trials::Options trial_options(const SearchFile& search, const SweepOptions& options) {
  return {search.find ? search.find->repeats : search.crossover->repeats, options.timing_only, options.more};
}

}  // namespace

Description describe_run(const SearchFile& search, const SweepOptions& options, const std::string& kernels) {
  const Sweep& sweep = search.sweep;
  Description description = describe(sweep, options.more);
  description.add(describe_search(search));
  for (const std::string& column : sweep.columns()) description.add(Described::column, column);
  description.add(Described::program, fmt::format("straggler {} ({})", version(), compiler()));
  description.add(Described::math, options.timing_only || sweep.timing_only
                                       ? "none, timing only"
                                       : fmt::format("of {}, kernels {}", math_stamp().text(), select_kernels(kernels).name));
  return description;
}

bool can_resume(const SearchFile& search, const SweepOptions& options, PointPool& pool) {
  if (search.find) return can_resume_find(search, trial_options(search, options), pool);
  if (search.crossover) return can_resume_crossover(search, trial_options(search, options), pool);
  return can_resume(search.sweep, options, pool);
}

SearchOutcome run_search(const SearchFile& search, const SweepOptions& options, PointPool& pool) {
  const Trials::Options trials = trial_options(search, options);
  return search.find ? run_find(search, trials, pool) : run_crossover(search, trials, pool);
}

}  // namespace straggler
