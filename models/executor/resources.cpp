#include "models/executor/resources.hpp"

#include <fmt/format.h>

namespace straggler {
namespace {

/// The value of a node whose buffer a consumer has taken over, until the node is released.
float taken_over;

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
  node.value = buffer;
  node.sparse = sparse;
  ++counts_.nodes;
  counts_.gradient_samples += Arithmetic::samples(node);
  lineage_.evaluated(node);
}

void Resources::abandon(const LineageNode& node, float* buffer) noexcept {
  if (owner_of(node, buffer) < 0) buffers_.give(buffer);
}

void Resources::release(LineageNode& node) noexcept {
  node.sparse = false;
  if (node.value != &taken_over) buffers_.give(static_cast<float*>(node.value));
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
