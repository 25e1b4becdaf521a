// Output of the OSU micro-benchmarks as times of messages: of one message by osu_latency, of many in flight by osu_bw.
#include <fmt/format.h>

#include "scenarios/import/osu_table.hpp"
#include "sim/base/suggest.hpp"
#include "validation/calibrate/formats.hpp"

namespace straggler::calibrate_osu {
namespace {

std::optional<std::size_t> mark(std::string_view line, bool /*header*/) { return osu_mark(line); }

Measurements read(const std::string& text, const std::filesystem::path& file) {
  MessageTimes out;
  std::string other;  // title of the first table that gives no link
  for (const OsuTable& table : read_osu_tables(text, file)) {
    if (table.kind == OsuTable::Kind::other && other.empty()) other = table.title;
    for (const OsuTable::Row& row : table.rows) {
      if (table.kind == OsuTable::Kind::latency) out.samples.push_back({row.bytes, row.value * 1e-6});
      if (table.kind == OsuTable::Kind::bandwidth) out.streamed.push_back({row.bytes, row.bytes / (row.value * 1e6)});
    }
  }
  const std::size_t alone = out.samples.size(), streamed = out.streamed.size();
  if (alone + streamed == 0 && !other.empty())
    refuse_measured(file, in_quotes(other) +
                              " has no times of one message between two ranks, so it gives no link; give the output of osu_latency, of "
                              "osu_bw, or of both");
  if (alone + streamed == 0) refuse_measured(file, "is OSU output without a row of times; give the whole output (is the file cut off?)");
  if (alone > 0) {
    out.found = fmt::format("OSU latency, {} sizes", alone);
    out.meaning = "latency is half a round trip, that of one message";
  }
  if (streamed > 0) {
    out.found += fmt::format("{}OSU bandwidth, {} sizes", alone > 0 ? " and " : "", streamed);
    out.meaning += fmt::format("{}bandwidth is the highest of many messages in flight", alone > 0 ? "; " : "");
  }
  if (!other.empty()) out.found += fmt::format(" ({} not used)", in_quotes(other));
  return out;
}

const Register<MeasuredFormat> entry({"osu", "the output of osu_latency or osu_bw", mark, read});

}  // namespace
}  // namespace straggler::calibrate_osu
