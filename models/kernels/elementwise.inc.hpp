// Arithmetic on parameter vectors: one pass over memory each. Included by set.inc.hpp only.
//
// `out` may be an input: every step loads all operands of a position before it stores there.

/// Calls step(position, load, store) for whole vectors, then once for the remainder, with loads and stores of that many floats.
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

/// velocity(w, v, g, load): v_out at a position, of the weight and the gradient there and of load(v).
template <class Velocity>
STRAGGLER_INLINE void step_rows_by(std::size_t rows, std::size_t n, std::size_t stride, const float* g, const WeightStep& step,
                                   const Velocity& velocity) {
  const Vector back = all(-step.rate);
  for (std::size_t row = 0; row < rows; ++row) {
    const WeightStep here = step.at(row * stride);
    const float* const gradient = g + row * stride;
    const auto run = [&](auto kept) __attribute__((always_inline)) {
      for_positions(
          n, [&](const auto& get, const auto& put) __attribute__((always_inline)) {
            const Vector w = get(here.w), d = velocity(w, here.v, get(gradient), get);
            if constexpr (kept.value) put(here.v_out, d);
            put(here.w_out, multiply_add(d, back, w));
          });
    };
    if (here.v_out)
      run(std::true_type());
    else
      run(std::false_type());
  }
}

void step_rows(std::size_t rows, std::size_t n, std::size_t stride, const float* g, const WeightStep& step) {
  const Vector m = all(step.momentum), decay = all(step.decay);
  const auto by = [&](const auto& velocity) __attribute__((always_inline)) { step_rows_by(rows, n, stride, g, step, velocity); };
  if (step.v && step.decay != 0.0f)
    by([=](Vector w, const float* v, Vector x, const auto& get)
           __attribute__((always_inline)) { return multiply_add(get(v), m, multiply_add(w, decay, x)); });
  else if (step.v)
    by([=](Vector, const float* v, Vector x, const auto& get) __attribute__((always_inline)) { return multiply_add(get(v), m, x); });
  else if (step.decay != 0.0f)
    by([=](Vector w, const float*, Vector x, const auto&) __attribute__((always_inline)) { return multiply_add(w, decay, x); });
  else
    by([](Vector, const float*, Vector x, const auto&) __attribute__((always_inline)) { return x; });
}

/// Prefetches a row that will be written.
STRAGGLER_INLINE void ask_for(const float* row, std::size_t width) {
  constexpr std::size_t line = 16;  // floats of a cache line
  for (std::size_t i = 0; i < width; i += line) __builtin_prefetch(row + i, 1);
  __builtin_prefetch(row + width - 1, 1);
}

/// Prefetch distance of scattered rows.
constexpr std::size_t rows_ahead = 8;

void descend_rows(std::size_t count, std::size_t n, float rate, const float* const* d, float* const* w) {
  for (std::size_t row = 0; row < count; ++row) {
    if (row + rows_ahead < count) ask_for(w[row + rows_ahead], n);
    descend(n, rate, w[row], d[row], w[row]);
  }
}

/// Calls use(d) for each position; d(get) loads g + decay w, or g alone.
template <class Use>
STRAGGLER_INLINE void with_direction(float decay, const float* g, const float* w, const Use& use) {
  const Vector shrink = all(decay);
  if (w)
    use([=](const auto& get) __attribute__((always_inline)) { return multiply_add(get(w), shrink, get(g)); });
  else
    use([=](const auto& get) __attribute__((always_inline)) { return get(g); });
}

void moment(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* m, float* out) {
  const Vector kept = all(keep), added = all(share);
  with_direction(decay, g, w, [&](const auto& direction) {
    if (m)
      for_positions(n, [&](const auto& get, const auto& put) { put(out, multiply_add(get(m), kept, direction(get) * added)); });
    else
      for_positions(n, [&](const auto& get, const auto& put) { put(out, direction(get) * added); });
  });
}

void second_moment(std::size_t n, float keep, float share, float decay, const float* g, const float* w, const float* v, float* out) {
  const Vector kept = all(keep), added = all(share);
  with_direction(decay, g, w, [&](const auto& direction) {
    for_positions(n, [&](const auto& get, const auto& put) {
      const Vector d = direction(get);
      put(out, v ? multiply_add(get(v), kept, d * d * added) : d * d * added);
    });
  });
}

void descend_scaled(std::size_t n, const ScaledDescent& by, const float* w, const float* d, const float* v, float* out) {
  const Vector shrink = all(by.shrink), back = all(-by.rate), decay = all(by.decay), scale = all(by.scale), shift = all(by.shift),
               epsilon = all(by.epsilon);
  for_positions(n, [&](const auto& get, const auto& put) {
    const Vector weights = get(w), root = square_root(multiply_add(get(v), scale, shift)) + epsilon;
    put(out, multiply_add(multiply_add(weights, decay, get(d)) / root, back, weights * shrink));
  });
}

double squared_norm(std::size_t n, const float* x) {
  constexpr std::size_t piece = 64 * static_cast<std::size_t>(lanes);
  double norm = 0;
  for (std::size_t at = 0; at < n; at += piece) {
    Vector sum{};
    const float* const from = x + at;
    for_positions(n - at < piece ? n - at : piece, [&](const auto& get, const auto&) {
      const Vector number = get(from);
      sum = multiply_add(number, number, sum);
    });
    for (int lane = 0; lane < lanes; ++lane) norm += static_cast<double>(sum[lane]);
  }
  return norm;
}
