// Parts from a file: either one worker per line, line k for training sample k, or a line `worker, first, count` for each range of samples.
// `#` starts a comment; a first line of column names is skipped. Every training sample belongs to exactly one worker.
#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "models/data/dataset.hpp"
#include "models/data/partition_parts.hpp"
#include "models/data/sample_order.hpp"
#include "models/data/text_table.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/registry.hpp"
#include "sim/base/suggest.hpp"

namespace straggler::data::partition_by_file {
namespace {

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

std::string contents(const std::string& path) {
  try {
    return read_text(path, "give a file of one worker a training sample, or of lines `worker, first, count`");
  } catch (const DataError& wrong) {
    throw std::invalid_argument(wrong.what());  // the type that partitions throw
  }
}

class Assignment {
 public:
  Assignment(const std::string& path, const PartitionRequest& request) : path_(path), request_(request) {
    check_sample_count(request.samples);
    const std::string text = contents(path);
    worker_of_.assign(request.samples, nobody);
    FilledLines lines(text, true);
    CsvSplitter splitter;
    bool first = true;
    for (std::string_view line; lines.next(line); first = false) {
      line_ = lines.number();
      if (!splitter.split(line)) fail("a quote that is not closed; write plain numbers");
      if (first && !as_integer(splitter.fields()[0].text)) continue;  // column names
      take(splitter.fields());
    }
    check_complete();
  }

  /// Takes the result of reading the sizes.
  StreamSizes sizes() && {
    StreamSizes sizes;
    sizes.total = request_.samples;
    sizes.sizes.assign(request_.workers, 0);
    for (const std::uint32_t worker : worker_of_) ++sizes.sizes[worker];
    for (std::size_t w = 0; w < sizes.sizes.size(); ++w)
      if (sizes.sizes[w] == 0)
        throw std::invalid_argument(
            fmt::format("{}: worker {} of {} has no sample; give it one, or use fewer workers", path_, w, request_.workers));
    sizes.content = Hasher().add("by_file").add_bytes(worker_of_.data(), worker_of_.size() * sizeof(std::uint32_t)).key();
    sizes.workers_of = std::make_shared<const std::vector<std::uint32_t>>(std::move(worker_of_));
    return sizes;
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const {
    throw std::invalid_argument(fmt::format("{}:{}: {}", path_, line_, sentence));
  }

  std::uint64_t number(std::string_view field, const char* what, std::uint64_t most) const {
    const std::optional<std::int64_t> value = as_integer(field);
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > most)
      fail(fmt::format("{} is not a {}; write a whole number from 0 to {}", in_quotes(field), what, most));
    return static_cast<std::uint64_t>(*value);
  }

  void take(const std::vector<CsvField>& fields) {
    if (fields_ == 0) fields_ = fields.size();
    if (fields.size() != fields_ || (fields_ != 1 && fields_ != 3))
      fail(fmt::format("{} fields; write {}", fields.size(),
                       fields_ == 1   ? "one worker a line, as above"
                       : fields_ == 3 ? "`worker, first, count`, as above"
                                      : "one worker a line, or `worker, first, count`"));
    const auto worker = static_cast<std::uint32_t>(number(fields[0].text, "worker", request_.workers - 1));
    if (fields_ == 1) {
      if (next_ == request_.samples)
        fail(fmt::format("more lines than the {} training samples; write one line a sample{}", next_, held_out()));
      worker_of_[next_++] = worker;
      return;
    }
    const std::uint64_t first = number(fields[1].text, "training sample", request_.samples - 1);
    const std::uint64_t count = number(fields[2].text, "number of training samples that are left from there", request_.samples - first);
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (worker_of_[i] != nobody) fail(fmt::format("sample {} belongs to worker {} already; let ranges not overlap", i, worker_of_[i]));
      worker_of_[i] = worker;
    }
  }

  void check_complete() const {
    for (std::size_t i = 0; i < worker_of_.size(); ++i)
      if (worker_of_[i] == nobody)
        throw std::invalid_argument(
            fmt::format("{}: ends at line {} without a worker for sample {} of the {} training samples; every one needs one{}", path_,
                        line_, i, request_.samples, held_out()));
  }
  const char* held_out() const { return " (with evaluate.split: validation a tenth of them is held out, and the rest is renumbered)"; }

  const std::string& path_;
  const PartitionRequest& request_;
  std::vector<std::uint32_t> worker_of_;  // [samples]
  std::size_t line_ = 0, fields_ = 0, next_ = 0;
};

StreamSizes sizes_of(const Parameters& parameters, const PartitionRequest& request) {
  return Assignment(parameters.text("path"), request).sizes();
}

std::vector<std::uint32_t> members_of(const StreamSizes& sizes) {
  std::vector<std::uint64_t> next(sizes.sizes.size(), 0);
  for (std::size_t w = 1; w < next.size(); ++w) next[w] = next[w - 1] + sizes.sizes[w - 1];
  const std::vector<std::uint32_t>& workers_of = *sizes.workers_of;
  std::vector<std::uint32_t> members(workers_of.size());
  for (std::size_t i = 0; i < workers_of.size(); ++i) members[next[workers_of[i]]++] = static_cast<std::uint32_t>(i);
  return members;
}

const Register<PartitionEntry> entry(
    {"by_file",
     "as given in a file: one worker per training sample, or ranges of samples",
     {{"path", ValueType::path, {}, true, "text file: one worker per line, or lines `worker, first, count`", {}, {}}},
     false,
     sizes_of,
     [](const Parameters& parameters, const PartitionRequest& request) {
       StreamSizes sizes = request.sizes ? *request.sizes : sizes_of(parameters, request);
       std::vector<std::uint32_t> members = members_of(sizes);
       return partition_of_parts(std::move(sizes), std::move(members), request);
     }});

}  // namespace
}  // namespace straggler::data::partition_by_file
