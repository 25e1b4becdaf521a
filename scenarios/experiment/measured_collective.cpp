#include "scenarios/experiment/measured_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "sim/base/csv_rows.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

constexpr std::size_t largest_file = 16 << 20;
constexpr double longest_seconds = 1e6;

/// Seconds by bytes.
using MeasuredTimes = std::map<double, double>;

class MeasuredFile {
 public:
  explicit MeasuredFile(const std::filesystem::path& file) : file_(file) {}

  std::string text() const {
    const FileText read = read_file(file_, largest_file + 1);
    if (read.fault == FileFault::missing) refuse("no such file; give a CSV with columns bytes and seconds");
    if (read.fault != FileFault::none) refuse("cannot be read; give a CSV with columns bytes and seconds");
    if (read.text.size() > largest_file) refuse("has more than 16 MiB; give a row for each bucket");
    return read.text;
  }

  MeasuredTimes times(const std::string& text) const {
    std::map<double, std::pair<double, int>> sums;
    CsvRows rows(text);
    std::size_t columns[2] = {};
    for (const auto& [name, at] : {std::pair("bytes", 0), std::pair("seconds", 1)}) {
      columns[at] = rows.column(name);
      if (columns[at] == rows.names().size() && !rows.names().empty())
        refuse(fmt::format("has no column {}; give a CSV with columns bytes and seconds", name));
    }
    while (rows.next()) {
      const std::optional<double> bytes = as_number(rows.text(columns[0])), seconds = as_number(rows.text(columns[1]));
      if (!bytes || !(*bytes >= 1 && *bytes <= 1e15)) refuse(fmt::format("line {}: bytes are no number from 1 to 1e15", rows.line()));
      if (!seconds || !(*seconds >= 0 && *seconds <= longest_seconds))
        refuse(fmt::format("line {}: seconds are no number from 0 to 1e6", rows.line()));
      auto& [sum, count] = sums[*bytes];
      sum += *seconds;
      ++count;
    }
    if (!rows.fault().empty()) refuse(rows.fault() + "; write plain numbers");
    if (sums.empty()) refuse("has no row of times; give a CSV with columns bytes and seconds");
    MeasuredTimes all;
    for (const auto& [bytes, each] : sums) all[bytes] = each.first / each.second;
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw std::invalid_argument(file_.string() + ": " + what); }

  const std::filesystem::path& file_;
};

double nearest_seconds(const MeasuredTimes& times, double bytes) {
  auto after = times.lower_bound(bytes);
  if (after == times.end()) return std::prev(after)->second;
  if (after == times.begin() || after->first - bytes <= bytes - std::prev(after)->first) return after->second;
  return std::prev(after)->second;
}

/// Nobody sends: after its time all are done.
class MeasuredSchedule final : public CollectiveSchedule {
 public:
  MeasuredSchedule(std::size_t ranks, double seconds) : ranks_(ranks), time_(Time::from_seconds(seconds)) {}
  std::size_t ranks() const override { return ranks_; }
  std::size_t rounds() const override { return 1; }
  void part(CollectiveRank /*rank*/, std::size_t /*round*/, RoundPart& out) const override { out.clear(); }
  std::vector<Stretch> stretches() const override { return {}; }
  Time start_cost() const override { return time_; }
  std::uint64_t bytes_sent(CollectiveRank /*rank*/) const override { return 0; }
  std::uint64_t bytes_received(CollectiveRank /*rank*/) const override { return 0; }

 private:
  std::size_t ranks_;
  Time time_;
};

CollectiveEntry entry_of(MeasuredTimes given) {
  const auto times = std::make_shared<const MeasuredTimes>(std::move(given));
  CollectiveEntry entry;
  entry.name = measured_algorithm;
  entry.summary = "times that were measured, without flows";
  entry.reference = "the times are the user's";
  entry.parameters = {{.name = "path", .type = ValueType::path, .required = true, .meaning = "CSV with columns bytes and seconds"}};
  entry.seconds = [times](double bytes, const CollectiveShape&, const UniformLinks&, const Parameters&) {
    return nearest_seconds(*times, bytes);
  };
  entry.make = [times](std::uint64_t bytes, const CollectiveShape& shape, const UniformLinks&,
                       const Parameters&) -> std::unique_ptr<CollectiveSchedule> {
    return std::make_unique<MeasuredSchedule>(shape.workers + shape.servers, nearest_seconds(*times, static_cast<double>(bytes)));
  };
  return entry;
}

}  // namespace

const CollectiveEntry& measured_collective(const std::filesystem::path& file) {
  static std::mutex mutex;
  static std::map<std::string, CollectiveEntry> known;  // by text
  MeasuredFile measured(file);
  std::string text = measured.text();
  const std::lock_guard lock(mutex);
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  CollectiveEntry entry = entry_of(measured.times(text));
  return known.emplace(std::move(text), std::move(entry)).first->second;
}

void require_measured(const std::filesystem::path& file, const std::vector<std::uint64_t>& sizes) {
  MeasuredFile measured(file);
  const MeasuredTimes times = measured.times(measured.text());
  for (const std::uint64_t bytes : sizes)
    if (!times.contains(static_cast<double>(bytes)))
      throw std::invalid_argument(fmt::format("{}: has no time of an all-reduce of {} bytes; add a row for it, or change what is reduced",
                                              file.string(), readable_count(bytes)));
}

}  // namespace straggler
