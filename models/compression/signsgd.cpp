// Signs: C(v)_i = sign(v_i), ⌈d / 8⌉ bytes (Bernstein et al., signSGD: Compressed Optimisation for Non-Convex Problems, ICML 2018).
// With error feedback the scaled sign C(v)_i = sign(v_i) |v|₁ / d of each tensor of d values, and 4 T bytes more; then
// |C(v) - v|² ≤ (1 - |v|₁² / (d |v|²)) |v|² (Karimireddy et al., Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML
// 2019). sign(0) = 0, as in the programs of both papers (github.com/jxbz/signSGD, signSGD_zeros.ipynb; github.com/epfml/error-feedback-SGD,
// scaled_sign), and so is the sign of NaN. One bit has no room for a zero: a message with zeros has a second bit for each value, which the
// stated bytes leave out, as the papers do.
#include <algorithm>

#include "models/compression/parts.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::signsgd {
namespace {

const Rule vote_rule{"signsgd_vote"};  // (q_1, …, q_p; scaled, draw number) -> the sign of their sum
const Rule signsgd_rule{"signsgd"};    // (v[, e]; scaled, draw number of the vote) -> C(v + e)

bool is_scaled(const std::vector<double>& scalars) { return scalars.front() != 0; }

/// In place. No zero is negative.
STRAGGLER_LANES void make_signs(float* values, std::size_t count, float scale) {
  const std::uint32_t size = std::bit_cast<std::uint32_t>(scale), any = all_if(size != 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t has_sign = all_if((own & 0x7fffffffu) - 1u < not_finite);  // neither zero nor NaN
    values[i] = std::bit_cast<float>(((own & 0x80000000u) | size) & has_sign & any);
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
  for_each_tensor(extent.tensors, extent.n, [&](std::size_t begin, std::size_t end) {
    const float scale = is_scaled(scalars) ? mean_magnitude({out + begin, end - begin}) : 1.0f;
    make_signs(out + begin, end - begin, scale);
  });
}

/// The majority of signs; 0 where all are 0. A tie is decided by a bit of (seed, version of the weights, coordinate).
void apply_vote(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out) {
  const std::vector<float> ones(inputs.size(), 1.0f);
  kernels.weighted_sum(extent.n, inputs.size(), inputs.data(), ones.data(), out);
  make_signs(out, extent.n, 1.0f);
  const DrawnBits bits(scalars.back());
  for (std::size_t i = 0; i < extent.n; ++i) {
    const bool tied = out[i] == 0 && std::ranges::any_of(inputs, [i](const float* votes) { return votes[i] != 0; });
    if (tied) out[i] = bits(static_cast<std::uint32_t>(i)) >> 31 != 0 ? -1.0f : 1.0f;
  }
  std::copy_n(inputs[0] + extent.own, extent.registers, out + extent.own);
}

/// What bit i of a row of bits is: the highest bit of (q[i] & mask) - less.
struct Highest {
  std::uint32_t mask, less;
  std::uint32_t operator()(float q) const { return ((std::bit_cast<std::uint32_t>(q) & mask) - less) >> 31; }
};
constexpr Highest negative{0xffffffffu, 0}, zero{0x7fffffffu, 1};

STRAGGLER_LANES void pack_bits(const float* q, std::size_t count, std::byte* to, Highest bit) {
  for (std::size_t byte = 0; byte < count / 8; ++byte) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 8; ++k) bits |= bit(q[8 * byte + k]) << k;
    to[byte] = static_cast<std::byte>(bits);
  }
  if (count % 8 == 0) return;
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < count % 8; ++k) bits |= bit(q[count / 8 * 8 + k]) << k;
  to[count / 8] = static_cast<std::byte>(bits);
}

/// Of values that are not zero.
STRAGGLER_LANES std::uint32_t differ_in_magnitude(const float* q, std::size_t count, float scale) {
  std::uint32_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) differences |= (magnitude_of(q[i]) ^ std::bit_cast<std::uint32_t>(scale)) & (zero(q[i]) - 1u);
  return differences;
}

constexpr std::byte zeros_follow{1};
/// Bytes of the row of zeros, behind that byte.
std::uint64_t zeros_bytes(std::uint64_t parameters) { return 1 + bytes_of_bits(parameters); }

/// The scales, if any, then the signs; and where the zeros are, if there are any in a tensor that is not all zero.
std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> q) {
  std::vector<std::byte> message;
  const bool scaled = is_scaled(scalars);
  bool zeros = false;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const std::span<const float> tensor = q.subspan(begin, end - begin);
    const float scale = scaled ? largest(tensor) : 1.0f;
    if (differ_in_magnitude(tensor.data(), tensor.size(), scale) != 0) refuse_value("signsgd", begin);
    zeros = zeros || (scale != 0 && std::ranges::any_of(tensor, [](float value) { return value == 0; }));
    if (scaled) put_float(message, scale);
  });
  const std::size_t first = message.size();
  message.resize(first + bytes_of_bits(q.size()));
  pack_bits(q.data(), q.size(), message.data() + first, negative);
  if (!zeros) return message;
  message.push_back(zeros_follow);
  message.resize(message.size() + bytes_of_bits(q.size()));
  pack_bits(q.data(), q.size(), message.data() + message.size() - bytes_of_bits(q.size()), zero);
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  std::vector<float> scales(layout.tensor_count(), 1.0f);
  if (is_scaled(scalars))
    for (float& each : scales) each = parts.take_float();
  const std::byte* const signs = parts.take(bytes_of_bits(q.size()));
  const std::byte* zeros = nullptr;
  if (!parts.at_end()) {
    if (*parts.take(1) != zeros_follow) throw std::logic_error("a message of signs continues with something that no encoder writes");
    zeros = parts.take(bytes_of_bits(q.size()));
  }
  parts.end();
  std::size_t tensor = 0;
  for_each_tensor(layout.tensors, q.size(), [&](std::size_t begin, std::size_t end) {
    const std::uint32_t scale = std::bit_cast<std::uint32_t>(scales[tensor++]);
    const auto bit = [](const std::byte* row, std::size_t i) { return static_cast<std::uint32_t>(row[i / 8]) >> i % 8 & 1u; };
    for (std::size_t i = begin; i < end; ++i) q[i] = std::bit_cast<float>(scale | bit(signs, i) << 31);
    if (!zeros) return;
    for (std::size_t i = begin; i < end; ++i) q[i] = bit(zeros, i) != 0 ? 0.0f : q[i];
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
    .formula = "C(v)_i = sign(v_i), sign(0) = 0; with error feedback sign(v_i) |v|₁ / d of each tensor of d values",
    .message = "⌈d / 8⌉ for d parameters; with error feedback 4 T more for T tensors; zeros are not counted",
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
    .for_zeros = [](const VectorLayout& layout) { return zeros_bytes(layout.parameters); },
    .vote = [](const std::vector<double>& scalars) -> const Rule* { return is_scaled(scalars) ? nullptr : &vote_rule; },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::signsgd
