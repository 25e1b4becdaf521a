// The engine `panels` on one thread.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/zoo/block_rows.hpp"
#include "models/zoo/panel_scratch.hpp"

namespace straggler {

namespace {

using Kind = PanelStep::Kind;

std::size_t panels_of(std::size_t rows) { return (rows + panel_rows - 1) / panel_rows; }

}  // namespace

PanelNetwork::PanelNetwork(Architecture architecture, const ModelSetting& setting)
    : architecture_(std::move(architecture)),
      steps_(panel_steps(architecture_)),
      parameters_(NetworkLayout(architecture_).parameters),
      loss_{0},
      kernels_(setting.kernels),
      precision_(setting.precision) {
  if (steps_.empty())
    throw std::invalid_argument("the engine panels computes chains of convolutions, ReLUs, pools and linear layers; use another engine");
  const Shape& out = architecture_.layers.back().out;
  loss_ = {out.channels, out.places()};
  for (PanelStep& step : steps_) step.conv.direct = setting.convolution == ConvolutionRule::direct;
  pieces_ = cut_weights();
}

std::unique_ptr<Workspace> PanelNetwork::workspace() const { return std::make_unique<Scratch>(); }

std::size_t PanelNetwork::workspace_bytes(std::size_t rows) const {
  const std::size_t block = std::min(rows, block_rows);
  std::size_t floats = panel_floats(block, steps_[0].in), bytes = 0, widest = 0, conv_output = 0, conv_scratch = 0;
  for (const PanelStep& step : steps_) {
    floats += panel_floats(block, step.out);
    if (&step != &steps_[0]) widest = std::max(widest, step.in);
    if (step.has_winners()) bytes += panel_floats(block, step.out);
    if (step.kind != Kind::conv) continue;
    if (step.pooled) conv_output = std::max(conv_output, panel_floats(1, step.conv_out()));
    conv_scratch = std::max(conv_scratch, step.conv.scratch_floats());
  }
  floats += 2 * panel_floats(block, widest) + conv_output + conv_scratch + (precision_ == Precision::fp32 ? 0 : parameters_);
  return floats * sizeof(float) + bytes;
}

const float* PanelNetwork::rounded(const float* weights, Scratch& scratch) const {
  if (precision_ == Precision::fp32) return weights;
  scratch.weights.grow(parameters_);
  kernels_.round(precision_, parameters_, weights, 1, scratch.weights.data());
  return scratch.weights.data();
}

void PanelNetwork::round(std::size_t count, float* x) const {
  if (precision_ != Precision::fp32) kernels_.round(precision_, count, x, 1, x);
}

void PanelNetwork::forward_conv(const PanelStep& step, const float* weights, std::size_t rows, const float* x, float* y,
                                std::uint8_t* winner, Scratch& scratch) const {
  const float *const w = weights + step.weights, *const b = step.biased ? weights + step.bias : nullptr;
  scratch.conv_scratch.grow(step.conv.scratch_floats());
  if (!step.pooled) return kernels_.conv_forward(rows, step.conv, x, w, b, step.relu, y, scratch.conv_scratch.data());
  const std::size_t conv_floats = panel_floats(1, step.conv_out()), out_floats = panel_floats(1, step.out);
  scratch.conv_output.grow(conv_floats);
  float* const output = scratch.conv_output.data();
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const std::size_t count = std::min(panel_rows, rows - p * panel_rows);
    kernels_.conv_forward(count, step.conv, x + p * panel_floats(1, step.in), w, b, step.relu, output, scratch.conv_scratch.data());
    round(conv_floats, output);
    kernels_.max_pool_forward(count, step.conv.out_channels, step.pool, output, y + p * out_floats, winner + p * out_floats);
  }
}

const float* PanelNetwork::inputs_of(const Rows& rows, std::size_t at, std::size_t count, Scratch& scratch) const {
  const std::size_t features = steps_[0].in, floats = panel_floats(count, features);
  const float* const panels = rows.panels ? rows.panels + at * features : nullptr;  // blocks are whole panels
  if (panels && precision_ == Precision::fp32) return panels;
  scratch.inputs.grow(floats);
  float* const own = scratch.inputs.data();
  if (!panels) kernels_.to_panels(count, features, rows.inputs + at * features, own);
  if (precision_ != Precision::fp32) kernels_.round(precision_, floats, panels ? panels : own, 1, own);
  return own;
}

const PanelNetwork::Values& PanelNetwork::forward_here(const float* weights, std::size_t rows, const float* inputs,
                                                       Scratch& scratch) const {
  scratch.storage.make_room(steps_, rows);
  scratch.storage.show(steps_, 0, inputs, scratch.values);
  forward(weights, rows, scratch.values, scratch);
  return scratch.values;
}

void PanelNetwork::forward(const float* weights, std::size_t rows, const Values& values, Scratch& scratch) const {
  for (std::size_t s = 0; s < steps_.size() && !scratch.called_off(); ++s) {
    const PanelStep& step = steps_[s];
    const std::size_t floats = panel_floats(rows, step.out);
    const float* const x = values.input(s);
    float* const y = values.outputs[s];
    switch (step.kind) {
      case Kind::conv:
        forward_conv(step, weights, rows, x, y, values.winners[s], scratch);
        break;
      case Kind::dense:
        kernels_.dense_forward(rows, step.in, step.out, x, weights + step.weights, weights + step.bias, step.relu, y);
        break;
      case Kind::max_pool:
        kernels_.max_pool_forward(rows, step.channels, step.pool, x, y, values.winners[s]);
        break;
      case Kind::average_pool:
        kernels_.average_pool_forward(rows, step.channels, step.pool, x, y);
        break;
      case Kind::relu:
        for (std::size_t i = 0; i < floats; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
        break;
    }
    round(floats, y);
  }
}

void PanelNetwork::backward_conv(const PanelStep& step, const float* weights, std::size_t rows, const float* x, const float* dy,
                                 const std::uint8_t* winner, bool accumulate, float* gradient, float* dx, Scratch& scratch) const {
  scratch.conv_scratch.grow(step.conv.scratch_floats());
  const std::size_t in_floats = panel_floats(1, step.in), out_floats = panel_floats(1, step.out);
  for (std::size_t p = 0; p < panels_of(rows); ++p) {
    const std::size_t count = std::min(panel_rows, rows - p * panel_rows);
    const float* derivative = dy + p * out_floats;
    if (step.pooled) {
      scratch.conv_output.grow(panel_floats(1, step.conv_out()));
      float* const expanded = scratch.conv_output.data();
      kernels_.max_pool_backward(count, step.conv.out_channels, step.pool, derivative, winner + p * out_floats, expanded);
      round(panel_floats(1, step.conv_out()), expanded);
      derivative = expanded;
    }
    const float* const from = x + p * in_floats;
    if (gradient)
      kernels_.conv_backward_weights(count, step.conv, from, derivative, accumulate || p > 0, gradient + step.weights,
                                     step.biased ? gradient + step.bias : nullptr, scratch.conv_scratch.data());
    if (dx)
      kernels_.conv_backward_input(count, step.conv, derivative, weights + step.weights, from, step.rectified_input, dx + p * in_floats,
                                   scratch.conv_scratch.data());
  }
}

void PanelNetwork::backward(std::size_t s, const float* weights, std::size_t rows, const Values& values, const float* dy, bool accumulate,
                            float* gradient, const WeightStep* along, float* dx, Scratch& scratch) const {
  const PanelStep& step = steps_[s];
  const float* const x = values.input(s);
  switch (step.kind) {
    case Kind::conv:
      backward_conv(step, weights, rows, x, dy, values.winners[s], accumulate, gradient, dx, scratch);
      if (along) step_along(step.weights, step.conv.weights(), gradient, *along);
      if (along && step.biased) step_along(step.bias, step.conv.out_channels, gradient, *along);
      break;
    case Kind::dense:
      if (gradient)
        kernels_.dense_backward_weights(rows, step.in, step.out, x, dy, accumulate, gradient + step.weights, gradient + step.bias);
      if (dx) kernels_.dense_backward_input(rows, step.in, step.out, dy, weights + step.weights, x, step.rectified_input, dx);
      if (along) step_along(step.weights, step.in * step.out, gradient, *along);
      if (along) step_along(step.bias, step.out, gradient, *along);
      break;
    case Kind::max_pool:
      if (dx) kernels_.max_pool_backward(rows, step.channels, step.pool, dy, values.winners[s], dx);
      break;
    case Kind::average_pool:
      if (dx) kernels_.average_pool_backward(rows, step.channels, step.pool, dy, x, step.rectified_input, dx);
      break;
    case Kind::relu:
      if (dx) std::copy_n(dy, panel_floats(rows, step.out), dx);  // the step above has applied the ReLU
      break;
  }
  if (dx) round(panel_floats(rows, step.in), dx);
}

void PanelNetwork::step_along(std::size_t first, std::size_t count, const float* gradient, const WeightStep& along) const {
  kernels_.step(1, count, 0, gradient + first, along.at(first));
}

double PanelNetwork::gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const {
  return compute(weights, rows, accumulate, gradient, nullptr, workspace);
}

const SteppedGradient* PanelNetwork::stepped() const { return precision_ == Precision::fp32 ? this : nullptr; }

double PanelNetwork::gradient_and_step(const float* weights, const Rows& rows, bool accumulate, float* gradient, const WeightStep& step,
                                       Workspace& workspace) const {
  return compute(weights, rows, accumulate, gradient, &step, workspace);
}

double PanelNetwork::compute(const float* weights, const Rows& rows, bool accumulate, float* gradient, const WeightStep* step,
                             Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  if (rows.count == 0 && !accumulate) std::fill_n(gradient, parameters_, 0.0f);
  if (rows.count == 0 && step) step_along(0, parameters_, gradient, *step);
  for (std::size_t s = 1; s < steps_.size(); ++s) scratch.errors[s % 2].grow(panel_floats(std::min(block_rows, rows.count), steps_[s].in));
  if (rows.count > 0) weights = rounded(weights, scratch);
  double loss = 0;
  for (std::size_t at = 0; at < rows.count; at += block_rows, accumulate = true) {
    const std::size_t count = std::min(block_rows, rows.count - at);
    const Values& values = forward_here(weights, count, inputs_of(rows, at, count, scratch), scratch);
    if (scratch.called_off()) return loss;
    float* error = values.outputs.back();
    loss += loss_.backward(kernels_, count, error, rows.labels + at * loss_.places, rows.scale + at);
    round(panel_floats(count, steps_.back().out), error);
    const WeightStep* const along = at + count == rows.count ? step : nullptr;
    for (std::size_t s = steps_.size(); s-- > 0 && !scratch.called_off();) {
      float* const below = scratch.errors[s % 2].data();
      backward(s, weights, count, values, error, accumulate, gradient, along, s > 0 ? below : nullptr, scratch);
      error = below;
    }
  }
  return loss;
}

double PanelNetwork::evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const {
  Scratch& scratch = static_cast<Scratch&>(workspace);
  if (rows.count > 0) weights = rounded(weights, scratch);
  double loss = 0;
  for (std::size_t at = 0; at < rows.count; at += block_rows) {
    const std::size_t count = std::min(block_rows, rows.count - at);
    const Values& values = forward_here(weights, count, inputs_of(rows, at, count, scratch), scratch);
    loss += loss_.evaluate(kernels_, count, values.outputs.back(), rows.labels + at * loss_.places, correct);
  }
  return loss;
}

}  // namespace straggler
