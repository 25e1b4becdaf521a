// Attention of one sample in one head. Lanes are queries, so that the softmax over the keys needs no shuffles. Included by set.inc.hpp
// only.
//
// All products are tiles of tiles.inc.hpp. For the queries of a panel there is one table of shares, [keys][panel_rows], in panels of keys.

template <int width>
struct PanelProduct {
  std::size_t steps;
  const float* a;
  std::size_t a_row, a_step;
  const float* right;
  bool add;
  float* out;

  template <int height>
  void operator()(std::size_t row) const {
    Vector acc[height][width];
    float* const at = out + row * panel_rows;
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      acc[i][j] = add ? load(at + i * static_cast<int>(panel_rows) + j * lanes) : Vector{};
    });
    multiply<height, width>(steps, a + row * a_row, a_row, a_step, right, acc);
    for_registers<height, width>([&](int i, int j) __attribute__((always_inline)) {
      store(at + i * static_cast<int>(panel_rows) + j * lanes, acc[i][j]);
    });
  }
};

/// out[row][lane] = Σ_k a[row * a_row + k * a_step] right[k][lane] in `valid` lanes, k < steps in order; added if `add`.
[[gnu::noinline]] void panel_product(std::size_t valid, std::size_t rows, std::size_t steps, const float* a, std::size_t a_row,
                                     std::size_t a_step, const float* right, bool add, float* out) {
  for_vectors(quotient_up(valid, lanes), [&]<int width>(std::size_t lane) {
    for_tiles(rows, PanelProduct<width>{steps, a, a_row, a_step, right + lane, add, out + lane});
  });
}

constexpr std::size_t square_floats = panel_rows * panel_rows;

/// What the queries of one panel see: panels of keys, and the sizes of both.
struct QueryPanel {
  const AttentionHead& head;
  std::size_t panel;

  std::size_t queries() const { return rows_in(head.places, panel); }
  std::size_t panels() const { return head.causal ? panel + 1 : panels_of(head.places); }
  std::size_t keys(std::size_t p) const { return rows_in(head.places, p); }
  const float* of(const float* features, std::size_t p) const { return features + p * head.stride; }

  /// to[keys][lanes] = Σ over the features of left[keys] right[queries].
  STRAGGLER_MEMBER void by_keys(const float* left, const float* right, float* to) const {
    for (std::size_t p = 0; p < panels(); ++p)
      panel_product(queries(), keys(p), head.width, of(left, p), 1, panel_rows, right, false, to + p * square_floats);
  }
  /// to[features][lanes] = Σ over the keys of left[keys] table[keys][lanes].
  STRAGGLER_MEMBER void by_features(const float* left, const float* table, float* to) const {
    for (std::size_t p = 0; p < panels(); ++p)
      panel_product(queries(), head.width, keys(p), of(left, p), panel_rows, 1, table + p * square_floats, p > 0, to);
  }
  /// to[features][keys] += Σ over the queries of left[queries] table[keys][queries].
  STRAGGLER_MEMBER void to_keys(const float* left, const float* table, float* to, float* square) const {
    for (std::size_t p = 0; p < panels(); ++p) {
      transpose_panel(keys(p), table + p * square_floats, square);
      panel_product(keys(p), head.width, queries(), left, panel_rows, 1, square, true, to + p * head.stride);
    }
  }
};

/// The shares of the queries of a panel in table[keys][panel_rows]: scores, then their softmax.
STRAGGLER_INLINE void attention_shares(const QueryPanel& of, float* table) {
  const AttentionHead& head = of.head;
  of.by_keys(head.keys, of.of(head.queries, of.panel), table);
  const std::size_t before = of.panel * panel_rows, seen = head.causal ? before + of.queries() : head.places;
  const Vector scale = all(1.0f / __builtin_sqrtf(static_cast<float>(head.width)));
  for (std::size_t lane = 0; lane < of.queries(); lane += lanes) {
    float* const scores = table + lane;
    // Keys from `mixed` on are behind some of these places.
    const std::size_t mixed = head.causal ? before + lane : seen;
    for (std::size_t j = mixed; j < seen; ++j) {
      float* const at = scores + j * panel_rows;
      store(at, first_lanes(least(j - mixed, lanes)) != 0 ? all(-__builtin_inff()) : load(at));
    }
    const Vector top = largest(seen, scores);
    Vector sum{};
    for (std::size_t j = 0; j < seen; ++j) {
      const Vector e = exponential((load(scores + j * panel_rows) - top) * scale);
      store(scores + j * panel_rows, e);
      sum += e;
    }
    const Vector share = 1.0f / sum;
    for (std::size_t j = 0; j < seen; ++j) store(scores + j * panel_rows, load(scores + j * panel_rows) * share);
  }
}

void attention_forward(const AttentionHead& head, float* context) {
  for (std::size_t panel = 0; panel < panels_of(head.places); ++panel) {
    const QueryPanel of{head, panel};
    attention_shares(of, head.scratch);
    of.by_features(head.values, head.scratch, context + panel * head.context_stride);
  }
}

void attention_backward(const AttentionHead& head, const float* dcontext, float* dqueries, float* dkeys, float* dvalues) {
  float *const shares = head.scratch, *const slopes = shares + panel_floats(head.places, panel_rows),
               *const square = slopes + panel_floats(head.places, panel_rows);
  const Vector scale = all(1.0f / __builtin_sqrtf(static_cast<float>(head.width)));
  for (std::size_t panel = 0; panel < panels_of(head.places); ++panel) {
    const QueryPanel of{head, panel};
    const float* const by = dcontext + panel * head.context_stride;
    attention_shares(of, shares);
    of.by_keys(head.values, by, slopes);
    of.to_keys(by, shares, dvalues, square);
    // By the scores: p (dp - Σ p dp) / √width.
    const std::size_t seen = head.causal ? panel * panel_rows + of.queries() : head.places;
    for (std::size_t lane = 0; lane < of.queries(); lane += lanes) {
      const float* const p = shares + lane;
      float* const dp = slopes + lane;
      const Vector mean = channel_sum(
          seen, [&](std::size_t j) __attribute__((always_inline)) { return load(p + j * panel_rows) * load(dp + j * panel_rows); });
      for (std::size_t j = 0; j < seen; ++j) {
        float* const at = dp + j * panel_rows;
        store(at, load(p + j * panel_rows) * (load(at) - mean) * scale);
      }
    }
    of.by_features(head.keys, slopes, dqueries + panel * head.stride);
    of.to_keys(of.of(head.queries, panel), slopes, dkeys, square);
  }
}
