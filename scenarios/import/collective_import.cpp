// Formats `nccl_tests` and `osu`: tables of collectives and messages. They describe no job, so what is written are figures for one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/import/import_format.hpp"
#include "scenarios/import/measured_tables.hpp"
#include "scenarios/import/nccl_table.hpp"
#include "scenarios/import/number_rows.hpp"
#include "scenarios/import/osu_table.hpp"
#include "scenarios/results/json.hpp"
#include "scenarios/schema/errors.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_collectives {
namespace {

constexpr std::uintmax_t largest_table = 64 << 20;
constexpr double links_of_route = 2;  // from host to host through a switch: cluster.network.link is one of them

using Mark = std::optional<std::size_t> (*)(std::string_view);

/// The tag in front of the first line that shows the format; nothing: no line does.
std::optional<std::string> tag_of(std::string_view text, Mark mark) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (const std::optional<std::size_t> at = mark(line)) return std::string(line.substr(0, *at));
  return std::nullopt;
}

bool is_text(const FileStart& start) { return start.bytes.find('\0') == std::string_view::npos; }

std::string text_of(const GivenFile& file, Mark mark) {
  if (file.size() > largest_table)
    throw DataError(file.shown().string() + ": has more than 64 MiB; give the output of the benchmark alone");
  const std::string text = file.text(largest_table);
  return without_tag(text, tag_of(text, mark).value_or(""));
}

/// Readers that calibrate uses, too, report problems of a scenario's files.
template <class Read>
auto data(const Read& read) {
  try {
    return read();
  } catch (const ScenarioErrors& errors) {
    throw DataError(errors.problems.front().line());
  }
}

struct Sized {
  double bytes = 0, seconds = 0;
};

/// Sizes that take less than a smaller one, by more than 3 %.
std::vector<std::string> dips(const std::vector<Sized>& rows) {
  std::vector<std::string> all;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].seconds < 0.97 * rows[i - 1].seconds) all.push_back(readable_bytes(rows[i].bytes));
  return all;
}

std::string csv_of(const std::vector<Sized>& rows) {
  std::string csv = "bytes,seconds\n";
  for (const Sized& row : rows) csv += fmt::format("{},{}\n", format_number(row.bytes), format_number(row.seconds));
  return csv;
}

Json json_of(const std::vector<Sized>& rows) {
  Json all = Json::array();
  for (const Sized& row : rows) all.push_back({{"bytes", std::llround(row.bytes)}, {"seconds", row.seconds}});
  return all;
}

void say_dips(const std::vector<Sized>& rows, Imported& imported, Json& warnings) {
  const std::vector<std::string> noisy = dips(rows);
  if (noisy.empty()) return;
  std::vector<std::string> shown(noisy.begin(), noisy.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(noisy.size(), 5)));
  const std::string sentence =
      fmt::format("noisy: {}{} take{} less than the size before; a fitted line misses such rows", listed(shown),
                  noisy.size() > 5 ? fmt::format(" and {} more", noisy.size() - 5) : "", noisy.size() == 1 ? "s" : "");
  imported.said.emplace_back("warning", sentence);
  warnings.push_back(sentence);
}

void end(Imported& imported, Json json, const std::vector<std::string>& missing) {
  for (const std::string& sentence : missing) imported.said.emplace_back("missing", sentence);
  json["missing"] = missing;
  json["assumed"] = Json::array();
  imported.files.emplace_back("import.json", json_document(json));
  std::ranges::sort(imported.files);
}

// --- nccl_tests

bool is_nccl(const FileStart& start) { return is_text(start) && tag_of(start.bytes, nccl_mark).has_value(); }

Imported read_nccl(const std::vector<GivenFile>& files, const Parameters&) {
  Imported imported;
  imported.name = import_name(files.front(), {});
  Json tables = Json::array(), warnings = Json::array();
  std::vector<std::string> missing;
  for (const GivenFile& file : files) {
    const NcclTable table = data([&] { return read_nccl_table(text_of(file, nccl_mark), file.shown()); });
    if (table.operation == nullptr)
      throw DataError(fmt::format(
          "{}: is nccl-tests output of an operation that is not known here (bus over algorithm bandwidth is {:.3g}); give that of {}",
          file.shown().string(), table.ratio, nccl_programs(false)));
    std::vector<Sized> rows;
    double best = 0;
    for (const NcclTable::Row& row : table.rows) {
      rows.push_back({row.bytes, row.seconds});
      best = std::max(best, row.bus);
    }
    const bool known = table.ranks > 0 && !table.ambiguous;
    const std::string devices = table.devices.size() == 1 ? " " + on_one_line(*table.devices.begin()) : "";
    imported.said.emplace_back(
        "table",
        fmt::format("nccl-tests {}, {}{}{}, {} sizes", table.operation->name,
                    known ? fmt::format("{} ranks", table.ranks) : "ranks unknown", devices,
                    table.hosts.empty() ? "" : fmt::format(" on {} host{}", table.hosts.size(), table.hosts.size() == 1 ? "" : "s"),
                    rows.size()));
    imported.said.emplace_back("sizes",
                               fmt::format("{} takes {}, {} takes {}; the best bus bandwidth is {}/s", readable_bytes(rows.front().bytes),
                                           readable_seconds(rows.front().seconds), readable_bytes(rows.back().bytes),
                                           readable_seconds(rows.back().seconds), readable_bytes(best)));
    say_dips(rows, imported, warnings);
    if (!known)
      missing.push_back(fmt::format("the number of ranks of {}: keep the lines '# Rank'", on_one_line(file.path().filename().string())));
    Json each{{"file", file.path().filename().string()}, {"collective", table.operation->word}};
    each["ranks"] = known ? Json(table.ranks) : Json();
    each["hosts"] = table.hosts.empty() ? Json() : Json(table.hosts.size());
    each["devices"] = std::vector<std::string>(table.devices.begin(), table.devices.end());
    each["best_bus_bytes_per_s"] = best;
    each["rows"] = json_of(rows);
    tables.push_back(std::move(each));
    const std::string name = files.size() == 1 ? "collectives.csv" : fmt::format("collectives-{}.csv", tables.size());
    imported.files.emplace_back(name, csv_of(rows));
  }
  missing.emplace_back(
      "a job: this is a table of one collective; straggler allreduce --measured FILE compares it with a machine, straggler "
      "calibrate FILE fits a link to it");
  Json json{{"format", "nccl_tests"}, {"yields", "collectives"}};
  for (const GivenFile& file : files) json["files"].push_back(file.path().filename().string());
  json["collectives"] = std::move(tables);
  json["warnings"] = std::move(warnings);
  end(imported, std::move(json), missing);
  return imported;
}

// --- osu

bool is_osu(const FileStart& start) { return is_text(start) && tag_of(start.bytes, osu_mark).has_value(); }

/// "OSU MPI Allreduce Latency Test v5.8" is of "allreduce".
std::string osu_word(const OsuTable& table) {
  if (table.kind == OsuTable::Kind::latency) return "latency";
  if (table.kind == OsuTable::Kind::bandwidth) return "bandwidth";
  std::string word;
  for (const std::string& each : words_of(table.title)) {
    if (each.starts_with("OSU") || each.starts_with("MPI") || each == "Latency" || each == "Test" || each.starts_with("v")) continue;
    for (const char c : each) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word.empty() ? "other" : word;
}

Imported read_osu(const std::vector<GivenFile>& files, const Parameters& options) {
  Imported imported;
  imported.name = import_name(files.front(), {});
  Json tables = Json::array(), warnings = Json::array();
  std::vector<std::string> missing;
  std::optional<double> latency, alone, streamed;  // bandwidths: of one message at a time, of a stream
  bool collective = false;
  for (const GivenFile& file : files) {
    const std::vector<OsuTable> all = data([&] { return read_osu_tables(text_of(file, osu_mark), file.shown()); });
    std::size_t rows_read = 0;
    for (const OsuTable& table : all) {
      if (table.rows.empty()) continue;
      rows_read += table.rows.size();
      const std::string word = osu_word(table);
      const bool streams = table.kind == OsuTable::Kind::bandwidth;
      std::vector<Sized> rows;
      double peak = 0;
      for (const OsuTable::Row& row : table.rows) {
        rows.push_back({row.bytes, streams ? row.bytes / (row.value * 1e6) : row.value * 1e-6});
        peak = std::max(peak, row.value * 1e6);
      }
      std::string sizes =
          streams ? fmt::format("at most {}/s", readable_bytes(peak))
                  : fmt::format("{} takes {}, {} takes {}", readable_bytes(rows.front().bytes), readable_seconds(rows.front().seconds),
                                readable_bytes(rows.back().bytes), readable_seconds(rows.back().seconds));
      imported.said.emplace_back("table", fmt::format("{}, {} sizes: {}", on_one_line(table.title), rows.size(), sizes));
      Json each{{"file", file.path().filename().string()}, {"title", on_one_line(table.title)}, {"collective", word}};
      if (table.kind == OsuTable::Kind::latency) {
        latency = rows.front().seconds;
        if (rows.back().bytes > 65536 && rows.back().seconds > rows.front().seconds)
          alone = rows.back().bytes / (rows.back().seconds - rows.front().seconds);
      } else if (streams) {
        streamed = std::max(streamed.value_or(0), peak);
        each["peak_bytes_per_s"] = peak;
      } else {
        collective = true;
        each["ranks"] = options.has("ranks") ? Json(options.count("ranks")) : Json();
        if (!options.has("ranks")) missing.push_back(fmt::format("the number of ranks of '{}': give --ranks", on_one_line(table.title)));
      }
      if (!streams) say_dips(rows, imported, warnings);
      each["rows"] = json_of(rows);
      tables.push_back(std::move(each));
      imported.files.emplace_back(fmt::format("{}-{}.csv", tables.size(), word), csv_of(rows));
    }
    if (rows_read == 0)
      throw DataError(file.shown().string() + ": is OSU output without a row of times; give the whole output (is the file cut off?)");
  }
  Json json{{"format", "osu"}, {"yields", "collectives"}};
  for (const GivenFile& file : files) json["files"].push_back(file.path().filename().string());
  json["collectives"] = std::move(tables);
  const std::optional<double> bandwidth = streamed ? streamed : alone;
  json["link"] = Json();
  if (latency || bandwidth)
    json["link"] = {{"latency_s", latency ? Json(*latency) : Json()},  // of a message, as it is measured
                    {"link_latency_s", latency ? Json(*latency / links_of_route) : Json()},
                    {"bytes_per_s", bandwidth ? Json(*bandwidth) : Json()}};
  json["warnings"] = std::move(warnings);
  if (latency && bandwidth && *bandwidth >= 1 && *bandwidth <= 1e15 && *latency <= 1e6) {
    const std::string each = format_quantity(std::stod(fmt::format("{:.6g}", *latency / links_of_route)), Dimension::time);
    imported.files.emplace_back(
        "topology.yaml",
        fmt::format(
            "# Part of a scenario: cluster.network, from {}\n# A message crosses {:.0f} links, the sender's and the receiver's: it takes "
            "{}, of which each link has its part.\nlink: {{bandwidth: {}, latency: {}}}\n",
            on_one_line(files.front().path().filename().string()), links_of_route, readable_seconds(*latency),
            format_quantity(std::round(*bandwidth), Dimension::rate), each));
    imported.said.emplace_back(
        "link",
        fmt::format("{}/s, latency {}: a message of {} crosses {:.0f} links, the sender's and the receiver's", readable_bytes(*bandwidth),
                    readable_seconds(*latency / links_of_route), readable_seconds(*latency), links_of_route));
  }
  if (!latency && bandwidth) missing.emplace_back("the latency of the link: give the output of osu_latency, too");
  if (latency && !streamed)
    missing.push_back(alone
                          ? fmt::format("the bandwidth of a stream: osu_latency sends one message at a time, which reaches {}/s; give the "
                                        "output of osu_bw, too",
                                        readable_bytes(*alone))
                          : std::string("the bandwidth of the link: give the output of osu_bw, too"));
  if (collective) missing.emplace_back("a link: times of a collective alone do not give one");
  missing.emplace_back("a job: these are tables of messages; straggler calibrate FILE fits a link to those of osu_latency and osu_bw");
  end(imported, std::move(json), missing);
  return imported;
}

const Register<ImportFormat> nccl_tests(ImportFormat{.name = "nccl_tests",
                                                     .summary = "the output of nccl-tests or rccl-tests",
                                                     .example = "all_reduce_perf -b 1K -e 8G -f 2 > log.txt",
                                                     .yields = "collectives",
                                                     .parameters = {},
                                                     .recognizes = is_nccl,
                                                     .read = read_nccl});
const Register<ImportFormat> osu(ImportFormat{.name = "osu",
                                              .summary = "the output of an OSU micro-benchmark",
                                              .example = "mpirun -n 2 osu_latency > latency.txt",
                                              .yields = "collectives",
                                              .parameters = {{.name = "ranks",
                                                              .type = ValueType::count,
                                                              .meaning = "that made a collective; default: not known",
                                                              .range = Range::between(2, 1e7)}},
                                              .recognizes = is_osu,
                                              .read = read_osu});

}  // namespace
}  // namespace straggler::import_collectives

namespace straggler {

std::vector<MeasuredTable> read_measured_tables(const std::filesystem::path& path) {
  using namespace import_collectives;
  std::vector<MeasuredTable> all;
  for_each_file(path, [&](const GivenFile& file, const FileStart& start) {
    if (file.in_archive()) return;
    if (is_nccl(start)) {
      const NcclTable table = data([&] { return read_nccl_table(text_of(file, nccl_mark), file.shown()); });
      if (table.operation == nullptr)
        throw DataError(file.shown().string() + ": is nccl-tests output of an operation that is not known here; give that of " +
                        nccl_programs(false));
      MeasuredTable& made = all.emplace_back();
      made.title = std::string("nccl-tests ") + table.operation->name;
      made.collective = table.operation->word;
      made.nccl = true;
      made.ranks = table.ambiguous ? 0 : static_cast<std::size_t>(table.ranks);
      made.hosts = table.hosts.size();
      for (const NcclTable::Row& row : table.rows) made.rows.push_back({row.bytes, row.seconds});
    } else if (is_osu(start)) {
      for (const OsuTable& table : data([&] { return read_osu_tables(text_of(file, osu_mark), file.shown()); })) {
        if (table.rows.empty()) continue;
        MeasuredTable& made = all.emplace_back();
        made.title = on_one_line(table.title);
        const std::string word = osu_word(table);
        made.collective = word == "allreduce"        ? "all_reduce"
                          : word == "allgather"      ? "all_gather"
                          : word == "reduce_scatter" ? "reduce_scatter"
                                                     : word;
        const bool streams = table.kind == OsuTable::Kind::bandwidth;
        for (const OsuTable::Row& row : table.rows)
          made.rows.push_back({row.bytes, streams ? row.bytes / (row.value * 1e6) : row.value * 1e-6});
      }
    }
  });
  if (all.empty()) throw DataError(path.string() + ": has no table of nccl-tests or of an OSU micro-benchmark; give the output of one");
  return all;
}

}  // namespace straggler
