// Element-wise layers, norms of rows and attention on Eigen and plain loops, for any processor.
#define EIGEN_DONT_PARALLELIZE
#include "models/kernels/generic_places.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace straggler::generic {
namespace {

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, static_cast<int>(panel_rows), Eigen::RowMajor>;  // of a panel
using Panel = Eigen::Map<const Matrix>;

constexpr std::size_t square_floats = panel_rows * panel_rows;

std::size_t panels_of(std::size_t rows) { return (rows + panel_rows - 1) / panel_rows; }
Index rows_in(std::size_t rows, std::size_t p) { return static_cast<Index>(std::min(panel_rows, rows - p * panel_rows)); }
Panel panel(const float* at, std::size_t features) { return {at, static_cast<Index>(features), static_cast<Index>(panel_rows)}; }
Eigen::Map<Matrix> panel(float* at, std::size_t features) { return {at, static_cast<Index>(features), static_cast<Index>(panel_rows)}; }

const float root_two_over_pi = static_cast<float>(std::sqrt(2 / std::numbers::pi));

float normal_share(float x) { return 0.5f * std::erfc(-x / std::numbers::sqrt2_v<float>); }
float logistic(float x) { return 1 / (1 + std::exp(-x)); }
float gelu_inner(float x) { return 2 * root_two_over_pi * (x + 0.044715f * x * x * x); }

float value_of(Activation f, float x) {
  switch (f) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::tanh:
      return static_cast<float>(std::tanh(static_cast<double>(x)));
    case Activation::gelu:
      return x * normal_share(x);
    case Activation::gelu_by_tanh:
      return x * logistic(gelu_inner(x));
    case Activation::silu:
      return x * logistic(x);
  }
  return x;
}

float slope_of(Activation f, float x, float y) {
  switch (f) {
    case Activation::relu:
      return y > 0 ? 1 : 0;
    case Activation::tanh:
      return 1 - y * y;
    case Activation::gelu:
      return normal_share(x) + x * std::exp(-x * x / 2) * root_two_over_pi / 2;
    case Activation::gelu_by_tanh: {
      const float c = std::clamp(x, -14.0f, 14.0f);  // beyond, shares are 0 or 1
      const float share = logistic(gelu_inner(c)), rest = logistic(-gelu_inner(c));
      return share + share * rest * 2 * root_two_over_pi * (1 + 3 * 0.044715f * c * c) * c;
    }
    case Activation::silu: {
      const float share = logistic(x), rest = logistic(-x);
      return share + share * rest * x;
    }
  }
  return 1;
}

/// A row of panels: channel c is panel_rows floats after channel c - 1.
struct Row {
  std::size_t from;
  float mean, scale;
  std::size_t at(std::size_t channel) const { return from + channel * panel_rows; }
};
Row row_of(std::size_t row, const RowNorm& norm, const float* x) {
  Row of{row / panel_rows * panel_rows * norm.channels + row % panel_rows, 0, 0};
  const auto count = static_cast<float>(norm.channels);
  for (std::size_t c = 0; norm.centred && c < norm.channels; ++c) of.mean += x[of.at(c)];
  of.mean /= count;
  float square = 0;
  for (std::size_t c = 0; c < norm.channels; ++c) square += (x[of.at(c)] - of.mean) * (x[of.at(c)] - of.mean);
  of.scale = 1 / std::sqrt(square / count + norm.epsilon);
  return of;
}

/// What the queries of one panel see.
struct QueryPanel {
  const AttentionHead& head;
  std::size_t number;

  Index queries() const { return rows_in(head.places, number); }
  std::size_t panels() const { return head.causal ? number + 1 : panels_of(head.places); }
  /// Keys that query i sees.
  std::size_t seen(Index i) const { return head.causal ? number * panel_rows + static_cast<std::size_t>(i) + 1 : head.places; }
  Panel of(const float* features, std::size_t p) const { return panel(features + p * head.stride, head.width); }

  void by_keys(const float* left, const Panel& right, float* to) const {
    for (std::size_t p = 0; p < panels(); ++p)
      panel(to + p * square_floats, panel_rows).topLeftCorner(rows_in(head.places, p), queries()).noalias() =
          of(left, p).leftCols(rows_in(head.places, p)).transpose() * right.leftCols(queries());
  }
  void by_features(const float* left, const float* table, float* to) const {
    auto sum = panel(to, head.width).leftCols(queries());
    sum.setZero();
    for (std::size_t p = 0; p < panels(); ++p)
      sum.noalias() += of(left, p).leftCols(rows_in(head.places, p)) *
                       panel(table + p * square_floats, panel_rows).topLeftCorner(rows_in(head.places, p), queries());
  }
  void to_keys(const Panel& left, const float* table, float* to) const {
    for (std::size_t p = 0; p < panels(); ++p)
      panel(to + p * head.stride, head.width).leftCols(rows_in(head.places, p)).noalias() +=
          left.leftCols(queries()) *
          panel(table + p * square_floats, panel_rows).topLeftCorner(rows_in(head.places, p), queries()).transpose();
  }
};

void attention_shares(const QueryPanel& of, float* table) {
  of.by_keys(of.head.keys, of.of(of.head.queries, of.number), table);
  const float scale = 1 / std::sqrt(static_cast<float>(of.head.width));
  for (Index i = 0; i < of.queries(); ++i) {
    float* const scores = table + i;
    const std::size_t seen = of.seen(i);
    float top = scores[0], sum = 0;
    for (std::size_t j = 1; j < seen; ++j) top = std::max(top, scores[j * panel_rows]);
    for (std::size_t j = 0; j < seen; ++j) sum += scores[j * panel_rows] = std::exp((scores[j * panel_rows] - top) * scale);
    for (std::size_t j = 0; j < seen; ++j) scores[j * panel_rows] /= sum;
    for (std::size_t j = seen; j < of.panels() * panel_rows; ++j) scores[j * panel_rows] = 0;
  }
}

}  // namespace

void activation_forward(Activation f, std::size_t n, const float* x, float* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = value_of(f, x[i]);
}

void activation_backward(Activation f, std::size_t n, const float* x, const float* y, const float* dy, float* dx) {
  for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] * slope_of(f, x[i], y[i]);
}

void norm_forward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* bias, float* y) {
  for (std::size_t row = 0; row < rows; ++row) {
    const Row of = row_of(row, norm, x);
    for (std::size_t c = 0; c < norm.channels; ++c) y[of.at(c)] = (x[of.at(c)] - of.mean) * of.scale * gain[c] + (bias ? bias[c] : 0.0f);
  }
}

void norm_backward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* dy, bool accumulate, float* dgain,
                   float* dbias, float* dx) {
  for (std::size_t row = 0; row < rows; ++row) {
    const Row of = row_of(row, norm, x);
    const auto z = [&](std::size_t c) { return (x[of.at(c)] - of.mean) * of.scale; };
    float mean = 0, product = 0;
    for (std::size_t c = 0; c < norm.channels; ++c) {
      const float own = dy[of.at(c)], dz = own * gain[c];
      dgain[c] += own * z(c);
      if (dbias) dbias[c] += own;
      if (norm.centred) mean += dz;
      product += dz * z(c);
    }
    mean /= static_cast<float>(norm.channels);
    product /= static_cast<float>(norm.channels);
    for (std::size_t c = 0; dx && c < norm.channels; ++c) {
      const float value = (dy[of.at(c)] * gain[c] - mean - z(c) * product) * of.scale;
      dx[of.at(c)] = accumulate ? dx[of.at(c)] + value : value;
    }
  }
}

void attention_forward(const AttentionHead& head, float* context) {
  for (std::size_t p = 0; p < panels_of(head.places); ++p) {
    const QueryPanel of{head, p};
    attention_shares(of, head.scratch);
    of.by_features(head.values, head.scratch, context + p * head.context_stride);
  }
}

void attention_backward(const AttentionHead& head, const float* dcontext, float* dqueries, float* dkeys, float* dvalues) {
  float *const shares = head.scratch, *const slopes = shares + panel_floats(head.places, panel_rows);
  const float scale = 1 / std::sqrt(static_cast<float>(head.width));
  for (std::size_t p = 0; p < panels_of(head.places); ++p) {
    const QueryPanel of{head, p};
    const Panel by = panel(dcontext + p * head.context_stride, head.width);
    attention_shares(of, shares);
    of.by_keys(head.values, by, slopes);
    of.to_keys(by, shares, dvalues);
    for (Index i = 0; i < of.queries(); ++i) {
      const std::size_t keys = std::min(of.panels() * panel_rows, head.places);
      float mean = 0;
      for (std::size_t j = 0; j < keys; ++j)
        mean += shares[j * panel_rows + static_cast<std::size_t>(i)] * slopes[j * panel_rows + static_cast<std::size_t>(i)];
      for (std::size_t j = 0; j < keys; ++j) {
        float& at = slopes[j * panel_rows + static_cast<std::size_t>(i)];
        at = shares[j * panel_rows + static_cast<std::size_t>(i)] * (at - mean) * scale;
      }
    }
    of.by_features(head.keys, slopes, dqueries + p * head.stride);
    of.to_keys(of.of(head.queries, p), slopes, dkeys);
  }
}

}  // namespace straggler::generic
