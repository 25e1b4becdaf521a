// 16-bit gradients: each value is rounded to the nearest number of the format, ties to even. 2 d bytes; sums stay in the format, so an
// all-reduce sums. fp16 is IEEE 754's binary16, bf16 the upper half of an fp32 number.
#include "models/compression/parts.hpp"
#include "models/kernels/precision.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::half {
namespace {

const Rule to_fp16_rule{"compress_fp16"}, to_bf16_rule{"compress_bf16"};  // (v[, e]) -> v + e, rounded

template <Precision precision>
void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&, float* out) {
  take_inputs(kernels, extent, inputs, out);
  kernels.round(precision, extent.n, out, 1.0f, out);
}

template <Precision precision>
std::vector<std::byte> encode(const std::vector<double>&, const VectorLayout&, std::span<const float> q) {
  std::vector<std::byte> message(2 * q.size());
  for (std::size_t i = 0; i < q.size(); ++i) {
    const std::uint16_t bits = precision == Precision::fp16 ? to_fp16(q[i]) : to_bf16(q[i]);
    const float back = precision == Precision::fp16 ? from_fp16(bits) : from_bf16(bits);
    if (std::bit_cast<std::uint32_t>(back) != std::bit_cast<std::uint32_t>(q[i])) refuse_value("16 bits", i);
    std::memcpy(message.data() + 2 * i, &bits, sizeof bits);
  }
  return message;
}

template <Precision precision>
void decode(const std::vector<double>&, const VectorLayout&, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  const std::byte* const all = parts.take(2 * q.size());
  parts.end();
  for (std::size_t i = 0; i < q.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, all + 2 * i, sizeof bits);
    q[i] = precision == Precision::fp16 ? from_fp16(bits) : from_bf16(bits);
  }
}

std::uint64_t bytes(const std::vector<double>&, const VectorLayout& layout) { return 2 * layout.parameters; }
std::vector<double> no_scalars(const Parameters&) { return {}; }

template <Precision precision>
constexpr SumCodec sums{precision, encode<precision>, decode<precision>};

template <Precision precision>
ElementwiseEntry rule_of(const Rule& rule, const char* summary) {
  return {.name = std::string(rule.name),
          .summary = summary,
          .parameters = {},
          .in_place = -1,
          .statistics = StatisticsRule::carry,
          .gradient = 0,
          .apply = apply<precision>};
}

template <Precision precision>
CompressorEntry compressor_of(const char* name, const Rule& rule, const char* summary, const char* reference) {
  return {.name = name,
          .summary = summary,
          .reference = reference,
          .formula = "C(v)_i = the number of the format that is nearest to v_i, of two the even one",
          .message = "2 d for d parameters",
          .parameters = {error_feedback(false), compressed_direction()},
          .all_reduce = CompressedAllReduce::sum,
          .value_by_value = true,
          .rule = &rule,
          .scalars = no_scalars,
          .bytes = bytes,
          .sums = &sums<precision>,
          .encode = encode<precision>,
          .decode = decode<precision>};
}

const Register<ElementwiseEntry> fp16_rule(rule_of<Precision::fp16>(to_fp16_rule, "a gradient whose values are rounded to fp16"));
const Register<ElementwiseEntry> bf16_rule(rule_of<Precision::bf16>(to_bf16_rule, "a gradient whose values are rounded to bf16"));
const Register<CompressorEntry> fp16(compressor_of<Precision::fp16>("fp16", to_fp16_rule,
                                                                    "values in 16 bits: 11 significant ones, up to 65,504", "IEEE 754"));
const Register<CompressorEntry> bf16(compressor_of<Precision::bf16>("bf16", to_bf16_rule,
                                                                    "values in 16 bits: 8 significant ones, the range of fp32",
                                                                    "Kalamkar et al. 2019"));

}  // namespace
}  // namespace straggler::compression::half
