// Skip-gram with negative sampling, in blocks of pairs. Included by set.inc.hpp only.

/// Targets whose products with the centre are computed together, one register each.
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

/// Σ scale log(1 + e^s). log(1 + e^s) = max(s, 0) + log(1 + e^-|s|); one logarithm covers the product of many of the latter.
struct LogisticLoss {
  double total = 0, linear = 0, product = 1;
  float scale = 1;

  void flush() {
    total += static_cast<double>(scale) * (linear + ::log(product));
    linear = 0;
    product = 1;
  }
  /// Call before each pair, whose factors multiply to at most 2^most_targets.
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

/// Pairs per stage, so that none waits for another's results: their products, all factors, their gradients.
constexpr std::size_t pairs_at_once = 4;
/// For each target of these pairs, consecutively.
typedef float TargetValues[pairs_at_once * most_targets + lanes];

/// scores[j] = u · v[j] for some targets of a pair.
struct Products {
  std::size_t width;
  const float* u;
  const float* const* v;
  float* scores;

  template <int height>
  void operator()(std::size_t first) const {
    store(scores + first, products_with<height>(width, u, v + first));  // lanes past the last are overwritten next
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

/// Some columns of a row: `vectors` registers; the last has only `kept` floats if partial.
template <int vectors_, bool partial>
struct Columns {
  static constexpr int vectors = vectors_;
  std::size_t from, kept;

  STRAGGLER_MEMBER Vector get(const float* row, int i) const {
    const float* const at = row + from + i * lanes;
    return partial && i == vectors - 1 ? load_some(at, kept) : load(at);
  }
  STRAGGLER_MEMBER void put(float* row, int i, Vector x) const {
    float* const at = row + from + i * lanes;
    if (partial && i == vectors - 1)
      store_some(at, x, kept);
    else
      store(at, x);
  }
};

template <int vectors = most_columns, class Body>
STRAGGLER_INLINE void last_columns(std::size_t width, std::size_t from, const Body& body) {
  if constexpr (vectors > 0) {
    const std::size_t left = width - from;
    if (left == vectors * lanes)
      body(Columns<vectors, false>{from, lanes});
    else if (left < vectors * lanes && left > (vectors - 1) * lanes)
      body(Columns<vectors, true>{from, left - (vectors - 1) * lanes});
    else
      last_columns<vectors - 1>(width, from, body);
  }
}

/// Calls body(columns) until all columns of rows of `width` floats are done.
template <class Body>
STRAGGLER_INLINE void for_columns(std::size_t width, const Body& body) {
  constexpr std::size_t step = most_columns * lanes;
  std::size_t from = 0;
  for (; from + step <= width; from += step) body(Columns<most_columns, false>{from, lanes});
  last_columns(width, from, body);
}

/// One pair's gradient, given its factors.
struct SpreadPair {
  const PairBlock& block;
  std::size_t pair;
  const float* factors;

  template <class Some>
  STRAGGLER_MEMBER void operator()(const Some& columns) const {
    const std::size_t first = pair * block.targets, targets = block.targets;
    const float* const* const v = block.outputs + first;
    float* const du = block.centre_gradients[pair];
    Vector x[Some::vectors], sum[Some::vectors];
    STRAGGLER_UNROLL
    for (int i = 0; i < Some::vectors; ++i) {
      x[i] = columns.get(block.centres[pair], i);
      sum[i] = columns.get(block.centres_before ? block.centres_before[pair] : du, i);
    }
    if (block.output_gradients) {
      float* const* const dv = block.output_gradients + first;
      const float* const* const dv_before = (block.outputs_before ? block.outputs_before : block.output_gradients) + first;
      for (std::size_t j = 0; j < targets; ++j) {
        const Vector factor = all(factors[j]);
        const float *const row = v[j], *const before = dv_before[j];
        float* const out = dv[j];
        STRAGGLER_UNROLL
        for (int i = 0; i < Some::vectors; ++i) {
          sum[i] = multiply_add(factor, columns.get(row, i), sum[i]);
          columns.put(out, i, multiply_add(factor, x[i], columns.get(before, i)));
        }
      }
    } else {
      for (std::size_t j = 0; j < targets; ++j) {
        const Vector factor = all(factors[j]);
        const float* const row = v[j];
        STRAGGLER_UNROLL
        for (int i = 0; i < Some::vectors; ++i) sum[i] = multiply_add(factor, columns.get(row, i), sum[i]);
      }
      float* const copy = block.centre_copies[pair];
      STRAGGLER_UNROLL
      for (int i = 0; i < Some::vectors; ++i) columns.put(copy, i, x[i]);
    }
    STRAGGLER_UNROLL
    for (int i = 0; i < Some::vectors; ++i) columns.put(du, i, sum[i]);
  }
};

/// From the products of `count` pairs, the factors of their gradients: scale (σ(u · v) - (v is the context)).
void to_factors(const PairBlock& block, std::size_t from, std::size_t count, TargetValues& scores, LogisticLoss& loss,
                TargetValues& factors) {
  const std::size_t targets = block.targets;
  TargetValues exponentials;
  for (std::size_t pair = 0; pair < count; ++pair) scores[pair * targets] = -scores[pair * targets];
  for (std::size_t i = 0; i < count * targets; i += lanes) {
    const Vector s = load(scores + i), e = exponential(s < 0.0f ? s : -s);
    store(factors + i, sigmoid_of(s, e));
    store(exponentials + i, e);
  }
  for (std::size_t pair = 0; pair < count; ++pair) {
    const float scale = block.scale ? block.scale[from + pair] : 1.0f;
    const std::size_t first = pair * targets;
    factors[first] = -factors[first];
    for (std::size_t i = first; i < first + targets; ++i) factors[i] *= scale;
    if (!block.loss) continue;
    loss.use(scale);
    for (std::size_t i = first; i < first + targets; ++i) loss.add(scores[i], exponentials[i]);
  }
}

double negative_sampling(const PairBlock& block) {
  LogisticLoss loss;
  TargetValues scores, factors;
  for (std::size_t from = 0; from < block.pairs; from += pairs_at_once) {
    const std::size_t count = block.pairs - from < pairs_at_once ? block.pairs - from : pairs_at_once, values = count * block.targets;
    for (std::size_t pair = 0; pair < count; ++pair) {
      const std::size_t at = pair * block.targets;
      const Products products{block.width, block.centres[from + pair], block.outputs + from * block.targets + at, scores + at};
      std::size_t first = 0;
      for (; first + most_height <= block.targets; first += most_height) products.template operator()<most_height>(first);
      last_targets<most_height - 1>(block.targets - first, first, products);
    }
    for (std::size_t i = 0; block.scores && i < values; ++i) block.scores[from * block.targets + i] = scores[i];
    to_factors(block, from, count, scores, loss, factors);
    for (std::size_t i = 0; block.factors && i < values; ++i) block.factors[from * block.targets + i] = factors[i];
    for (std::size_t pair = 0; block.centre_gradients && pair < count; ++pair)
      for_columns(block.width, SpreadPair{block, from + pair, factors + pair * block.targets});
  }
  if (block.loss) loss.flush();
  return loss.total;
}

/// Computes one row as the sum of its terms: put(columns, i, sum) for each register of it.
template <class Put>
struct SumTerms {
  const RowTerms& terms;
  std::uint32_t first;
  const Put& put;

  template <class Some>
  STRAGGLER_MEMBER void operator()(const Some& columns) const {
    Vector sum[Some::vectors]{};
    for (std::uint32_t term = first; term != RowTerms::none; term = terms.next[term]) {
      const float* const source = terms.sources + terms.source[term] * terms.stride;
      const Vector factor = all(terms.factors[term]);
      STRAGGLER_UNROLL
      for (int i = 0; i < Some::vectors; ++i) sum[i] = multiply_add(factor, columns.get(source, i), sum[i]);
    }
    STRAGGLER_UNROLL
    for (int i = 0; i < Some::vectors; ++i) put(columns, i, sum[i]);
  }
};

template <class Put>
STRAGGLER_INLINE void with_sum(const RowTerms& terms, std::size_t row, const Put& put) {
  for_columns(terms.width, SumTerms<Put>{terms, terms.first[row], put});
}

void sum_terms(std::size_t count, const RowTerms& terms, std::size_t first, float* out) {
  for (std::size_t row = 0; row < count; ++row, out += terms.stride)
    with_sum(
        terms, first + row, [out](const auto& columns, int i, Vector sum) __attribute__((always_inline)) { columns.put(out, i, sum); });
}

void descend_terms(std::size_t count, float rate, const RowTerms& terms, std::size_t first, float* const* w) {
  const Vector back = all(-rate);
  for (std::size_t row = 0; row < count; ++row) {
    if (row + rows_ahead < count) ask_for(w[row + rows_ahead], terms.width);
    float* const at = w[row];
    with_sum(
        terms, first + row, [=](const auto& columns, int i, Vector sum) __attribute__((always_inline)) {
          columns.put(at, i, multiply_add(sum, back, columns.get(at, i)));
        });
  }
}
