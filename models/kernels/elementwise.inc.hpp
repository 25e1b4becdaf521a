// Arithmetic on parameter vectors: one pass over memory each. Included by set.inc.hpp only.
//
// `out` may be an input: every step loads all it needs of a position before it stores there.

/// Calls step(position, load, store) for whole vectors, then once for what is left, with loads and stores of that many floats.
template <class Step>
STRAGGLER_INLINE void for_positions(std::size_t n, const Step& step) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    step(
        [i](const float* x) __attribute__((always_inline)) { return load(x + i); }, [i](float* out, Vector x) __attribute__((
                                                                                        always_inline)) { store(out + i, x); });
  const std::size_t left = n - i;
  if (left > 0)
    step([i, left](const float* x) { return load_some(x + i, left); }, [i, left](float* out, Vector x) { store_some(out + i, x, left); });
}

void weighted_sum(std::size_t n, std::size_t count, const float* const* x, const float* scale, float* out) {
  for_positions(n, [&](const auto& get, const auto& put) {
    Vector sum = get(x[0]) * scale[0];
    for (std::size_t i = 1; i < count; ++i) sum = multiply_add(get(x[i]), all(scale[i]), sum);
    put(out, sum);
  });
}

void mean(std::size_t n, std::size_t count, const float* const* x, float* out) {
  const Vector divisor = all(static_cast<float>(count));
  for_positions(n, [&](const auto& get, const auto& put) {
    Vector sum = get(x[0]);
    for (std::size_t i = 1; i < count; ++i) sum += get(x[i]);
    put(out, sum / divisor);
  });
}

void momentum(std::size_t n, float momentum, float decay, const float* g, const float* w, const float* v, float* out) {
  const Vector m = all(momentum), d = all(decay);
  if (w && v)
    for_positions(n, [&](const auto& get, const auto& put) { put(out, multiply_add(get(v), m, multiply_add(get(w), d, get(g)))); });
  else if (v)
    for_positions(n, [&](const auto& get, const auto& put) { put(out, multiply_add(get(v), m, get(g))); });
  else if (w)
    for_positions(n, [&](const auto& get, const auto& put) { put(out, multiply_add(get(w), d, get(g))); });
  else
    for_positions(n, [&](const auto& get, const auto& put) { put(out, get(g)); });
}

void descend(std::size_t n, float rate, const float* w, const float* d, float* out) {
  const Vector back = all(-rate);
  for_positions(n, [&](const auto& get, const auto& put) { put(out, multiply_add(get(d), back, get(w))); });
}
