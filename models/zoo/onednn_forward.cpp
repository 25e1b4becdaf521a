#include <algorithm>
#include <cmath>

#include "models/layers/cross_entropy.hpp"
#include "models/zoo/onednn_planner.hpp"

namespace straggler::onednn {
namespace {

/// numbers of a NormGroup
struct NormNumbers {
  float *mean, *variance, *factor, *shift;
  NormNumbers(float* numbers, std::size_t padded)
      : mean(numbers), variance(numbers + padded), factor(numbers + 2 * padded), shift(numbers + 3 * padded) {}
};

/// factor = weight / sqrt(variance + ε), shift = bias; zeros past the last channel keep the padding channels zero.
void set_factors(const Maps& maps, const float* weight, const float* bias, const NormNumbers& numbers) {
  for (std::size_t c = 0; c < maps.padded(); ++c) {
    const bool real = c < maps.channels;
    numbers.factor[c] =
        real ? static_cast<float>(static_cast<double>(weight[c]) / std::sqrt(static_cast<double>(numbers.variance[c]) + norm_epsilon)) : 0;
    numbers.shift[c] = real ? bias[c] : 0;
  }
}

/// The batch's mean and unbiased variance, times Σ scale, into the tail of the gradient.
void write_statistics(const Maps& maps, const NormNumbers& numbers, const Call& call, float* mean) {
  const double count = static_cast<double>(maps.rows) * static_cast<double>(maps.places);
  const double unbiased = count / std::max(1.0, count - 1);
  float* const variance = mean + maps.channels;
  for (std::size_t c = 0; c < maps.channels; ++c) {
    const double own_mean = call.total_scale * static_cast<double>(numbers.mean[c]);
    const double own_variance = call.total_scale * unbiased * static_cast<double>(numbers.variance[c]);
    mean[c] = static_cast<float>(call.accumulate ? static_cast<double>(mean[c]) + own_mean : own_mean);
    variance[c] = static_cast<float>(call.accumulate ? static_cast<double>(variance[c]) + own_variance : own_variance);
  }
}

}  // namespace

void Planner::find_groups() {
  const std::vector<LayerSpec>& layers = setting_.architecture.layers;
  std::vector<LayerIndex> consumer(layers.size(), network_input);  // of layers with one consumer
  for (LayerIndex l = 0; l < layers.size(); ++l)
    for (const LayerIndex from : layers[l].inputs)
      if (from != network_input && consumers_[from] == 1) consumer[from] = l;
  const auto followed_by = [&](LayerIndex l, std::string_view kind) {  // and the follower can be fused into l's pass
    const LayerIndex next = consumer[l];
    return setting_.precision == Precision::fp32 && next != network_input &&
           layers[next].is(kind);  // else the intermediate value is rounded
  };
  std::vector<bool> taken(layers.size(), false);  // sums that are fused into some norm's pass
  for (LayerIndex l = 0; l < layers.size(); ++l) {
    if (!layers[l].is("batch_norm")) continue;
    NormGroup group{l, l, {}, false, {}};
    if (followed_by(l, "add") && layers[consumer[l]].inputs.size() == 2 && !taken[consumer[l]]) {
      group.last = consumer[l];
      taken[group.last] = true;
      const std::vector<LayerIndex>& terms = layers[group.last].inputs;
      group.residual = terms[0] == l ? terms[1] : terms[0];
    }
    if (followed_by(group.last, "relu")) {
      group.last = consumer[group.last];
      group.relu = true;
    }
    for (LayerIndex part = l; part != group.last; part = consumer[part]) swallowed_[part] = true;
    groups_.push_back(group);
  }
}

void Planner::forward(LayerIndex layer) {
  if (spec(layer).is("batch_norm")) statistics(layer);
  if (swallowed_[layer]) return;
  for (NormGroup& group : groups_) {
    if (group.last != layer) continue;
    const OutputValue& from = input(group.norm);
    values_[layer] = {fresh(from.layout), from.layout, from.maps, true};
    normalize(group, values_[layer].place);
    rounded(values_[layer].place, from.layout.floats());
    // Recomputed backward if only convolutions, which need it then, and sums read it.
    values_[layer].kept = !(setting_.training && setting_.precision == Precision::fp32 && group.relu && !group.residual);
    return;
  }
  (this->*kind_of(spec(layer))->forward)(layer);
}

void Planner::conv(LayerIndex layer) {
  const Convolution c = convolution_of(layer);
  if (const std::optional<WinogradMaps> own = winograd_of(c)) return winograd(layer, *own);
  const Operator made = convolution(c);
  const OutputValue& from = input(layer);
  std::vector<Place> arguments = {in_layout(from.place, from.layout, made.layout(0)), weight(layer, 0, c.plain_weight(), made.layout(1)),
                                  fresh(made.layout(2))};
  if (c.bias) arguments.push_back(parameter(layer, 1, c.out_channels));
  const Place out = arguments[2];
  run(made, std::move(arguments));
  rounded(out, made.layout(2).floats());
  set_maps(layer, out, made.layout(2));
}

void Planner::winograd(LayerIndex layer, const WinogradMaps& conv) {
  const OutputValue& from = input(layer);
  const Shape &in = spec(layer).in, &out = spec(layer).out;
  const Layout layout = Layout::maps({conv.rows, out.channels, out.height, out.width}, conv.block);
  const bool biased = spec(layer).tensors.size() > 1;
  const Place x = in_layout(from.place, from.layout, Layout::maps({conv.rows, in.channels, in.height, in.width}, conv.block)),
              w = parameter(layer, 0, convolution_of(layer).plain_weight().floats()), b = biased ? parameter(layer, 1, out.channels) : w,
              y = fresh(layout), scratch = plan_.fresh(setting_.maps.winograd_floats(conv) * sizeof(float));
  plan_.step({x, w, b, y, scratch}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
    kernels.winograd(conv, false, plan.at(x, call), plan.at(w, call), biased ? plan.at(b, call) : nullptr, plan.at(y, call),
                     plan.at(scratch, call));
  });
  rounded(y, layout.floats());
  set_maps(layer, y, layout);
}

void Planner::linear(LayerIndex layer) {
  const Linear l = linear_of(layer);
  const Operator made = onednn::linear(l);
  const OutputValue& from = input(layer);
  const Place source = in_layout(from.place, from.layout, plain(spec(layer).in)), out = fresh(made.layout(2));
  run(made, {source, weight(layer, 0, l.plain_weight(), made.layout(1)), out, parameter(layer, 1, l.out)});
  rounded(out, made.layout(2).floats());
  set_maps(layer, out, plain(spec(layer).out));
}

void Planner::average_pool(LayerIndex layer) {
  const OutputValue& from = input(layer);
  const Operator made = onednn::average_pool(pool_of(layer), from.layout);
  const Place out = fresh(made.layout(1));
  run(made, {from.place, out});
  rounded(out, made.layout(1).floats());
  set_maps(layer, out, made.layout(1));
}

void Planner::max_pool(LayerIndex layer) {
  const OutputValue& from = input(layer);
  const Shape& out = spec(layer).out;
  const Layout layout = Layout::maps({setting_.rows, out.channels, out.height, out.width}, from.maps.block);
  const Place x = from.place, y = fresh(layout);
  plan_.step({x, y}, [=, maps = from.maps, windows = spec(layer).sliding(), &kernels = setting_.maps](const Plan& plan, Call& call) {
    kernels.max_pool(maps, windows, plan.at(x, call), plan.at(y, call));
  });
  set_maps(layer, y, layout);
}

/// Mean and variance: of the batch, or running ones; factor and shift.
void Planner::statistics(LayerIndex layer) {
  NormGroup& group = *group_of(layer);
  const OutputValue& from = input(layer);
  const Maps maps = from.maps;
  group.numbers = plan_.fresh(6 * maps.padded() * sizeof(float));
  const Place numbers = group.numbers, x = from.place, weight = parameter(layer, 0, maps.channels),
              shift = parameter(layer, 1, maps.channels);
  const std::size_t running = setting_.layout.statistics[layer];
  if (setting_.training) {
    const Place sums = plan_.fresh(2 * maps.padded() * sizeof(double));
    plan_.step({numbers, x, weight, shift, sums}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
      const NormNumbers own(plan.at(numbers, call), maps.padded());
      kernels.statistics(maps, plan.at(x, call), reinterpret_cast<double*>(plan.at(sums, call)), own.mean, own.variance);
      set_factors(maps, plan.at(weight, call), plan.at(shift, call), own);
      write_statistics(maps, own, call, call.gradient + running);
    });
    return;
  }
  plan_.step({numbers, weight, shift}, [=](const Plan& plan, Call& call) {
    const NormNumbers own(plan.at(numbers, call), maps.padded());
    for (std::size_t c = 0; c < maps.padded(); ++c) {
      own.mean[c] = c < maps.channels ? call.weights[running + c] : 0;
      own.variance[c] = c < maps.channels ? call.weights[running + maps.channels + c] : 0;
    }
    set_factors(maps, plan.at(weight, call), plan.at(shift, call), own);
  });
}

void Planner::normalize(const NormGroup& group, const Place& out) {
  const OutputValue& from = input(group.norm);
  const bool sum = group.residual.has_value();
  const Place x = from.place, numbers = group.numbers;
  const Place residual = sum ? in_layout(value(*group.residual).place, value(*group.residual).layout, from.layout) : x;
  plan_.step({x, numbers, residual, out}, [=, maps = from.maps, relu = group.relu, &kernels = setting_.maps](const Plan& plan, Call& call) {
    const NormNumbers own(plan.at(numbers, call), maps.padded());
    kernels.normalize(maps, {own.mean, own.factor, own.shift}, plan.at(x, call), sum ? plan.at(residual, call) : nullptr, relu,
                      plan.at(out, call));
  });
}

/// In place if nothing else reads the input, forward or backward.
void Planner::relu(LayerIndex layer) {
  const LayerIndex from = spec(layer).inputs[0];
  values_[layer] = value(from);
  values_[layer].kept = true;
  const auto reads_again = [](const LayerSpec& read) { return read.is("flatten") || read.is("relu") || read.is("max_pool"); };
  const bool own = from != network_input && consumers_[from] == 1 && !reads_again(spec(from));
  const std::size_t floats = values_[layer].layout.floats();
  const Place x = value(from).place, y = own ? x : fresh(values_[layer].layout);
  values_[layer].place = y;
  plan_.step({x, y}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
    kernels.add(floats, plan.at(x, call), nullptr, true, plan.at(y, call));
  });
}

void Planner::add(LayerIndex layer) {
  const std::vector<LayerIndex>& terms = spec(layer).inputs;
  values_[layer] = value(terms[0]);
  values_[layer].place = fresh(values_[layer].layout);
  values_[layer].kept = true;
  const Place out = values_[layer].place;
  const std::size_t floats = values_[layer].layout.floats();
  Place sum = value(terms[0]).place;
  for (std::size_t i = 1; i < std::max<std::size_t>(terms.size(), 2); ++i) {
    const bool more = i < terms.size();
    const Place term = more ? in_layout(value(terms[i]).place, value(terms[i]).layout, values_[layer].layout) : sum;
    plan_.step({sum, term, out}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
      kernels.add(floats, plan.at(sum, call), more ? plan.at(term, call) : nullptr, false, plan.at(out, call));
    });
    sum = out;
  }
  rounded(out, floats);
}

void Planner::flatten(LayerIndex layer) {
  const OutputValue& from = input(layer);
  set_maps(layer, in_layout(from.place, from.layout, plain(spec(layer).in)), plain(spec(layer).out));
}

void Planner::loss() {
  const LayerIndex last = values_.size() - 1;
  const OutputValue& scores = values_[last];
  const std::size_t rows = setting_.rows, size = spec(last).out.size();
  const SoftmaxCrossEntropy criterion{spec(last).out.channels, spec(last).out.places()};
  const Layout in_order = plain(spec(last).out);
  const Place x = in_layout(scores.place, scores.layout, in_order);
  const Place panels = plan_.fresh(panel_floats(rows, size) * sizeof(float));
  const Kernels& kernels = setting_.kernels;
  if (!setting_.training) {
    plan_.step({x, panels}, [=, &kernels](const Plan& plan, Call& call) {
      kernels.to_panels(rows, size, plan.at(x, call), plan.at(panels, call));
      call.loss = criterion.evaluate(kernels, rows, plan.at(panels, call), call.rows.labels, call.correct);
    });
    return;
  }
  const Place gradient = fresh(in_order);
  plan_.step({x, panels, gradient}, [=, &kernels](const Plan& plan, Call& call) {
    kernels.to_panels(rows, size, plan.at(x, call), plan.at(panels, call));
    call.loss = criterion.backward(kernels, rows, plan.at(panels, call), call.rows.labels, call.rows.scale);
    kernels.from_panels(rows, size, plan.at(panels, call), plan.at(gradient, call));
  });
  contribute(last, gradient, in_order);
}

}  // namespace straggler::onednn
