// Buckets of gradients, against the sizes that DistributedDataParallel's rule gives for two networks.
#include "sim/collectives/buckets.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/collectives/csv.hpp"

namespace buckets_test {

using namespace straggler;

namespace {

constexpr double MiB = 1 << 20, unlimited = std::numeric_limits<double>::infinity();

struct Network {
  std::vector<GradientTensor> tensors;
  std::vector<std::string> names;  // [tensors]
  std::vector<double> flops;       // [layers]
};

/// A convolution has a weight; batch norm a weight and a bias of the same size; the last layer a weight, then a bias of `classes`.
Network read_layers(const std::string& file, double classes) {
  const Csv csv(file);
  Network network;
  for (std::size_t layer = 0; layer < csv.rows(); ++layer) {
    const auto add = [&](const char* part, double parameters) {
      network.tensors.push_back({static_cast<std::uint64_t>(4 * parameters), layer});
      network.names.push_back(csv.text(layer, "layer") + part);
    };
    const double parameters = csv.number(layer, "params");
    const std::string& kind = csv.text(layer, "kind");
    if (kind == "bn") {
      add(".weight", parameters / 2);
      add(".bias", parameters / 2);
    } else if (kind == "fc") {
      add(".weight", parameters - classes);
      add(".bias", classes);
    } else {
      REQUIRE(kind == "conv");
      add(".weight", parameters);
    }
    network.flops.push_back(2 * csv.number(layer, "forward_macs_per_image"));
  }
  return network;
}

void check_against(const std::string& buckets_file, const std::string& layers_file) {
  const Network network = read_layers(layers_file, 10);
  const std::vector<Bucket> buckets = make_buckets(network.tensors, network.flops, MiB, 25 * MiB);
  const Csv expected(buckets_file);
  REQUIRE(buckets.size() == expected.rows());
  const double total = std::accumulate(network.flops.begin(), network.flops.end(), 0.0);
  std::size_t next = network.tensors.size();
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    CHECK(static_cast<double>(buckets[b].bytes) == expected.number(b, "bytes"));
    CHECK(static_cast<double>(buckets[b].tensors) == expected.number(b, "tensors"));
    CHECK(network.names[next - 1] == expected.text(b, "first_tensor"));
    next -= buckets[b].tensors;
    CHECK(network.names[next] == expected.text(b, "last_tensor"));
    double through = 0;
    for (std::size_t layer = network.tensors[next].layer; layer < network.flops.size(); ++layer) through += network.flops[layer];
    CHECK(buckets[b].ready == doctest::Approx(through / total).epsilon(1e-12));
  }
  CHECK(next == 0);
  CHECK(buckets.back().ready == 1);
}

}  // namespace

TEST_CASE("ResNet-18 and ResNet-50 for 32 x 32 pictures, 1 MiB, then 25 MiB") {
  check_against("ddp_buckets_resnet18_cifar.csv", "resnet18_cifar_layers.csv");
  check_against("ddp_buckets_resnet50_cifar.csv", "resnet50_cifar_layers.csv");
}

TEST_CASE("a bucket is full when it holds at least its limit, and ready when backward is through its last layer") {
  const std::vector<GradientTensor> tensors{{10, 0}, {20, 1}, {30, 1}, {40, 3}};
  const std::vector<double> flops{1, 2, 3, 4};
  const auto two = make_buckets(tensors, flops, 40, 50);
  REQUIRE(two.size() == 3);
  CHECK(two[0].bytes == 40);
  CHECK(two[0].tensors == 1);
  CHECK(two[0].ready == 0.4);
  CHECK(two[1].bytes == 50);
  CHECK(two[1].tensors == 2);
  CHECK(two[1].ready == 0.9);
  CHECK(two[2].bytes == 10);
  CHECK(two[2].ready == 1);
  CHECK(make_buckets(tensors, flops, 41, 50).size() == 2);
  CHECK(make_buckets(tensors, flops, 1, 1).size() == 4);
}

TEST_CASE("without limits there is one bucket, at the end of backward") {
  // Layer 0 has no parameters.
  const auto one = make_buckets({{10, 1}, {20, 2}}, {5, 5, 5}, unlimited, unlimited);
  REQUIRE(one.size() == 1);
  CHECK(one[0].bytes == 30);
  CHECK(one[0].tensors == 2);
  CHECK(one[0].ready == 1);
  CHECK(make_buckets({}, {1}, 1, 1).empty());
}

TEST_CASE("layers without known FLOPs take the same time each") {
  const auto buckets = make_buckets({{1, 0}, {1, 1}, {1, 2}, {1, 3}}, {0, 0, 0, 0}, 1, 2);
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].ready == 0.25);
  CHECK(buckets[1].ready == 0.75);
  CHECK(buckets[2].ready == 1);
}

TEST_CASE("MG-WFBP: a tensor joins the bucket in front if it is ready before that bucket would have begun and paid its start") {
  // Backward takes 10 s and is through layers 3, 2, 1, 0 after 1, 2, 6 and 10 s. A start costs 2 s, a byte 0.1 s.
  const std::vector<GradientTensor> tensors{{10, 0}, {20, 1}, {30, 2}, {40, 3}};
  const std::vector<double> flops{4, 4, 1, 1};
  const auto buckets = merge_gradients(tensors, flops, {10, 2, 0.1});
  // Layer 3 would begin at 1; layer 2 is there at 2 < 1 + 2: joins, and both begin at 2. Layer 1 comes at 6, too late. They take 2 + 7 s,
  // until 11: layer 1 begins there, and layer 0, at 10, joins it.
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].bytes == 70);
  CHECK(buckets[0].tensors == 2);
  CHECK(buckets[0].ready == doctest::Approx(0.2));
  CHECK(buckets[1].bytes == 30);
  CHECK(buckets[1].ready == 1);
  // Starting at no cost: nothing is worth waiting for. Starting forever: everything is.
  CHECK(merge_gradients(tensors, flops, {10, 0, 0.1}).size() == 4);
  CHECK(merge_gradients(tensors, flops, {10, 100, 0.1}).size() == 1);
  CHECK(merge_gradients({}, flops, {10, 1, 0.1}).empty());
}

TEST_CASE("merging never takes longer than a bucket for each tensor, or than one bucket") {
  const std::vector<double> flops{5, 1, 7, 2, 2, 9, 1, 3};
  std::vector<GradientTensor> tensors;
  for (std::size_t layer = 0; layer < flops.size(); ++layer) tensors.push_back({10 * (1 + (layer * 5) % 7), layer});
  const auto seconds = [](const std::vector<Bucket>& buckets, const MergeTimes& times) {
    double end = 0;
    for (const Bucket& bucket : buckets)
      end = std::max(end, bucket.ready * times.backward) + times.start + static_cast<double>(bucket.bytes) * times.per_byte;
    return end;
  };
  for (const double start : {0.0, 0.1, 1.0, 3.0, 10.0}) {
    for (const double per_byte : {0.001, 0.02, 0.1}) {
      const MergeTimes times{20, start, per_byte};
      const double merged = seconds(merge_gradients(tensors, flops, times), times);
      CHECK(merged <= seconds(make_buckets(tensors, flops, 1, 1), times) + 1e-9);
      CHECK(merged <= seconds(make_buckets(tensors, flops, unlimited, unlimited), times) + 1e-9);
    }
  }
}

TEST_CASE("merge by time: tensors ready between two ticks leave at the second") {
  // Through after 1, 2, 6 and 10 s of 10.
  const std::vector<GradientTensor> tensors{{10, 0}, {20, 1}, {30, 2}, {40, 3}};
  const std::vector<double> flops{4, 4, 1, 1};
  const auto buckets = merge_by_time(tensors, flops, 10, 4, 1000);
  REQUIRE(buckets.size() == 3);
  CHECK(buckets[0].bytes == 70);
  CHECK(buckets[0].ready == doctest::Approx(0.4));
  CHECK(buckets[1].bytes == 20);
  CHECK(buckets[1].ready == doctest::Approx(0.8));
  CHECK(buckets[2].bytes == 10);
  CHECK(buckets[2].ready == 1);  // the tick at 12 s would be after backward
  CHECK(merge_by_time(tensors, flops, 10, 4, 50).size() == 4);
  CHECK_THROWS_AS(merge_by_time(tensors, flops, 10, 0, 50), std::invalid_argument);
}

TEST_CASE("impossible schedules are refused") {
  const std::vector<GradientTensor> tensors{{10, 0}, {20, 1}};
  const std::vector<double> flops{1, 1};
  for (const double limit : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(make_buckets(tensors, flops, limit, 1), std::invalid_argument);
    CHECK_THROWS_AS(make_buckets(tensors, flops, 1, limit), std::invalid_argument);
  }
  CHECK_THROWS_AS(make_buckets(tensors, {1}, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(make_buckets(tensors, {1, -1}, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(make_buckets(tensors, {1, unlimited}, 1, 1), std::invalid_argument);
  CHECK_THROWS_AS(make_buckets({{10, 1}, {20, 0}}, flops, 1, 1), std::invalid_argument);
}

}  // namespace buckets_test
