// Attention (Vaswani et al. 2017), plainly, with its projections: q, k, v = W x + b at each place; of each head the scores s = qᵀk / √d,
// their softmax p over the keys, and Σ p v; then the output's projection. Groups of heads may share keys and values (Ainslie et al. 2023).
// Causal: a place sees itself and those before it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace straggler::reference {

struct Attention {
  std::size_t channels, places, heads, key_value_heads;
  bool causal;

  std::size_t width() const { return channels / heads; }  // of a head
  /// Outputs of the first projection: all queries, keys, values.
  std::size_t projected() const { return (heads + 2 * key_value_heads) * width(); }
  /// The first of a head's queries, keys and values among them.
  std::size_t query(std::size_t head) const { return head * width(); }
  std::size_t key(std::size_t head) const { return (heads + head / (heads / key_value_heads)) * width(); }
  std::size_t value(std::size_t head) const { return key(head) + key_value_heads * width(); }
  /// Keys that a place sees.
  std::size_t seen(std::size_t place) const { return causal ? place + 1 : places; }
  /// Numbers of AttentionScratch.
  std::size_t one_pass() const { return (projected() + channels + places) * places; }
};

/// The two projections.
template <class Scalar>
struct AttentionWeights {
  Scalar *in, *in_bias, *out, *out_bias;  // [projected][channels], [projected], [channels][channels], [channels]
};

/// What stands between the projections, of one sample.
template <class Scalar>
struct AttentionScratch {
  Scalar *projected, *context, *shares;  // [projected][places], [channels][places], of one head [places][places]
  AttentionScratch(const Attention& layer, Scalar* scratch)
      : projected(scratch), context(projected + layer.projected() * layer.places), shares(context + layer.channels * layer.places) {}
};

/// y[out][places] = b[out] + Σ w[out][in] x[in][places].
template <class Scalar>
void project(std::size_t in, std::size_t out, std::size_t places, const Scalar* x, const Scalar* w, const Scalar* b, Scalar* y) {
  for (std::size_t o = 0; o < out; ++o) {
    std::fill_n(y + o * places, places, b[o]);
    for (std::size_t c = 0; c < in; ++c)
      for (std::size_t i = 0; i < places; ++i) y[o * places + i] += w[o * in + c] * x[c * places + i];
  }
}

/// dw += dy xᵀ, db += Σ dy.
template <class Scalar>
void project_backward_weights(std::size_t in, std::size_t out, std::size_t places, const Scalar* x, const Scalar* dy, Scalar* dw,
                              Scalar* db) {
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t i = 0; i < places; ++i) db[o] += dy[o * places + i];
    for (std::size_t c = 0; c < in; ++c)
      for (std::size_t i = 0; i < places; ++i) dw[o * in + c] += dy[o * places + i] * x[c * places + i];
  }
}

/// dx += wᵀ dy.
template <class Scalar>
void project_backward_input(std::size_t in, std::size_t out, std::size_t places, const Scalar* w, const Scalar* dy, Scalar* dx) {
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t c = 0; c < in; ++c)
      for (std::size_t i = 0; i < places; ++i) dx[c * places + i] += w[o * in + c] * dy[o * places + i];
}

/// Softmax of the scores of one head: shares[places][places].
template <class Scalar>
void attention_shares(const Attention& layer, std::size_t head, const Scalar* projected, Scalar* shares) {
  const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(layer.width()));
  const Scalar *const q = projected + layer.query(head) * layer.places, *const k = projected + layer.key(head) * layer.places;
  for (std::size_t i = 0; i < layer.places; ++i) {
    Scalar* const p = shares + i * layer.places;
    const std::size_t seen = layer.seen(i);
    std::fill_n(p, layer.places, Scalar(0));
    for (std::size_t c = 0; c < layer.width(); ++c)
      for (std::size_t j = 0; j < seen; ++j) p[j] += q[c * layer.places + i] * k[c * layer.places + j];
    const Scalar top = *std::max_element(p, p + seen) * scale;
    Scalar sum = 0;
    for (std::size_t j = 0; j < seen; ++j) sum += p[j] = std::exp(p[j] * scale - top);
    for (std::size_t j = 0; j < seen; ++j) p[j] /= sum;
  }
}

/// context[channels][places] of one head: Σ shares v.
template <class Scalar>
void attention_context(const Attention& layer, std::size_t head, const AttentionScratch<Scalar>& own) {
  const std::size_t n = layer.places;
  for (std::size_t c = 0; c < layer.width(); ++c)
    for (std::size_t i = 0; i < n; ++i) {
      const Scalar* const v = own.projected + (layer.value(head) + c) * n;
      Scalar sum = 0;
      for (std::size_t j = 0; j < layer.seen(i); ++j) sum += own.shares[i * n + j] * v[j];
      own.context[(layer.query(head) + c) * n + i] = sum;
    }
}

/// From by.context to by.projected, which it adds to; by.shares: scratch.
template <class Scalar>
void attention_head_backward(const Attention& layer, std::size_t head, const AttentionScratch<Scalar>& own,
                             const AttentionScratch<Scalar>& by) {
  const std::size_t n = layer.places, q = layer.query(head) * n, k = layer.key(head) * n, v = layer.value(head) * n;
  const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(layer.width()));
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t seen = layer.seen(i);
    const Scalar* const p = own.shares + i * n;
    Scalar* const dp = by.shares + i * n;
    std::fill_n(dp, seen, Scalar(0));
    for (std::size_t c = 0; c < layer.width(); ++c)
      for (std::size_t j = 0; j < seen; ++j) {
        dp[j] += by.context[q + c * n + i] * own.projected[v + c * n + j];
        by.projected[v + c * n + j] += p[j] * by.context[q + c * n + i];
      }
    Scalar mean = 0;
    for (std::size_t j = 0; j < seen; ++j) mean += p[j] * dp[j];
    for (std::size_t j = 0; j < seen; ++j) dp[j] = p[j] * (dp[j] - mean) * scale;
    for (std::size_t c = 0; c < layer.width(); ++c)
      for (std::size_t j = 0; j < seen; ++j) {
        by.projected[q + c * n + i] += dp[j] * own.projected[k + c * n + j];
        by.projected[k + c * n + j] += dp[j] * own.projected[q + c * n + i];
      }
  }
}

/// scratch[one_pass].
template <class Scalar>
void attention_forward(const Attention& layer, std::size_t rows, const Scalar* x, const AttentionWeights<const Scalar>& w, Scalar* y,
                       Scalar* scratch) {
  const AttentionScratch<Scalar> own(layer, scratch);
  const std::size_t n = layer.places, size = layer.channels * n;
  for (std::size_t row = 0; row < rows; ++row, x += size, y += size) {
    project(layer.channels, layer.projected(), n, x, w.in, w.in_bias, own.projected);
    for (std::size_t head = 0; head < layer.heads; ++head) {
      attention_shares(layer, head, own.projected, own.shares);
      attention_context(layer, head, own);
    }
    project(layer.channels, layer.channels, n, own.context, w.out, w.out_bias, y);
  }
}

/// dw, dx (null: none) += the derivatives. What stands between the projections is computed again. scratch[2 one_pass].
template <class Scalar>
void attention_backward(const Attention& layer, std::size_t rows, const Scalar* x, const AttentionWeights<const Scalar>& w,
                        const Scalar* dy, const AttentionWeights<Scalar>& dw, Scalar* dx, Scalar* scratch) {
  const AttentionScratch<Scalar> own(layer, scratch), by(layer, scratch + layer.one_pass());
  const std::size_t n = layer.places, size = layer.channels * n;
  for (std::size_t row = 0; row < rows; ++row, x += size, dy += size) {
    project(layer.channels, layer.projected(), n, x, w.in, w.in_bias, own.projected);
    std::fill_n(by.projected, layer.projected() * n, Scalar(0));
    std::fill_n(by.context, size, Scalar(0));
    project_backward_input(layer.channels, layer.channels, n, w.out, dy, by.context);
    for (std::size_t head = 0; head < layer.heads; ++head) {
      attention_shares(layer, head, own.projected, own.shares);
      attention_context(layer, head, own);
      attention_head_backward(layer, head, own, by);
    }
    project_backward_weights(layer.channels, layer.channels, n, own.context, dy, dw.out, dw.out_bias);
    project_backward_weights(layer.channels, layer.projected(), n, x, by.projected, dw.in, dw.in_bias);
    if (dx) project_backward_input(layer.channels, layer.projected(), n, w.in, by.projected, dx + row * size);
  }
}

}  // namespace straggler::reference
