// Skip-gram with negative sampling, pair by pair. Included by set.inc.hpp only.

/// Targets whose products with the centre are taken side by side, a register each; their sigmoids are one vector.
constexpr int most_height = lanes < 8 ? lanes : 8;
/// Vectors of a centre that stay in registers while all its targets pass.
constexpr int most_columns = lanes == 16 ? 8 : 4;

/// Lane j: u · v[j], for j < height; the other lanes are zero.
template <int height>
STRAGGLER_INLINE Vector products_with(std::size_t width, const float* u, const float* const* v) {
  Vector partial[lanes];
  STRAGGLER_UNROLL
  for (int j = 0; j < lanes; ++j) partial[j] = Vector{};
  std::size_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const Vector x = load(u + i);
    STRAGGLER_UNROLL
    for (int j = 0; j < height; ++j) partial[j] = multiply_add(x, load(v[j] + i), partial[j]);
  }
  if (i < width) {
    const Vector x = load_some(u + i, width - i);
    STRAGGLER_UNROLL
    for (int j = 0; j < height; ++j) partial[j] = multiply_add(x, load_some(v[j] + i, width - i), partial[j]);
  }
  return sums(partial);
}

/// Σ scale log(1 + e^s). log(1 + e^s) = max(s, 0) + log(1 + e^-|s|), and the logarithm is taken of the product of many of the latter.
struct LogisticLoss {
  double total = 0, linear = 0, product = 1;
  float scale = 1;

  void flush() {
    total += static_cast<double>(scale) * (linear + ::log(product));
    linear = 0;
    product = 1;
  }
  /// Before each pair, whose factors are at most 2^most_targets together.
  void use(float next) {
    if (next == scale && product < 1e250) return;
    flush();
    scale = next;
  }
  /// e: e^-|s|
  void add(float s, float e) {
    linear += s > 0.0f ? static_cast<double>(s) : 0.0;
    product *= 1.0 + static_cast<double>(e);
  }
};

/// σ(s), with a relative error below 2.5e-7 where it is a normal number (`exponential` is off by 1.01 units in the last place, sum and
/// quotient by half a unit each); e: e^-|s|.
STRAGGLER_INLINE Vector sigmoid_of(Vector s, Vector e) { return (s < 0.0f ? e : all(1.0f)) / (e + 1.0f); }

/// Of one pair: what the gradient takes of each row, factors[j] = scale (σ(u · v[j]) - (j is the context)).
struct PairFactors {
  const PairBlock& block;
  std::size_t pair;
  float weight;
  LogisticLoss& loss;
  float* factors;

  template <int height>
  void operator()(std::size_t first) const {
    const float* const* const v = block.outputs + pair * block.targets + first;
    const Vector x = products_with<height>(block.width, block.centres[pair], v);
    if (block.scores) store_some(block.scores + pair * block.targets + first, x, height);
    const Integers positive = first_lanes(first == 0 ? 1 : 0);
    const Vector s = positive != 0 ? -x : x;
    const Vector e = exponential(s < 0.0f ? s : -s);
    for (int j = 0; j < height; ++j) loss.add(s[j], e[j]);
    const Vector sigmoid = sigmoid_of(s, e);
    store_some(factors + first, (positive != 0 ? -sigmoid : sigmoid) * weight, height);
  }
};

template <int height = most_height, class Body>
STRAGGLER_INLINE void last_targets(std::size_t count, std::size_t first, const Body& body) {
  if constexpr (height > 0) {
    if (count == height)
      body.template operator()<height>(first);
    else
      last_targets<height - 1>(count, first, body);
  }
}

/// Rows of one pair: weights, gradients, and what these are added to.
struct PairRows {
  const float* u;
  const float* const* v;
  float* du;
  float* const* dv;
  const float* du_before;
  const float* const* dv_before;
};

/// Columns of one pair's gradient: `vectors` of them, the last with `kept` floats if partial.
template <int vectors, bool partial>
STRAGGLER_INLINE void spread_columns(std::size_t kept, std::size_t targets, const float* factors, const PairRows& rows, std::size_t from) {
  const auto get = [kept](const float* at, int i) __attribute__((always_inline)) {
    return partial && i == vectors - 1 ? load_some(at + i * lanes, kept) : load(at + i * lanes);
  };
  const auto put = [kept](float* at, int i, Vector x) __attribute__((always_inline)) {
    if (partial && i == vectors - 1)
      store_some(at + i * lanes, x, kept);
    else
      store(at + i * lanes, x);
  };
  Vector x[vectors], sum[vectors];
  STRAGGLER_UNROLL
  for (int i = 0; i < vectors; ++i) {
    x[i] = get(rows.u + from, i);
    sum[i] = get(rows.du_before + from, i);
  }
  for (std::size_t j = 0; j < targets; ++j) {
    const Vector factor = all(factors[j]);
    const float *const row = rows.v[j] + from, *const before = rows.dv_before[j] + from;
    float* const out = rows.dv[j] + from;
    STRAGGLER_UNROLL
    for (int i = 0; i < vectors; ++i) {
      sum[i] = multiply_add(factor, get(row, i), sum[i]);
      put(out, i, multiply_add(factor, x[i], get(before, i)));
    }
  }
  STRAGGLER_UNROLL
  for (int i = 0; i < vectors; ++i) put(rows.du + from, i, sum[i]);
}

template <int vectors>
STRAGGLER_INLINE void last_columns(std::size_t width, std::size_t targets, const float* factors, const PairRows& rows, std::size_t from) {
  if constexpr (vectors > 0) {
    const std::size_t left = width - from;
    if (left == vectors * lanes)
      spread_columns<vectors, false>(lanes, targets, factors, rows, from);
    else if (left < vectors * lanes && left > (vectors - 1) * lanes)
      spread_columns<vectors, true>(left - (vectors - 1) * lanes, targets, factors, rows, from);
    else
      last_columns<vectors - 1>(width, targets, factors, rows, from);
  }
}

/// Rows lie anywhere in memory, and a pair waits for a dozen of them: they are asked for while the pair before is computed.
STRAGGLER_INLINE void ask_for_pair(const PairBlock& block, std::size_t pair) {
  ask_for(block.centres[pair], block.width);
  for (std::size_t j = pair * block.targets; j < (pair + 1) * block.targets; ++j) ask_for(block.outputs[j], block.width);
  if (!block.centre_gradients) return;
  ask_for(block.centre_gradients[pair], block.width);
  for (std::size_t j = pair * block.targets; j < (pair + 1) * block.targets; ++j) ask_for(block.output_gradients[j], block.width);
}

STRAGGLER_INLINE PairRows rows_of(const PairBlock& block, std::size_t pair) {
  const std::size_t first = pair * block.targets;
  return {block.centres[pair],
          block.outputs + first,
          block.centre_gradients[pair],
          block.output_gradients + first,
          (block.centres_before ? block.centres_before : block.centre_gradients)[pair],
          (block.outputs_before ? block.outputs_before : block.output_gradients) + first};
}

double negative_sampling(const PairBlock& block) {
  LogisticLoss loss;
  float factors[most_targets];
  for (std::size_t pair = 0; pair < block.pairs; ++pair) {
    const float weight = block.scale ? block.scale[pair] : 1.0f;
    if (pair + 1 < block.pairs) ask_for_pair(block, pair + 1);
    loss.use(weight);
    const PairFactors body{block, pair, weight, loss, factors};
    std::size_t first = 0;
    for (; first + most_height <= block.targets; first += most_height) body.template operator()<most_height>(first);
    last_targets<most_height - 1>(block.targets - first, first, body);
    if (!block.centre_gradients) continue;
    const PairRows rows = rows_of(block, pair);
    constexpr std::size_t step = most_columns * lanes;
    std::size_t from = 0;
    for (; from + step <= block.width; from += step) spread_columns<most_columns, false>(lanes, block.targets, factors, rows, from);
    last_columns<most_columns>(block.width, block.targets, factors, rows, from);
  }
  loss.flush();
  return loss.total;
}
