#include "tools/straggler/allreduce_measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "scenarios/experiment/all_reduce_times.hpp"
#include "scenarios/import/timed_job.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {
namespace {

constexpr double normal = 1.25;    // ratio up to which a time is as expected
constexpr double large = 1 << 20;  // bytes from which bandwidth counts

std::optional<CollectiveKind> kind_of(const MeasuredTable& table) {
  if (table.collective == "all_reduce") return CollectiveKind::all_reduce;
  if (table.collective == "all_gather") return CollectiveKind::all_gather;
  if (table.collective == "reduce_scatter") return CollectiveKind::reduce_scatter;
  return std::nullopt;
}

struct Expected {
  double seconds = 0;
  std::string limit;
  bool below = false;  // less than one message's latency: what the sender's processor takes for it counts, which the model does not have
};

/// What shortens the time most if it costs nothing.
std::string limit_of(const UniformLinks& links, bool within, bool across, const std::function<double(const UniformLinks&)>& seconds) {
  struct Case {
    const char* name;
    bool there;
    void (*free)(UniformLinks&);
  };
  const Case cases[] = {{"latency between hosts", across, [](UniformLinks& free) { free.alpha = 0; }},
                        {"links between hosts", across, [](UniformLinks& free) { free.beta = 0; }},
                        {"latency inside a host", within, [](UniformLinks& free) { free.intra_alpha = 0; }},
                        {"links inside a host", within, [](UniformLinks& free) { free.intra_beta = 0; }}};
  const char* limit = "the algorithm";
  double least = seconds(links) * (1 - 1e-9);
  for (const Case& each : cases) {
    if (!each.there) continue;
    UniformLinks free = links;
    each.free(free);
    if (const double time = seconds(free); time < least) {
      least = time;
      limit = each.name;
    }
  }
  return limit;
}

class Expecting {
 public:
  Expecting(const MeasuredTable& table, const Scenario& scenario) : table_(table), times_(scenario), kind_(kind_of(table)) {
    if (!kind_) return;
    const auto& entries = algorithms_of(*kind_);
    if (table.nccl) entry_ = entries.find("nccl");
    if (entry_ && !entry_->unfit(times_.shape()).empty()) entry_ = nullptr;
  }

  /// With NCCL's own choices where it is NCCL's table, else the fastest algorithm.
  Expected of(double bytes) const {
    const std::uint64_t whole = std::max<std::uint64_t>(4, static_cast<std::uint64_t>(bytes) / 4 * 4);
    const UniformLinks& links = times_.links();
    const std::size_t ranks = times_.shape().workers, hosts = times_.hosts();
    const bool within = hosts<ranks, across = hosts> 1;
    if (!kind_) {  // one message
      const double alpha = across ? links.alpha : links.intra_alpha, beta = across ? links.beta : links.intra_beta;
      const bool streams = table_.collective == "bandwidth";
      const double flowing = bytes * beta;
      if (streams && flowing < alpha) return {flowing, "the sender's processor, which is not modelled", true};
      if (streams) return {flowing, across ? "links between hosts" : "links inside a host"};
      return {alpha + flowing, std::string(alpha > flowing ? "latency " : "links ") + (across ? "between hosts" : "inside a host")};
    }
    const CollectiveEntry* best = entry_;
    double least = best ? times_.time(*best, whole).seconds() : INFINITY;
    if (!best)
      for (const CollectiveEntry& each : algorithms_of(*kind_).entries()) {
        if (each.library || !each.unfit(times_.shape()).empty()) continue;
        if (const double seconds = times_.time(each, whole).seconds(); seconds < least) {
          least = seconds;
          best = &each;
        }
      }
    const Parameters parameters = complete(best->parameters, {});
    return {least, limit_of(links, within, across, [&](const UniformLinks& free) {
              return best->seconds(static_cast<double>(whole), times_.shape(), free, parameters);
            })};
  }
  const AllReduceTimes& times() const { return times_; }
  std::string how() const {
    if (!kind_) return "one message on the link";
    return entry_ ? "NCCL's choices" : "the fastest algorithm for each size";
  }

 private:
  const MeasuredTable& table_;
  AllReduceTimes times_;
  std::optional<CollectiveKind> kind_;
  const CollectiveEntry* entry_ = nullptr;
};

bool is_expected(const MeasuredTable& table) {
  return kind_of(table) || table.collective == "latency" || table.collective == "bandwidth" || table.collective == "sendrecv";
}

std::string microseconds_text(double seconds) {
  const double value = 1e6 * seconds;
  return fmt::format("{:.{}f}", value, value >= 10'000 ? 0 : value >= 100 ? 1 : 2);
}

struct Ratio {
  double measured = 0, bytes = 0;  // measured: over expected
};

/// The median, and the range where it does not speak for all.
void print_verdict(const char* sizes, const std::vector<Ratio>& all, bool assumed) {
  if (all.empty()) return;
  std::vector<double> ratios;
  for (const Ratio& each : all) ratios.push_back(each.measured);
  const auto [least, most] = std::ranges::minmax_element(all, {}, &Ratio::measured);
  const double ratio = median_seconds(ratios);
  const std::string range = all.size() < 2 ? std::string()
                                           : fmt::format(", from {:.2f} ({:.0f} B) to {:.2f} ({:.0f} B)", least->measured, least->bytes,
                                                         most->measured, most->bytes);
  std::string said;
  if (ratio > normal)
    said = fmt::format("takes {:.2f} times as long as expected{}", ratio, range);
  else if (ratio < 1 / normal)
    said = fmt::format("takes {:.2f} of the expected time{}: {}", ratio, range,
                       assumed ? "the assumed link is too slow; give yours" : "the cluster that is expected is too slow");
  else if (most->measured > normal || least->measured < 1 / normal)
    said = fmt::format("takes {:.2f} of the expected time in the median{}", ratio, range);
  else
    said = fmt::format("is as expected (ratio {:.2f}{})", ratio, range);
  print_text("{}: {}\n", sizes, said);
}

void print_link(const char* where, double beta, double alpha, bool assumed, const char* remedy) {
  print_text("# {}: {}, latency {}{}\n", where, beta > 0 ? readable_bytes(1 / beta) + "/s" : std::string("unlimited"),
             readable_seconds(alpha), assumed ? fmt::format("; assumed: {}", remedy) : "");
}

}  // namespace

void print_measured(const MeasuredTable& table, const Scenario& scenario, const AssumedLinks& assumed) {
  if (!is_expected(table)) {
    print_text(
        "# {}: no expectation of this operation; all_reduce, all_gather, reduce_scatter, send and receive, latency and bandwidth have "
        "one\n",
        table.title);
    return;
  }
  const Expecting expecting(table, scenario);
  const std::size_t ranks = expecting.times().shape().workers, hosts = expecting.times().hosts();
  print_text("# {} of {} ranks on {} host{}; expected: {}\n", table.title, readable_count(ranks), readable_count(hosts),
             hosts == 1 ? "" : "s", expecting.how());
  const UniformLinks& links = expecting.times().links();
  if (hosts > 1)
    print_link("between hosts", links.beta, links.alpha, assumed.between,
               "give yours by --set cluster.network.link.bandwidth=RATE and .latency=TIME");
  if (hosts < ranks) print_link("inside a host", links.intra_beta, links.intra_alpha, assumed.inside, "give yours by --machine NAME");
  if (assumed.one_per_host && hosts == ranks && ranks > 2) print_text("# assumed: a rank on each host; give --per-host N\n");
  if (assumed.one_host && hosts == 1) print_text("# assumed: all ranks on one host, since the table names none; give --per-host N\n");
  print_text("#{:>13} {:>12} {:>12} {:>8}   limited by\n#{:>13} {:>12} {:>12}\n", "size", "measured", "expected", "ratio", "(B)", "(us)",
             "(us)");
  const bool of_assumed = hosts > 1 ? assumed.between : assumed.inside;
  std::vector<Ratio> ratios, small;
  std::size_t below = 0;
  std::string limit;
  for (const MeasuredTable::Row& row : table.rows) {
    if (row.bytes < 1) continue;
    const Expected expected = expecting.of(row.bytes);
    const double ratio = expected.seconds > 0 ? row.seconds / expected.seconds : INFINITY;
    print_text(" {:>13.0f} {:>12} {:>12} {:>8}   {}\n", row.bytes, microseconds_text(row.seconds), microseconds_text(expected.seconds),
               expected.below ? std::string("-") : fmt::format("{:.2f}", ratio), expected.limit);
    limit = expected.limit;
    if (expected.below)
      ++below;
    else
      (row.bytes >= large ? ratios : small).push_back({ratio, row.bytes});
  }
  if (below > 0) print_text("{} size{} below the latency of a message: no verdict\n", below, below == 1 ? "" : "s");
  print_verdict("below 1 MiB", small, of_assumed);
  print_verdict("from 1 MiB on", ratios, of_assumed);
  if (!ratios.empty()) print_text("the largest size is limited by {}\n", limit);
}

}  // namespace straggler::cli
