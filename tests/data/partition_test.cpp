// Partitions: who draws which samples, in which order.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "models/data/partition.hpp"
#include "models/data/permutation.hpp"
#include "sim/base/registry.hpp"

namespace partition_test {

using namespace straggler;

namespace {

PartitionRequest request(std::size_t workers, std::size_t samples, std::uint64_t seed = 1) {
  PartitionRequest made;
  made.seed = seed;
  made.workers = workers;
  made.samples = samples;
  made.classes = 10;
  return made;
}

std::unique_ptr<Partition> make(const char* name, const PartitionRequest& request) {
  return Registry<PartitionEntry>::instance().at(name).make({}, request);
}

std::vector<std::uint32_t> draw(const Partition& partition, std::uint32_t stream, std::uint64_t position, std::uint32_t size) {
  Batch batch;
  batch.position = position;
  batch.stream = stream;
  batch.size = size;
  std::vector<std::uint32_t> out{12345};  // what was there is replaced
  partition.samples(batch, out);
  return out;
}

std::vector<std::uint32_t> epoch_of(const Partition& partition, std::uint32_t stream, std::uint64_t epoch) {
  const std::uint64_t size = partition.sizes().of(stream);
  return draw(partition, stream, epoch * size, static_cast<std::uint32_t>(size));
}

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> items) {
  std::sort(items.begin(), items.end());
  return items;
}

std::vector<std::uint32_t> all_of(std::size_t samples) {
  std::vector<std::uint32_t> all(samples);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

}  // namespace

TEST_CASE("iid: each epoch covers each sample once, over disjoint parts whose sizes differ by at most one") {
  for (const std::size_t workers : {1u, 3u, 7u, 100u}) {
    CAPTURE(workers);
    const auto partition = make("iid", request(workers, 100));
    REQUIRE(partition->sizes().sizes.size() == workers);
    std::vector<std::uint32_t> drawn;
    for (std::uint32_t stream = 0; stream < workers; ++stream) {
      CHECK(partition->sizes().of(stream) == 100 / workers + (stream < 100 % workers ? 1 : 0));
      const auto first = epoch_of(*partition, stream, 0);
      drawn.insert(drawn.end(), first.begin(), first.end());
      for (const std::uint64_t epoch : {1u, 2u, 50u}) CHECK(sorted(epoch_of(*partition, stream, epoch)) == sorted(first));
    }
    CHECK(sorted(drawn) == all_of(100));
  }
}

TEST_CASE("iid: batches are consecutive pieces of the epoch's order") {
  const auto partition = make("iid", request(2, 101));
  const auto whole = epoch_of(*partition, 0, 3);
  REQUIRE(whole.size() == 51);
  std::vector<std::uint32_t> pieces;
  for (std::uint64_t at = 0; at < 51; at += 8) {
    const auto piece = draw(*partition, 0, 3 * 51 + at, static_cast<std::uint32_t>(std::min<std::uint64_t>(8, 51 - at)));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  CHECK(pieces == whole);
}

TEST_CASE("iid: epochs, streams and seeds differ; the same ones are the same") {
  const auto partition = make("iid", request(2, 200)), again = make("iid", request(2, 200)), other = make("iid", request(2, 200, 2));
  CHECK(epoch_of(*partition, 0, 0) != epoch_of(*partition, 0, 1));
  CHECK(epoch_of(*partition, 1, 4) == epoch_of(*again, 1, 4));
  CHECK(sorted(epoch_of(*partition, 0, 0)) != sorted(epoch_of(*other, 0, 0)));
  PartitionRequest fixed = request(2, 200);
  fixed.reshuffle = false;
  const auto same = make("iid", fixed);
  CHECK(epoch_of(*same, 0, 0) == epoch_of(*partition, 0, 0));
  CHECK(epoch_of(*same, 0, 9) == epoch_of(*partition, 0, 0));
}

TEST_CASE("iid: a worker more shortens the slices and changes no other luck") {
  // Worker 0's slice starts at the front of the one shuffled set, so with more workers it is a prefix of what it was.
  const auto four = make("iid", request(4, 120)), five = make("iid", request(5, 120));
  const auto at_four = sorted(epoch_of(*four, 0, 0));
  for (const std::uint32_t sample : epoch_of(*five, 0, 0)) CHECK(std::binary_search(at_four.begin(), at_four.end(), sample));
  // In which order the places of a slice are drawn follows from the seed, the stream's name and the epoch alone: undoing
  // that order gives the same slice in every epoch, however many workers there are.
  for (const Partition* partition : {four.get(), five.get()})
    for (std::uint32_t stream = 0; stream < 4; ++stream) {
      std::vector<std::vector<std::uint32_t>> slices;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        const auto drawn = epoch_of(*partition, stream, epoch);
        auto places = all_of(drawn.size());
        shuffle(places, RandomStream(1, "partition/" + std::to_string(stream) + "/order", epoch));
        auto& slice = slices.emplace_back(drawn.size());
        for (std::size_t i = 0; i < drawn.size(); ++i) slice[places[i]] = drawn[i];
      }
      CHECK(slices[0] == slices[1]);
      CHECK(slices[0] == slices[2]);
    }
}

TEST_CASE("iid: an order of positions is every order with the same chance") {
  // 3 samples, 6 orders, 3,000 epochs: each 500 times, give or take 5 standard deviations of sqrt(3000 * 1/6 * 5/6) = 20.4.
  const auto partition = make("iid", request(1, 3));
  std::vector<int> counts(27);
  for (std::uint64_t epoch = 0; epoch < 3000; ++epoch) {
    const auto order = epoch_of(*partition, 0, epoch);
    ++counts[order[0] * 9 + order[1] * 3 + order[2]];
  }
  CHECK(std::count(counts.begin(), counts.end(), 0) == 21);
  for (const int count : counts)
    if (count > 0) CHECK(std::abs(count - 500) < 102);
}

TEST_CASE("shared: one stream over everything") {
  const auto& entry = Registry<PartitionEntry>::instance().at("shared");
  CHECK(entry.simulated_only);
  CHECK_FALSE(Registry<PartitionEntry>::instance().at("iid").simulated_only);
  const auto partition = make("shared", request(8, 50));
  CHECK(partition->sizes().shared);
  CHECK(partition->sizes().of(5) == 50);
  CHECK(partition->sizes().sizes.empty());
  CHECK(sorted(epoch_of(*partition, shared_stream, 0)) == all_of(50));
  CHECK(sorted(epoch_of(*partition, shared_stream, 1)) == all_of(50));
  CHECK(epoch_of(*partition, shared_stream, 0) != epoch_of(*partition, shared_stream, 1));
  CHECK_THROWS_AS(draw(*partition, 0, 0, 5), std::logic_error);
}

TEST_CASE("sizes alone agree with the partition, and are cheap for many workers") {
  for (const PartitionEntry& entry : Registry<PartitionEntry>::instance().entries()) {
    CAPTURE(entry.name);
    if (entry.name != "iid" && entry.name != "shared") continue;
    const StreamSizes sizes = entry.sizes({}, request(6, 100));
    const auto partition = entry.make({}, request(6, 100));
    CHECK(sizes.shared == partition->sizes().shared);
    CHECK(sizes.total == 100);
    CHECK(sizes.sizes == partition->sizes().sizes);
    const StreamSizes many = entry.sizes({}, request(1'000'000, 1'000'003));
    CHECK(many.total == 1'000'003);
    if (!many.shared) CHECK(std::accumulate(many.sizes.begin(), many.sizes.end(), std::uint64_t{0}) == 1'000'003);
  }
}

TEST_CASE("impossible batches and divisions are refused") {
  const auto partition = make("iid", request(2, 20));
  CHECK_THROWS_AS(draw(*partition, 0, 8, 3), std::logic_error);  // 8, 9, then the next epoch's first
  CHECK_THROWS_AS(draw(*partition, 0, 0, 0), std::logic_error);
  CHECK_THROWS_AS(draw(*partition, 2, 0, 1), std::logic_error);
  CHECK_THROWS_AS(make("iid", request(21, 20)), std::invalid_argument);
  CHECK_THROWS_AS(make("iid", request(0, 20)), std::invalid_argument);
  CHECK_THROWS_AS(make("iid", request(1, 0)), std::invalid_argument);
  CHECK_THROWS_AS(make("shared", request(1, 0)), std::invalid_argument);
}

TEST_CASE("many streams and epochs from several threads: forgotten orders come back the same") {
  const std::size_t workers = 1000;
  const auto partition = make("iid", request(workers, 5000)), fresh = make("iid", request(workers, 5000));
  std::atomic<int> wrong = 0;
  const auto visit = [&](std::uint32_t first) {
    for (std::uint64_t epoch = 0; epoch < 8; ++epoch)  // 8 epochs of all streams: more than is kept
      for (std::uint32_t stream = first; stream < workers; stream += 2) {
        const auto drawn = epoch_of(*partition, stream, epoch);
        if (drawn.size() != 5) ++wrong;
      }
  };
  std::thread one(visit, 0), two(visit, 1);
  one.join();
  two.join();
  CHECK(wrong == 0);
  for (const std::uint32_t stream : {0u, 1u, 999u})
    for (const std::uint64_t epoch : {0u, 7u}) CHECK(epoch_of(*partition, stream, epoch) == epoch_of(*fresh, stream, epoch));
}

TEST_CASE("choose: a set of the asked size, ascending, by the seed") {
  const auto some = choose(10, 100, RandomStream(1, "a"));
  CHECK(some.size() == 10);
  CHECK(std::is_sorted(some.begin(), some.end()));
  CHECK(std::adjacent_find(some.begin(), some.end()) == some.end());
  CHECK(some.back() < 100);
  CHECK(some == choose(10, 100, RandomStream(1, "a")));
  CHECK(some != choose(10, 100, RandomStream(2, "a")));
  CHECK(choose(100, 100, RandomStream(1, "a")) == all_of(100));
}

}  // namespace partition_test
