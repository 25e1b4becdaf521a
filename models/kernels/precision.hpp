// The format in which a network's numbers are stored and sent. Arithmetic itself is in fp32, as in the sums of tensor cores. Stored values
// are rounded to the format: to nearest, ties to even, with subnormal numbers, infinities and NaN (IEEE 754 binary16; bfloat16: the upper
// half of an fp32 number).
#pragma once
#include <cstddef>
#include <cstdint>

namespace straggler {

enum class Precision {
  fp32,
  fp16,  // activations and gradients; master weights stay fp32
  bf16,
};

/// The bits of the nearest binary16 number; infinity from half a step beyond 65,504.
std::uint16_t to_fp16(float x);
float from_fp16(std::uint16_t bits);
std::uint16_t to_bf16(float x);
float from_bf16(std::uint16_t bits);

/// out[i] = the number of that format nearest to x[i]; `out` may be `x`. fp32: a copy.
void round_to(Precision precision, std::size_t n, const float* x, float* out);

}  // namespace straggler
