// Partitions by label and by file, and what holds for every partition that is registered.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>

#include "models/data/dataset.hpp"
#include "models/data/partition.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

namespace partition_kinds_test {

using namespace straggler;
using namespace straggler::test;

namespace {

struct Problem {
  PartitionRequest request;
  std::vector<std::int32_t> labels;

  /// Classes with unlike shares, in random order.
  Problem(std::size_t workers, std::size_t samples, std::size_t classes, std::uint64_t seed = 1) {
    RandomStream random(5, "test/labels");
    for (std::size_t i = 0; i < samples; ++i)
      labels.push_back(static_cast<std::int32_t>(std::min(random.below(classes), random.below(classes + 2))));
    request.seed = seed;
    request.workers = workers;
    request.samples = samples;
    request.classes = classes;
    request.labels = labels;
  }
  Problem(const Problem&) = delete;
  PartitionRequest timing_alone() const {
    PartitionRequest made = request;
    made.labels = {};
    return made;
  }
};

class TextFile {
 public:
  explicit TextFile(const std::string& text) { folder_.write("parts", text); }
  Parameters parameters() const { return {{"path", path()}}; }
  std::string path() const { return (folder_ / "parts").string(); }

 private:
  const test::TemporaryFolder folder_;
};

const PartitionEntry& entry(const std::string& name) { return Registry<PartitionEntry>::instance().at(name); }

std::vector<std::uint32_t> epoch_of(const Partition& partition, std::uint32_t stream, std::uint64_t epoch) {
  Batch batch;
  batch.stream = stream;
  batch.size = static_cast<std::uint32_t>(partition.sizes().of(stream));
  batch.position = epoch * batch.size;
  std::vector<std::uint32_t> out;
  partition.samples(batch, out);
  return out;
}

/// Samples of each class that a worker has.
std::vector<std::size_t> mix(const Partition& partition, std::uint32_t stream, const Problem& problem) {
  std::vector<std::size_t> counts(problem.request.classes, 0);
  for (const std::uint32_t sample : epoch_of(partition, stream, 0)) ++counts[static_cast<std::size_t>(problem.labels[sample])];
  return counts;
}

std::string refusal(const std::string& name, const Parameters& parameters, const PartitionRequest& request) {
  return error_of<std::exception>([&] { entry(name).sizes(parameters, request); });
}

}  // namespace

TEST_CASE("every partition: each epoch has every sample once, sizes are known without labels, and the seed decides") {
  const Problem problem(7, 500, 6), other(7, 500, 6, 2);
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += std::to_string(i * i % 7) + "\n";
  const TextFile file(lines);
  for (const PartitionEntry& each : Registry<PartitionEntry>::instance().entries()) {
    CAPTURE(each.name);
    Parameters given;
    for (const Parameter& parameter : each.parameters) {
      if (!parameter.required) continue;
      if (parameter.type == ValueType::path) given.set(parameter.name, file.parameters().text("path"));
      if (parameter.type == ValueType::number) given.set(parameter.name, 0.7);
    }
    const Parameters parameters = complete(each.parameters, given);
    if (each.name == "by_file") {
      // Squares modulo 7 are 0, 1, 2, 4: three of the seven workers have nothing.
      CHECK(has(refusal("by_file", parameters, problem.request), "worker 3 of 7 has no sample"));
      continue;
    }
    const auto partition = each.make(parameters, problem.request), again = each.make(parameters, problem.request),
               unlike = each.make(parameters, other.request);
    const StreamSizes sizes = each.sizes(parameters, problem.timing_alone());
    CHECK(sizes.shared == partition->sizes().shared);
    CHECK(sizes.total == 500);
    CHECK(sizes.sizes == partition->sizes().sizes);
    const StreamSizes many = each.sizes(parameters, [] {
      PartitionRequest request;
      request.workers = 100'000;
      request.samples = 1'000'003;
      request.classes = 10;
      return request;
    }());
    if (!many.shared) {
      CHECK(std::accumulate(many.sizes.begin(), many.sizes.end(), std::uint64_t{0}) == 1'000'003);
      CHECK(*std::min_element(many.sizes.begin(), many.sizes.end()) > 0);
    }
    const std::uint32_t streams = sizes.shared ? 1 : 7;
    for (const std::uint64_t epoch : {0u, 3u}) {
      std::vector<std::uint32_t> drawn;
      bool differs = false;
      for (std::uint32_t s = 0; s < streams; ++s) {
        const std::uint32_t stream = sizes.shared ? shared_stream : s;
        const auto part = epoch_of(*partition, stream, epoch);
        CHECK(part == epoch_of(*again, stream, epoch));
        differs = differs || part != epoch_of(*unlike, stream, epoch);
        drawn.insert(drawn.end(), part.begin(), part.end());
      }
      CHECK(differs);
      std::sort(drawn.begin(), drawn.end());
      std::vector<std::uint32_t> all(500);
      std::iota(all.begin(), all.end(), 0u);
      CHECK(drawn == all);
    }
  }
}

TEST_CASE("shards: sorted by label, cut into equal pieces, `per_worker` for each worker") {
  const Problem problem(20, 1000, 10);
  const Parameters two = complete(entry("shards").parameters, {});
  const auto partition = entry("shards").make(two, problem.request);
  // Where each sample stands in the order by label, the first of equal ones first.
  std::vector<std::uint32_t> sorted(1000), place(1000);
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return problem.labels[a] < problem.labels[b]; });
  for (std::uint32_t i = 0; i < 1000; ++i) place[sorted[i]] = i;
  std::set<std::uint32_t> dealt;
  for (std::uint32_t w = 0; w < 20; ++w) {
    std::set<std::uint32_t> shards;
    const auto part = epoch_of(*partition, w, 0);
    REQUIRE(part.size() == 50);
    for (const std::uint32_t sample : part) shards.insert(place[sample] / 25);
    CHECK(shards.size() == 2);
    dealt.insert(shards.begin(), shards.end());
  }
  CHECK(dealt.size() == 40);
  // 1000 samples in 3 x 11 shards: 30 or 31 each, so that parts have 90 to 93.
  const Problem uneven(11, 1000, 10);
  const auto three = entry("shards").make({{"per_worker", std::int64_t{3}}}, uneven.request);
  CHECK(*std::min_element(three->sizes().sizes.begin(), three->sizes().sizes.end()) >= 90);
  CHECK(*std::max_element(three->sizes().sizes.begin(), three->sizes().sizes.end()) <= 93);
  CHECK(has(refusal("shards", {{"per_worker", std::int64_t{51}}}, problem.request), "use at most 50 shards per worker or 19 workers"));
}

TEST_CASE("sorted_runs: worker k has the k-th contiguous run, by class or as in the file") {
  const Problem problem(7, 500, 6);
  // 500 = 7 * 71 + 3: the first three runs have 72.
  const auto begin = [](std::size_t worker) { return worker * 71 + std::min<std::size_t>(worker, 3); };
  std::vector<std::uint32_t> sorted(500);
  std::iota(sorted.begin(), sorted.end(), 0u);
  const std::vector<std::uint32_t> file = sorted;
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) { return problem.labels[a] < problem.labels[b]; });
  REQUIRE(sorted != file);
  for (const auto& [order, samples] : {std::pair(std::string("class"), sorted), std::pair(std::string("file"), file)}) {
    CAPTURE(order);
    const Parameters parameters = complete(entry("sorted_runs").parameters, {{"order", order}});
    const auto partition = entry("sorted_runs").make(parameters, problem.request);
    for (std::uint32_t w = 0; w < 7; ++w) {
      auto part = epoch_of(*partition, w, 0), run = std::vector<std::uint32_t>(samples.begin() + static_cast<std::ptrdiff_t>(begin(w)),
                                                                               samples.begin() + static_cast<std::ptrdiff_t>(begin(w + 1)));
      std::sort(part.begin(), part.end());
      std::sort(run.begin(), run.end());
      CHECK(part == run);
    }
  }
  // The default is by class. Four equal classes in turn: with 4 workers each has one, with 8 half of one, with 2 two, with 3 one or two.
  Problem turns(4, 480, 4);
  for (std::size_t i = 0; i < 480; ++i) turns.labels[i] = static_cast<std::int32_t>(i % 4);
  const Parameters usual = complete(entry("sorted_runs").parameters, {});
  for (const std::size_t workers : {2u, 3u, 4u, 8u}) {
    CAPTURE(workers);
    turns.request.workers = workers;
    const auto partition = entry("sorted_runs").make(usual, turns.request);
    const std::size_t size = 480 / workers;
    for (std::size_t w = 0; w < workers; ++w) {
      std::vector<std::size_t> expected(4);
      for (std::size_t c = 0; c < 4; ++c) {  // how much of run w lies in the c-th 120 of the sorted set
        const std::size_t from = std::max(w * size, c * 120), to = std::min((w + 1) * size, (c + 1) * 120);
        expected[c] = to > from ? to - from : 0;
      }
      CHECK(mix(*partition, static_cast<std::uint32_t>(w), turns) == expected);
    }
  }
  const Problem few(21, 20, 4);
  CHECK(has(refusal("sorted_runs", usual, few.request), "20 training samples cannot be divided among 21 workers; use at most 20 workers"));
}

TEST_CASE("dirichlet: mixes have the moments of the distribution, and the limits are iid and one class") {
  const std::size_t classes = 4;
  // Few of many samples are drawn, so that no class runs out: half of the workers' mixes come first.
  const Problem problem(400, 80'000, classes);
  std::vector<double> share(classes, 0.0);
  for (const std::int32_t label : problem.labels) share[static_cast<std::size_t>(label)] += 1.0 / 80'000;
  for (const double alpha : {2.0, 20.0}) {
    CAPTURE(alpha);
    const auto partition = entry("dirichlet").make({{"alpha", alpha}}, problem.request);
    const double workers = 150, size = 200;
    for (std::size_t c = 0; c < classes; ++c) {
      double sum = 0, squares = 0;
      for (std::uint32_t w = 0; w < static_cast<std::uint32_t>(workers); ++w) {
        const double part = static_cast<double>(mix(*partition, w, problem)[c]) / size;
        sum += part / workers;
        squares += (part - share[c]) * (part - share[c]) / workers;
      }
      // Of a share in Dir(alpha p): p (1 - p) / (alpha + 1); counting 200 draws adds p (1 - p) / 200 of what is left.
      const double spread = share[c] * (1 - share[c]), variance = spread / (alpha + 1) + spread * (1 - 1 / (alpha + 1)) / size;
      CHECK(std::abs(sum - share[c]) < 5 * std::sqrt(variance / workers));
      CHECK(squares == doctest::Approx(variance).epsilon(0.5));
    }
  }
  const Problem few(10, 5000, classes);
  const auto alike = entry("dirichlet").make({{"alpha", 1e6}}, few.request);
  const auto single = entry("dirichlet").make({{"alpha", 1e-3}}, few.request);
  std::vector<double> of_few(classes, 0.0);
  for (const std::int32_t label : few.labels) of_few[static_cast<std::size_t>(label)] += 1.0 / 5000;
  std::size_t pure = 0;
  for (std::uint32_t w = 0; w < 10; ++w) {
    const auto counts = mix(*alike, w, few);
    for (std::size_t c = 0; c < classes; ++c)
      CHECK(std::abs(static_cast<double>(counts[c]) - 500 * of_few[c]) < 5 * std::sqrt(500 * of_few[c]));
    const auto one = mix(*single, w, few);
    pure += *std::max_element(one.begin(), one.end()) == 500;
  }
  CHECK(pure >= 5);  // the rest took over what others had left of two classes
}

TEST_CASE("by_file: one worker a line, or ranges; comments and names of columns are passed over") {
  const Problem problem(3, 6, 2);
  const TextFile lines("worker\n2\n0 # the second sample\n\n1\r\n1\n0\n2\n");
  const TextFile ranges("worker, first, count\n0, 1, 1\n1, 2, 2\n2, 5, 1\n0,4,1\n2,0,1\n");
  const auto one = entry("by_file").make(lines.parameters(), problem.request),
             two = entry("by_file").make(ranges.parameters(), problem.request);
  for (std::uint32_t w = 0; w < 3; ++w) {
    auto part = epoch_of(*one, w, 0);
    std::sort(part.begin(), part.end());
    CHECK(part == std::vector<std::vector<std::uint32_t>>{{1, 4}, {2, 3}, {0, 5}}[w]);
    CHECK(epoch_of(*two, w, 0) == epoch_of(*one, w, 0));
  }
  CHECK(one->sizes().content == two->sizes().content);
  CHECK(one->sizes().content != Key{});
  const TextFile other("0\n0\n1\n1\n2\n2\n");
  CHECK(entry("by_file").sizes(other.parameters(), problem.timing_alone()).content != one->sizes().content);
}

TEST_CASE("by_file: the file is read once, for the sizes") {
  Problem problem(2, 4, 2);
  const TemporaryFolder folder;
  const Parameters parameters{{"path", folder.write("parts.csv", "0\n1\n1\n1\n").string()}};
  const StreamSizes sizes = entry("by_file").sizes(parameters, problem.timing_alone());
  folder.write("parts.csv", "0\n0\n0\n1\n");
  problem.request.sizes = &sizes;
  const auto as_read = entry("by_file").make(parameters, problem.request);
  CHECK(as_read->sizes().sizes == std::vector<std::uint64_t>{1, 3});
  CHECK(as_read->sizes().content == sizes.content);
  CHECK(epoch_of(*as_read, 0, 0) == std::vector<std::uint32_t>{0});
  problem.request.sizes = nullptr;
  CHECK(entry("by_file").make(parameters, problem.request)->sizes().sizes == std::vector<std::uint64_t>{3, 1});
}

TEST_CASE("by_file: errors name their line") {
  const Problem problem(3, 6, 2);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0\n1\n2\n0\n1\n", ": ends at line 5 without a worker for sample 5 of the 6 training samples"},
      {"0\n1\n2\n0\n1\n2\n0\n", ":7: more lines than the 6 training samples"},
      {"0\n1\n3\n0\n1\n2\n", ":3: '3' is not a worker; write a whole number from 0 to 2"},
      {"0\n1\n-1\n0\n1\n2\n", ":3: '-1' is not a worker"},
      {"0\n1\n1.5\n0\n1\n2\n", ":3: '1.5' is not a worker"},
      {"0\n1\n1\n0\n1\n0\n", "worker 2 of 3 has no sample"},
      {"", ": ends at line 0 without a worker for sample 0"},
      {"0,0\n", ":1: 2 fields; write one worker a line, or `worker, first, count`"},
      {"0,0,3\n1\n", ":2: 1 fields; write `worker, first, count`, as above"},
      {"0,0,3\n1,2,2\n2,4,2\n", ":2: sample 2 belongs to worker 0 already"},
      {"0,0,3\n1,3,4\n", ":2: '4' is not a number of training samples"},
      {"0,0,3\n1,6,1\n", ":2: '6' is not a training sample; write a whole number from 0 to 5"},
      {"0,0,2\n1,3,1\n2,4,2\n", "without a worker for sample 2"},
  };
  for (const auto& one : cases) {
    const TextFile file(one.first);
    const std::string said = refusal("by_file", file.parameters(), problem.request);
    CAPTURE(one.first);
    CAPTURE(said);
    CHECK(said.starts_with(file.path()));
    CHECK(has(said, one.second));
  }
  CHECK(has(refusal("by_file", {{"path", std::string("/nowhere/parts.csv")}}, problem.request), "/nowhere/parts.csv: no such file; "));
}

}  // namespace partition_kinds_test
