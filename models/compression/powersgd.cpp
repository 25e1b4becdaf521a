// PowerSGD treats each tensor of two or more dimensions as a matrix M, n × m, its first dimension against the rest. It sends M as the
// product of two factors with r columns, from one step of a power iteration that starts from the last factor Q:
//   P ← M Q, averaged over workers;   P ← its columns, orthogonalized;   Q ← Mᵀ P, averaged over workers;   C(M) = P Qᵀ.
// 4 r (n + m) bytes, or the whole tensor if r (n + m) ≥ n m; other tensors are sent whole. For one worker C(M) = P Pᵀ M, a projection:
// |C(M) - M|² = |M|² - |C(M)|². Householder reflections orthogonalize; they are stable for dependent columns.
// Vogels, Karimireddy & Jaggi, PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization, NeurIPS 2019.
#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "models/compression/compressor.hpp"
#include "models/kernels/product.hpp"
#include "models/rules/elementwise.hpp"
#include "sim/base/random.hpp"
#include "sim/base/registry.hpp"

namespace straggler::compression::powersgd {
namespace {

const Rule powersgd_rule{"powersgd"};  // (v[, e]; rank, draw number) -> C(v + e), from a drawn Q
const Rule left_rule{"powersgd_left"}, orthogonal_rule{"powersgd_orthogonal"};
const Rule right_rule{"powersgd_right"}, product_rule{"powersgd_product"};
constexpr FactorRules factor_rules{&left_rule, &orthogonal_rule, &right_rule, &product_rule};

/// A tensor sent as factors: P, [rows][rank], then Q, [columns][rank], both row-major, at the tensor's offset.
struct Matrix {
  std::size_t offset, rows, columns, rank;
  std::size_t size() const { return rows * columns; }
  std::size_t left() const { return rows * rank; }
  std::size_t right() const { return columns * rank; }
};

std::vector<Matrix> matrices_of(const std::vector<double>& scalars, std::span<const TensorInfo> tensors) {
  const auto rank = static_cast<std::size_t>(scalars.front());
  std::vector<Matrix> all;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.shape.size() < 2) continue;
    Matrix matrix{tensor.offset, tensor.shape.front(), 1, rank};
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) matrix.columns *= tensor.shape[i];
    if (matrix.left() + matrix.right() < matrix.size()) all.push_back(matrix);
  }
  return all;
}

/// Calls f(begin, end) for each range between matrices and g(matrix) for each matrix, in order, among n parameters.
template <class F, class G>
void for_each_part(const std::vector<Matrix>& matrices, std::size_t n, F whole, G factored) {
  std::size_t at = 0;
  for (const Matrix& matrix : matrices) {
    if (at < matrix.offset) whole(at, matrix.offset);
    factored(matrix);
    at = matrix.offset + matrix.size();
  }
  if (at < n) whole(at, n);
}

void draw_right(const Matrix& matrix, double number, float* q) {
  RandomStream random(static_cast<std::uint64_t>(number), std::uint64_t{matrix.offset});
  boost::random::normal_distribution<float> normal;
  for (std::size_t i = 0; i < matrix.right(); ++i) q[i] = normal(random);
}

/// A NaN in Q would persist forever, so Q is drawn again.
bool all_finite(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float value) { return std::isfinite(value); });
}

void multiply_right(const Matrix& matrix, const float* m, const float* q, float* p) {
  multiply(matrix.rows, matrix.rank, matrix.columns, {m}, {q}, false, p);
}

void copy_registers(const Extent& extent, const float* from, float* to) {
  std::copy_n(from + extent.own, extent.registers, to + extent.own);
}

void apply_left(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                float* out) {
  const float* const v = inputs[0];
  const auto whole = [&](std::size_t begin, std::size_t end) { std::copy(v + begin, v + end, out + begin); };
  for_each_part(matrices_of(scalars, extent.tensors), extent.n, whole, [&](const Matrix& matrix) {
    float* const p = out + matrix.offset;
    const float* q = inputs.size() > 1 ? inputs[1] + matrix.offset + matrix.left() : nullptr;
    std::vector<float> drawn;
    if (!q || !all_finite(q, matrix.right())) {
      drawn.resize(matrix.right());
      draw_right(matrix, scalars.back(), drawn.data());
      q = drawn.data();
    }
    multiply_right(matrix, v + matrix.offset, q, p);
    std::fill_n(p + matrix.left(), matrix.size() - matrix.left(), 0.0f);
  });
  copy_registers(extent, v, out);
}

void apply_orthogonal(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                      float* out) {
  std::copy_n(inputs[0], extent.n, out);
  for (const Matrix& matrix : matrices_of(scalars, extent.tensors))
    orthogonal_columns(matrix.rows, matrix.rank, inputs[0] + matrix.offset, out + matrix.offset);
  copy_registers(extent, inputs[0], out);
}

void apply_right(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                 float* out) {
  std::fill_n(out, extent.n, 0.0f);
  for (const Matrix& matrix : matrices_of(scalars, extent.tensors))
    multiply(matrix.columns, matrix.rank, matrix.rows, {inputs[0] + matrix.offset, true}, {inputs[1] + matrix.offset}, false,
             out + matrix.offset + matrix.left());
  copy_registers(extent, inputs[1], out);
}

void apply_product(const Kernels&, const Extent& extent, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                   float* out) {
  const float* const both = inputs[0];
  const auto whole = [&](std::size_t begin, std::size_t end) { std::copy(both + begin, both + end, out + begin); };
  for_each_part(matrices_of(scalars, extent.tensors), extent.n, whole, [&](const Matrix& matrix) {
    const float* const p = both + matrix.offset;
    multiply(matrix.rows, matrix.columns, matrix.rank, {p}, {p + matrix.left(), true}, false, out + matrix.offset);
  });
  copy_registers(extent, both, out);
}

/// All steps at once, without earlier factors.
void apply_powersgd(const Kernels& kernels, const Extent& extent, const std::vector<const float*>& inputs,
                    const std::vector<double>& scalars, float* out) {
  const std::size_t all = std::max(extent.n, extent.own + extent.registers);
  std::vector<float> v(all), p(all), q(all);
  if (inputs.size() > 1) {
    const float ones[] = {1.0f, 1.0f};
    kernels.weighted_sum(extent.n, 2, inputs.data(), ones, v.data());
  } else {
    std::copy_n(inputs[0], extent.n, v.data());
  }
  copy_registers(extent, inputs[0], v.data());
  apply_left(kernels, extent, {v.data()}, scalars, out);
  apply_orthogonal(kernels, extent, {out}, scalars, p.data());
  apply_right(kernels, extent, {v.data(), p.data()}, scalars, q.data());
  for (const Matrix& matrix : matrices_of(scalars, extent.tensors)) {
    const std::size_t right = matrix.offset + matrix.left();
    std::copy_n(q.data() + right, matrix.right(), p.data() + right);
  }
  apply_product(kernels, extent, {p.data()}, scalars, out);
}

std::uint64_t bytes(const std::vector<double>& scalars, const VectorLayout& layout) {
  std::uint64_t floats = layout.parameters;
  for (const Matrix& matrix : matrices_of(scalars, layout.tensors)) floats -= matrix.size() - matrix.left() - matrix.right();
  return sizeof(float) * floats;
}

std::uint64_t right_bytes(const std::vector<double>& scalars, const VectorLayout& layout) {
  std::uint64_t floats = 0;
  for (const Matrix& matrix : matrices_of(scalars, layout.tensors)) floats += matrix.right();
  return sizeof(float) * floats;
}

/// P and Q of each matrix, and the whole tensors, in tensor order.
std::vector<std::byte> encode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> both) {
  std::vector<std::byte> message(bytes(scalars, layout));
  std::size_t at = 0;
  const auto put = [&](std::size_t begin, std::size_t count) {
    std::memcpy(message.data() + at, both.data() + begin, count * sizeof(float));
    at += count * sizeof(float);
  };
  for_each_part(
      matrices_of(scalars, layout.tensors), both.size(), [&](std::size_t begin, std::size_t end) { put(begin, end - begin); },
      [&](const Matrix& matrix) {
        const std::size_t factors = matrix.left() + matrix.right();
        const float* const first = both.data() + matrix.offset;
        if (std::any_of(first + factors, first + matrix.size(), [](float value) { return value != 0; }))
          throw std::logic_error("a tensor at parameter " + std::to_string(matrix.offset) + " that is no pair of factors");
        put(matrix.offset, factors);
      });
  return message;
}

void decode(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message, std::span<float> both) {
  if (message.size() != bytes(scalars, layout)) throw std::logic_error("a message of powersgd that has another size than it must");
  std::size_t at = 0;
  const auto take = [&](std::size_t begin, std::size_t count) {
    std::memcpy(both.data() + begin, message.data() + at, count * sizeof(float));
    at += count * sizeof(float);
  };
  std::fill(both.begin(), both.end(), 0.0f);
  for_each_part(
      matrices_of(scalars, layout.tensors), both.size(), [&](std::size_t begin, std::size_t end) { take(begin, end - begin); },
      [&](const Matrix& matrix) { take(matrix.offset, matrix.left() + matrix.right()); });
}

/// The contents of the two all-reduces: P of each matrix and the whole tensors; or Q of each matrix. f(begin, count) per piece.
template <class F>
void for_each_left(const std::vector<double>& scalars, const VectorLayout& layout, F f) {
  for_each_part(
      matrices_of(scalars, layout.tensors), layout.parameters, [&](std::size_t begin, std::size_t end) { f(begin, end - begin); },
      [&](const Matrix& matrix) { f(matrix.offset, matrix.left()); });
}

template <class F>
void for_each_right(const std::vector<double>& scalars, const VectorLayout& layout, F f) {
  for (const Matrix& matrix : matrices_of(scalars, layout.tensors)) f(matrix.offset + matrix.left(), matrix.right());
}

template <auto for_each>
std::vector<std::byte> encode_pieces(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const float> all) {
  std::vector<std::byte> message;
  for_each(scalars, layout, [&](std::size_t begin, std::size_t count) {
    const std::span<const std::byte> piece = std::as_bytes(all.subspan(begin, count));
    message.insert(message.end(), piece.begin(), piece.end());
  });
  return message;
}

template <auto for_each>
void decode_pieces(const std::vector<double>& scalars, const VectorLayout& layout, std::span<const std::byte> message,
                   std::span<float> all) {
  std::fill(all.begin(), all.end(), 0.0f);
  std::size_t at = 0;
  for_each(scalars, layout, [&](std::size_t begin, std::size_t count) {
    if (message.size() - at < count * sizeof(float)) throw std::logic_error("factors of powersgd that are shorter than they must be");
    std::memcpy(all.data() + begin, message.data() + at, count * sizeof(float));
    at += count * sizeof(float);
  });
  if (at != message.size()) throw std::logic_error("factors of powersgd that are longer than they must be");
}

using Piece = std::function<void(std::size_t begin, std::size_t count)>;
constexpr SumCodec sums[] = {{Precision::fp32, encode_pieces<for_each_left<Piece>>, decode_pieces<for_each_left<Piece>>},
                             {Precision::fp32, encode_pieces<for_each_right<Piece>>, decode_pieces<for_each_right<Piece>>}};

ElementwiseEntry rule_of(const Rule& rule, const char* summary, decltype(ElementwiseEntry::apply) apply, int statistics = 0) {
  return {.name = std::string(rule.name),
          .summary = summary,
          .parameters = {},
          .in_place = -1,
          .statistics = StatisticsRule::carry,
          .gradient = statistics,
          .apply = apply};
}

const Register<ElementwiseEntry> all(rule_of(powersgd_rule, "a gradient whose matrices are of low rank", apply_powersgd));
const Register<ElementwiseEntry> left(rule_of(left_rule, "left factors, P = M Q, of a gradient's matrices", apply_left));
const Register<ElementwiseEntry> orthogonal(rule_of(orthogonal_rule, "left factors with orthogonal columns", apply_orthogonal));
const Register<ElementwiseEntry> right(rule_of(right_rule, "right factors, Q = M^T P, of a gradient's matrices", apply_right, 1));
const Register<ElementwiseEntry> product(rule_of(product_rule, "a gradient whose matrices are products P Q^T", apply_product));

const Register<CompressorEntry> entry({
    .name = "powersgd",
    .summary = "tensors of two or more dimensions as products of two factors of few columns",
    .reference = "Vogels et al. 2019",
    .formula = "C(M) = P P^T M for each tensor as a matrix M, with P the orthogonal columns of M Q, and Q from the previous step",
    .message = "4 r (n + m) for each tensor of n × m (its first dimension against the rest), if that is less; other tensors in full",
    .parameters =
        {{.name = "rank", .type = ValueType::count, .fallback = "2", .meaning = "r, columns of each factor", .range = Range::at_least(1)},
         error_feedback(true),
         compressed_direction()},
    .all_reduce = CompressedAllReduce::sum,
    .rule = &powersgd_rule,
    .scalars = [](const Parameters& parameters) { return std::vector<double>{parameters.number("rank")}; },
    .draws = Draws::run,
    .bytes = bytes,
    .factors = &factor_rules,
    .right_bytes = right_bytes,
    .sums = sums,
    .encode = encode,
    .decode = decode,
});

}  // namespace
}  // namespace straggler::compression::powersgd
