// A network in double precision by plain loops: loss, gradient, statistics, outputs. Slow, and like nothing that it is compared with.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "models/zoo/network.hpp"

namespace straggler::test {

class PlainNetwork {
 public:
  PlainNetwork(const Architecture& architecture, const std::vector<float>& weights, Precision precision = Precision::fp32)
      : net_(architecture), layout_(architecture), precision_(precision), weights_(weights.begin(), weights.end()) {
    rounded(weights_, layout_.parameters);
  }

  /// gradient: parameters, then statistics times Σ scale.
  double gradient(const Rows& rows, std::vector<double>& gradient) {
    forward(rows, true);
    gradient.assign(layout_.parameters + layout_.statistic_floats, 0.0);
    errors_.assign(net_.layers.size(), {});
    for (std::size_t l = 0; l < net_.layers.size(); ++l) errors_[l].assign(outputs_[l].size(), 0.0);
    const double loss = softmax(rows, true);
    double scale = 0;
    for (std::size_t i = 0; i < rows.count; ++i) scale += static_cast<double>(rows.scale[i]);
    for (std::size_t l = net_.layers.size(); l-- > 0;) {
      rounded(errors_[l], errors_[l].size());
      backward(l, rows.count, scale, gradient);
    }
    return loss;
  }

  double evaluate(const Rows& rows, std::uint64_t& correct) {
    forward(rows, false);
    const std::size_t classes = net_.layers.back().out.size();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const double* const score = outputs_.back().data() + i * classes;
      if (std::max_element(score, score + classes) - score == rows.labels[i]) ++correct;
    }
    return softmax(rows, false);
  }

 private:
  void rounded(std::vector<double>& values, std::size_t count) const {
    for (std::size_t i = 0; i < count && precision_ != Precision::fp32; ++i) {
      const auto exact = static_cast<float>(values[i]);
      float nearest = 0;
      round_to(precision_, 1, &exact, &nearest);
      values[i] = static_cast<double>(nearest);
    }
  }

  const std::vector<double>& in(std::size_t layer, std::size_t which = 0) const {
    const LayerIndex from = net_.layers[layer].inputs[which];
    return from == network_input ? inputs_ : outputs_[from];
  }
  std::vector<double>& error_in(std::size_t layer, std::size_t which = 0) {
    const LayerIndex from = net_.layers[layer].inputs[which];
    if (from != network_input) return errors_[from];
    nothing_.assign(inputs_.size(), 0.0);
    return nothing_;
  }

  /// Calls each(row, output channel, input channel, output index, input index, index into the window) for all pairs that a window joins.
  template <class Each>
  static void windows(const LayerSpec& layer, std::size_t rows, std::size_t in_channels, const Each& each) {
    const Window& w = layer.window;
    const std::size_t group_in = in_channels, groups = layer.in.channels / group_in, group_out = layer.out.channels / groups;
    for (std::size_t n = 0; n < rows; ++n)
      for (std::size_t o = 0; o < layer.out.channels; ++o)
        for (std::size_t y = 0; y < layer.out.height; ++y)
          for (std::size_t x = 0; x < layer.out.width; ++x)
            for (std::size_t i = 0; i < group_in; ++i)
              for (std::size_t ky = 0; ky < w.height; ++ky)
                for (std::size_t kx = 0; kx < w.width; ++kx) {
                  const std::size_t iy = y * w.stride + ky, ix = x * w.stride + kx;  // plus the padding
                  if (iy < w.pad_height || ix < w.pad_width) continue;
                  if (iy - w.pad_height >= layer.in.height || ix - w.pad_width >= layer.in.width) continue;
                  const std::size_t c = o / group_out * group_in + i;
                  each(((n * layer.out.channels + o) * layer.out.height + y) * layer.out.width + x,
                       ((n * layer.in.channels + c) * layer.in.height + iy - w.pad_height) * layer.in.width + ix - w.pad_width,
                       ((o * group_in + i) * w.height + ky) * w.width + kx, o);
                }
  }
  /// Of a pool: each channel alone.
  template <class Each>
  static void pools(const LayerSpec& layer, std::size_t rows, const Each& each) {
    windows(layer, rows, 1, [&](std::size_t out, std::size_t in, std::size_t, std::size_t) { each(out, in); });
  }

  void forward(const Rows& rows, bool training) {
    inputs_.assign(rows.inputs, rows.inputs + rows.count * net_.input.size());
    rounded(inputs_, inputs_.size());
    outputs_.assign(net_.layers.size(), {});
    means_.assign(net_.layers.size(), {});
    variances_ = means_;
    for (std::size_t l = 0; l < net_.layers.size(); ++l) {
      outputs_[l].assign(rows.count * net_.layers[l].out.size(), 0.0);
      layer_forward(l, rows.count, training);
      rounded(outputs_[l], outputs_[l].size());
    }
  }

  void layer_forward(std::size_t l, std::size_t rows, bool training) {
    const LayerSpec& layer = net_.layers[l];
    std::vector<double>& out = outputs_[l];
    const auto tensor = [&](std::size_t t) { return weights_.data() + layout_.tensors[l][t]; };
    const std::size_t places = layer.out.height * layer.out.width;
    if (layer.is("conv")) {
      for (std::size_t i = 0; i < out.size() && layer.tensors.size() > 1; ++i) out[i] = tensor(1)[i / places % layer.out.channels];
      windows(layer, rows, layer.tensors[0].shape[1],
              [&](std::size_t o, std::size_t i, std::size_t w, std::size_t) { out[o] += in(l)[i] * tensor(0)[w]; });
      return;
    }
    if (layer.is("linear")) {
      for (std::size_t n = 0; n < rows; ++n)
        for (std::size_t o = 0; o < layer.out.channels; ++o) {
          double sum = tensor(1)[o];
          for (std::size_t i = 0; i < layer.in.channels; ++i)
            sum += tensor(0)[o * layer.in.channels + i] * in(l)[n * layer.in.channels + i];
          out[n * layer.out.channels + o] = sum;
        }
      return;
    }
    if (layer.is("batch_norm")) return norm_forward(l, training);
    if (layer.is("relu")) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(0.0, in(l)[i]);
      return;
    }
    if (layer.is("add")) {
      for (std::size_t t = 0; t < layer.inputs.size(); ++t)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += in(l, t)[i];
      return;
    }
    if (layer.is("max_pool")) {
      std::fill(out.begin(), out.end(), -1e300);
      pools(layer, rows, [&](std::size_t o, std::size_t i) { out[o] = std::max(out[o], in(l)[i]); });
      return;
    }
    if (layer.is("average_pool")) {
      pools(layer, rows,
            [&](std::size_t o, std::size_t i) { out[o] += in(l)[i] / static_cast<double>(layer.window.height * layer.window.width); });
      return;
    }
    out = in(l);
  }

  void norm_forward(std::size_t l, bool training) {
    const LayerSpec& layer = net_.layers[l];
    const std::size_t channels = layer.in.channels, places = layer.in.height * layer.in.width;
    const std::vector<double>& x = in(l);
    const std::size_t each = x.size() / channels;
    const double count = static_cast<double>(each);
    std::vector<double>&mean = means_[l], &variance = variances_[l];
    mean.assign(channels, 0.0);
    variance = mean;
    for (std::size_t i = 0; i < x.size(); ++i) mean[i / places % channels] += x[i] / count;
    for (std::size_t i = 0; i < x.size(); ++i) variance[i / places % channels] += std::pow(x[i] - mean[i / places % channels], 2) / count;
    const double* const weight = weights_.data() + layout_.tensors[l][0];
    const double* const bias = weights_.data() + layout_.tensors[l][1];
    const double* const running = weights_.data() + layout_.statistics[l];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / places % channels;
      const double m = training ? mean[c] : running[c], v = training ? variance[c] : running[channels + c];
      outputs_[l][i] = (x[i] - m) / std::sqrt(v + 1e-5) * weight[c] + bias[c];
    }
  }

  double softmax(const Rows& rows, bool training) {
    const std::size_t classes = net_.layers.back().out.size();
    double loss = 0;
    for (std::size_t n = 0; n < rows.count; ++n) {
      const double* const score = outputs_.back().data() + n * classes;
      const double most = *std::max_element(score, score + classes);
      double sum = 0;
      for (std::size_t k = 0; k < classes; ++k) sum += std::exp(score[k] - most);
      const double scale = training ? static_cast<double>(rows.scale[n]) : 1.0;
      const auto label = static_cast<std::size_t>(rows.labels[n]);
      loss += scale * (std::log(sum) + most - score[label]);
      for (std::size_t k = 0; training && k < classes; ++k)
        errors_.back()[n * classes + k] = scale * (std::exp(score[k] - most) / sum - (k == label ? 1 : 0));
    }
    return loss;
  }

  void backward(std::size_t l, std::size_t rows, double scale, std::vector<double>& gradient) {
    const LayerSpec& layer = net_.layers[l];
    const std::vector<double>& d = errors_[l];
    std::vector<double>& below = error_in(l);
    const auto weight = [&](std::size_t t) { return weights_.data() + layout_.tensors[l][t]; };
    const auto by = [&](std::size_t t) { return gradient.data() + layout_.tensors[l][t]; };
    const std::size_t places = layer.out.height * layer.out.width;
    if (layer.is("conv")) {
      windows(layer, rows, layer.tensors[0].shape[1], [&](std::size_t o, std::size_t i, std::size_t w, std::size_t) {
        by(0)[w] += d[o] * in(l)[i];
        below[i] += d[o] * weight(0)[w];
      });
      for (std::size_t i = 0; i < d.size() && layer.tensors.size() > 1; ++i) by(1)[i / places % layer.out.channels] += d[i];
      return;
    }
    if (layer.is("linear")) {
      for (std::size_t n = 0; n < rows; ++n)
        for (std::size_t o = 0; o < layer.out.channels; ++o) {
          const double own = d[n * layer.out.channels + o];
          by(1)[o] += own;
          for (std::size_t i = 0; i < layer.in.channels; ++i) {
            by(0)[o * layer.in.channels + i] += own * in(l)[n * layer.in.channels + i];
            below[n * layer.in.channels + i] += own * weight(0)[o * layer.in.channels + i];
          }
        }
      return;
    }
    if (layer.is("batch_norm")) return norm_backward(l, scale, gradient);
    if (layer.is("relu")) {
      for (std::size_t i = 0; i < d.size(); ++i) below[i] += outputs_[l][i] > 0 ? d[i] : 0;
      return;
    }
    if (layer.is("add")) {
      for (std::size_t t = 0; t < layer.inputs.size(); ++t) {
        std::vector<double>& term = error_in(l, t);
        for (std::size_t i = 0; i < d.size(); ++i) term[i] += d[i];
      }
      return;
    }
    if (layer.is("max_pool")) {
      pools(layer, rows, [&](std::size_t o, std::size_t i) { below[i] += in(l)[i] == outputs_[l][o] ? d[o] : 0; });
      return;
    }
    if (layer.is("average_pool")) {
      pools(layer, rows,
            [&](std::size_t o, std::size_t i) { below[i] += d[o] / static_cast<double>(layer.window.height * layer.window.width); });
      return;
    }
    for (std::size_t i = 0; i < d.size(); ++i) below[i] += d[i];
  }

  void norm_backward(std::size_t l, double scale, std::vector<double>& gradient) {
    const LayerSpec& layer = net_.layers[l];
    const std::size_t channels = layer.in.channels, places = layer.in.height * layer.in.width;
    const std::vector<double>&x = in(l), &d = errors_[l];
    std::vector<double>& below = error_in(l);
    const std::size_t each = x.size() / channels;
    const double count = static_cast<double>(each);
    std::vector<double> sum(channels, 0.0), product(channels, 0.0);
    const auto normal = [&](std::size_t i, std::size_t c) { return (x[i] - means_[l][c]) / std::sqrt(variances_[l][c] + 1e-5); };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / places % channels;
      sum[c] += d[i];
      product[c] += d[i] * normal(i, c);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / places % channels;
      const double factor = weights_[layout_.tensors[l][0] + c] / std::sqrt(variances_[l][c] + 1e-5);
      below[i] += factor * (d[i] - sum[c] / count - normal(i, c) * product[c] / count);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      gradient[layout_.tensors[l][0] + c] += product[c];
      gradient[layout_.tensors[l][1] + c] += sum[c];
      gradient[layout_.statistics[l] + c] = scale * means_[l][c];
      gradient[layout_.statistics[l] + channels + c] = scale * variances_[l][c] * count / std::max(1.0, count - 1);
    }
  }

  Architecture net_;
  NetworkLayout layout_;
  Precision precision_;
  std::vector<double> weights_, inputs_, nothing_;
  std::vector<std::vector<double>> outputs_, errors_, means_, variances_;
};

}  // namespace straggler::test
