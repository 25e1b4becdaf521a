// TernGrad: three levels per value. For each tensor, with s its largest magnitude,
//   C(v)_i = s sign(v_i) b_i,   b_i = 1 with probability |v_i| / s, else 0;   E C(v) = v,   Var C(v)_i = s |v_i| - v_i².
// A message has two bits per value, and s for each tensor: ⌈2 d / 8⌉ + 4 T bytes. Gradients are not clipped first. Infinity and NaN arrive
// as NaN. Wen et al., TernGrad: Ternary Gradients to Reduce Communication in Distributed Deep Learning, NeurIPS 2017.
#include "models/compression/parts.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::terngrad {
namespace {

const Rule terngrad_rule{"terngrad"};  // (v[, e]; draw number) -> C(v + e)

enum Code : std::uint16_t { zero, plus, minus, no_number };

/// In place. `first`: the coordinate of values[0].
STRAGGLER_LANES void make_ternary(float* values, std::size_t count, float most, DrawnBits bits, std::uint32_t first) {
  const std::uint32_t size = std::bit_cast<std::uint32_t>(most);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = std::bit_cast<std::uint32_t>(values[i]), magnitude = own & 0x7fffffffu;
    const std::uint32_t finite = all_if(magnitude < not_finite);
    const std::uint32_t chosen = all_if(bits.uniform(first + static_cast<std::uint32_t>(i)) * most < std::bit_cast<float>(magnitude));
    const std::uint32_t ternary = ((own & 0x80000000u) | size) & chosen;
    values[i] = std::bit_cast<float>((ternary & finite) | (quiet_nan & ~finite));
  }
}

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
           float* out) {
  take_inputs(kernels, extent, inputs, out);
  const DrawnBits bits(scalars.back());
  for_each_tensor(extent.tensors, extent.n, [&](std::size_t begin, std::size_t end) {
    make_ternary(out + begin, end - begin, largest({out + begin, end - begin}), bits, static_cast<std::uint32_t>(begin));
  });
}

std::uint64_t code_bytes(std::uint64_t parameters) { return bytes_of_bits(2 * parameters); }

/// s of each tensor that is present, then the codes.
std::vector<std::byte> encode(const std::vector<double>&, const VectorLayout& layout, std::span<const float> q) {
  std::vector<std::byte> message;
  message.reserve(code_bytes(q.size()) + 4 * layout.tensor_count());
  std::vector<std::uint16_t> codes(q.size());
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const float most = largest(q.subspan(begin, end - begin));
    put_float(message, most);
    for (std::size_t i = begin; i < end; ++i) {
      codes[i] = q[i] == 0 ? zero : q[i] == most ? plus : q[i] == -most ? minus : no_number;
      if (codes[i] == no_number && !std::isnan(q[i])) refuse_value("terngrad", i);
    }
  });
  message.resize(message.size() + code_bytes(q.size()));
  pack(codes, 2, message.data() + 4 * layout.tensor_count());
  return message;
}

void decode(const std::vector<double>&, const VectorLayout& layout, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  std::vector<float> most(layout.tensor_count());
  for (float& each : most) each = parts.take_float();
  std::vector<std::uint16_t> codes(q.size());
  unpack(parts.take(code_bytes(q.size())), 2, codes);
  parts.end();
  std::size_t tensor = 0;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const float own = most[tensor++];
    const float values[] = {0.0f, own, -own, std::bit_cast<float>(quiet_nan)};
    for (std::size_t i = begin; i < end; ++i) q[i] = values[codes[i]];
  });
}

const Register<ElementwiseEntry> arithmetic({.name = "terngrad",
                                             .summary = "a gradient of three levels a tensor, drawn so that its mean is the gradient",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

const Register<CompressorEntry> entry({
    .name = "terngrad",
    .summary = "the sign of each value or zero, at random so that the mean is right, times each tensor's largest magnitude",
    .reference = "Wen et al. 2017",
    .formula = "C(v)_i = m sign(v_i) with probability |v_i| / m, else 0; m the largest |v_i| of the tensor",
    .message = "⌈2 d / 8⌉ + 4 T for d parameters in T tensors",
    .parameters = {error_feedback(false), compressed_direction()},
    .all_reduce = CompressedAllReduce::all_gather,
    .rule = &terngrad_rule,
    .scalars = [](const Parameters&) { return std::vector<double>{}; },
    .draws = Draws::message,
    .bytes = [](const std::vector<double>&,
                const VectorLayout& layout) { return code_bytes(layout.parameters) + 4 * layout.tensor_count(); },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::terngrad
