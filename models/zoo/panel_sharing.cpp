// The engine `panels` on several threads. A panel's way forward and backward reads no other panel. The weights' gradient of a step sums
// over all samples, block by block in their order, and is cut by columns or output channels: no sum is cut, so no bit changes.
#include <algorithm>

#include "models/zoo/block_rows.hpp"
#include "models/zoo/panel_scratch.hpp"

namespace straggler {
namespace {

using Kind = PanelStep::Kind;

constexpr double pieces_wanted = 16;
constexpr std::size_t direct_channels = 16;    // of a piece, at least: whole vectors of every set of kernels
constexpr std::size_t winograd_channels = 32;  // each piece transforms the input again

/// Multiply-adds of a sample, in each of the three directions.
double work_of(const PanelStep& step) {
  if (step.kind == Kind::dense) return static_cast<double>(step.in) * static_cast<double>(step.out);
  if (step.kind == Kind::conv) return static_cast<double>(step.conv.weights()) * static_cast<double>(step.conv.slide.outputs());
  return 0;
}

}  // namespace

const SharedGradient* PanelNetwork::shared() const {
  return precision_ == Precision::fp32 && kernels_.dense_backward_columns ? this : nullptr;
}

double PanelNetwork::work(std::size_t rows) const {
  double sum = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) sum += (s == 0 ? 2 : 3) * work_of(steps_[s]);
  return sum * static_cast<double>(rows);
}

std::vector<PanelNetwork::WeightPiece> PanelNetwork::cut_weights() const {
  double all = 0;
  for (const PanelStep& step : steps_) all += work_of(step);
  std::vector<WeightPiece> pieces;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const PanelStep& step = steps_[s];
    const double work = work_of(step);
    if (work == 0) continue;
    const bool dense = step.kind == Kind::dense;
    const std::size_t length = dense ? step.in : step.conv.out_channels;
    const std::size_t grain = dense ? panel_rows : step.conv.winograd() ? winograd_channels : direct_channels;
    const std::size_t grains = dense || step.conv.groups == 1 ? std::max<std::size_t>(length / grain, 1) : 1;
    const auto wanted = static_cast<std::size_t>(pieces_wanted * work / all);
    const std::size_t count = std::clamp<std::size_t>(wanted, 1, grains);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = grains * i / count * grain, end = i + 1 == count ? length : grains * (i + 1) / count * grain;
      pieces.push_back({s, first, end - first, work * static_cast<double>(end - first) / static_cast<double>(length)});
    }
  }
  // The longest first, so that threads finish together.
  std::stable_sort(pieces.begin(), pieces.end(), [](const WeightPiece& a, const WeightPiece& b) { return a.work > b.work; });
  return pieces;
}

std::unique_ptr<Workspace> PanelNetwork::shared_workspace(std::size_t rows) const {
  auto made = std::make_unique<Shared>();
  made->storage.make_room(steps_, rows);
  made->errors.resize(steps_.size());
  for (std::size_t s = 1; s < steps_.size(); ++s) made->errors[s].grow(panel_floats(rows, steps_[s].in));
  return made;
}

std::size_t PanelNetwork::shared_bytes(std::size_t rows) const {
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    bytes += panel_floats(rows, steps_[s].out) * (steps_[s].has_winners() ? sizeof(float) + 1 : sizeof(float));
    if (s > 0) bytes += panel_floats(rows, steps_[s].in) * sizeof(float);
  }
  return bytes;
}

void PanelNetwork::pass_panel(std::size_t panel, const float* weights, const Rows& rows, Workspace& shared, Workspace& own) const {
  Shared& all = static_cast<Shared&>(shared);
  Scratch& scratch = static_cast<Scratch&>(own);
  all.storage.show(steps_, panel, rows.panels, scratch.values);
  forward(weights, rows.count, scratch.values, scratch);
  loss_.backward(kernels_, rows.count, scratch.values.outputs.back(), rows.labels, rows.scale);
  const float* error = scratch.values.outputs.back();
  for (std::size_t s = steps_.size(); s-- > 1;) {
    float* const below = all.errors[s].data() + panel * panel_floats(1, steps_[s].in);
    backward(s, weights, rows.count, scratch.values, error, false, nullptr, nullptr, below, scratch);
    error = below;
  }
}

void PanelNetwork::weight_piece(std::size_t index, std::size_t rows, const float* inputs, bool accumulate, float* gradient,
                                const WeightStep* along, Workspace& shared, Workspace& own) const {
  const WeightPiece& piece = pieces_[index];
  const PanelStep& step = steps_[piece.step];
  Shared& all = static_cast<Shared&>(shared);
  Scratch& scratch = static_cast<Scratch&>(own);
  const bool last = piece.step + 1 == steps_.size();
  const float* const errors = last ? all.storage.outputs.back().data() : all.errors[piece.step + 1].data();
  for (std::size_t at = 0; at < rows; at += block_rows, accumulate = true) {
    const std::size_t count = std::min(block_rows, rows - at);
    all.storage.show(steps_, at / panel_rows, inputs + at * steps_[0].in, scratch.values);
    const float* const dy = errors + at * step.out;  // blocks are whole panels
    if (step.kind == Kind::conv)
      conv_piece(piece, count, scratch.values, dy, accumulate, gradient, scratch);
    else
      kernels_.dense_backward_columns(count, step.in, step.out, piece.first, piece.first + piece.count, scratch.values.input(piece.step),
                                      dy, accumulate, gradient + step.weights, piece.first == 0 ? gradient + step.bias : nullptr);
  }
  if (!along) return;
  if (step.kind == Kind::conv) {
    const std::size_t window = step.conv.weights() / step.conv.out_channels;
    step_along(step.weights + piece.first * window, piece.count * window, gradient, *along);
    if (step.biased) step_along(step.bias + piece.first, piece.count, gradient, *along);
    return;
  }
  const std::size_t first = step.weights + piece.first;
  kernels_.step(step.out, piece.count, step.in, gradient + first, along->at(first));
  if (piece.first == 0) step_along(step.bias, step.out, gradient, *along);
}

/// The channels of the piece as a convolution of their own.
void PanelNetwork::conv_piece(const WeightPiece& piece, std::size_t rows, const Values& values, const float* dy, bool accumulate,
                              float* gradient, Scratch& scratch) const {
  const PanelStep& step = steps_[piece.step];
  Convolution conv = step.conv;
  const std::size_t window = conv.weights() / conv.out_channels, places = step.out / conv.out_channels, skipped = piece.first * places;
  conv.out_channels = piece.count;
  float* const db = step.biased ? gradient + step.bias + piece.first : nullptr;
  scratch.conv_scratch.grow(conv.scratch_floats());
  for (std::size_t p = 0; p < (rows + panel_rows - 1) / panel_rows; ++p) {
    const std::size_t count = std::min(panel_rows, rows - p * panel_rows), at = p * panel_floats(1, step.out) + skipped * panel_rows;
    const float* derivative = dy + at;
    if (step.pooled) {
      scratch.conv_output.grow(panel_floats(1, step.conv_out()));
      float* const expanded = scratch.conv_output.data();
      kernels_.max_pool_backward(count, piece.count, step.pool, derivative, values.winners[piece.step] + at, expanded);
      derivative = expanded;
    }
    kernels_.conv_backward_weights(count, conv, values.input(piece.step) + p * panel_floats(1, step.in), derivative, accumulate || p > 0,
                                   gradient + step.weights + piece.first * window, db, scratch.conv_scratch.data());
  }
}

}  // namespace straggler
