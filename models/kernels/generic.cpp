// The kernels on Eigen, for any processor: the functions of the x86-64 sets, in a line or two of linear algebra each. The sets are checked
// against these. Compiled, as product.cpp, for the baseline of the target.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "models/kernels/generic_places.hpp"
#include "models/kernels/generic_windows.hpp"
#include "models/kernels/kernels.hpp"

namespace straggler::generic {
namespace {

using Eigen::Dynamic;
using Eigen::Index;
using Eigen::Map;

constexpr Index lanes = panel_rows;
using Matrix = Eigen::Matrix<float, Dynamic, Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;
using Panel = Eigen::Matrix<float, Dynamic, lanes, Eigen::RowMajor>;  // [features][samples]
/// One number per sample of a panel. Its size is fixed, so that all lanes are computed alike.
using Lanes = Eigen::Array<float, 1, lanes>;

Index signed_size(std::size_t size) { return static_cast<Index>(size); }

/// Panel p of a batch, and its number of samples. Products touch no other lanes: padding may hold NaN.
Map<const Panel> panel(const float* panels, std::size_t p, std::size_t features) {
  return {panels + p * features * panel_rows, signed_size(features), lanes};
}
Map<Panel> panel(float* panels, std::size_t p, std::size_t features) {
  return {panels + p * features * panel_rows, signed_size(features), lanes};
}
std::size_t panels_of(std::size_t rows) { return (rows + panel_rows - 1) / panel_rows; }
Index samples_in(std::size_t p, std::size_t rows) { return std::min(lanes, signed_size(rows - p * panel_rows)); }

Map<const Matrix> matrix(const float* data, std::size_t rows, std::size_t columns) {
  return {data, signed_size(rows), signed_size(columns)};
}
Map<Matrix> matrix(float* data, std::size_t rows, std::size_t columns) { return {data, signed_size(rows), signed_size(columns)}; }

void to_panels(std::size_t rows, std::size_t features, const float* x, float* panels) {
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const Index samples = samples_in(p, rows);
    panel(panels, p, features).leftCols(samples) = matrix(x, rows, features).middleRows(signed_size(p * panel_rows), samples).transpose();
  }
}

/// Where feature 0 of a row is in panels; the others follow, panel_rows floats apart.
float* lane_of(float* panels, std::size_t features, std::size_t row) {
  return panels + row / panel_rows * panel_rows * features + row % panel_rows;
}

void gather_panels(std::size_t rows, std::size_t features, const float* x, const std::uint32_t* samples, float* panels) {
  for (std::size_t row = 0; row < rows; ++row) {
    float* const to = lane_of(panels, features, row);
    for (std::size_t i = 0; i < features; ++i) to[i * panel_rows] = x[samples[row] * features + i];
  }
}

void gather_pixels(std::size_t rows, std::size_t channels, std::size_t area, const PixelMap* maps, const std::uint8_t* images,
                   const std::uint32_t* samples, float* panels) {
  const std::size_t features = channels * area;
  for (std::size_t row = 0; row < rows; ++row) {
    float* const to = lane_of(panels, features, row);
    for (std::size_t i = 0; i < features; ++i) to[i * panel_rows] = maps[i / area].values[images[samples[row] * features + i]];
  }
}

void from_panels(std::size_t rows, std::size_t features, const float* panels, float* x) {
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const Index samples = samples_in(p, rows);
    matrix(x, rows, features).middleRows(signed_size(p * panel_rows), samples) = panel(panels, p, features).leftCols(samples).transpose();
  }
}

void dense_forward(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* w, const float* b, bool relu, float* y) {
  const Map<const Vector> bias(b, signed_size(out));
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const Index samples = samples_in(p, rows);
    auto y_samples = panel(y, p, out).leftCols(samples);
    y_samples.colwise() = bias;
    y_samples.noalias() += matrix(w, out, in) * panel(x, p, in).leftCols(samples);
    if (relu) y_samples = (y_samples.array() < 0.0f).select(0.0f, y_samples);  // lets NaN through
  }
}

void dense_backward_weights(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* dy, bool accumulate, float* dw,
                            float* db) {
  static const Eigen::Matrix<float, lanes, 1> ones = Eigen::Matrix<float, lanes, 1>::Ones();
  Map<Matrix> dw_matrix = matrix(dw, out, in);
  Map<Vector> db_vector(db, signed_size(out));
  if (!accumulate) {
    dw_matrix.setZero();
    db_vector.setZero();
  }
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const Index samples = samples_in(p, rows);
    const auto dy_samples = panel(dy, p, out).leftCols(samples);
    dw_matrix.noalias() += dy_samples * panel(x, p, in).leftCols(samples).transpose();
    // Not rowwise().sum(): its order depends on how the memory is aligned.
    db_vector.noalias() += dy_samples * ones.head(samples);
  }
}

constexpr std::nullptr_t dense_backward_columns = nullptr;  // Eigen blocks a product by its size, which moves bits

void dense_backward_input(std::size_t rows, std::size_t in, std::size_t out, const float* dy, const float* w, const float* x, bool relu,
                          float* dx) {
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const Index samples = samples_in(p, rows);
    auto dx_samples = panel(dx, p, in).leftCols(samples);
    dx_samples.noalias() = matrix(w, out, in).transpose() * panel(dy, p, out).leftCols(samples);
    if (relu) dx_samples = (panel(x, p, in).leftCols(samples).array() <= 0.0f).select(0.0f, dx_samples);
  }
}

/// The largest score of each sample. For a NaN score any result is valid: the sum of exponentials is NaN there.
Lanes largest(const Eigen::Ref<const Panel>& scores) {
  Lanes top = scores.row(0);
  for (Index c = 1; c < scores.rows(); ++c) top = top.max(scores.row(c).array());
  return top;
}

/// -log softmax at the label, from Σ e^(score - top).
double cross_entropy(float sum, float top, float score) {
  return std::log(static_cast<double>(sum)) - (static_cast<double>(score) - static_cast<double>(top));
}

double softmax_cross_entropy(std::size_t rows, std::size_t classes, float* scores, const std::int32_t* labels, const float* scale) {
  double loss = 0;
  for (std::size_t p = 0; p < panels_of(rows); ++p, labels += panel_rows, scale += panel_rows) {
    Map<Panel> at = panel(scores, p, classes);
    const Index samples = samples_in(p, rows);
    const Lanes top = largest(at);
    Lanes sum = Lanes::Zero(), label_score, weight = Lanes::Zero();
    for (Index i = 0; i < samples; ++i) label_score[i] = at(labels[i], i);
    weight.head(samples) = Map<const Eigen::RowVectorXf>(scale, samples);
    for (Index c = 0; c < at.rows(); ++c) {
      at.row(c) = (at.row(c).array() - top).exp();
      sum += at.row(c).array();
    }
    at.array().rowwise() *= weight / sum;
    for (Index i = 0; i < samples; ++i) {
      at(labels[i], i) -= scale[i];
      loss += static_cast<double>(scale[i]) * cross_entropy(sum[i], top[i], label_score[i]);
    }
  }
  return loss;
}

double softmax_evaluate(std::size_t rows, std::size_t classes, const float* scores, const std::int32_t* labels, std::uint64_t* correct) {
  double loss = 0;
  for (std::size_t p = 0; p < panels_of(rows); ++p, labels += panel_rows) {
    const Map<const Panel> at = panel(scores, p, classes);
    const Lanes top = largest(at);
    Lanes sum = Lanes::Zero();
    for (Index c = 0; c < at.rows(); ++c) sum += (at.row(c).array() - top).exp();
    for (Index i = 0; i < samples_in(p, rows); ++i) {
      const double entropy = cross_entropy(sum[i], top[i], at(labels[i], i));
      Index winner = 0;
      at.col(i).maxCoeff(&winner);  // ties: the first
      if (winner == labels[i] && !std::isnan(entropy)) ++*correct;
      loss += entropy;
    }
  }
  return loss;
}

using Numbers = Map<const Eigen::ArrayXf>;
/// A piece of a vector that fits the first-level cache: its sum is finished before it is stored, as `out` may be an input.
using Piece = Eigen::Array<float, Dynamic, 1, Eigen::ColMajor, 512, 1>;

/// Calls sum_of(at, size) for each piece, and stores the returned Piece.
template <class SumOf>
void for_pieces(std::size_t n, float* out, const SumOf& sum_of) {
  for (std::size_t at = 0; at < n; at += Piece::MaxSizeAtCompileTime) {
    const Index size = std::min<Index>(Piece::MaxSizeAtCompileTime, signed_size(n - at));
    const Piece sum = sum_of(at, size);
    Map<Eigen::ArrayXf>(out + at, size) = sum;
  }
}

void weighted_sum(std::size_t n, std::size_t count, const float* const* x, const float* scale, float* out) {
  for_pieces(n, out, [&](std::size_t at, Index size) {
    Piece sum = scale[0] * Numbers(x[0] + at, size);
    for (std::size_t i = 1; i < count; ++i) sum += scale[i] * Numbers(x[i] + at, size);
    return sum;
  });
}

void mean(std::size_t n, std::size_t count, const float* const* x, float* out) {
  for_pieces(n, out, [&](std::size_t at, Index size) {
    Piece sum = Numbers(x[0] + at, size);
    for (std::size_t i = 1; i < count; ++i) sum += Numbers(x[i] + at, size);
    sum /= static_cast<float>(count);
    return sum;
  });
}

void momentum(std::size_t n, float momentum, float decay, const float* g, const float* w, const float* v, float* out) {
  const Index size = signed_size(n);
  const Numbers gradient(g, size);
  Map<Eigen::ArrayXf> result(out, size);
  if (w && v)
    result = momentum * Numbers(v, size) + (gradient + decay * Numbers(w, size));
  else if (v)
    result = momentum * Numbers(v, size) + gradient;
  else if (w)
    result = gradient + decay * Numbers(w, size);
  else
    result = gradient;
}

void descend(std::size_t n, float rate, const float* w, const float* d, float* out) {
  const Index size = signed_size(n);
  Map<Eigen::ArrayXf>(out, size) = Numbers(w, size) - rate * Numbers(d, size);
}

void step_rows(std::size_t rows, std::size_t n, std::size_t stride, const float* g, const WeightStep& step) {
  constexpr std::size_t piece = 1024;
  float velocity[piece];
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < n; i += piece) {
      const WeightStep here = step.at(row * stride + i);
      const std::size_t count = std::min(piece, n - i);
      momentum(count, step.momentum, step.decay, g + row * stride + i, step.decay == 0.0f ? nullptr : here.w, here.v, velocity);
      descend(count, step.rate, here.w, velocity, here.w_out);
      if (here.v_out) std::copy_n(velocity, count, here.v_out);
    }
}

void descend_rows(std::size_t count, std::size_t n, float rate, const float* const* d, float* const* w) {
  for (std::size_t row = 0; row < count; ++row) descend(n, rate, w[row], d[row], w[row]);
}

void integer_products(std::size_t rows, std::size_t pairs, std::size_t out, const std::int16_t* x, const std::int16_t* w, std::int32_t* y) {
  for (std::size_t p = 0; p < panels_of(rows); ++p, x += pairs * 2 * panel_rows)
    for (std::size_t o = 0; o < out; ++o, y += panel_rows) {
      std::fill_n(y, panel_rows, 0);
      for (std::size_t k = 0; k < pairs; ++k) {
        const std::int16_t* const both = x + k * 2 * panel_rows;
        const std::int32_t first = w[(o * pairs + k) * 2], second = w[(o * pairs + k) * 2 + 1];
        for (std::size_t lane = 0; lane < panel_rows; ++lane) y[lane] += first * both[2 * lane] + second * both[2 * lane + 1];
      }
    }
}

/// Calls use(d) with the expression d = g + decay w, or g alone.
template <class Use>
void with_direction(std::size_t n, float decay, const float* g, const float* w, const Use& use) {
  const Numbers gradient(g, signed_size(n));
  if (w)
    use(gradient + decay * Numbers(w, signed_size(n)));
  else
    use(gradient);
}

void moment(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* m, float* out) {
  Map<Eigen::ArrayXf> result(out, signed_size(n));
  with_direction(n, decay, g, w, [&](const auto& d) {
    if (m)
      result = keep * Numbers(m, signed_size(n)) + share * d;
    else
      result = share * d;
  });
}

void second_moment(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* v, float* out) {
  Map<Eigen::ArrayXf> result(out, signed_size(n));
  with_direction(n, decay, g, w, [&](const auto& d) {
    if (v)
      result = keep * Numbers(v, signed_size(n)) + share * d.square();
    else
      result = share * d.square();
  });
}

void descend_scaled(std::size_t n, const ScaledDescent& by, const float* w, const float* d, const float* v, float* out) {
  const Index size = signed_size(n);
  const Numbers weights(w, size);
  Map<Eigen::ArrayXf>(out, size) = by.shrink * weights - by.rate * (Numbers(d, size) + by.decay * weights) /
                                                             ((by.scale * Numbers(v, size) + by.shift).sqrt() + by.epsilon);
}

/// Not Eigen's: its order depends on the alignment.
double squared_norm(std::size_t n, const float* x) {
  constexpr std::size_t piece = 1024;
  double norm = 0;
  for (std::size_t at = 0; at < n; at += piece) {
    float sum = 0;
    for (std::size_t i = at; i < std::min(n, at + piece); ++i) sum += x[i] * x[i];
    norm += static_cast<double>(sum);
  }
  return norm;
}

/// Same rounding as rounding.inc.hpp, on one number.
float rounded_to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t size = bits & 0x7FFFFFFFu, sign = bits & 0x80000000u;
  const float small = (std::bit_cast<float>(size) + 0.5f) - 0.5f;
  std::uint32_t value = (size + 0xFFFu + (size >> 13 & 1u)) & ~0x1FFFu;
  value = value >= 0x47800000u ? 0x7F800000u : value;
  value = size < 0x38800000u ? std::bit_cast<std::uint32_t>(small) : value;
  value = size > 0x7F800000u ? 0x7FC00000u | (size & 0x7FE000u) : value;
  return std::bit_cast<float>(sign | value);
}

float rounded_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t nearest = bits + 0x7FFFu + (bits >> 16 & 1u);
  return std::bit_cast<float>(((bits & 0x7FFFFFFFu) > 0x7F800000u ? bits | 0x400000u : nearest) & 0xFFFF0000u);
}

bool round_numbers(Precision precision, std::size_t n, const float* x, float factor, float* out) {
  std::uint32_t infinite = 0;
  const auto round_each = [&](const auto& rounded) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = rounded(x[i]) * factor;
      infinite |= (std::bit_cast<std::uint32_t>(out[i]) & 0x7F800000u) == 0x7F800000u ? 1u : 0u;
    }
  };
  if (precision == Precision::fp16)
    round_each(rounded_to_fp16);
  else if (precision == Precision::bf16)
    round_each(rounded_to_bf16);
  else
    round_each([](float number) { return number; });
  return infinite == 0;
}

/// The sum of the products of `width` pairs of numbers, in a fixed number of lanes: the order does not depend on the alignment of rows.
float product_of(std::size_t width, const float* a, const float* b) {
  using Few = Eigen::Array<float, 8, 1>;
  Few sum = Few::Zero();
  std::size_t i = 0;
  for (; i + 8 <= width; i += 8) sum += Map<const Few>(a + i) * Map<const Few>(b + i);
  float total = sum.sum();
  for (; i < width; ++i) total += a[i] * b[i];
  return total;
}

/// log(1 + e^s)
double softplus(float s) { return std::max(static_cast<double>(s), 0.0) + std::log1p(std::exp(-std::abs(static_cast<double>(s)))); }

double negative_sampling(const PairBlock& block) {
  const Index width = signed_size(block.width);
  double loss = 0;
  for (std::size_t pair = 0; pair < block.pairs; ++pair) {
    const float* const u = block.centres[pair];
    const float weight = block.scale ? block.scale[pair] : 1.0f;
    float factors[most_targets];
    for (std::size_t j = 0; j < block.targets; ++j) {
      const float x = product_of(block.width, u, block.outputs[pair * block.targets + j]), s = j == 0 ? -x : x;
      if (block.scores) block.scores[pair * block.targets + j] = x;
      if (block.loss) loss += static_cast<double>(weight) * softplus(s);
      const float sigmoid = 1 / (1 + std::exp(-s));
      factors[j] = (j == 0 ? -sigmoid : sigmoid) * weight;
    }
    if (!block.centre_gradients) continue;
    Map<Eigen::ArrayXf> du(block.centre_gradients[pair], width);
    du = Numbers((block.centres_before ? block.centres_before : block.centre_gradients)[pair], width);
    if (!block.output_gradients) {
      std::copy_n(factors, block.targets, block.factors + pair * block.targets);
      std::copy_n(u, block.width, block.centre_copies[pair]);
    }
    for (std::size_t j = pair * block.targets; j < (pair + 1) * block.targets; ++j) {
      const float factor = factors[j - pair * block.targets];
      du += factor * Numbers(block.outputs[j], width);
      if (!block.output_gradients) continue;
      const float* const before = (block.outputs_before ? block.outputs_before : block.output_gradients)[j];
      Map<Eigen::ArrayXf>(block.output_gradients[j], width) = Numbers(before, width) + factor * Numbers(u, width);
    }
  }
  return loss;
}

void sum_terms(std::size_t count, const RowTerms& terms, std::size_t first, float* out) {
  for (std::size_t row = 0; row < count; ++row) {
    Map<Eigen::ArrayXf> sum(out + row * terms.stride, signed_size(terms.width));
    sum.setZero();
    for (std::uint32_t term = terms.first[first + row]; term != RowTerms::none; term = terms.next[term])
      sum = sum + terms.factors[term] * Numbers(terms.sources + terms.source[term] * terms.stride, sum.size());
  }
}

void descend_terms(std::size_t count, float rate, const RowTerms& terms, std::size_t first, float* const* w) {
  std::vector<float> sum(terms.stride);
  for (std::size_t row = 0; row < count; ++row) {
    sum_terms(1, terms, first + row, sum.data());
    descend(terms.width, rate, w[row], sum.data(), w[row]);
  }
}

}  // namespace

#define STRAGGLER_KERNELS_NAME "generic"
#include "models/kernels/table.inc.hpp"
#undef STRAGGLER_KERNELS_NAME
}  // namespace straggler::generic
