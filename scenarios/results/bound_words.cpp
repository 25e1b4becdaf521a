#include "scenarios/results/bound_words.hpp"

#include <fmt/format.h>

#include "sim/base/readable.hpp"

namespace straggler {
namespace {

constexpr double busy = 0.5;  // a link that carries this share of its capacity over the whole run is a bottleneck

std::string of_the_time(double share) { return readable_share(share) + " of the time"; }

}  // namespace

std::string bound_words(const RunResult& run, const std::string& link, double use) {
  Phase most = Phase::compute, second = Phase::compute;
  const auto share = [&run](Phase phase) { return run.shares[phase].value_or(0); };
  for (const PhaseRow& row : phase_rows)
    if (share(row.phase) > share(most)) most = row.phase;
  if (share(most) <= 0) return {};
  const std::string carries = link.empty() ? "" : fmt::format("{} carries {} of its capacity", link, readable_share(use));
  const bool narrow = !link.empty() && use >= busy;
  if (most == Phase::compute) {
    for (const PhaseRow& row : phase_rows)
      if (row.phase != most && (second == most || share(row.phase) > share(second))) second = row.phase;
    std::string words = "computing, " + of_the_time(share(most));
    if (share(second) >= 0.1) words += fmt::format("; then {}, {}", row_of(second).title, readable_share(share(second)));
    if (second == Phase::idle && share(second) >= 0.1 && !run.waited_for.empty()) words += " (waiting for " + run.waited_for + ")";
    return words;
  }
  if (most == Phase::idle) {
    if (!run.waited_for.empty())
      return fmt::format("slow workers: the others are idle {} for {}", of_the_time(share(most)), run.waited_for);
    if (narrow) return fmt::format("bandwidth: workers are idle {}, {}", of_the_time(share(most)), carries);
    return "waiting: workers are idle " + of_the_time(share(most));
  }
  if (most == Phase::communication) {
    if (narrow) return fmt::format("bandwidth: workers communicate {}, {}", of_the_time(share(most)), carries);
    return fmt::format("communicating, {}{}", of_the_time(share(most)),
                       link.empty()
                           ? std::string()
                           : fmt::format(", though no link carries more than {} of its capacity: latency, or turns", readable_share(use)));
  }
  return fmt::format("{}, {}", row_of(most).title, of_the_time(share(most)));
}

}  // namespace straggler
