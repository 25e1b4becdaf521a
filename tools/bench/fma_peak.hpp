// Peak of one core: single-precision FLOPs of fused multiply-adds on registers only, with the widest vectors.
#pragma once
#include <cstdint>

namespace straggler {

/// Does `steps` (at least 1) times twelve multiply-adds that do not wait for each other, more than two units with a latency of four keep
/// busy, and returns their FLOPs; 0 where the core has no fused multiply-add. In assembly, so that no compiler removes a part.
inline double fma_flops(std::int64_t steps) {
#if defined(__x86_64__)
  const double operations = 12 * 2 * static_cast<double>(steps);
  if (__builtin_cpu_supports("avx512f")) {
    __asm__ volatile(
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12\n\tvxorps %%xmm\\r,%%xmm\\r,%%xmm\\r\n\t.endr\n"
        "1:\n\t.irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\tvfmadd213ps %%zmm12,%%zmm12,%%zmm\\r\n\t.endr\n\t"
        "dec %0\n\tjnz 1b\n\tvzeroupper"
        : "+r"(steps)
        :
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12");
    return operations * 16;
  }
  if (__builtin_cpu_supports("fma")) {
    __asm__ volatile(
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12\n\tvxorps %%xmm\\r,%%xmm\\r,%%xmm\\r\n\t.endr\n"
        "1:\n\t.irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\tvfmadd213ps %%ymm12,%%ymm12,%%ymm\\r\n\t.endr\n\t"
        "dec %0\n\tjnz 1b\n\tvzeroupper"
        : "+r"(steps)
        :
        : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12");
    return operations * 8;
  }
#endif
  return 0 * static_cast<double>(steps);
}

}  // namespace straggler
