// Output of nccl-tests and rccl-tests as times of messages.
#include <fmt/format.h>

#include "scenarios/import/nccl_table.hpp"
#include "sim/base/suggest.hpp"
#include "validation/calibrate/formats.hpp"

namespace straggler::calibrate_nccl {
namespace {

std::optional<std::size_t> mark(std::string_view line, bool /*header*/) { return nccl_mark(line); }

[[noreturn]] void refuse_table(const NcclTable& table, const std::filesystem::path& file) {
  if (table.operation && table.operation->link)
    refuse_measured(file,
                    fmt::format("its bandwidths leave open how many ranks made the {} ({} to {}); give the output with its list of ranks "
                                "('# Rank')",
                                table.operation->name, table.ranks, table.most_ranks));
  if (table.listed_ranks.size() == 1)
    refuse_measured(file, "is nccl-tests output of one rank, which sends nothing; give that of at least two (built with MPI=1)");
  refuse_measured(file, fmt::format("is nccl-tests output of {} (bus over algorithm bandwidth is {:.3g}); give that of {}",
                                    table.program.empty() ? "an operation that does not determine a link"
                                                          : in_quotes(table.program) + ", which does not determine a link",
                                    table.ratio, nccl_programs(true)));
}

Measurements read(const std::string& text, const std::filesystem::path& file) {
  const NcclTable table = read_nccl_table(text, file);
  if (!table.operation || !table.operation->link || table.ambiguous) refuse_table(table, file);
  const NcclOperation& operation = *table.operation;
  const int ranks = table.ranks;
  MessageTimes out;
  const bool complete = table.complete();
  out.within_host = complete && table.hosts.size() == 1;
  if (!complete && table.listed > 0)
    out.doubts.push_back(fmt::format("its list of ranks has {} of {} lines", table.listed_ranks.size(), ranks));
  if (!complete && table.hosts.size() < 2)
    out.doubts.emplace_back("its list of ranks does not say whether all were on one host; if they were, write intra instead of link");
  const double steps = operation.laps == 0 ? 1 : operation.laps * (ranks - 1), parts = operation.laps == 0 ? 1 : ranks;
  for (const NcclTable::Row& row : table.rows) out.samples.push_back({row.bytes / parts, row.seconds / steps});
  out.found = fmt::format("nccl-tests {}{}{}, {} sizes", operation.name, ranks > 0 ? fmt::format(", {} ranks", ranks) : "",
                          table.hosts.empty() ? "" : fmt::format(" on {} host(s)", table.hosts.size()), table.rows.size());
  out.meaning = operation.laps == 0
                    ? "each time is that of one message, both ways at once; out of place"
                    : fmt::format("taken as a ring: {:.0f} steps, each of a message of 1/{} of the size; out of place", steps, ranks);
  return out;
}

const Register<MeasuredFormat> entry({"nccl", "the output of nccl-tests or rccl-tests (all_reduce, all_gather, reduce_scatter, sendrecv)",
                                      mark, read});

}  // namespace
}  // namespace straggler::calibrate_nccl
