#include "scenarios/results/most_time.hpp"

#include <fmt/format.h>

#include "sim/base/readable.hpp"

namespace straggler {

std::string most_time(const RunResult& run, const std::string& link, double use) {
  constexpr double busy = 0.5;  // a link that carries this share of its capacity over the whole run holds others up
  Phase most = Phase::compute, second = Phase::compute;
  const auto share = [&run](Phase phase) { return run.shares[phase].value_or(0); };
  for (const PhaseRow& row : phase_rows)
    if (share(row.phase) > share(most)) most = row.phase;
  if (share(most) <= 0) return {};
  std::string words = fmt::format("{}, {} of the time", row_of(most).title, readable_share(share(most)));
  const std::string waiting = run.waited_for.empty() ? std::string() : "waiting for " + run.waited_for;
  if (most == Phase::compute) {
    for (const PhaseRow& row : phase_rows)
      if (row.phase != most && (second == most || share(row.phase) > share(second))) second = row.phase;
    if (share(second) < 0.1) return words;
    words += fmt::format("; then {}, {}", row_of(second).title, readable_share(share(second)));
    return second == Phase::idle && !waiting.empty() ? words + " (" + waiting + ")" : words;
  }
  const bool waits = most == Phase::idle, network = waits || most == Phase::communication;
  if (waits && !waiting.empty()) return words + ", " + waiting;
  if (!network || link.empty()) return words;
  if (use >= busy) return words + fmt::format("; {} carries {} of its capacity", link, readable_share(use));
  return waits ? words : words + fmt::format(", though no link carries more than {} of its capacity", readable_share(use));
}

}  // namespace straggler
