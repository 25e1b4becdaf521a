// QSGD rounds values at random to multiples of n / s, with n the l2 norm of their bucket of consecutive values:
//   C(v)_i = sign(v_i) l_i n / s,   l_i = the integer below or above s |v_i| / n, drawn without bias;   E C(v) = v,
//   E |C(v) - v|² ≤ min(b / s², √b / s) |v|² of a bucket of b values.
// A message has a code of ⌈lg(2 s + 1)⌉ bits per value and n / s for each bucket. Infinity and NaN arrive as NaN.
// Alistarh, Grubic, Li, Tomioka & Vojnovic, QSGD: Communication-Efficient SGD via Gradient Quantization and Encoding, NeurIPS 2017,
// section 3.1 and (buckets) section 4; fixed-length codes replace its Elias code.
#include <limits>

#include "models/compression/parts.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::qsgd {
namespace {

const Rule qsgd_rule{"qsgd"};  // (v[, e]; levels, bucket, draw number) -> C(v + e)

constexpr float infinity = std::numeric_limits<float>::infinity();
const float no_number = std::bit_cast<float>(quiet_nan);

struct Shape {
  explicit Shape(const std::vector<double>& scalars)
      : levels(static_cast<std::uint32_t>(scalars.at(0))), bucket(static_cast<std::size_t>(scalars.at(1))) {}
  /// The codes 0 .. 2 levels are l + levels; the next one is NaN. It fits, since 2 levels + 1 is odd.
  unsigned bits() const { return static_cast<unsigned>(std::bit_width(2 * levels)); }
  std::uint64_t buckets(std::uint64_t parameters) const { return (parameters + bucket - 1) / bucket; }
  std::uint64_t bytes(std::uint64_t parameters) const { return bytes_of_bits(parameters * bits()) + 4 * buckets(parameters); }
  std::uint32_t levels;
  std::size_t bucket;
};

/// The norm of the finite values, in sixteen independent sums.
STRAGGLER_LANES double sum_of_squares(const float* values, std::size_t count) {
  double sums[16] = {};
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const std::uint32_t own = magnitude_of(values[i + lane]);
      const double value = static_cast<double>(std::bit_cast<float>(own < not_finite ? own : 0u));
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const std::uint32_t own = magnitude_of(values[i]);
    const double value = static_cast<double>(std::bit_cast<float>(own < not_finite ? own : 0u));
    sums[0] += value * value;
  }
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

/// n / s; infinite if the values, or its largest multiple, overflow.
float unit_of(const float* values, std::size_t count, std::uint32_t levels) {
  const double norm = std::sqrt(sum_of_squares(values, count));
  const float unit = norm > std::numeric_limits<float>::max() ? infinity : static_cast<float>(norm / levels);
  return static_cast<float>(levels) * unit < infinity ? unit : infinity;
}

/// In place. `first`: the coordinate of values[0].
STRAGGLER_LANES void round_at_random(float* values, std::size_t count, float unit, std::uint32_t levels, DrawnBits bits,
                                     std::uint32_t first) {
  const auto most = static_cast<float>(levels);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = std::bit_cast<std::uint32_t>(values[i]), magnitude = own & 0x7fffffffu;
    const std::uint32_t finite = all_if(magnitude < not_finite);
    const float ratio = std::bit_cast<float>(magnitude & finite) / unit, exact = ratio < most ? ratio : most;
    const std::int32_t below = static_cast<std::int32_t>(exact);
    const std::uint32_t up = all_if(bits.uniform(first + static_cast<std::uint32_t>(i)) < exact - static_cast<float>(below));
    const std::int32_t level = below + static_cast<std::int32_t>(up & 1u);
    const std::uint32_t rounded = std::bit_cast<std::uint32_t>(static_cast<float>(level) * unit) | (own & 0x80000000u & all_if(level != 0));
    values[i] = std::bit_cast<float>((rounded & finite) | (quiet_nan & ~finite));
  }
}

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
           float* out) {
  take_inputs(kernels, extent, inputs, out);
  const Shape shape(scalars);
  const DrawnBits bits(scalars.back());
  for (std::size_t begin = 0; begin < extent.n; begin += shape.bucket) {
    const std::size_t count = std::min(shape.bucket, extent.n - begin);
    const float unit = unit_of(out + begin, count, shape.levels);
    if (unit > 0 && unit < infinity)
      round_at_random(out + begin, count, unit, shape.levels, bits, static_cast<std::uint32_t>(begin));
    else
      for (std::size_t i = begin; i < begin + count; ++i) out[i] = std::isfinite(out[i]) && unit == 0 ? 0.0f : no_number;
  }
}

/// If all values are multiples of that unit, bit for bit, computes their codes.
STRAGGLER_LANES bool find_codes(const float* q, std::size_t count, float unit, std::int32_t levels, std::uint16_t* codes) {
  std::uint32_t differences = 0;
  const auto most = static_cast<float>(levels);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t own = std::bit_cast<std::uint32_t>(q[i]), magnitude = own & 0x7fffffffu;
    const std::uint32_t finite = all_if(magnitude < not_finite);
    const float ratio = std::bit_cast<float>(magnitude & finite) / unit + 0.5f, nearest = ratio < most + 0.5f ? ratio : most;
    const auto level = static_cast<std::int32_t>(nearest);
    const std::uint32_t negative = own >> 31 & all_if(level != 0);
    const std::uint32_t back = std::bit_cast<std::uint32_t>(static_cast<float>(level) * unit) | negative << 31;
    differences |= own ^ ((back & finite) | (quiet_nan & ~finite));
    const auto code =
        static_cast<std::uint32_t>(levels + (level ^ -static_cast<std::int32_t>(negative)) + static_cast<std::int32_t>(negative));
    codes[i] = static_cast<std::uint16_t>((code & finite) | (static_cast<std::uint32_t>(2 * levels + 1) & ~finite));
  }
  return differences == 0;
}

/// The smallest magnitude above 0; infinite if there is none.
STRAGGLER_LANES float least_magnitude(const float* q, std::size_t count) {
  std::uint32_t least = not_finite - 1u;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t below = magnitude_of(q[i]) - 1u;  // wraps to the maximum for 0
    least = below < least ? below : least;
  }
  return std::bit_cast<float>(least + 1u);
}

/// A unit of which all values of a bucket are multiples. The smallest value is one of a few multiples itself, up to the rounding of the
/// product, and yields the unit. A unit other than the rule's is valid if it leads to the same bits.
float find_unit(const float* q, std::size_t count, std::uint32_t levels, std::uint16_t* codes, std::size_t place) {
  const float least = least_magnitude(q, count);
  const auto most = static_cast<std::int32_t>(levels);
  if (least == infinity) {
    find_codes(q, count, 1.0f, most, codes);
    return 0;
  }
  for (std::uint32_t level = 1; level <= levels; ++level) {
    const float nearest = least / static_cast<float>(level);
    if (find_codes(q, count, nearest, most, codes)) return nearest;
    for (const float towards : {0.0f, infinity}) {
      const float one = std::nextafter(nearest, towards), two = std::nextafter(one, towards);
      for (const float unit : {one, two})
        if (unit > 0 && find_codes(q, count, unit, most, codes)) return unit;
    }
  }
  refuse_value("qsgd", place);
}

/// The units of all buckets, then the codes.
std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout&, std::span<const float> q) {
  const Shape shape(scalars);
  std::vector<std::byte> message;
  message.reserve(shape.bytes(q.size()));
  std::vector<std::uint16_t> codes(q.size());
  for (std::size_t begin = 0; begin < q.size(); begin += shape.bucket)
    put_float(message, find_unit(q.data() + begin, std::min(shape.bucket, q.size() - begin), shape.levels, codes.data() + begin, begin));
  const std::size_t first = message.size();
  message.resize(shape.bytes(q.size()));
  pack(codes, shape.bits(), message.data() + first);
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout&, std::span<const std::byte> message, std::span<float> q) {
  const Shape shape(scalars);
  Message parts(message);
  std::vector<float> units(shape.buckets(q.size()));
  for (float& each : units) each = parts.take_float();
  std::vector<std::uint16_t> codes(q.size());
  unpack(parts.take(bytes_of_bits(q.size() * shape.bits())), shape.bits(), codes);
  parts.end();
  const auto levels = static_cast<std::int32_t>(shape.levels);
  for (std::size_t i = 0; i < q.size(); ++i) {
    const std::int32_t level = codes[i] - levels;
    if (level > levels + 1) throw std::logic_error("a message of qsgd with a code that stands for nothing");
    q[i] = level > levels ? no_number : level == 0 ? 0.0f : static_cast<float>(level) * units[i / shape.bucket];
  }
}

const Register<ElementwiseEntry> arithmetic({.name = "qsgd",
                                             .summary = "a gradient rounded at random to multiples of each bucket's norm by the levels",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

const Register<CompressorEntry> entry({
    .name = "qsgd",
    .summary = "values rounded at random to a few levels of their bucket's norm, so that the mean is right",
    .reference = "Alistarh et al. 2017",
    .formula = "C(v)_i = sign(v_i) l_i n / s; l_i: s |v_i| / n rounded at random, n the bucket's norm, s the levels",
    .message = "⌈d ⌈lg(2 levels + 1)⌉ / 8⌉ + 4 ⌈d / bucket⌉ for d parameters",
    .parameters = {{.name = "levels",
                    .type = ValueType::count,
                    .fallback = "15",
                    .meaning = "s, levels of a magnitude above 0",
                    .range = Range::between(1, 127)},
                   {.name = "bucket",
                    .type = ValueType::count,
                    .fallback = "512",
                    .meaning = "consecutive values that share a norm",
                    .range = Range::between(1, 1e9)},
                   error_feedback(false),
                   compressed_direction()},
    .all_reduce = CompressedAllReduce::all_gather,
    .rule = &qsgd_rule,
    .scalars =
        [](const Parameters& parameters) {
          return std::vector<double>{static_cast<double>(parameters.count("levels")), static_cast<double>(parameters.count("bucket"))};
        },
    .draws = Draws::message,
    .bytes = [](const std::vector<double>& scalars, const VectorLayout& layout) { return Shape(scalars).bytes(layout.parameters); },
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::qsgd
