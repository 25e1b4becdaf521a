#include "models/executor/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <unordered_set>

namespace straggler {
namespace {

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

bool Resources::prepare_rule(Scratch& scratch, std::size_t bytes) {
  if (bytes <= scratch.of_rules) return true;
  if (!buffers_.charge(bytes - scratch.of_rules)) return false;
  scratch.of_rules = bytes;
  return true;
}

SharedScratch* Resources::prepare_shared() {
  if (shared_.workspace) return &shared_;
  if (!buffers_.charge(arithmetic_.shared_bytes(arithmetic_.block()))) return nullptr;
  shared_.inputs = allocate_aligned(arithmetic_.gathered_floats(arithmetic_.block()));
  shared_.workspace = arithmetic_.shared_workspace(arithmetic_.block());
  return &shared_;
}

float* Resources::begin(const LineageNode& node, Scratch& scratch) {
  scratch.values.clear();
  for (const LineageNode* input : node.inputs) scratch.values.push_back({states_[*input].value, states_[*input].sparse});
  if (!prepare(scratch, arithmetic_.largest_part(node.formula), arithmetic_.densified(node.formula, scratch.values)) ||
      !prepare_rule(scratch, arithmetic_.rule_bytes(node.formula)))
    return nullptr;
  for (const int at : arithmetic_.in_place(node.formula, scratch.values))
    if (at >= 0 && node.inputs[static_cast<std::size_t>(at)]->references == 1) return scratch.values[static_cast<std::size_t>(at)].floats;
  return buffers_.take();
}

StepChain Resources::begin_step(const Plan& plan, std::size_t position, float* gradient) {
  if (tight()) return {};
  const LineageNode& node = plan[position];
  StepChain chain = arithmetic_.step_chain(node, plan.find(position + 1), plan.find(position + 2));
  if (!chain.weights) return {};
  const LineageNode* const before = chain.weights->inputs[0];
  const LineageNode* const velocity = chain.velocity && chain.velocity->inputs.size() > 2 ? chain.velocity->inputs[2] : nullptr;
  for (const LineageNode* input : {before, velocity})
    if (input && states_[*input].place != ValuePlace::here) return {};
  WeightStep& step = chain.step;
  step.w = states_[*before].value;
  const std::uint32_t own = 1 + (chain.velocity ? 1 : 0) + (node.inputs[0] == before ? 1 : 0);
  step.w_out = before->references == own ? states_[*before].value : gradient;
  if (!chain.velocity) return chain;
  if (velocity) step.v = states_[*velocity].value;
  step.v_out = velocity && velocity->references == 1 ? states_[*velocity].value : buffers_.take();
  return step.v_out ? chain : StepChain{};
}

void Resources::store_step(LineageNode& node, float* gradient, const StepChain& chain) noexcept {
  store(node, gradient, false);
  if (chain.step.w_out == gradient) {
    states_[node].value = nullptr;
    states_[node].place = ValuePlace::taken_over;
  }
  if (chain.velocity) store(*chain.velocity, chain.step.v_out, false);
  store(*chain.weights, chain.step.w_out, false);
}

void Resources::abandon_step(float* gradient, const StepChain& chain) noexcept {
  buffers_.give(gradient);
  if (chain.velocity && chain.step.v_out != chain.step.v) buffers_.give(chain.step.v_out);
}

NodeState* Resources::owner_of(const LineageNode& node, const float* buffer) {
  if (node.formula.kind != Formula::Kind::elementwise) return nullptr;  // no other kind takes over a buffer
  for (const LineageNode* input : node.inputs)
    if (NodeState& state = states_[*input]; state.value == buffer) return &state;
  return nullptr;
}

void Resources::keep(const LineageNode& node, float* buffer, bool sparse) noexcept {
  NodeState& state = states_[node];
  state.value = buffer;
  state.place = ValuePlace::here;
  state.sparse = sparse;
}

void Resources::store(LineageNode& node, float* buffer, bool sparse) noexcept {
  if (NodeState* const owner = owner_of(node, buffer)) {
    owner->value = nullptr;
    owner->place = ValuePlace::taken_over;
  }
  const bool again = states_[node].place == ValuePlace::set_aside;
  if (buffers_.tight()) note_recipe(node);
  keep(node, buffer, sparse);
  if (again) {
    ++counts_.remade;
    for (LineageNode* input : node.inputs)
      if (--input->references == 0) lineage_.release(input);
    node.inputs.clear();
    return;
  }
  count(node);
  lineage_.evaluated(node);
}

void Resources::count(const LineageNode& node) noexcept {
  ++counts_.nodes;
  counts_.gradient_samples += Arithmetic::samples(node.formula);
}

void Resources::take(LineageNode& node, float* buffer) noexcept {
  keep(node, buffer, false);
  ++counts_.taken;
  lineage_.evaluated(node);
}

float* Resources::dense_value(const LineageNode& node) {
  NodeState& state = states_[node];
  if (state.sparse) arithmetic_.make_dense(state.value);
  state.sparse = false;
  return state.value;
}

void Resources::note_recipe(const LineageNode& node) noexcept {
  if (node.formula.kind != Formula::Kind::elementwise && node.formula.kind != Formula::Kind::initial) return;
  try {
    std::vector<Key> inputs;
    inputs.reserve(node.inputs.size());
    for (const LineageNode* input : node.inputs) inputs.push_back(input->key);
    recipes_[&node] = std::move(inputs);
  } catch (const std::bad_alloc&) {  // then the value stays in memory
  }
}

bool Resources::can_be_remade(const std::vector<Key>& inputs) const {
  return std::all_of(inputs.begin(), inputs.end(), [this](const Key& key) {
    const LineageNode* const input = lineage_.find(key);
    return input && states_[*input].place == ValuePlace::here;
  });
}

bool Resources::set_aside_one(const LineageNode* keep) {
  if (recipes_.empty()) return false;
  std::unordered_set<const LineageNode*> waited_for;
  lineage_.each([&](const LineageNode& node) {
    if (!states_[node].evaluated()) waited_for.insert(node.inputs.begin(), node.inputs.end());
  });
  LineageNode* victim = nullptr;
  for (const auto& [node, inputs] : recipes_) {
    if (node == keep || states_[*node].holders > 0 || waited_for.count(node) > 0 || !can_be_remade(inputs)) continue;
    if (!victim || node->key < victim->key) victim = lineage_.find(node->key);
  }
  if (!victim) return false;
  NodeState& state = states_[*victim];
  buffers_.give(state.value);
  state.value = nullptr;
  state.place = ValuePlace::set_aside;
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
  if (!owner_of(node, buffer)) buffers_.give(buffer);
}

void Resources::pass_over(LineageNode& node) noexcept {
  states_[node].place = ValuePlace::elsewhere;
  lineage_.evaluated(node);
}

void Resources::computed_elsewhere(LineageNode& node) noexcept {
  count(node);
  pass_over(node);
}

void Resources::restore(const LineageNode& node, float* buffer) noexcept { keep(node, buffer, false); }

void Resources::release(LineageNode& node) noexcept {
  recipes_.erase(&node);
  NodeState& state = states_[node];
  if (state.place == ValuePlace::here) buffers_.give(state.value);
  state = {};
}

std::string Resources::refusal() const {
  return fmt::format(
      "the memory budget of {} is used up: {} values of {} each are live and {} belong to workspaces, and what is needed next does not "
      "fit; "
      "raise the memory budget, or use fewer workers, a smaller model, smaller batches or fewer threads",
      size_text(buffers_.budget()), buffers_.live(), size_text(buffers_.buffer_bytes()), size_text(buffers_.charged_bytes()));
}

ExecutorStatistics Resources::statistics() const {
  ExecutorStatistics now = counts_;
  now.values = buffers_.live();
  now.peak_value_bytes = buffers_.peak() * buffers_.buffer_bytes();
  return now;
}

}  // namespace straggler
