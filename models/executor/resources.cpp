#include "models/executor/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <unordered_set>

namespace straggler {
namespace {

/// The value of a node whose buffer a consumer has taken over, until the node is released.
float taken_over;
/// The value of a node that was evaluated in another life of this run.
float elsewhere;

/// The value of a node that could be made again and had to make room.
float set_aside;

std::string size_text(std::size_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return fmt::format("{:.3g} GB", b / 1e9);
  if (b >= 1e6) return fmt::format("{:.3g} MB", b / 1e6);
  if (b >= 1e3) return fmt::format("{:.3g} kB", b / 1e3);
  return fmt::format("{} B", bytes);
}

}  // namespace

Resources::Resources(Lineage& lineage, const Arithmetic& arithmetic, std::size_t budget, unsigned threads)
    : lineage_(lineage), arithmetic_(arithmetic), buffers_(arithmetic.buffer_floats(), budget), scratch_(threads) {}

bool Resources::prepare(Scratch& scratch, std::size_t rows) {
  if (rows <= scratch.rows) return true;
  if (!buffers_.charge(arithmetic_.scratch_bytes(rows) - (scratch.rows > 0 ? arithmetic_.scratch_bytes(scratch.rows) : 0))) return false;
  scratch.rows = rows;
  return true;
}

bool Resources::prepare(Scratch& scratch, std::size_t rows, std::size_t densified) {
  if (!prepare(scratch, rows)) return false;
  while (scratch.densified.size() < densified) {
    if (!buffers_.charge(arithmetic_.length() * sizeof(float))) return false;
    scratch.densified.push_back(allocate_aligned(arithmetic_.length()));
  }
  return true;
}

float* Resources::begin(const LineageNode& node, Scratch& scratch) {
  if (!prepare(scratch, arithmetic_.largest_part(node), arithmetic_.densified(node))) return nullptr;
  if (const int at = arithmetic_.in_place(node); at >= 0)
    if (const LineageNode& input = *node.inputs[static_cast<std::size_t>(at)]; input.references == 1)
      return static_cast<float*>(input.value);
  return buffers_.take();
}

int Resources::owner_of(const LineageNode& node, const float* buffer) const {
  const int at = arithmetic_.in_place(node);
  return at >= 0 && node.inputs[static_cast<std::size_t>(at)]->value == buffer ? at : -1;
}

void Resources::store(LineageNode& node, float* buffer, bool sparse) noexcept {
  if (const int at = owner_of(node, buffer); at >= 0) node.inputs[static_cast<std::size_t>(at)]->value = &taken_over;
  const bool again = node.value == &set_aside;
  if (buffers_.tight()) note_recipe(node);
  node.value = buffer;
  node.sparse = sparse;
  if (again) {
    ++counts_.remade;
    for (LineageNode* input : node.inputs)
      if (--input->references == 0) lineage_.release(input);
    node.inputs.clear();
    return;
  }
  ++counts_.nodes;
  counts_.gradient_samples += Arithmetic::samples(node);
  lineage_.evaluated(node);
}

void Resources::take(LineageNode& node, float* buffer) noexcept {
  node.value = buffer;
  node.sparse = false;
  ++counts_.taken;
  lineage_.evaluated(node);
}

bool Resources::has_value(const LineageNode& node) { return node.value && node.value != &set_aside; }

void Resources::note_recipe(const LineageNode& node) noexcept {
  if (node.formula.kind != Formula::Kind::elementwise && node.formula.kind != Formula::Kind::initial) return;
  try {
    std::vector<Key> inputs;
    inputs.reserve(node.inputs.size());
    for (const LineageNode* input : node.inputs) inputs.push_back(input->key);
    recipes_[&node] = std::move(inputs);
  } catch (const std::bad_alloc&) {  // then it stays
  }
}

bool Resources::can_be_remade(const std::vector<Key>& inputs) const {
  return std::all_of(inputs.begin(), inputs.end(), [this](const Key& key) {
    const LineageNode* const input = lineage_.find(key);
    return input && has_value(*input) && input->value != &taken_over && input->value != &elsewhere;
  });
}

bool Resources::set_aside_one(const LineageNode* keep) {
  if (recipes_.empty()) return false;
  std::unordered_set<const LineageNode*> waited_for;
  lineage_.each([&waited_for](const LineageNode& node) {
    if (!has_value(node)) waited_for.insert(node.inputs.begin(), node.inputs.end());
  });
  LineageNode* victim = nullptr;
  for (const auto& [node, inputs] : recipes_) {
    if (node == keep || waited_for.count(node) > 0 || !can_be_remade(inputs)) continue;
    if (!victim || node->key < victim->key) victim = lineage_.find(node->key);
  }
  if (!victim) return false;
  buffers_.give(static_cast<float*>(victim->value));
  victim->value = &set_aside;
  for (const Key& key : recipes_[victim]) {
    LineageNode* const input = lineage_.find(key);
    ++input->references;
    victim->inputs.push_back(input);
  }
  recipes_.erase(victim);
  ++counts_.set_aside;
  return true;
}

void Resources::abandon(const LineageNode& node, float* buffer) noexcept {
  if (owner_of(node, buffer) < 0) buffers_.give(buffer);
}

void Resources::pass_over(LineageNode& node) noexcept {
  node.value = &elsewhere;
  lineage_.evaluated(node);
}

bool Resources::passed_over(const LineageNode& node) { return node.value == &elsewhere; }

void Resources::release(LineageNode& node) noexcept {
  node.sparse = false;
  recipes_.erase(&node);
  if (node.value != &taken_over && node.value != &elsewhere && node.value != &set_aside) buffers_.give(static_cast<float*>(node.value));
}

std::string Resources::refusal() const {
  return fmt::format(
      "the memory budget of {} is used up: {} values of {} each are live and {} belong to workspaces, and what is needed next does not "
      "fit; "
      "raise the memory budget, or take fewer workers, a smaller model, smaller batches or fewer threads",
      size_text(buffers_.budget()), buffers_.live(), size_text(buffers_.buffer_bytes()), size_text(buffers_.charged_bytes()));
}

ExecutorStatistics Resources::statistics() const {
  ExecutorStatistics now = counts_;
  now.values = buffers_.live();
  now.peak_value_bytes = buffers_.peak() * buffers_.buffer_bytes();
  return now;
}

}  // namespace straggler
