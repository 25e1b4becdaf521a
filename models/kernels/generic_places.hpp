// The kernels of networks over sequences for any processor (generic_places.cpp), for the table in generic.cpp.
#pragma once
#include "models/kernels/places.hpp"

namespace straggler::generic {

void activation_forward(Activation f, std::size_t n, const float* x, float* y);
void activation_backward(Activation f, std::size_t n, const float* x, const float* y, const float* dy, float* dx);
void norm_forward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* bias, float* y);
void norm_backward(std::size_t rows, const RowNorm& norm, const float* x, const float* gain, const float* dy, bool accumulate, float* dgain,
                   float* dbias, float* dx);
void attention_forward(const AttentionHead& head, float* context);
void attention_backward(const AttentionHead& head, const float* dcontext, float* dqueries, float* dkeys, float* dvalues);

}  // namespace straggler::generic
