// Output of other benchmarks: columns separated by blanks, everything else after '#'.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>

#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "validation/calibrate/formats.hpp"

namespace straggler {

namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw ScenarioErrors(Problem(whole_file, file.string(), {}, what));
}

/// Rows of numbers, with problems at their lines.
class Rows {
 public:
  explicit Rows(const std::filesystem::path& file) : file_(file) {}
  void problem(int line, const std::string& what) { problems_.emplace_back(Place{0, line, 1}, file_.string(), "", what); }
  /// None and a problem if a word is not a number.
  std::optional<double> number(int line, const std::string& word, const char* column) {
    try {
      return parse_number(word);
    } catch (const std::invalid_argument& error) {
      problem(line, fmt::format("{}: {}", column, error.what()));
      return std::nullopt;
    }
  }
  void raise() const {
    if (!problems_.empty()) throw ScenarioErrors(problems_);
  }

 private:
  const std::filesystem::path& file_;
  std::vector<Problem> problems_;
};

/// The words of nccl-tests' header line, without the '#' in front; empty for any other line.
std::vector<std::string> nccl_header(std::string_view line) {
  std::vector<std::string> words = words_of(line);
  if (!words.empty() && words.front() == "#") words.erase(words.begin());
  const bool header = words.size() > 5 && words[0] == "size" && words[1] == "count" && words[2] == "type";
  return header ? words : std::vector<std::string>();
}

/// "#  Rank  0 Group  0 Pid 4711 on  node-1 device  0 [0x07] NVIDIA …": the host's name.
std::string host_of_rank(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() < 4 || words[0] != "#" || words[1] != "Rank") return {};
  const auto on = std::find(words.begin(), words.end(), "on");
  return on != words.end() && on + 1 != words.end() ? on[1] : std::string();
}

class NcclReader {
 public:
  NcclReader(const std::string& text, const std::filesystem::path& file) : text_(text), file_(file), rows_(file) {}

  MessageTimes read() {
    TextLines lines(text_);
    for (std::string_view line; lines.next(line);) take(line, static_cast<int>(lines.number()));
    rows_.raise();
    if (sizes_.empty()) refuse(file_, "is nccl-tests output without a row of times; give the whole output (is the file cut off?)");
    return translate();
  }

 private:
  void take(std::string_view line, int number) {
    if (const std::string host = host_of_rank(line); !host.empty()) {
      hosts_.insert(host);
      ++ranks_;
    }
    if (std::vector<std::string> header = nccl_header(line); !header.empty()) header_ = std::move(header);
    const std::vector<std::string> words = words_of(line);
    if (header_.empty() || words.empty() || words.front().front() == '#') return;
    if (!std::isdigit(static_cast<unsigned char>(words.front().front()))) return;  // log lines of other programs
    if (words.size() != header_.size()) {
      rows_.problem(number, fmt::format("has {} fields and the header {} columns; give the whole output (is the file cut off?)",
                                        words.size(), header_.size()));
      return;
    }
    const auto field = [&](const char* name) { return words[column(name)]; };
    const std::optional<double> size = rows_.number(number, field("size"), "size"), time = rows_.number(number, field("time"), "time");
    const std::optional<double> algorithm = rows_.number(number, field("algbw"), "algbw"),
                                bus = rows_.number(number, field("busbw"), "busbw");
    if (!size || !time || !algorithm || !bus || *size <= 0 || *time <= 0) return;
    sizes_.push_back({*size, *time * 1e-6});
    if (*algorithm > best_) {  // the ratio is least rounded where the bandwidth is largest
      best_ = *algorithm;
      ratio_ = *bus / *algorithm;
    }
    reduces_ = has("redop") && field("redop") != "none";
    rooted_ = has("root") && field("root") != "-1";
  }

  bool has(const char* name) const { return std::find(header_.begin(), header_.end(), name) != header_.end(); }
  /// The first of that name: out of place comes before in place.
  std::size_t column(const char* name) const {
    const auto at = std::find(header_.begin(), header_.end(), name);
    if (at == header_.end()) refuse(file_, fmt::format("is nccl-tests output without the column {}; give the whole output", name));
    return static_cast<std::size_t>(at - header_.begin());
  }

  MessageTimes translate() const {
    MessageTimes out;
    out.within_host = hosts_.size() == 1;
    const double n = ranks_;
    const auto near = [&](double ratio) { return std::abs(ratio_ - ratio) < 0.03 * ratio; };
    if (ranks_ < 2)
      refuse(file_,
             fmt::format("is nccl-tests output of {} rank(s), by its '# Rank' lines; give the whole output of at least two", ranks_));
    if (reduces_ && near(2 * (n - 1) / n)) {
      const double steps = 2 * (n - 1);
      for (const MessageTimes::Sample& each : sizes_) out.samples.push_back({each.bytes / n, each.seconds / steps});
      out.found = fmt::format("nccl-tests all-reduce, {} ranks on {} host(s), {} sizes", ranks_, hosts_.size(), sizes_.size());
      out.meaning = fmt::format("taken as a ring: {:.0f} steps, each of a message of 1/{} of the size; out of place", steps, ranks_);
    } else if (!reduces_ && !rooted_ && near(1)) {
      out.samples = sizes_;
      out.found = fmt::format("nccl-tests send and receive, {} ranks on {} host(s), {} sizes", ranks_, hosts_.size(), sizes_.size());
      out.meaning = "each time is that of one message, both ways at once; out of place";
    } else {
      refuse(file_, fmt::format("is nccl-tests output of an operation that does not determine a link (bus over algorithm bandwidth is "
                                "{:.3g}); give that of all_reduce_perf or sendrecv_perf",
                                ratio_));
    }
    return out;
  }

  const std::string& text_;
  const std::filesystem::path& file_;
  Rows rows_;
  std::vector<std::string> header_;
  std::set<std::string> hosts_;
  int ranks_ = 0;
  std::vector<MessageTimes::Sample> sizes_;
  double best_ = -1, ratio_ = 0;
  bool reduces_ = false, rooted_ = false;
};

}  // namespace

bool is_nccl_tests(const std::string& text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (line.starts_with("# nThread") || (line.find('#') != std::string_view::npos && !nccl_header(line).empty())) return true;
  return false;
}

MessageTimes read_nccl_tests(const std::string& text, const std::filesystem::path& file) { return NcclReader(text, file).read(); }

bool is_osu(const std::string& text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);)
    if (line.starts_with("# OSU ")) return true;
  return false;
}

MessageTimes read_osu_latency(const std::string& text, const std::filesystem::path& file) {
  MessageTimes out;
  Rows rows(file);
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    const int number = static_cast<int>(lines.number());
    if (line.starts_with("# OSU ") && line.find("Latency Test") == std::string_view::npos)
      refuse(file, in_quotes(line.substr(2)) + " is not osu_latency; give the output of osu_latency, whose times are those of one message");
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words.front().front() == '#') continue;
    if (words.size() < 2) {
      rows.problem(number, "has a size and no latency; give the whole output (is the file cut off?)");
      continue;
    }
    const std::optional<double> size = rows.number(number, words[0], "size"), latency = rows.number(number, words[1], "latency");
    if (size && latency && !(*size >= 0 && *latency > 0)) rows.problem(number, "has a size below 0 or a latency that is not above 0");
    if (size && latency) out.samples.push_back({*size, *latency * 1e-6});
  }
  rows.raise();
  if (out.samples.empty()) refuse(file, "is OSU output without a row of times; give the whole output (is the file cut off?)");
  out.found = fmt::format("OSU latency, {} sizes", out.samples.size());
  out.meaning = "latency is half a round trip, that of one message";
  return out;
}

}  // namespace straggler
