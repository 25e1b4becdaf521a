#include "models/zoo/onednn_plan.hpp"

#include <algorithm>
#include <numeric>

namespace straggler::onednn {
namespace {

constexpr std::size_t line = 64;  // bytes: buffers begin at cache lines

}  // namespace

Place Plan::fresh(std::size_t bytes) {
  buffers_.push_back({(bytes + line - 1) / line * line});
  return {Place::Kind::arena, buffers_.size() - 1, nowhere};
}

void Plan::touch(std::size_t buffer) {
  Buffer& touched = buffers_[buffer];
  if (touched.first == nowhere) touched.first = steps_.size();
  touched.last = steps_.size();
}

void Plan::step(const std::vector<Place>& touched, Step step) {
  for (const Place& place : touched) {
    if (place.kind == Place::Kind::arena) touch(place.at);
    if (place.kind == Place::Kind::gradient && place.buffer != nowhere) touch(place.buffer);
  }
  steps_.push_back(std::move(step));
}

float* Plan::at(const Place& place, const Call& call) const {
  switch (place.kind) {
    case Place::Kind::arena:
      break;
    case Place::Kind::weights:
      return const_cast<float*>(call.weights) + place.at;  // read only
    case Place::Kind::inputs:
      return const_cast<float*>(call.rows.inputs);  // read only
    case Place::Kind::gradient:
      if (call.accumulate && place.buffer != nowhere) return reinterpret_cast<float*>(call.arena + buffers_[place.buffer].offset);
      return call.gradient + place.at;
  }
  return reinterpret_cast<float*>(call.arena + buffers_[place.at].offset);
}

/// Largest first, each at the lowest offset without overlap with a concurrently live buffer.
void Plan::pack() {
  std::vector<std::size_t> order(buffers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return buffers_[a].bytes > buffers_[b].bytes; });
  std::vector<const Buffer*> placed;  // by offset
  for (const std::size_t index : order) {
    Buffer& buffer = buffers_[index];
    if (buffer.first == nowhere) continue;
    for (const Buffer* other : placed) {
      if (other->last < buffer.first || buffer.last < other->first) continue;
      if (buffer.offset + buffer.bytes <= other->offset) break;
      buffer.offset = std::max(buffer.offset, other->offset + other->bytes);
    }
    const auto after = [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &buffer, after), &buffer);
    bytes_ = std::max(bytes_, buffer.offset + buffer.bytes);
  }
}

}  // namespace straggler::onednn
