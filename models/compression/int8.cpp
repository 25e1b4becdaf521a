// Eight bits per value. For each tensor, with m its largest magnitude,
//   C(v)_i = l_i m / 127,   l_i = v_i / (m / 127) to the nearest integer, ties to even.
// A message has the levels l_i, one byte each, and m for each tensor: d + 4 T bytes. Infinity and NaN arrive as NaN.
// |C(v)_i - v_i| ≤ m / 254. Dettmers, 8-Bit Approximations for Parallelism in Deep Learning, ICLR 2016.
#include "models/compression/parts.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::int8 {
namespace {

const Rule int8_rule{"int8"};  // (v[, e]) -> C(v + e)

constexpr std::int8_t top = 127, no_number = -128;

/// The value of a level. The top level is m itself, from which an encoder recovers m.
float value_of(int level, float most, float unit) {
  if (level == no_number) return std::bit_cast<float>(quiet_nan);
  return level == top ? most : level == -top ? -most : static_cast<float>(level) * unit;
}

/// 0 if m is so small that m / 127 rounds to 0.
float unit_of(float most) { return most / static_cast<float>(top); }

int level_of(float value, float unit) {
  if (!std::isfinite(value)) return no_number;
  if (unit == 0) return 0;
  return static_cast<int>(std::nearbyintf(std::clamp(value / unit, -127.0f, 127.0f)));
}

/// In place.
STRAGGLER_LANES void quantize(float* values, std::size_t count, float most) {
  const float unit = unit_of(most);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of(level_of(values[i], unit), most, unit);
}

STRAGGLER_LANES std::size_t find_levels(const float* q, std::size_t count, float most, std::int8_t* levels) {
  const float unit = unit_of(most);
  std::uint32_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int level = level_of(q[i], unit);
    levels[i] = static_cast<std::int8_t>(level);
    differences |= std::bit_cast<std::uint32_t>(value_of(level, most, unit)) ^ std::bit_cast<std::uint32_t>(q[i]);
  }
  return differences;
}

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>&, float* out) {
  take_inputs(kernels, extent, inputs, out);
  for_each_tensor(extent.tensors, extent.n, [&](std::size_t begin, std::size_t end) {
    quantize(out + begin, end - begin, largest({out + begin, end - begin}));
  });
}

/// m of each tensor, then the levels.
std::vector<std::byte> encode(const std::vector<double>&, const VectorLayout& layout, std::span<const float> q) {
  std::vector<std::byte> message;
  message.reserve(q.size() + 4 * layout.tensor_count());
  std::vector<float> most;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    most.push_back(largest(q.subspan(begin, end - begin)));
    put_float(message, most.back());
  });
  const std::size_t first = message.size();
  message.resize(first + q.size());
  auto* const levels = reinterpret_cast<std::int8_t*>(message.data() + first);
  std::size_t tensor = 0;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    if (find_levels(q.data() + begin, end - begin, most[tensor++], levels + begin) != 0) refuse_value("int8", begin);
  });
  return message;
}

void decode(const std::vector<double>&, const VectorLayout& layout, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  std::vector<float> most(layout.tensor_count());
  for (float& each : most) each = parts.take_float();
  const auto* const levels = reinterpret_cast<const std::int8_t*>(parts.take(q.size()));
  parts.end();
  std::size_t tensor = 0;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const float own = most[tensor++], unit = unit_of(own);
    for (std::size_t i = begin; i < end; ++i) q[i] = value_of(levels[i], own, unit);
  });
}

const Register<ElementwiseEntry> arithmetic({.name = "int8",
                                             .summary = "a gradient whose values are multiples of each tensor's largest magnitude by 127",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

const Register<CompressorEntry> entry({
    .name = "int8",
    .summary = "values in 8 bits, as multiples of each tensor's largest magnitude by 127",
    .reference = "Dettmers 2016",
    .formula = "C(v)_i = v_i to the nearest multiple of m / 127, m the largest |v_i| of the tensor",
    .message = "d + 4 T for d parameters in T tensors",
    .parameters = {error_feedback(false), compressed_direction()},
    .all_reduce = CompressedAllReduce::all_gather,
    .rule = &int8_rule,
    .scalars = [](const Parameters&) { return std::vector<double>{}; },
    .bytes = [](const std::vector<double>&, const VectorLayout& layout) { return layout.parameters + 4 * layout.tensor_count(); },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::int8
