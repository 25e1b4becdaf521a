#include <algorithm>
#include <cmath>

#include "models/zoo/onednn_planner.hpp"

namespace straggler::onednn {

void Planner::backward(LayerIndex layer) {
  if (swallowed_[layer]) return;
  if (arriving_[layer].empty()) return no_gradient(layer);
  for (const NormGroup& group : groups_)
    if (group.last == layer) return norm_backward(group);
  (this->*kind_of(spec(layer))->backward)(layer);
}

/// The loss does not depend on this layer.
void Planner::no_gradient(LayerIndex layer) {
  std::vector<LayerIndex> parts = {layer};
  for (const NormGroup& group : groups_)
    if (group.last == layer) parts = {group.norm};
  for (const LayerIndex part : parts)
    for (std::size_t t = 0; t < spec(part).tensors.size(); ++t) {
      std::size_t floats = 1;
      for (const std::size_t width : spec(part).tensors[t].shape) floats *= width;
      plan_.step({}, [at = setting_.layout.tensors[part][t], floats](const Plan&, Call& call) {
        if (!call.accumulate) std::fill_n(call.gradient + at, floats, 0.0f);
      });
    }
}

void Planner::conv_backward(LayerIndex layer) {
  const Convolution c = convolution_of(layer);
  if (const std::optional<WinogradMaps> own = winograd_of(c)) return winograd_backward(layer, *own);
  const Layout weights = c.plain_weight(), own = values_[layer].layout;
  const Place arriving = arriving_at(layer, 1)[0];
  const LayerIndex from = spec(layer).inputs[0];

  const Operator by_weight = convolution_by_weight(c);
  const Place weight_gradient = gradient_place(layer, 0, weights, by_weight.layout(2));
  std::vector<Place> arguments = {in_layout(kept(from), value(from).layout, by_weight.layout(0)),
                                  in_layout(arriving, own, by_weight.layout(1)), weight_gradient};
  if (c.bias) arguments.push_back(gradient_place(layer, 1, by_weight.layout(3), by_weight.layout(3)));
  run(by_weight, arguments);
  gradient_store(layer, 0, weights, by_weight.layout(2), weight_gradient);
  if (c.bias) gradient_store(layer, 1, by_weight.layout(3), by_weight.layout(3), arguments[3]);

  if (from == network_input) return;
  Convolution by_source_shape = c;
  // oneDNN's Winograd is slower than its direct kernels here: 512 channels of 4x4, 216 against 277 GFLOP/s on a Zen 5 core.
  if (setting_.convolution == ConvolutionRule::automatic && c.slide.inputs() <= 16) by_source_shape.algorithm = Algorithm::direct;
  const Operator by_source = convolution_by_source(by_source_shape);
  const Place result = fresh(by_source.layout(2));
  run(by_source, {in_layout(arriving, own, by_source.layout(0)), weight(layer, 0, weights, by_source.layout(1)), result});
  contribute(from, result, by_source.layout(2));
}

void Planner::winograd_backward(LayerIndex layer, const WinogradMaps& conv) {
  const LayerIndex from = spec(layer).inputs[0];
  const Shape &in = spec(layer).in, &out = spec(layer).out;
  const Layout sources = Layout::maps({conv.rows, in.channels, in.height, in.width}, conv.block);
  const Place x = in_layout(kept(from), value(from).layout, sources),
              dy = in_layout(arriving_at(layer, 1)[0], values_[layer].layout,
                             Layout::maps({conv.rows, out.channels, out.height, out.width}, conv.block)),
              scratch = plan_.fresh(setting_.maps.winograd_floats(conv) * sizeof(float));
  const std::vector<std::size_t>& tensors = setting_.layout.tensors[layer];
  plan_.step({x, dy, scratch}, [=, biased = tensors.size() > 1, dw = tensors[0], db = tensors.back(), &kernels = setting_.maps](
                                   const Plan& plan, Call& call) {
    kernels.winograd_by_weight(conv, plan.at(x, call), plan.at(dy, call), call.accumulate, call.gradient + dw,
                               biased ? call.gradient + db : nullptr, plan.at(scratch, call));
  });
  if (from == network_input) return;
  const Place w = parameter(layer, 0, convolution_of(layer).plain_weight().floats()), dx = fresh(sources);
  plan_.step({dy, w, dx, scratch}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
    kernels.winograd(conv, true, plan.at(dy, call), plan.at(w, call), nullptr, plan.at(dx, call), plan.at(scratch, call));
  });
  contribute(from, dx, sources);
}

void Planner::linear_backward(LayerIndex layer) {
  const Linear l = linear_of(layer);
  const Layout weights = l.plain_weight(), in = plain(spec(layer).in);
  const Place arriving = arriving_at(layer, 1)[0];
  const LayerIndex from = spec(layer).inputs[0];

  const Operator by_weight = linear_by_weight(l);
  const Layout& bias = by_weight.layout(3);
  const Place weight_gradient = gradient_place(layer, 0, weights, by_weight.layout(2)),
              bias_gradient = gradient_place(layer, 1, bias, bias);
  run(by_weight, {in_layout(kept(from), value(from).layout, in), arriving, weight_gradient, bias_gradient});
  gradient_store(layer, 0, weights, by_weight.layout(2), weight_gradient);
  gradient_store(layer, 1, bias, bias, bias_gradient);

  if (from == network_input) return;
  const Operator by_source = linear_by_source(l);
  const Place result = fresh(by_source.layout(2));
  run(by_source, {arriving, weight(layer, 0, weights, by_source.layout(1)), result});
  contribute(from, result, in);
}

void Planner::average_pool_backward(LayerIndex layer) {
  const LayerIndex from = spec(layer).inputs[0];
  if (from == network_input) return;
  const Place arriving = arriving_at(layer, 1)[0];
  const Operator made = onednn::average_pool_backward(pool_of(layer), value(from).layout);
  const Place result = fresh(made.layout(1));
  run(made, {in_layout(arriving, values_[layer].layout, made.layout(0)), result});
  contribute(from, result, made.layout(1));
}

void Planner::max_pool_backward(LayerIndex layer) {
  const LayerIndex from = spec(layer).inputs[0];
  if (from == network_input) return;
  const Place dy = arriving_at(layer, 1)[0], x = kept(from), y = kept(layer), dx = fresh(value(from).layout);
  plan_.step({dy, x, y, dx},
             [=, maps = value(from).maps, windows = spec(layer).sliding(), &kernels = setting_.maps](const Plan& plan, Call& call) {
               kernels.max_pool_backward(maps, windows, plan.at(x, call), plan.at(y, call), plan.at(dy, call), plan.at(dx, call));
             });
  contribute(from, dx, value(from).layout);
}

/// ∂bias = Σ d, ∂weight = Σ d (x - mean) / σ, ∂x = weight / σ (d - mean(d) - (x - mean) mean(d (x - mean)) / σ²).
void Planner::norm_parameters(const NormGroup& group, const Place& sums) {
  const Maps maps = input(group.norm).maps;
  const Place numbers = group.numbers;
  const std::size_t weight = setting_.layout.tensors[group.norm][0], bias = setting_.layout.tensors[group.norm][1];
  plan_.step({numbers, sums}, [=](const Plan& plan, Call& call) {
    const std::size_t padded = maps.padded();
    float* const own = plan.at(numbers, call);
    const double* const sum = reinterpret_cast<const double*>(plan.at(sums, call));
    const double count = static_cast<double>(maps.rows) * static_cast<double>(maps.places);
    for (std::size_t c = 0; c < padded; ++c) {
      const double inverse = 1 / std::sqrt(static_cast<double>(own[padded + c]) + norm_epsilon);
      own[4 * padded + c] = static_cast<float>(sum[c] / count);
      own[5 * padded + c] = static_cast<float>(sum[padded + c] * inverse * inverse / count);
      if (c >= maps.channels) continue;
      const auto by_weight = static_cast<float>(sum[padded + c] * inverse), by_bias = static_cast<float>(sum[c]);
      call.gradient[weight + c] = call.accumulate ? call.gradient[weight + c] + by_weight : by_weight;
      call.gradient[bias + c] = call.accumulate ? call.gradient[bias + c] + by_bias : by_bias;
    }
  });
}

void Planner::norm_backward(const NormGroup& group) {
  const OutputValue& from = input(group.norm);
  const std::vector<Place> two = arriving_at(group.last, 2);
  const Place first = two[0], second = two.back(), x = from.place, numbers = group.numbers;
  const Maps maps = from.maps;
  const bool both = two.size() == 2, apart = group.residual && (group.relu || both);
  const Gate gate = !group.relu ? Gate::none : group.residual ? Gate::output : Gate::input;
  const Place y = gate == Gate::output ? values_[group.last].place : x;
  const Place sums = plan_.fresh(2 * maps.padded() * sizeof(double)), arrived = apart ? fresh(from.layout) : first;
  const auto norm_at = [=](const Plan& plan, Call& call) {
    const float* const own = plan.at(numbers, call);
    return ChannelNorm{own, own + 2 * maps.padded(), own + 3 * maps.padded()};
  };
  plan_.step({first, second, x, y, numbers, sums, arrived}, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
    const Arriving arriving{plan.at(first, call), both ? plan.at(second, call) : nullptr, gate, plan.at(y, call)};
    kernels.arrivals(maps, norm_at(plan, call), plan.at(x, call), arriving, reinterpret_cast<double*>(plan.at(sums, call)),
                     apart ? plan.at(arrived, call) : nullptr);
  });
  norm_parameters(group, sums);
  const LayerIndex below = spec(group.norm).inputs[0];
  if (below != network_input) {
    const Place back = fresh(from.layout);
    const std::vector<Place> touched =
        apart ? std::vector<Place>{x, numbers, arrived, back} : std::vector<Place>{first, second, x, y, numbers, back};
    plan_.step(touched, [=, &kernels = setting_.maps](const Plan& plan, Call& call) {
      const float* const own = plan.at(numbers, call);
      const Arriving arriving = apart ? Arriving{plan.at(arrived, call), nullptr, Gate::none, nullptr}
                                      : Arriving{plan.at(first, call), both ? plan.at(second, call) : nullptr, gate, plan.at(y, call)};
      kernels.norm_backward(maps, norm_at(plan, call), plan.at(x, call), arriving, own + 4 * maps.padded(), own + 5 * maps.padded(),
                            plan.at(back, call));
    });
    contribute(below, back, from.layout);
  }
  if (group.residual) contribute(*group.residual, arrived, from.layout);
}

void Planner::relu_backward(LayerIndex layer) {
  const LayerIndex from = spec(layer).inputs[0];
  if (from == network_input) return;
  const std::vector<Place> two = arriving_at(layer, 2);
  const Place a = two[0], b = two.back(), y = kept(layer), back = fresh(values_[layer].layout);
  plan_.step({a, b, y, back},
             [=, both = two.size() == 2, floats = values_[layer].layout.floats(), &kernels = setting_.maps](const Plan& plan, Call& call) {
               kernels.relu_backward(floats, plan.at(y, call), plan.at(a, call), both ? plan.at(b, call) : nullptr, plan.at(back, call));
             });
  contribute(from, back, values_[layer].layout);
}

void Planner::add_backward(LayerIndex layer) {
  for (const Place& place : arriving_at(layer, 1))
    for (const LayerIndex term : spec(layer).inputs) contribute(term, place, values_[layer].layout);
}

void Planner::flatten_backward(LayerIndex layer) {
  const LayerIndex from = spec(layer).inputs[0];
  if (from == network_input) return;
  contribute(from, arriving_at(layer, 1)[0], plain(spec(layer).in));
}

}  // namespace straggler::onednn
