// TraceLens' tables of collectives (https://github.com/AMD-AGI/TraceLens): durations in microseconds, a row for each rank, collective, size
// and type; or, over all ranks, for each collective, size and type.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "scenarios/import/rank_rows.hpp"
#include "scenarios/import/torch_trace.hpp"
#include "scenarios/results/json.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {
namespace {

bool by_rank_table(const std::vector<std::string>& names) {
  return has_column(names, "Collective name") && has_column(names, "dur_sum") && has_column(names, "rank");
}

struct LensKind {
  std::string name, type;
  double elements = 0;
  auto operator<=>(const LensKind&) const = default;
};
struct LensRank {
  double sum = 0, least = INFINITY, most = 0, deviation = 0, count = 0;  // microseconds
  double mean() const { return sum / count; }
};
using LensRanks = std::map<std::int64_t, LensRank>;

/// Microseconds of the transfer, by the figures of each rank alone: the mean over all operations of the shortest kernel. The rank that
/// spends least comes last nearly always, and its mean is an upper bound: now and then it waits for another. That happens where all arrive
/// together. Another rank is then as short as the last one, and long in the rest: of two values with this mean and deviation, the short
/// one's share is s² / (s² + (m - m_last)²). Of k kernels that are alike the shortest is e(k) deviations below their mean (Blom 1958).
/// Half of the last rank's variance is taken to be the transfer's own, which all ranks have.
double transfer_by_rank(const LensRanks& ranks) {
  const LensRank* last = nullptr;
  for (const auto& [rank, of] : ranks)
    if (of.count > 0 && (last == nullptr || of.mean() < last->mean())) last = &of;
  if (last == nullptr) return INFINITY;
  double share = 0, rivals = 0;
  std::vector<double> shortest;
  for (const auto& [rank, of] : ranks) {
    if (std::isfinite(of.least)) shortest.push_back(of.least);
    if (&of == last || of.count == 0 || of.least > last->most) continue;
    const double more = of.mean() - last->mean(), square = of.deviation * of.deviation;
    share += square + more * more > 0 ? square / (square + more * more) : 1;
    ++rivals;
  }
  double transfer = last->mean();
  if (rivals > 0 && last->deviation > 0) {
    const double kernels = rivals + 1, p = (kernels - 0.375) / (kernels + 0.25);  // Blom
    const double quantile = boost::math::quantile(boost::math::normal(), p);
    transfer = std::max(last->least, transfer - share / rivals * quantile * last->deviation / std::sqrt(2.0));
  }
  // With fewer operations than ranks, those that came last at each show its transfer as their shortest.
  const auto count = static_cast<std::size_t>(std::max(1.0, last->count));
  if (count < shortest.size()) {
    std::ranges::sort(shortest);
    shortest.resize(count);
    transfer = std::min(transfer, std::accumulate(shortest.begin(), shortest.end(), 0.0) / static_cast<double>(count));
  }
  return transfer;
}

}  // namespace

bool is_tracelens(std::string_view text) {
  const std::vector<std::string> names = table_columns(text);
  return by_rank_table(names) || (has_column(names, "Collective name") && has_column(names, "comm_latency_median"));
}

Imported import_tracelens(const std::vector<std::pair<const GivenFile*, std::string>>& files) {
  std::map<LensKind, LensRanks> kinds;
  std::map<LensKind, std::pair<double, double>> medians;  // microseconds, ranks
  Json names = Json::array();
  for (const auto& [file, text] : files) {
    names.push_back(file->path().filename().string());
    RankRows rows(text, file->shown().string());
    const bool by_rank = by_rank_table(table_columns(text));
    const std::size_t name = rows.column("Collective name"), type = rows.column("dtype"), elements = rows.column("In msg nelems");
    if (std::max(type, elements) >= rows.names().size())
      refuse_table(file->shown().string(), "has no columns dtype and In msg nelems; get the whole table");
    const std::size_t sum = rows.column("dur_sum"), least = rows.column("dur_min"), count = rows.column("operation_count"),
                      most = rows.column("dur_max"), deviation = rows.column("dur_std"), median = rows.column("comm_latency_median"),
                      group = rows.column("Group size");
    while (rows.next()) {
      const LensKind kind{std::string(rows.text(name)), std::string(rows.text(type)), rows.number(elements, 0).value_or(0)};
      if (!by_rank) {
        medians[kind] = {rows.number(median, 0).value_or(0), group < rows.names().size() ? rows.number(group, 1).value_or(0) : 0};
        continue;
      }
      LensRank& of = kinds[kind][rows.rank()];
      of.sum += rows.number(sum, 0).value_or(0);
      of.count += count < rows.names().size() ? rows.number(count, 0).value_or(0) : 0;
      const auto figure = [&](std::size_t column) { return column < rows.names().size() ? rows.number(column, 0) : std::nullopt; };
      of.least = std::min(of.least, figure(least).value_or(INFINITY));
      of.most = std::max(of.most, figure(most).value_or(INFINITY));
      of.deviation = std::max(of.deviation, figure(deviation).value_or(0));
    }
  }
  Imported imported;
  imported.name = import_name(*files.front().first, {});
  std::map<std::int64_t, double> total;
  Json collectives = Json::array();
  double parameters = 0;
  std::int64_t steps = 0;
  for (const auto& [kind, ranks] : kinds)
    if (collective_called(kind.name) == TraceCollective::reduce_scatter) steps = std::gcd(steps, std::llround(ranks.begin()->second.count));
  std::string csv = "collective,bytes,seconds\n";
  const auto transfer_of = [&](const LensKind& kind, const LensRanks* ranks) {
    if (const auto found = medians.find(kind); found != medians.end() && found->second.first > 0) return found->second.first * 1e-6;
    return (ranks ? transfer_by_rank(*ranks) : INFINITY) * 1e-6;
  };
  const auto add = [&](const LensKind& kind, const LensRanks* ranks) {
    const TraceCollective which = collective_called(kind.name);
    const std::optional<int> width = element_bytes(kind.type);
    double group = ranks ? static_cast<double>(ranks->size()) : 0;
    if (const auto found = medians.find(kind); found != medians.end() && found->second.second >= 1) group = found->second.second;
    const double transfer = transfer_of(kind, ranks);
    Json each{{"kind", name_of(which)}, {"elements", std::llround(kind.elements)}, {"type", on_one_line(kind.type)}};
    const bool gathers = which == TraceCollective::all_gather;
    const std::optional<double> bytes = width && group > 0 ? std::optional(kind.elements * *width * (gathers ? group : 1)) : std::nullopt;
    each["bytes"] = bytes ? Json(std::llround(*bytes)) : Json();
    each["transfer_s"] = std::isfinite(transfer) ? Json(transfer) : Json();
    if (bytes && group > 1 && std::isfinite(transfer) && transfer > 0)
      each["bus_bytes_per_s"] = *bytes * (which == TraceCollective::all_reduce ? 2 : 1) * (group - 1) / group / transfer;
    if (ranks) {
      double least = INFINITY;
      std::int64_t last = 0;
      for (const auto& [rank, of] : *ranks) {
        total[rank] += of.sum * 1e-6;
        if (of.sum < least) {
          least = of.sum;
          last = rank;
        }
      }
      Json waits = Json::object();
      for (const auto& [rank, of] : *ranks) waits[std::to_string(rank)] = (of.sum - least) * 1e-6;
      each["count"] = std::llround(ranks->begin()->second.count);
      each["last_rank"] = last;
      each["waits_s"] = std::move(waits);
      if (which == TraceCollective::reduce_scatter && steps > 0)
        parameters += kind.elements * ranks->begin()->second.count / static_cast<double>(steps);
    }
    if (bytes && std::isfinite(transfer)) csv += fmt::format("{},{:.0f},{}\n", name_of(which), *bytes, format_number(transfer));
    imported.said.emplace_back("collective",
                               fmt::format("{} of {}: {}", name_of(which), bytes ? readable_bytes(*bytes) : std::string("? bytes"),
                                           std::isfinite(transfer) ? readable_seconds(transfer) : std::string("time unknown")));
    collectives.push_back(std::move(each));
  };
  for (const auto& [kind, ranks] : kinds) add(kind, &ranks);
  for (const auto& [kind, median] : medians)
    if (!kinds.contains(kind)) add(kind, nullptr);
  if (collectives.empty()) refuse_table(files.front().first->shown().string(), "has no row of a collective; get the whole table");

  std::vector<std::string> missing;
  Json json{{"format", "ranks"}, {"yields", "figures"}, {"files", std::move(names)}, {"collectives", std::move(collectives)}};
  if (!total.empty()) {
    const auto least = std::ranges::min_element(total, {}, [](const auto& each) { return each.second; });
    Json seconds = Json::object(), waits = Json::array();
    std::optional<std::pair<double, std::int64_t>> next;
    for (const auto& [rank, sum] : total) {
      seconds[std::to_string(rank)] = sum;
      waits.push_back(sum - least->second);
      if (rank != least->first && (!next || sum < next->first)) next = {sum, rank};
    }
    json["seconds_in_collectives"] = std::move(seconds);
    json["waits_s"] = std::move(waits);
    json["last_rank"] = least->first;
    imported.said.emplace_back(
        "waits", fmt::format("rank {} comes last: it spends {} in collectives{}", least->first, readable_seconds(least->second),
                             next ? fmt::format("; next rank {}, {}", next->second, readable_seconds(next->first)) : ""));
  }
  if (parameters > 0) {
    json["parameters"] = std::llround(parameters);
    json["steps_in_table"] = steps;
    imported.said.emplace_back(
        "parameters", fmt::format("{}, reduced once a step in {} step{}",
                                  readable_count(static_cast<std::uint64_t>(std::llround(parameters))), steps, steps == 1 ? "" : "s"));
  }
  if (total.empty()) missing.emplace_back("the ranks: give the table by rank, too");
  missing.emplace_back("a job: the table has collectives without the step around them; give the traces of the ranks");
  for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);
  json["missing"] = missing;
  json["assumed"] = Json::array();
  imported.files = {{"collectives.csv", std::move(csv)}, {"import.json", json_document(json)}};
  return imported;
}

}  // namespace straggler
