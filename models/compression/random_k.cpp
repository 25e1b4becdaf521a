// Random-k: k of the d parameters, drawn from (seed, version of the weights), so all workers send the same ones, without indices:
//   C(v)_i = v_i if i is among them, else 0;   k = max(1, round(fraction d)).
// Without error feedback, scaled by d / k: E C(v) = v, E |C(v) - v|² = (d/k - 1) |v|². With it, unscaled: E |C(v) - v|² = (1 - k/d) |v|².
// 4 k bytes; sums keep the same coordinates, so an all-reduce sums. Stich, Cordonnier & Jaggi, Sparsified SGD with Memory, NeurIPS 2018;
// Konečný et al., Federated Learning: Strategies for Improving Communication Efficiency, 2016.
#include "models/compression/parts.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::random_k {
namespace {

const Rule random_k_rule{"random_k"};  // (v[, e]; fraction, scaled, draw number) -> C(v + e)

std::uint64_t kept_of(const std::vector<double>& scalars, std::uint64_t parameters) {
  const auto rounded = static_cast<std::uint64_t>(std::llround(scalars.front() * static_cast<double>(parameters)));
  return std::min(std::max<std::uint64_t>(1, rounded), parameters);
}

/// Calls f(i) for each drawn parameter, ascending: k of d, all sets of that size equally likely (Floyd's algorithm).
template <class F>
void for_each_kept(const std::vector<double>& scalars, std::size_t d, F f) {
  const std::size_t k = kept_of(scalars, d);
  std::vector<std::uint64_t> marks(d / 64 + 1);
  const auto is_new = [&](std::size_t i) {
    const std::uint64_t bit = 1ull << i % 64;
    return (marks[i / 64] & bit) == 0 && (marks[i / 64] |= bit, true);
  };
  RandomStream random(static_cast<std::uint64_t>(scalars.back()), std::uint64_t{0});
  for (std::size_t last = d - k; last < d; ++last)
    if (!is_new(random.below(last + 1))) is_new(last);
  for (std::size_t word = 0; word < marks.size(); ++word)
    for (std::uint64_t left = marks[word]; left != 0; left &= left - 1) f(64 * word + static_cast<std::size_t>(std::countr_zero(left)));
}

void apply(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
           float* out) {
  if (extent.n == 0) return;
  std::vector<float> all(std::max(extent.n, extent.own + extent.registers));
  const std::size_t k = kept_of(scalars, extent.n);
  const float factor = scalars.at(1) != 0 ? static_cast<float>(static_cast<double>(extent.n) / static_cast<double>(k)) : 1.0f;
  take_inputs(kernels, extent, inputs, all.data());
  std::fill_n(out, extent.n, 0.0f);
  for_each_kept(scalars, extent.n, [&](std::size_t i) { out[i] = all[i] * factor; });
  std::copy_n(all.data() + extent.own, extent.registers, out + extent.own);
}

std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout&, std::span<const float> q) {
  std::vector<std::byte> message;
  message.reserve(4 * kept_of(scalars, q.size()));
  std::size_t others = q.size(), zeros = 0;
  for (const float value : q) zeros += std::bit_cast<std::uint32_t>(value) == 0;
  for_each_kept(scalars, q.size(), [&](std::size_t i) {
    put_float(message, q[i]);
    others -= std::bit_cast<std::uint32_t>(q[i]) != 0;
  });
  if (others != zeros) throw std::logic_error("a gradient with values that random_k does not keep");
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout&, std::span<const std::byte> message, std::span<float> q) {
  Message parts(message);
  std::fill(q.begin(), q.end(), 0.0f);
  for_each_kept(scalars, q.size(), [&](std::size_t i) { q[i] = parts.take_float(); });
  parts.end();
}

const Register<ElementwiseEntry> arithmetic({.name = "random_k",
                                             .summary = "values of a gradient at random places, zero elsewhere",
                                             .parameters = {},
                                             .in_place = -1,
                                             .statistics = StatisticsRule::carry,
                                             .gradient = 0,
                                             .apply = apply});

constexpr SumCodec sums{Precision::fp32, encode, decode};

const Register<CompressorEntry> entry({
    .name = "random_k",
    .summary = "values at random places, the same on all workers, so that no indices are sent",
    .reference = "Konečný et al. 2016; Stich et al. 2018",
    .formula = "C(v)_i = v_i if i is among k that are drawn, else 0; without error feedback times d / k",
    .message = "4 k for d parameters, k = max(1, round(fraction d))",
    .parameters = {{.name = "fraction",
                    .type = ValueType::fraction,
                    .fallback = "0.01",
                    .meaning = "k / d, share of the parameters that a message carries",
                    .range = Range::above_to(0, 1)},
                   error_feedback(true),
                   compressed_direction()},
    .all_reduce = CompressedAllReduce::sum,
    .rule = &random_k_rule,
    .scalars =
        [](const Parameters& parameters) {
          return std::vector<double>{parameters.number("fraction"), parameters.flag("error_feedback") ? 0.0 : 1.0};
        },
    .draws = Draws::version,
    .bytes = [](const std::vector<double>& scalars, const VectorLayout& layout) { return 4 * kept_of(scalars, layout.parameters); },
    .sums = &sums,
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::random_k
