#include "models/data/partition_parts.hpp"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "models/data/sample_order.hpp"
#include "sim/base/even_split.hpp"

namespace straggler {
namespace {

class Parts final : public Partition {
 public:
  Parts(StreamSizes sizes, std::vector<std::uint32_t> members, const PartitionRequest& request)
      : sizes_(std::move(sizes)),
        members_(std::move(members)),
        begin_(sizes_.sizes.size() + 1, 0),
        order_(request.seed, request.reshuffle, request.samples, [this](std::uint32_t stream, std::vector<std::uint32_t>& out) {
          out.assign(members_.begin() + static_cast<std::ptrdiff_t>(begin_[stream]),
                     members_.begin() + static_cast<std::ptrdiff_t>(begin_[stream + 1]));
        }) {
    std::partial_sum(sizes_.sizes.begin(), sizes_.sizes.end(), begin_.begin() + 1);
    if (begin_.back() != members_.size())
      throw std::logic_error(fmt::format("parts of {} samples in all, but {} samples are dealt", begin_.back(), members_.size()));
  }
  const StreamSizes& sizes() const override { return sizes_; }
  void samples(const Batch& batch, std::vector<std::uint32_t>& out) const override {
    if (batch.stream >= sizes_.sizes.size())
      throw std::logic_error(fmt::format("a batch of stream {}; there are {} streams", batch.stream, sizes_.sizes.size()));
    order_.samples(batch, sizes_.sizes[batch.stream], out);
  }

 private:
  const StreamSizes sizes_;
  const std::vector<std::uint32_t> members_;
  std::vector<std::uint64_t> begin_;  // [workers + 1], into members_
  const SampleOrder order_;
};

}  // namespace

std::unique_ptr<Partition> partition_of_parts(StreamSizes sizes, std::vector<std::uint32_t> members, const PartitionRequest& request) {
  return std::make_unique<Parts>(std::move(sizes), std::move(members), request);
}

StreamSizes equal_parts(const PartitionRequest& request) {
  check_sample_count(request.samples);
  if (request.workers == 0) throw std::invalid_argument("a partition among no workers; give at least one");
  if (request.workers > request.samples)
    throw std::invalid_argument(
        fmt::format("{} training samples cannot be divided among {} workers; use at most {} workers, or partition: {{kind: shared}}",
                    request.samples, request.workers, request.samples));
  StreamSizes sizes;
  sizes.total = request.samples;
  sizes.sizes.resize(request.workers);
  const auto parts = EvenSplit<std::size_t>::of(request.samples, request.workers);
  for (std::size_t i = 0; i < request.workers; ++i) sizes.sizes[i] = parts.size(i);
  return sizes;
}

StreamSizes parts_by_batch(const PartitionRequest& request) {
  StreamSizes sizes = equal_parts(request);
  if (request.batches.empty()) return sizes;
  const std::uint64_t all = std::accumulate(request.batches.begin(), request.batches.end(), std::uint64_t{0});
  // Samples and batches are below 2^32.
  const auto begin_of = [&](std::uint64_t before) { return static_cast<std::uint64_t>(request.samples) * before / all; };
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < request.workers; ++i) {
    sizes.sizes[i] = begin_of(before + request.batches[i]) - begin_of(before);
    before += request.batches[i];
    if (sizes.sizes[i] == 0)
      throw std::invalid_argument(
          fmt::format("worker {} would have none of the {} training samples, in proportion to its batch of {}; "
                      "give it a larger batch, or partition: {{kind: shared}}",
                      i, request.samples, request.batches[i]));
  }
  return sizes;
}

void require_classes(const PartitionRequest& request, const char* kind) {
  if (!request.one_label)
    throw std::invalid_argument(
        fmt::format("{} deals samples by their class, and a window of a text has none: it has a label at each place; "
                    "use iid, shared, by_file, or sorted_runs {{order: file}}, which deals the text in pieces",
                    kind));
}

std::vector<std::vector<std::uint32_t>> samples_by_class(const PartitionRequest& request) {
  if (request.labels.size() != request.samples)
    throw std::logic_error("a partition by labels was asked for without the labels of all samples");
  std::vector<std::vector<std::uint32_t>> by_class(request.classes);
  for (std::size_t i = 0; i < request.samples; ++i)
    by_class.at(static_cast<std::size_t>(request.labels[i])).push_back(static_cast<std::uint32_t>(i));
  return by_class;
}

std::vector<std::uint32_t> sorted_by_class(const PartitionRequest& request) {
  std::vector<std::uint32_t> sorted;
  sorted.reserve(request.samples);
  for (const std::vector<std::uint32_t>& one : samples_by_class(request)) sorted.insert(sorted.end(), one.begin(), one.end());
  return sorted;
}

}  // namespace straggler
