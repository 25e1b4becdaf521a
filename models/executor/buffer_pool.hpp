// Memory of the executor: equally long buffers for values, and the budget that they share with the workspaces.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace straggler {

struct FreeDeleter {
  void operator()(float* at) const noexcept { std::free(at); }
};
/// Floats aligned to 64 bytes, not initialized.
using AlignedFloats = std::unique_ptr<float[], FreeDeleter>;
AlignedFloats allocate_aligned(std::size_t count);

/// Buffers are reused; the last one returned is the next one taken, while it is warm in the cache. Live buffers and charges together never
/// exceed the budget. Free buffers are returned to the system when charges need their space (small ones, several of which share a slab of
/// 256 KiB, are not). Not thread-safe: the executor calls it under its mutex.
class BufferPool {
 public:
  /// `length`: floats per buffer. `budget`: bytes that buffers and charges may reach together.
  BufferPool(std::size_t length, std::size_t budget);

  /// 64-byte aligned, not initialized. Null if the budget does not allow one more.
  float* take();
  void give(float* buffer) noexcept;
  /// Charges `bytes` of other memory to the budget. False, and nothing charged, if they do not fit.
  bool charge(std::size_t bytes) noexcept;

  std::size_t buffer_bytes() const { return stride_ * sizeof(float); }
  std::size_t live() const { return live_; }  // buffers taken and not returned
  std::size_t peak() const { return peak_; }  // the maximum of live()
  std::size_t charged_bytes() const { return charged_; }
  std::size_t budget() const { return budget_; }
  /// True when more than half of the budget is in use: time to reduce the number of live values.
  bool tight() const { return live_ * buffer_bytes() + charged_ > budget_ / 2; }

 private:
  bool fits(std::size_t bytes) const;
  void grow();
  void trim() noexcept;

  const std::size_t budget_;
  std::size_t stride_;  // floats from one buffer to the next
  std::size_t reserved_ = 0, charged_ = 0, live_ = 0, peak_ = 0;
  std::vector<AlignedFloats> slabs_;
  std::vector<float*> free_;
};

}  // namespace straggler
