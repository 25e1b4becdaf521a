// What one core does at most: single-precision FLOPs of fused multiply-adds on registers alone, of the widest vectors it has.
#pragma once
#include <cstdint>

namespace straggler {

#if defined(__x86_64__)

/// `steps` times twelve multiply-adds that do not wait for each other: more than two units with a latency of four keep busy.
/// Spelled in assembly, as no compiler may leave a part of it out.
template <class Vector>
[[gnu::always_inline]] inline float fma_chains(std::int64_t steps) {
  const Vector m = Vector{} + 0.999f, c = Vector{} + 0.001f;
  Vector a = c, b = c, d = c, e = c, f = c, g = c, h = c, i = c, j = c, k = c, l = c, n = c;
  for (std::int64_t step = 0; step < steps; ++step)
    __asm__(
        "vfmadd213ps %13,%12,%0\n\tvfmadd213ps %13,%12,%1\n\tvfmadd213ps %13,%12,%2\n\tvfmadd213ps %13,%12,%3\n\t"
        "vfmadd213ps %13,%12,%4\n\tvfmadd213ps %13,%12,%5\n\tvfmadd213ps %13,%12,%6\n\tvfmadd213ps %13,%12,%7\n\t"
        "vfmadd213ps %13,%12,%8\n\tvfmadd213ps %13,%12,%9\n\tvfmadd213ps %13,%12,%10\n\tvfmadd213ps %13,%12,%11"
        : "+x"(a), "+x"(b), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l), "+x"(n)
        : "x"(m), "x"(c));
  return (a + b + d + e + f + g + h + i + j + k + l + n)[0];
}

typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));
[[gnu::target("avx512f"), gnu::noinline]] inline float fma_chains_avx512(std::int64_t steps) { return fma_chains<Floats16>(steps); }
[[gnu::target("avx2,fma"), gnu::noinline]] inline float fma_chains_avx2(std::int64_t steps) { return fma_chains<Floats8>(steps); }

/// FLOPs of `steps` steps, having done them; 0 where the core has no fused multiply-add.
inline double fma_flops(std::int64_t steps, float& result) {
  const bool avx512 = __builtin_cpu_supports("avx512f");
  if (!avx512 && !__builtin_cpu_supports("fma")) return 0;
  result = avx512 ? fma_chains_avx512(steps) : fma_chains_avx2(steps);
  return static_cast<double>(steps) * 12 * 2 * (avx512 ? 16 : 8);
}

#else
inline double fma_flops(std::int64_t, float&) { return 0; }
#endif

}  // namespace straggler
