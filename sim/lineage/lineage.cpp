#include "sim/lineage/lineage.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace straggler {

namespace rules {
const Rule mean{"mean"};
const Rule ring_mean{"ring_mean"};
const Rule weighted_mean{"weighted_mean"};
const Rule add{"add"};
const Rule corrected{"corrected"};
const Rule product{"product"};
const Rule difference{"difference"};
const Rule blend{"blend"};
const Rule part{"part"};
const Rule mixture{"mixture"};
const Rule with_statistics{"with_statistics"};
const Rule residual{"residual"};
const Rule as_fp16{"as_fp16"};
const Rule as_bf16{"as_bf16"};
}  // namespace rules

namespace {
/// 0 and -0 have other keys, and a NaN has one.
bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
}  // namespace

Lineage::~Lineage() {
  if (!owner_) return;
  for (const auto& [key, node] : nodes_)
    if (node->evaluated) owner_->release(*node);
}

const Hasher& Lineage::beginning(const View& formula) {
  if (formula.rule == latest_.rule && formula.rule->name.data() == latest_.name.data() &&
      std::ranges::equal(formula.scalars, latest_.scalars, same_bits))
    return latest_.hasher;
  latest_.rule = formula.rule;
  latest_.name = formula.rule->name;
  latest_.scalars.assign(formula.scalars.begin(), formula.scalars.end());
  latest_.hasher = Hasher().add(static_cast<std::uint64_t>(formula.kind)).add(formula.rule->name);
  for (const double scalar : formula.scalars) latest_.hasher.add(scalar);
  return latest_.hasher;
}

namespace {

Key odd_key(const Hasher& hasher) {
  Key odd = hasher.key();
  odd.low |= 1;
  return odd;
}

void add_batch(Hasher& hasher, const Batch& batch) {
  hasher.add(batch.position).add(static_cast<std::uint64_t>(batch.stream) << 32 | batch.size);
}

}  // namespace

Key Lineage::key(const View& formula, std::span<const Handle> inputs) {
  Hasher hasher;
  if (formula.kind != Formula::Kind::elementwise) hasher.add(static_cast<std::uint64_t>(formula.kind));
  switch (formula.kind) {
    case Formula::Kind::leaf:
    case Formula::Kind::initial:
      hasher.add(root_);
      break;
    case Formula::Kind::gradient:
      for (const Batch& batch : formula.batches) add_batch(hasher, batch);
      break;
    case Formula::Kind::elementwise:
      hasher = beginning(formula);
      break;
  }
  for (const Handle& input : inputs) hasher.add(input.key());
  return odd_key(hasher);
}

Handle Lineage::make(Formula formula, std::span<const Handle> inputs) {
  return make(View{formula.kind, formula.rule, formula.batches, formula.scalars}, inputs);
}

Handle Lineage::make(const View& formula, std::span<const Handle> inputs) {
  const Key name = key(formula, inputs);
  if (math_ == Math::none) return Handle(name);
  for (const Handle& input : inputs)
    if (!input.node()) throw std::logic_error("an input of a lineage node is an empty handle, or one that was made with Math::none");
  const auto [node, added] = node_named(name);
  if (!added) return Handle(*node);
  node->formula.kind = formula.kind;
  node->formula.rule = formula.rule;
  node->formula.batches.assign(formula.batches.begin(), formula.batches.end());
  node->formula.scalars.assign(formula.scalars.begin(), formula.scalars.end());
  node->inputs.reserve(inputs.size());
  for (const Handle& input : inputs) {
    ++input.node()->references;
    node->inputs.push_back(input.node());
  }
  return Handle(*node);
}

std::pair<LineageNode*, bool> Lineage::node_named(const Key& name) {
  const auto [at, added] = nodes_.try_emplace(name, nullptr);
  if (!added) return {at->second, false};
  LineageNode* node;
  if (free_.empty()) {
    node = &arena_.emplace_back();
    node->slot = static_cast<std::uint32_t>(arena_.size() - 1);
  } else {
    node = free_.back();
    free_.pop_back();
  }
  at->second = node;
  node->key = name;
  node->lineage = this;
  ++pending_;
  return {node, true};
}

Handle Lineage::leaf(const Key& name) { return math_ == Math::none ? Handle(name) : Handle(*node_named(name).first); }

Handle Lineage::initial() { return make(View{Formula::Kind::initial}, {}); }

Handle Lineage::gradient(const Handle& weights, const Batch& batch) {
  if (math_ == Math::lazy) return mean_gradient(weights, std::span(&batch, 1));
  static constexpr Hasher beginning = Hasher().add(static_cast<std::uint64_t>(Formula::Kind::gradient));
  Hasher hasher = beginning;  // as key() has it
  add_batch(hasher, batch);
  return Handle(odd_key(hasher.add(weights.key())));
}

Handle Lineage::mean_gradient(const Handle& weights, std::span<const Batch> batches) {
  return make(View{Formula::Kind::gradient, nullptr, batches}, std::span(&weights, 1));
}

Handle Lineage::elementwise(const Rule& rule, std::span<const Handle> inputs, std::span<const double> scalars) {
  const View formula{Formula::Kind::elementwise, &rule, {}, scalars};
  if (math_ == Math::lazy) return make(formula, inputs);
  Hasher hasher = beginning(formula);  // as key() has it
  for (const Handle& input : inputs) hasher.add(input.key());
  return Handle(odd_key(hasher));
}

Handle Lineage::elementwise(const Rule& rule, const Handle& first, const Handle& second, std::initializer_list<double> scalars) {
  if (math_ == Math::lazy) return elementwise(rule, std::array{first, second}, scalars);
  Hasher hasher = beginning(View{Formula::Kind::elementwise, &rule, {}, std::span(scalars.begin(), scalars.size())});  // as key() has it
  return Handle(odd_key(hasher.add(first.key()).add(second.key())));
}

void Lineage::evaluated(LineageNode& node) noexcept {
  --pending_;
  node.evaluated = true;
  for (LineageNode* input : node.inputs)
    if (--input->references == 0) drop(input);
  node.inputs.clear();
}

void Lineage::release(LineageNode* node) noexcept { drop(node); }

void Lineage::drop(LineageNode* first) noexcept {
  // Explicit stack: a chain may be a million updates long. Reentrant calls (none today) would share it safely.
  const std::size_t bottom = dead_.size();
  dead_.push_back(first);
  while (dead_.size() > bottom) {
    LineageNode* node = dead_.back();
    dead_.pop_back();
    for (LineageNode* input : node->inputs)
      if (--input->references == 0) dead_.push_back(input);
    if (node->evaluated) {
      if (owner_) owner_->release(*node);  // else the executor, and its buffers, went first
      node->evaluated = false;
    } else {
      --pending_;
    }
    nodes_.erase(node->key);
    node->inputs.clear();
    node->formula = Formula();
    free_.push_back(node);
  }
}

}  // namespace straggler
