#include "scenarios/import/trace_meetings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/readable.hpp"

namespace straggler {
namespace {

bool alike(const std::vector<TraceStep::Collective>& a, const std::vector<TraceStep::Collective>& b) {
  return std::ranges::equal(a, b, {}, &TraceStep::Collective::kind, &TraceStep::Collective::kind);
}

bool leave_together(TraceCollective kind) {
  return kind == TraceCollective::all_reduce || kind == TraceCollective::all_gather || kind == TraceCollective::reduce_scatter;
}

void align(const std::vector<RankSteps>& ranks, Meetings& out) {
  out.offsets.assign(ranks.size(), 0);
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    std::vector<double> apart;
    for (std::size_t s = 0; s < out.steps.size(); ++s) {
      const auto& first = (*ranks[0].steps)[s].collectives;
      const auto& theirs = (*ranks[r].steps)[s].collectives;
      for (std::size_t c = 0; c < first.size(); ++c)
        if (leave_together(first[c].kind)) apart.push_back(ranks[r].base - ranks[0].base + (theirs[c].end - first[c].end));
    }
    out.offsets[r] = median_seconds(apart);
    for (const double each : apart) out.residual = std::max(out.residual, std::abs(each - out.offsets[r]));
  }
}

}  // namespace

Meetings meetings_of(const std::vector<RankSteps>& ranks) {
  Meetings out;
  for (std::size_t s = 0; s < ranks.front().steps->size(); ++s) {
    const auto& first = (*ranks.front().steps)[s].collectives;
    for (const RankSteps& each : ranks)
      if (!alike((*each.steps)[s].collectives, first))
        return {.steps = {},
                .differ = fmt::format("ranks {} and {} issue other collectives in a step", ranks.front().rank, each.rank),
                .offsets = {}};
    std::vector<Meeting>& step = out.steps.emplace_back();
    for (std::size_t c = 0; c < first.size(); ++c) {
      std::vector<double> seconds;
      for (const RankSteps& each : ranks) seconds.push_back((*each.steps)[s].collectives[c].seconds());
      Meeting met;
      met.last = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
      met.least = seconds[met.last];
      for (const double each : seconds) met.waits.push_back(each - met.least);
      step.push_back(std::move(met));
    }
  }
  align(ranks, out);
  return out;
}

std::string longest_work(const std::vector<TimedRank>& ranks) {
  const auto longest = std::ranges::max_element(ranks, {}, &TimedRank::work);
  double next = 0;
  for (const TimedRank& each : ranks)
    if (&each != &*longest) next = std::max(next, each.work());
  if (longest->work() - next <= 0.01 * longest->work()) return {};
  return fmt::format("rank {} works longest of the ranks that are there, {} a step; the next {}", longest->name(),
                     readable_seconds(longest->work()), readable_seconds(next));
}

std::string late_begin(const std::vector<TimedRank>& ranks, std::size_t least, const std::vector<double>& begins) {
  const auto longest = static_cast<std::size_t>(std::ranges::max_element(ranks, {}, &TimedRank::work) - ranks.begin());
  if (longest == least || !(begins[least] > begins[longest])) return {};
  return fmt::format(
      "rank {} waits least since it begins {} after the first rank, for what it did before; S counts the work in a step, "
      "which is longest on rank {}",
      ranks[least].name(), readable_seconds(begins[least]), ranks[longest].name());
}

std::string absent_ranks(const std::set<std::int64_t>& there, std::int64_t world) {
  std::vector<std::string> names;
  for (std::int64_t rank = 0; rank < world && names.size() < 4; ++rank)
    if (!there.contains(rank)) names.push_back(std::to_string(rank));
  const std::int64_t more = world - static_cast<std::int64_t>(there.size() + names.size());
  const bool one = names.size() == 1 && more <= 0;
  if (more > 0) names.push_back(fmt::format("{} more", more));
  return (one ? "rank " : "ranks ") + listed(names);
}

}  // namespace straggler
