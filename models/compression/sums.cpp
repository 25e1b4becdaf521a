// The mean of compressed vectors as an all-reduce computes it: from the transmitted numbers, summed in their type.
#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "models/compression/compressor.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

namespace {

std::size_t size_of(Precision numbers) { return numbers == Precision::fp32 ? sizeof(float) : sizeof(std::uint16_t); }
std::uint16_t bits_of(Precision numbers, float value) { return numbers == Precision::fp16 ? to_fp16(value) : to_bf16(value); }
float value_of(Precision numbers, std::uint16_t bits) { return numbers == Precision::fp16 ? from_fp16(bits) : from_bf16(bits); }

}  // namespace

std::vector<float> numbers_in(Precision numbers, std::span<const std::byte> message) {
  std::vector<float> values(message.size() / size_of(numbers));
  if (values.size() * size_of(numbers) != message.size()) throw std::logic_error("a compressed message that is cut within a number");
  if (numbers == Precision::fp32) {
    if (!values.empty()) std::memcpy(values.data(), message.data(), message.size());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, message.data() + i * sizeof bits, sizeof bits);
    values[i] = value_of(numbers, bits);
  }
  return values;
}

std::vector<std::byte> message_of(Precision numbers, std::span<const float> values) {
  std::vector<std::byte> message(values.size() * size_of(numbers));
  if (numbers == Precision::fp32) {
    if (!values.empty()) std::memcpy(message.data(), values.data(), message.size());
    return message;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = bits_of(numbers, values[i]);
    std::memcpy(message.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return message;
}

const SumCodec& sum_codec(double compressor, double factor) {
  for (const CompressorEntry& entry : Registry<CompressorEntry>::instance().entries())
    if (entry.sums && number_of(entry) == compressor) return entry.sums[factor == 2 ? 1 : 0];
  throw std::logic_error("a sum of vectors that were compressed by what this build cannot sum");
}

void share_numbers(Precision numbers, std::size_t ranks, std::span<float> values) {
  if (numbers == Precision::fp32) return;
  const auto divisor = static_cast<float>(ranks);
  std::transform(values.begin(), values.end(), values.begin(), [divisor](float value) { return value / divisor; });
  round_to(numbers, values.size(), values.data(), values.data());
}

void add_numbers(Precision numbers, std::span<const float> sum, std::span<float> own) {
  std::transform(sum.begin(), sum.end(), own.begin(), own.begin(), [](float left, float right) { return left + right; });
  if (numbers != Precision::fp32) round_to(numbers, own.size(), own.data(), own.data());
}

void end_sum(Precision numbers, std::size_t ranks, std::span<float> sum) {
  if (numbers != Precision::fp32) return;
  const auto divisor = static_cast<float>(ranks);
  std::transform(sum.begin(), sum.end(), sum.begin(), [divisor](float value) { return value / divisor; });
}

namespace compression::sums {
namespace {

void apply(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars, float* out) {
  const SumCodec& codec = sum_codec(scalars.at(0), scalars.at(1));
  const bool ring = scalars.at(2) != 0;
  const std::vector<double> own(scalars.begin() + 3, scalars.end());
  const VectorLayout layout{extent.n, extent.tensors};
  const std::size_t ranks = inputs.size();
  std::vector<std::vector<float>> parts;
  for (const float* const input : inputs) {
    parts.push_back(numbers_in(codec.numbers, codec.encode(own, layout, {input, extent.n})));
    share_numbers(codec.numbers, ranks, parts.back());
  }
  std::vector<float> mean(parts.front().size());
  const std::size_t count = mean.size(), chunks = ring ? ranks : 1;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t begin = count * chunk / chunks, length = count * (chunk + 1) / chunks - begin;
    std::vector<float> sum(parts[chunk].begin() + static_cast<std::ptrdiff_t>(begin),
                           parts[chunk].begin() + static_cast<std::ptrdiff_t>(begin + length));
    for (std::size_t i = 1; i < ranks; ++i) {
      const std::span<float> next = std::span(parts[(chunk + i) % ranks]).subspan(begin, length);
      add_numbers(codec.numbers, sum, next);
      std::copy(next.begin(), next.end(), sum.begin());
    }
    end_sum(codec.numbers, ranks, sum);
    std::copy(sum.begin(), sum.end(), mean.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  codec.decode(own, layout, message_of(codec.numbers, mean), {out, extent.n});
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

const Register<ElementwiseEntry> mean_entry({.name = "compressed_mean",
                                             .summary = "mean of compressed vectors, of the numbers that an all-reduce moves",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

}  // namespace
}  // namespace compression::sums
}  // namespace straggler
