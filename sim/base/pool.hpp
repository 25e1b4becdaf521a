// Memory for the many small objects of a simulated cluster: coroutine frames, states of weights and gradients, messages.
//
// A million workers have millions of them, of few sizes, and make or drop one with every event. Each size has a list of free pieces;
// pieces are cut from chunks that the kernel may back by huge pages, without a header each. Each thread has lists of its own (a
// simulation lives on one thread); a thread that ends leaves them to others. Chunks are kept for the life of the program.
#pragma once
#include <cstddef>

namespace straggler::pool {

inline constexpr std::size_t largest = 512;  // bytes; what is larger is the general allocator's
/// Aligned to 8 bytes, and to 16 if `bytes` is a multiple of 16. `bytes` is not 0.
void* allocate(std::size_t bytes);
void release(void* piece, std::size_t bytes) noexcept;

/// Base of classes whose objects lie in the pool.
struct Pooled {
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* piece, std::size_t bytes) noexcept { release(piece, bytes); }
};

/// Base of promises whose coroutine frames do.
struct PooledFrame {
  static void* operator new(std::size_t bytes) { return allocate((bytes + 15) & ~std::size_t{15}); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { release(frame, (bytes + 15) & ~std::size_t{15}); }
};

}  // namespace straggler::pool
