// Shards (McMahan, Moore, Ramage, Hampson, Agüera y Arcas: "Communication-Efficient Learning of Deep Networks from Decentralized Data",
// AISTATS 2017): the training set is sorted by label and cut into `per_worker` equal shards per worker, which are dealt at random. With two
// shards each, most workers have only two classes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "models/data/partition_parts.hpp"
#include "models/data/permutation.hpp"
#include "models/data/sample_order.hpp"
#include "sim/base/even_split.hpp"
#include "sim/base/registry.hpp"

namespace straggler::data::partition_shards {
namespace {

/// Worker w has the shards dealt[w per_worker] … dealt[(w + 1) per_worker - 1]. Depends on the seed alone.
struct Deal {
  std::uint64_t samples = 0;
  std::vector<std::uint32_t> dealt;

  EvenSplit<std::uint64_t> shards() const { return EvenSplit<std::uint64_t>::of(samples, dealt.size()); }
};

Deal deal(std::size_t per_worker, const PartitionRequest& request) {
  check_sample_count(request.samples);
  if (request.workers == 0) throw std::invalid_argument("a partition among no workers; give at least one");
  if (per_worker > request.samples / request.workers)
    throw std::invalid_argument(fmt::format(
        "{} training samples cannot be cut into {} shards for each of {} workers; use at most {} shards per worker or {} workers",
        request.samples, per_worker, request.workers, request.samples / request.workers,
        std::max<std::size_t>(request.samples / per_worker, 1)));
  Deal made;
  made.samples = request.samples;
  made.dealt.resize(per_worker * request.workers);
  std::iota(made.dealt.begin(), made.dealt.end(), 0u);
  shuffle(made.dealt, RandomStream(request.seed, "partition/shards"));
  return made;
}

StreamSizes sizes_of(const Deal& deal, std::size_t per_worker, const PartitionRequest& request) {
  StreamSizes sizes;
  sizes.total = request.samples;
  sizes.sizes.assign(request.workers, 0);
  const EvenSplit<std::uint64_t> shards = deal.shards();
  for (std::size_t i = 0; i < deal.dealt.size(); ++i) sizes.sizes[i / per_worker] += shards.size(deal.dealt[i]);
  return sizes;
}

std::unique_ptr<Partition> make(const Parameters& parameters, const PartitionRequest& request) {
  const auto per_worker = static_cast<std::size_t>(parameters.count("per_worker"));
  const Deal cut = deal(per_worker, request);
  const std::vector<std::uint32_t> sorted = sorted_by_class(request);
  std::vector<std::uint32_t> members;
  members.reserve(request.samples);
  const EvenSplit<std::uint64_t> shards = cut.shards();
  for (const std::uint32_t shard : cut.dealt)
    members.insert(members.end(), sorted.begin() + static_cast<std::ptrdiff_t>(shards.begin(shard)),
                   sorted.begin() + static_cast<std::ptrdiff_t>(shards.begin(shard + 1)));
  return partition_of_parts(sizes_of(cut, per_worker, request), std::move(members), request);
}

const Register<PartitionEntry> entry(
    {"shards",
     "sorted by label and cut into equal shards, of which each worker is dealt `per_worker` at random: few classes each",
     {{"per_worker",
       ValueType::count,
       "2",
       false,
       "shards of each worker; 1: one class or two; more: closer to iid",
       Range::between(1, 1e6),
       {}}},
     false,
     [](const Parameters& parameters, const PartitionRequest& request) {
       require_classes(request, "shards");
       const auto per_worker = static_cast<std::size_t>(parameters.count("per_worker"));
       return sizes_of(deal(per_worker, request), per_worker, request);
     },
     make});

}  // namespace
}  // namespace straggler::data::partition_shards
