#include "models/executor/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "models/zoo/block_rows.hpp"
#include "sim/base/prefetch.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

Arithmetic::Arithmetic(const Model& model, const Dataset& data, const Partition& partition, const Kernels& kernels, std::uint64_t seed,
                       const Numerics& numerics, bool sparse)
    : model_(model),
      train_(data.train),
      features_(data.info.features),
      places_(data.train.places()),
      parameters_(model.parameters()),
      model_length_(model.length()),
      row_floats_(sparse && numerics.registers() == 0 && numerics.precision == Precision::fp32 && model_length_ == parameters_ &&
                          !model.couples_samples()
                      ? model.row_pattern().floats
                      : 0),
      tensors_(model.tensors()),
      draws_(model.draws()),
      panels_(model.takes_panels() && !data.augment.any()),
      partition_(partition),
      kernels_(kernels),
      seed_(seed),
      draws_of_seed_(Hasher().add("draw").add(seed)),
      couples_(model.couples_samples()),
      numerics_(numerics) {
  for (const LayerCost& layer : model.cost()) sample_flops_ += 3 * layer.forward_flops;  // backward: about two forward passes
  if (data.augment.any()) augmenter_.emplace(data.augment, data.info.shape, data.black);
}

void Arithmetic::start_from(std::span<const float> weights) {
  if (!weights.empty() && weights.size() != model_length_)
    throw std::logic_error("weights to start from that are not as long as the model's");
  initial_ = weights;
}

void Arithmetic::prepare(const Formula& formula, std::size_t inputs) {
  switch (formula.kind) {
    case Formula::Kind::initial:
      return;
    case Formula::Kind::gradient:
      if (formula.batches.empty() || inputs != 1) throw std::logic_error("a gradient needs batches and exactly one input, the weights");
      for (const Batch& batch : formula.batches)
        if (batch.size == 0) throw std::logic_error("a gradient over a batch without samples");
      return;
    case Formula::Kind::elementwise:
      for (const KnownRule& known : rules_)
        if (known.rule == formula.rule) return;
      rules_.push_back({formula.rule, &Registry<ElementwiseEntry>::instance().at(formula.rule->name)});
      return;
    case Formula::Kind::leaf:
      break;
  }
  throw std::logic_error("a leaf of the lineage has no value; give it one before asking for what follows from it");
}

const ElementwiseEntry& Arithmetic::entry_of(const Rule* rule) const {
  for (const KnownRule& known : rules_)
    if (known.rule == rule) return *known.entry;
  throw std::logic_error("a rule that was not prepared");
}

std::size_t Arithmetic::samples(const Formula& formula) {
  std::size_t rows = 0;
  for (const Batch& batch : formula.batches) rows += batch.size;
  return rows;
}

std::size_t Arithmetic::parts(const Formula& formula) const {
  // Where a layer couples the samples of a batch, each batch is one call of any size.
  if (couples_) return formula.batches.size();
  return (samples(formula) + rows_a_part(places_) - 1) / rows_a_part(places_);
}

std::size_t Arithmetic::lanes(const Formula& formula) const {
  if (formula.kind != Formula::Kind::gradient) return 1;
  return std::min(parts(formula), most_lanes);
}

std::size_t Arithmetic::largest_part(const Formula& formula) const {
  if (formula.kind != Formula::Kind::gradient) return 0;
  if (!couples_) return std::min(samples(formula), block());
  std::size_t largest = 0;
  for (const Batch& batch : formula.batches) largest = std::max<std::size_t>(largest, batch.size);
  return largest;
}

std::size_t Arithmetic::scratch_bytes(std::size_t rows) const {
  return model_.workspace_bytes(rows) + gathered_floats(rows) * sizeof(float) +
         rows * (places_ * sizeof(std::int32_t) + sizeof(float) + (panels_ ? 2 : 1) * sizeof(std::uint32_t) +
                 (draws_ ? sizeof(std::uint64_t) : 0)) +
         (augmenter_ ? features_ * sizeof(float) : 0) + (row_floats_ > 0 ? model_length_ / row_floats_ * sizeof(std::int32_t) : 0);
}

std::size_t Arithmetic::rule_bytes(const Formula& formula) const {
  if (formula.kind != Formula::Kind::elementwise) return 0;
  const ElementwiseEntry& entry = entry_of(formula.rule);
  return entry.scratch_bytes ? entry.scratch_bytes(extent(parameters_)) : 0;
}

std::array<int, 2> Arithmetic::in_place(const Formula& formula, InputValues inputs) const {
  if (formula.kind != Formula::Kind::elementwise) return {-1, -1};
  const ElementwiseEntry& entry = entry_of(formula.rule);
  const auto able = [&](int input) {
    return input >= 0 && static_cast<std::size_t>(input) < inputs.size() && !inputs[static_cast<std::size_t>(input)].sparse ? input : -1;
  };
  return {able(entry.in_place), able(entry.in_place_else)};
}

StepChain Arithmetic::step_chain(const LineageNode& gradient, LineageNode* next, LineageNode* after) const {
  // Values are parameters alone, in single precision.
  if (!model_.stepped() || row_floats_ > 0 || numerics_.precision != Precision::fp32 || length() != parameters_) return {};
  if (gradient.formula.kind != Formula::Kind::gradient || gradient.references != 1 || lanes(gradient.formula) > 1 || !next) return {};
  const auto part_of = [&](const LineageNode& node) {
    return node.formula.kind == Formula::Kind::elementwise ? entry_of(node.formula.rule).part : StepPart::none;
  };
  StepChain chain;
  const std::vector<double>* scalars = &next->formula.scalars;
  if (part_of(*next) == StepPart::velocity) {
    if (next->inputs[0] != &gradient || !after || part_of(*after) != StepPart::descend || after->inputs[0] != next->inputs[1] ||
        after->inputs[1] != next || after->formula.scalars[1] != 0)
      return {};
    chain.velocity = next;
    chain.weights = after;
    chain.step.momentum = static_cast<float>((*scalars)[0]);
    chain.step.decay = static_cast<float>((*scalars)[1]);
  } else if (part_of(*next) == StepPart::descend && next->inputs[1] == &gradient) {
    chain.weights = next;
    chain.step.decay = static_cast<float>((*scalars)[1]);
  } else {
    return {};
  }
  chain.step.rate = static_cast<float>(chain.weights->formula.scalars[0]);
  return chain;
}

void Arithmetic::evaluate_and_step(const Formula& formula, InputValues inputs, const WeightStep& step, float* out, Scratch& scratch) const {
  find_operands(inputs, scratch);
  part(formula, 0, 1, false, out, nullptr, &step, scratch);
}

void Arithmetic::evaluate(const Formula& formula, InputValues inputs, float* out, Scratch& scratch) const {
  switch (formula.kind) {
    case Formula::Kind::initial:
      return initialize(out);
    case Formula::Kind::gradient:
      lane(formula, inputs, 0, out, scratch);
      return finish(inputs.front().floats, out);
    case Formula::Kind::elementwise:
      return elementwise(formula, inputs, out, scratch);
    case Formula::Kind::leaf:
      break;
  }
  throw std::logic_error("a leaf of the lineage has no formula");
}

void Arithmetic::combine(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, const std::vector<double>& scalars,
                         float* out) const {
  const bool dynamic = numerics_.dynamic();
  if (entry.statistics == StatisticsRule::combine) {
    // First: `out` may be an input, and no rule touches the statistics.
    if (dynamic) combine_scaling(inputs, out);
    return entry.apply(kernels_, extent(scaling()), inputs, scalars, out);
  }
  const float* const towards = inputs[static_cast<std::size_t>(entry.gradient)];
  const bool advance = entry.statistics == StatisticsRule::advance, finite = !dynamic || towards[scaling()] != 0.0f;
  if (finite) {
    entry.apply(kernels_, extent(parameters_), inputs, scalars, out);
    for (std::size_t i = parameters_; i < model_length_; ++i)
      out[i] = advance ? inputs[0][i] + statistics_momentum * (towards[i] - inputs[0][i]) : towards[i];
  } else {
    skip(entry, inputs, out);
  }
  if (!dynamic) return;
  if (advance)
    advance_scaling(inputs[0] + scaling(), finite, out + scaling());
  else if (towards != out)
    std::copy_n(towards + scaling(), Numerics::scaling_registers, out + scaling());
}

void Arithmetic::skip(const ElementwiseEntry& entry, const std::vector<const float*>& inputs, float* out) const {
  const std::size_t before = entry.statistics == StatisticsRule::advance ? 0 : static_cast<std::size_t>(entry.in_place);
  if (before >= inputs.size())
    std::fill_n(out, scaling(), 0.0f);
  else if (inputs[before] != out)
    std::copy_n(inputs[before], scaling(), out);
}

void Arithmetic::combine_scaling(const std::vector<const float*>& inputs, float* out) const {
  std::array<float, Numerics::scaling_registers> all;
  std::copy_n(inputs[0] + scaling(), all.size(), all.begin());
  for (const float* const input : inputs) {
    const float* const its = input + scaling();
    all = {std::min(all[0], its[0]), std::min(all[1], its[1]), std::max(all[2], its[2])};
  }
  std::copy(all.begin(), all.end(), out + scaling());
}

void Arithmetic::advance_scaling(const float* before, bool finite, float* out) const {
  // As PyTorch's GradScaler, without its bounds, which only keep a scale that never stops changing a power of two.
  constexpr float smallest = 0x1p-60f, largest = 0x1p60f;
  const float scale = before[0], good = finite ? before[1] + 1 : 0;
  const bool grow = good >= static_cast<float>(numerics_.growth_every);
  out[0] = finite ? (grow ? std::min(2 * scale, largest) : scale) : std::max(scale / 2, smallest);
  out[1] = grow ? 0 : good;
  out[2] = before[2] + (finite ? 0 : 1);  // exact to 2^24
}

std::optional<LossScale> Arithmetic::scaling_of(const float* weights) const {
  if (!numerics_.dynamic()) return std::nullopt;
  const float* const its = weights + scaling();
  return LossScale{its[0], static_cast<std::uint64_t>(its[2])};
}

void Arithmetic::initialize(float* out) const {
  if (initial_.empty())
    model_.initialize(seed_, out);
  else
    std::copy(initial_.begin(), initial_.end(), out);
  std::fill(out + model_length_, out + length(), 0.0f);
  if (numerics_.dynamic()) out[scaling()] = numerics_.loss_scale;
}

void Arithmetic::finish(const float* weights, float* gradient) const {
  std::fill(gradient + model_length_, gradient + length(), 0.0f);
  if (numerics_.precision == Precision::fp32) return;
  const float back = 1 / loss_scale(weights);
  const bool finite = kernels_.round(numerics_.precision, parameters_, gradient, back, gradient);
  for (std::size_t i = parameters_; i < model_length_; ++i) gradient[i] *= back;
  if (numerics_.dynamic()) gradient[scaling()] = finite ? 1.0f : 0.0f;
}

void Arithmetic::combine_keeping_statistics(const ElementwiseEntry& entry, const std::vector<double>& scalars, float* out,
                                            Scratch& scratch) const {
  const float* const first = scratch.operands[0];
  if (entry.statistics == StatisticsRule::combine)
    scratch.statistics.assign(first + parameters_, first + model_length_);  // `out` may alias it
  combine(entry, scratch.operands, scalars, out);
  if (entry.statistics == StatisticsRule::combine) std::copy(scratch.statistics.begin(), scratch.statistics.end(), out + parameters_);
}

void Arithmetic::lane(const Formula& formula, InputValues inputs, std::size_t lane, float* out, Scratch& scratch) const {
  const std::size_t all = parts(formula), lanes = std::min(all, most_lanes);
  const std::size_t first = all * lane / lanes, last = all * (lane + 1) / lanes;
  find_operands(inputs, scratch);
  std::optional<GradientRows> rows;
  if (row_floats_ > 0) {
    scratch.slots.resize(model_length_ / row_floats_);
    // Sums the lanes into dense rows.
    rows.emplace(rows_of(out), scratch.slots, model_.row_pattern(), lanes == 1 ? samples(formula) : 0);
  }
  for (std::size_t i = first; i < last; ++i) part(formula, i, all, i != first, out, rows ? &*rows : nullptr, nullptr, scratch);
}

void Arithmetic::part(const Formula& formula, std::size_t part, std::size_t parts, bool accumulate, float* out, GradientRows* rows,
                      const WeightStep* step, Scratch& scratch) const {
  std::size_t from = 0, to = 0;
  if (couples_) {
    for (std::size_t i = 0; i < part; ++i) from += formula.batches[i].size;
    to = from + formula.batches[part].size;
  } else {
    const std::size_t all = samples(formula);
    from = all * part / parts;
    to = all * (part + 1) / parts;
  }
  if (!scratch.workspace) scratch.workspace = model_.workspace();
  const std::size_t step_rows = couples_ ? to - from : block();
  for (std::size_t at = from; at < to && !scratch.workspace->called_off(); at += step_rows, accumulate = true) {
    const std::size_t end = std::min(to, at + step_rows);
    const float* const weights = scratch.operands.front();
    const Rows block_of = gather(formula, weights, at, end, room(end - at, scratch), scratch);
    if (rows)
      model_.sparse_gradient(weights, block_of, *rows, *scratch.workspace);
    else if (step && end == to)
      model_.stepped()->gradient_and_step(weights, block_of, accumulate, out, *step, *scratch.workspace);
    else
      model_.gradient(weights, block_of, accumulate, out, *scratch.workspace);
  }
}

float* Arithmetic::room(std::size_t rows, Scratch& scratch) const {
  if (const std::size_t floats = gathered_floats(rows); scratch.gathered < floats) {
    scratch.gathered = floats;
    scratch.inputs = allocate_aligned(floats);
  }
  return scratch.inputs.get();
}

/// Rows [from, to) of the formula's concatenated batches. Each batch has equal weight in the mean, and each sample equal weight in its
/// batch.
Rows Arithmetic::gather(const Formula& formula, const float* weights, std::size_t from, std::size_t to, float* inputs,
                        Scratch& scratch) const {
  const std::size_t count = to - from;
  if (panels_) scratch.samples.resize(count);
  scratch.image.resize(augmenter_ ? features_ : 0);
  scratch.labels.resize(count * places_);
  scratch.scale.resize(count);
  if (draws_) scratch.draws.resize(count);
  std::size_t begin = 0, row = 0;  // start of the batch, and the next row of the scratch
  for (const Batch& batch : formula.batches) {
    const std::size_t end = begin + batch.size, low = std::max(begin, from), high = std::min(end, to);
    if (low < high) {
      Batch piece = batch;
      piece.position += low - begin;
      piece.size = static_cast<std::uint32_t>(high - low);
      partition_.samples(piece, scratch.indices);
      const float scale = loss_scale(weights) * static_cast<float>(1 / (static_cast<double>(formula.batches.size()) * batch.size));
      for (std::size_t i = 0; draws_ && i < piece.size; ++i) scratch.draws[row + i] = draw(piece.stream, piece.position + i);
      for (std::size_t i = 0; i < piece.size; ++i) {
        constexpr std::size_t ahead = 16;  // samples are scattered in memory
        if (i + ahead < piece.size) {
          train_.inputs.prefetch(scratch.indices[i + ahead]);
          prefetch_line(train_.labels_of(scratch.indices[i + ahead]));
        }
        const std::uint32_t index = scratch.indices[i];
        if (panels_)
          scratch.samples[row] = index;
        else if (augmenter_)
          augmenter_->copy(train_.inputs.rows(index, 1, scratch.image.data()), draw(piece.stream, piece.position + i),
                           inputs + row * features_);
        else
          train_.inputs.copy(index, inputs + row * features_);
        std::copy_n(train_.labels_of(index), places_, scratch.labels.data() + row * places_);
        scratch.scale[row++] = scale;
      }
    }
    begin = end;
  }
  if (row != count) throw std::logic_error("a partition gave fewer samples than it was asked for");
  Rows rows;
  rows.count = count;
  rows.labels = scratch.labels.data();
  rows.scale = scratch.scale.data();
  if (draws_) rows.draws = scratch.draws.data();
  if (panels_) train_.inputs.gather_panels(kernels_, scratch.samples, inputs);
  (panels_ ? rows.panels : rows.inputs) = inputs;
  return rows;
}

Rows Arithmetic::gather_panel(const Formula& formula, const float* weights, std::size_t from, std::size_t to, float* panel,
                              Scratch& scratch) const {
  return gather(formula, weights, from, to, panel, scratch);
}

const SharedGradient* Arithmetic::shared(const Formula& formula) const {
  if (formula.kind != Formula::Kind::gradient || !panels_ || couples_ || row_floats_ > 0) return nullptr;
  const SharedGradient* const able = model_.shared();
  const std::size_t rows = samples(formula);
  return able && parts(formula) == 1 && rows > panel_rows && able->work(rows) >= least_shared ? able : nullptr;
}

bool Arithmetic::pays_elsewhere(std::size_t samples, std::size_t vectors) const {
  return sample_flops_ == 0 ||
         sample_flops_ * static_cast<double>(samples) >= flops_a_byte * static_cast<double>(vectors * length() * sizeof(float));
}

std::uint64_t Arithmetic::draw(std::uint32_t stream, std::uint64_t position) const {
  return Hasher(draws_of_seed_).add(std::uint64_t{stream}).add(position).key().low;
}

void Arithmetic::lanes_in_turn(const Formula& formula, InputValues inputs, const std::vector<float*>& buffers, Scratch& scratch) const {
  const std::size_t count = lanes(formula);
  if (row_floats_ > 0) {
    for (std::size_t i = 0; i < count; ++i) lane(formula, inputs, i, buffers[i], scratch);
    return add_lanes(buffers, scratch);
  }
  lane(formula, inputs, 0, buffers[0], scratch);
  for (std::size_t i = 1; i < count; ++i) {
    lane(formula, inputs, i, buffers[1], scratch);
    add_lanes({buffers[0], buffers[1]}, scratch);
  }
  finish(inputs.front().floats, buffers.front());
}

void Arithmetic::add_lanes(const std::vector<float*>& lanes, Scratch& scratch) const {
  if (row_floats_ > 0) {
    static const ElementwiseEntry& sum = Registry<ElementwiseEntry>::instance().at(rules::weighted_mean.name);
    std::vector<SparseRows> rows;
    for (float* const lane : lanes) rows.push_back(rows_of(lane));
    return combine_rows(sum, rows, std::vector<double>(lanes.size(), 1.0), rows.front(), true, scratch);
  }
  scratch.operands.assign(lanes.begin(), lanes.end());
  scratch.scale.assign(lanes.size(), 1.0f);
  kernels_.weighted_sum(model_length_, lanes.size(), scratch.operands.data(), scratch.scale.data(), lanes.front());
}

double Arithmetic::loss(const float* weights, const DataSplit& split, std::size_t first, std::size_t rows, std::uint64_t& correct,
                        Scratch& scratch) const {
  if (!scratch.workspace) scratch.workspace = model_.workspace();
  const std::int32_t* const labels = split.labels_of(first, rows, scratch.labels);
  if (!panels_ || !split.inputs.images()) {
    const float* const inputs = split.inputs.rows(first, rows, room(rows, scratch));
    return model_.evaluate(weights, Rows{rows, inputs, labels, nullptr, nullptr}, correct, *scratch.workspace);
  }
  // Converted in any case, so straight into panels, while a cache holds them: the loss of many rows is the sum of their blocks' in order.
  double loss = 0;
  for (std::size_t at = 0; at < rows; at += block_rows) {
    Rows block;
    block.count = std::min(block_rows, rows - at);
    block.labels = labels + at;  // of images, which have one each
    scratch.samples.resize(block.count);
    std::iota(scratch.samples.begin(), scratch.samples.end(), static_cast<std::uint32_t>(first + at));
    float* const panels = room(block.count, scratch);
    split.inputs.gather_panels(kernels_, scratch.samples, panels);
    block.panels = panels;
    loss += model_.evaluate(weights, block, correct, *scratch.workspace);
  }
  return loss;
}

}  // namespace straggler
