// Spells from a file: a CSV with the columns worker, from_s and to_s, one row for each span of seconds in which a client was seen to be
// present. The clients of the file are taken in ascending order of their numbers; worker i of the group is client i modulo their number.
// After its last row a client is absent for good, unless `repeat` gives the time after which the file begins again.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/cluster/availability.hpp"

namespace straggler::cluster::availability_trace {
namespace {

constexpr std::uintmax_t largest_file = 1ull << 30;  // bytes
constexpr std::size_t most_clients = 1'000'000;      // a client takes dozens of bytes
constexpr std::size_t most_spans = 16'000'000;       // 256 MB

[[noreturn]] void fail(const std::string& path, const std::string& sentence) { throw std::invalid_argument(path + ": " + sentence); }
[[noreturn]] void fail(const std::string& path, std::size_t line, const std::string& sentence) {
  throw std::invalid_argument(path + ":" + std::to_string(line) + ": " + sentence);
}

struct Span {
  Time from, to;
};
using Spans = std::vector<Span>;

struct Clients {
  std::vector<Spans> spans;      // of each client, ascending; spans that touch or overlap are one
  std::size_t beyond_limit = 0;  // spans that begin after the latest time of a run, left out
};

Clients read_trace(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    fail(path, "no such file; give the path of a CSV with the columns worker,from_s,to_s");
  if (std::filesystem::file_size(path, error) > largest_file)
    fail(path, "more than 1 GiB; give fewer clients, which workers share in turn");
  FileLines lines(path);
  if (!lines.opened()) fail(path, "cannot be opened; make it readable");
  CsvSplitter splitter;
  std::map<std::int64_t, Spans> of;
  bool header = false;
  Clients out;
  std::size_t all_spans = 0;
  for (std::string_view line; lines.next(line);) {
    const std::size_t at = lines.number();
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    if (!splitter.split(line)) fail(path, at, "a quote that is not closed, or text behind one; write plain numbers");
    const std::vector<CsvField>& cells = splitter.fields();
    if (cells.size() != 3) fail(path, at, "there are " + std::to_string(cells.size()) + " columns; write worker,from_s,to_s");
    if (!header) {
      if (cells[0].text != "worker" || cells[1].text != "from_s" || cells[2].text != "to_s")
        fail(path, at, "the first row is no header; write worker,from_s,to_s");
      header = true;
      continue;
    }
    double values[3];
    for (std::size_t i = 0; i < 3; ++i) {
      try {
        values[i] = parse_number(cells[i].text);
      } catch (const std::invalid_argument& problem) {
        fail(path, at, problem.what());
      }
    }
    if (!(values[0] >= 0 && values[0] < 1e15 && values[0] == std::floor(values[0])))
      fail(path, at, format_number(values[0]) + " is no client; number them from 0");
    const double most = Time::limit().seconds();
    if (!(values[1] >= 0 && values[1] < values[2]))
      fail(path, at,
           "the span ends at " + format_number(values[2]) + " s and begins at " + format_number(values[1]) +
               " s; write seconds from 0 on, the end after the beginning");
    if (values[1] >= most) {
      ++out.beyond_limit;
      continue;
    }
    of[static_cast<std::int64_t>(values[0])].push_back({Time::from_seconds(values[1]), Time::from_seconds(std::min(values[2], most))});
    if (of.size() > most_clients) fail(path, at, "more than a million clients; give fewer, which workers share in turn");
    if (++all_spans > most_spans) fail(path, at, "more than 16 million spans; give fewer clients, which workers share in turn");
  }
  if (lines.broken()) fail(path, "cannot be read to its end; check the disk");
  for (auto& [client, spans] : of) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
    Spans joined;
    for (const Span& span : spans) {
      if (span.from >= span.to) continue;  // less than a tick
      if (!joined.empty() && span.from <= joined.back().to)
        joined.back().to = std::max(joined.back().to, span.to);
      else
        joined.push_back(span);
    }
    out.spans.push_back(std::move(joined));
  }
  if (std::all_of(out.spans.begin(), out.spans.end(), [](const Spans& spans) { return spans.empty(); }))
    fail(path, "there are no spans in it that last for a picosecond; write rows such as 0,3600,7200 below the header worker,from_s,to_s");
  return out;
}

class Trace final : public Availability {
 public:
  Trace(const std::string& path, Time repeat) : repeat_(repeat) {
    Clients read = read_trace(path);
    clients_ = std::move(read.spans);
    beyond_limit_ = read.beyond_limit;
    for (const Spans& spans : clients_)
      for (const Span& span : spans)
        if (repeat_ != Time::never() && span.to > repeat_)
          fail(path, "it lasts for longer than repeat, " + format_quantity(repeat_.seconds(), Dimension::time) + "; use a longer one");
  }

  Spell spell(const Attendant& worker, std::uint64_t, Time begin) const override {
    const Spans& spans = clients_[worker.number % clients_.size()];
    const std::int64_t period = repeat_.ticks();
    const Time round = repeat_ == Time::never() ? Time() : Time::from_ticks(begin.ticks() / period * period);
    const Time within = begin - round;
    const auto next = std::upper_bound(spans.begin(), spans.end(), within, [](Time at, const Span& span) { return at < span.to; });
    if (next != spans.end() && next->from <= within) {
      // The end of this span. If it continues at the start of the next round: the end of that round's first span.
      if (next->to == repeat_ && spans.front().from == Time())
        return {spans.front().to == repeat_ ? Time::never() : round + repeat_ + spans.front().to, true};
      return {round + next->to, true};
    }
    if (next != spans.end()) return {round + next->from, false};
    if (repeat_ == Time::never() || spans.empty()) return {Time::never(), false};
    return {round + repeat_ + spans.front().from, false};
  }
  double share() const override {
    double present = 0;
    const Time end = repeat_ == Time::never() ? last_end() : repeat_;
    for (const Spans& spans : clients_)
      for (const Span& span : spans) present += (span.to - span.from).seconds();
    return present / (static_cast<double>(clients_.size()) * end.seconds());
  }
  std::string doubt() const override {
    constexpr double least_part = 0.01;
    if (beyond_limit_ > 0)
      return std::to_string(beyond_limit_) + " of its spans begin after " + format_quantity(Time::limit().seconds(), Dimension::time) +
             ", later than any run lasts; from_s and to_s are seconds";
    if (repeat_ != Time::never() && last_end().seconds() < least_part * repeat_.seconds())
      return "its last span ends at " + format_quantity(last_end().seconds(), Dimension::time) + ", and it repeats after " +
             format_quantity(repeat_.seconds(), Dimension::time) + "; from_s and to_s are seconds";
    return {};
  }

 private:
  Time last_end() const {
    Time end;
    for (const Spans& spans : clients_)
      if (!spans.empty()) end = std::max(end, spans.back().to);
    return end;
  }

  std::vector<Spans> clients_;
  Time repeat_;  // never(): it does not
  std::size_t beyond_limit_ = 0;
};

const Register<AvailabilityEntry> entry(
    {"trace",
     "present as given in a file",
     {{.name = "path", .type = ValueType::path, .required = true, .meaning = "CSV with the columns worker, from_s, to_s"},
      {.name = "repeat",
       .type = ValueType::time,
       .meaning = "time after which the file repeats; without it a client stays away after its last row",
       .range = Range::above(0)}},
     [](const Parameters& parameters) {
       const double most = Time::limit().seconds();
       const bool repeats = parameters.has("repeat") && parameters.number("repeat") < most;
       return std::make_unique<Trace>(parameters.text("path"), repeats ? Time::from_seconds(parameters.number("repeat")) : Time::never());
     }});

}  // namespace
}  // namespace straggler::cluster::availability_trace
