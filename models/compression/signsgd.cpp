// Signs: C(v)_i = sign(v_i), ⌈d / 8⌉ bytes (Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, ICML 2018).
// With error feedback the scaled sign C(v)_i = sign(v_i) |v|₁ / d of each tensor of d values, and 4 T bytes more; then
// |C(v) - v|² ≤ (1 - |v|₁² / (d |v|²)) |v|² (Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML
// 2019). The sign of a zero or NaN is a bit drawn from (seed, version of the weights, coordinate), the same on every worker.
#include "models/compression/parts.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::signsgd {
namespace {

const Rule vote_rule{"signsgd_vote"};  // (q_1, …, q_p; scaled, draw number) -> the sign of their sum
const Rule signsgd_rule{"signsgd"};    // (v[, e]; scaled, draw number) -> C(v + e)

bool is_scaled(const std::vector<double>& scalars) { return scalars.front() != 0; }

/// In place. `first`: the coordinate of values[0].
STRAGGLER_LANES void make_signs(float* values, std::size_t count, float scale, DrawnBits bits, std::uint32_t first) {
  const std::uint32_t size = std::bit_cast<std::uint32_t>(scale);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = std::bit_cast<std::uint32_t>(values[i]), magnitude = own & 0x7fffffffu;
    const std::uint32_t drawn = bits(first + static_cast<std::uint32_t>(i));
    const bool has_sign = magnitude - 1u < not_finite;  // neither zero nor NaN
    values[i] = std::bit_cast<float>(((has_sign ? own : drawn) & 0x80000000u) | size);
  }
}

/// The mean magnitude of the finite values, in eight independent sums.
float mean_magnitude(std::span<const float> values) {
  double sums[8] = {};
  std::size_t i = 0;
  const auto finite = [](float value) { return std::isfinite(value) ? static_cast<double>(std::abs(value)) : 0.0; };
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += finite(values[i + lane]);
  for (; i < values.size(); ++i) sums[0] += finite(values[i]);
  double all = 0;
  for (const double sum : sums) all += sum;
  return values.empty() ? 0.0f : static_cast<float>(all / static_cast<double>(values.size()));
}

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
           float* out) {
  take_inputs(kernels, extent, inputs, out);
  const DrawnBits bits(scalars.back());
  for_each_tensor(extent.tensors, extent.n, [&](std::size_t begin, std::size_t end) {
    const float scale = is_scaled(scalars) ? mean_magnitude({out + begin, end - begin}) : 1.0f;
    make_signs(out + begin, end - begin, scale, bits, static_cast<std::uint32_t>(begin));
  });
}

/// The majority of signs; a tie takes the bit drawn for a zero.
void apply_vote(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out) {
  const std::vector<float> ones(inputs.size(), 1.0f);
  kernels.weighted_sum(extent.n, inputs.size(), inputs.data(), ones.data(), out);
  make_signs(out, extent.n, 1.0f, DrawnBits(scalars.back()), 0);
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

/// Bit i of the message: 1 if q[i] is negative.
STRAGGLER_LANES void pack_signs(const float* q, std::size_t count, std::byte* to) {
  for (std::size_t byte = 0; byte < count / 8; ++byte) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 8; ++k) bits |= std::bit_cast<std::uint32_t>(q[8 * byte + k]) >> 31 << k;
    to[byte] = static_cast<std::byte>(bits);
  }
  if (count % 8 == 0) return;
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < count % 8; ++k) bits |= std::bit_cast<std::uint32_t>(q[count / 8 * 8 + k]) >> 31 << k;
  to[count / 8] = static_cast<std::byte>(bits);
}

STRAGGLER_LANES std::uint32_t differ_in_magnitude(const float* q, std::size_t count, float scale) {
  std::uint32_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) differences |= magnitude_of(q[i]) ^ std::bit_cast<std::uint32_t>(scale);
  return differences;
}

/// The scales, if any, then the signs.
std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) {
  std::vector<std::byte> message;
  const bool scaled = is_scaled(scalars);
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const float scale = !scaled ? 1.0f : begin < end ? std::abs(q[begin]) : 0.0f;
    if (differ_in_magnitude(q.data() + begin, end - begin, scale) != 0) refuse_value("signsgd", begin);
    if (scaled) put_float(message, scale);
  });
  const std::size_t first = message.size();
  message.resize(first + bytes_of_bits(q.size()));
  pack_signs(q.data(), q.size(), message.data() + first);
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  std::vector<float> scales(layout.tensor_count(), 1.0f);
  if (is_scaled(scalars))
    for (float& each : scales) each = parts.take_float();
  const std::byte* const signs = parts.take(bytes_of_bits(q.size()));
  parts.end();
  std::size_t tensor = 0;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const std::uint32_t scale = std::bit_cast<std::uint32_t>(scales[tensor++]);
    for (std::size_t i = begin; i < end; ++i)
      q[i] = std::bit_cast<float>(scale | (static_cast<std::uint32_t>(signs[i / 8]) >> i % 8 & 1u) << 31);
  });
}

const Register<ElementwiseEntry> arithmetic({.name = "signsgd",
                                             .summary = "the signs of a gradient, times each tensor's mean magnitude or not",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

const Register<ElementwiseEntry> majority({.name = "signsgd_vote",
                                           .summary = "the sign that most gradients have",
                                           .parameters = {},
                                           .in_place = -1,
                                           .statistics = StatisticsRule::carry,
                                           .gradient = 0,
                                           .apply = apply_vote});

const Register<CompressorEntry> entry({
    .name = "signsgd",
    .summary = "the sign of each value; with error feedback times each tensor's mean magnitude",
    .reference = "Bernstein et al. 2018; with error feedback Karimireddy et al. 2019",
    .formula = "C(v)_i = sign(v_i); with error feedback sign(v_i) |v|₁ / d of each tensor of d values",
    .message = "⌈d / 8⌉ for d parameters; with error feedback 4 T more for T tensors",
    .parameters = {error_feedback(false), compressed_direction()},
    .all_reduce = CompressedAllReduce::all_gather,
    .rule = &signsgd_rule,
    .scalars = [](const Parameters& parameters) { return std::vector<double>{parameters.flag("error_feedback") ? 1.0 : 0.0}; },
    .size_is_lost = [](const Parameters& parameters) { return !parameters.flag("error_feedback"); },
    .draws = Draws::version,
    .bytes =
        [](const std::vector<double>& scalars, const VectorLayout& layout) {
          return bytes_of_bits(layout.parameters) + (is_scaled(scalars) ? 4 * layout.tensor_count() : 0);
        },
    .vote = [](const std::vector<double>& scalars) -> const Rule* { return is_scaled(scalars) ? nullptr : &vote_rule; },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::signsgd
