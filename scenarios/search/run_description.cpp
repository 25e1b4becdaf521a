#include "scenarios/search/run_description.hpp"

#include <fmt/format.h>

#include "models/kernels/kernels.hpp"
#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/results/run_info.hpp"

namespace straggler {

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

}  // namespace straggler
