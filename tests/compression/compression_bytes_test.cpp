// Bytes of a message of each compressor, for networks whose parameters and tensors are known, by the formulas of their papers.
#include <doctest/doctest.h>

#include "models/data/dataset.hpp"
#include "models/zoo/model.hpp"
#include "tests/compression/compression_vectors.hpp"

namespace straggler::test::compression_bytes_test {
namespace {

struct Network {
  const char* name;
  std::vector<std::size_t> shape;  // of a sample
  std::uint64_t parameters, tensors;
};

/// mlp: three dense layers; LeNet-5: two convolutions, three dense layers, all with biases. ResNet-18: 20 convolutions without, a norm of
/// two vectors behind each, a dense layer.
const std::vector<Network>& networks() {
  static const std::vector<Network> all = {{"mlp", {784}, 785 * 200 + 201 * 200 + 201 * 10, 6},
                                           {"lenet5", {1, 28, 28}, 26 * 6 + 151 * 16 + 401 * 120 + 121 * 84 + 85 * 10, 10},
                                           {"resnet18", {3, 32, 32}, 11'173'962, 20 + 2 * 20 + 2}};
  return all;
}

std::vector<TensorInfo> tensors_of(const Network& network) {
  DataInfo data;
  data.shape = network.shape;
  data.features = 1;
  for (const std::size_t width : network.shape) data.features *= width;
  data.classes = 10;
  const ModelEntry& entry = Registry<ModelEntry>::instance().at(network.name);
  const std::unique_ptr<Model> model = entry.make(complete(entry.parameters, {}), data, ModelSetting{select_kernels("auto")});
  CHECK(model->parameters() == network.parameters);
  return model->tensors();
}

std::uint64_t up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

Parameters with_feedback(bool feedback) { return {{"error_feedback", feedback}}; }

}  // namespace

TEST_CASE("bytes of a message follow each compressor's formula, for three networks") {
  for (const Network& network : networks()) {
    CAPTURE(network.name);
    const std::vector<TensorInfo> tensors = tensors_of(network);
    const std::uint64_t d = network.parameters, tensor_count = network.tensors;
    CHECK(tensors.size() == tensor_count);
    const auto bytes = [&](const char* name, const Parameters& given = {}) {
      const Compressor compressor(name, given);
      return compressor.entry->bytes(compressor.scalars, {d, tensors});
    };
    const std::uint64_t k = (d + 50) / 100;  // a hundredth, rounded
    CHECK(bytes("fp16") == 2 * d);
    CHECK(bytes("bf16") == 2 * d);
    CHECK(bytes("int8") == d + 4 * tensor_count);
    CHECK(bytes("top_k") == 8 * k);
    CHECK(bytes("random_k") == 4 * k);
    CHECK(bytes("random_k", {{"fraction", 1.0}}) == 4 * d);
    CHECK(bytes("terngrad") == up(2 * d, 8) + 4 * tensor_count);
    CHECK(bytes("signsgd") == up(d, 8));
    CHECK(bytes("signsgd", with_feedback(true)) == up(d, 8) + 4 * tensor_count);
    // 31 steps take five bits, 3 two, 5 three, 255 eight.
    CHECK(bytes("qsgd") == up(5 * d, 8) + 4 * up(d, 512));
    CHECK(bytes("qsgd", {{"levels", std::int64_t{1}}}) == up(2 * d, 8) + 4 * up(d, 512));
    CHECK(bytes("qsgd", {{"levels", std::int64_t{2}}, {"bucket", std::int64_t{100}}}) == up(3 * d, 8) + 4 * up(d, 100));
    CHECK(bytes("qsgd", {{"levels", std::int64_t{127}}, {"bucket", std::int64_t{1'000'000'000}}}) == d + 4);
  }
}

TEST_CASE("every compressor: messages of three networks have these bytes, and are read to the bits that were written") {
  std::mt19937 chance(6);
  for (const Network& network : networks()) {
    if (network.parameters > 1'000'000) continue;  // the bits are the same, only more
    const std::vector<TensorInfo> tensors = tensors_of(network);
    const VectorLayout layout{network.parameters, tensors};
    const Floats v = gradient_like(network.parameters, chance);
    for (const Compressor& compressor : all_compressors()) {
      CAPTURE(compressor.entry->name);
      if (compressor.entry->factors) continue;  // its messages are of factors (powersgd_test.cpp)
      const std::vector<double> scalars = compressor.scalars_of(7);
      const Floats q = compressor(v, 7, tensors);
      const std::vector<std::byte> message = compressor.entry->encode(scalars, layout, q);
      CHECK(has_stated_bytes(*compressor.entry, scalars, layout, q, message));
      Floats read(q.size(), 7.0f);
      compressor.entry->decode(scalars, layout, message, read);
      CHECK(same_bits(read, q));
    }
  }
}

}  // namespace straggler::test::compression_bytes_test
