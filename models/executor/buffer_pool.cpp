#include "models/executor/buffer_pool.hpp"

#include <algorithm>
#include <new>

#include "sim/base/huge_pages.hpp"

namespace straggler {
namespace {

constexpr std::size_t line = 64;                // bytes of a cache line
constexpr std::size_t slab_bytes = 256 * 1024;  // small buffers are cut from slabs of this size

}  // namespace

AlignedFloats allocate_aligned(std::size_t count) {
  const std::size_t bytes = (std::max<std::size_t>(count, 1) * sizeof(float) + line - 1) / line * line;
  // Embedding rows are accessed in random order, which defeats the TLB.
  const bool large = bytes >= huge_page;
  const std::size_t alignment = large ? huge_page : line;
  AlignedFloats made(static_cast<float*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)));
  if (!made) throw std::bad_alloc();
  if (large) ::madvise(made.get(), bytes / huge_page * huge_page, MADV_HUGEPAGE);  // if refused, pages stay small
  return made;
}

BufferPool::BufferPool(std::size_t length, std::size_t budget) : budget_(budget) {
  std::size_t bytes = (std::max<std::size_t>(length, 1) * sizeof(float) + line - 1) / line * line;
  if (bytes % 4096 == 0) bytes += line;  // otherwise the same element of all buffers would map to one cache set
  stride_ = bytes / sizeof(float);
}

bool BufferPool::fits(std::size_t bytes) const {
  const std::size_t used = live_ * buffer_bytes() + charged_;
  return used <= budget_ && bytes <= budget_ - used;
}

float* BufferPool::take() {
  if (!fits(buffer_bytes())) return nullptr;
  if (free_.empty()) grow();
  float* const buffer = free_.back();
  free_.pop_back();
  peak_ = std::max(peak_, ++live_);
  return buffer;
}

void BufferPool::give(float* buffer) noexcept {
  free_.push_back(buffer);  // never allocates: grow() reserved space for all buffers
  --live_;
}

bool BufferPool::charge(std::size_t bytes) noexcept {
  if (!fits(bytes)) return false;
  charged_ += bytes;
  if (reserved_ + charged_ > budget_) trim();
  return true;
}

void BufferPool::grow() {
  const std::size_t count = std::max<std::size_t>(slab_bytes / buffer_bytes(), 1);
  slabs_.push_back(allocate_aligned(count * stride_));
  reserved_ += count * buffer_bytes();
  free_.reserve(reserved_ / buffer_bytes());
  for (std::size_t i = count; i > 0; --i) free_.push_back(slabs_.back().get() + (i - 1) * stride_);
}

void BufferPool::trim() noexcept {
  if (slab_bytes / buffer_bytes() > 1) return;
  for (float* buffer : free_) {
    const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [buffer](const AlignedFloats& one) { return one.get() == buffer; });
    slabs_.erase(slab);
    reserved_ -= buffer_bytes();
  }
  free_.clear();
}

}  // namespace straggler
