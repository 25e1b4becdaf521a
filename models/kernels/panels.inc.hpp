// Samples into panels and back. Included by set.inc.hpp only.

constexpr std::size_t panels_of(std::size_t rows) { return quotient_up(rows, panel_rows); }
constexpr std::size_t rows_in(std::size_t rows, std::size_t panel) { return least(panel_rows, rows - panel * panel_rows); }

/// Features first .. features - 1 of samples into `lanes` lanes of a panel. all_of(i, feature): `lanes` numbers of the i-th sample, from
/// `feature` on; some_of(i, feature, count): `count` of them, of the last features; also where there are fewer samples (not `whole`).
template <class AllOf, class SomeOf>
STRAGGLER_INLINE void to_lanes(std::size_t first, std::size_t features, bool whole, const AllOf& all_of, const SomeOf& some_of, float* to) {
  for (std::size_t feature = first; feature < features; feature += lanes) {
    const std::size_t count = least(lanes, features - feature);
    Vector square[lanes];
    if (whole && count == lanes) {
      STRAGGLER_UNROLL
      for (std::size_t i = 0; i < lanes; ++i) square[i] = all_of(i, feature);
    } else {
      for (std::size_t i = 0; i < lanes; ++i) square[i] = some_of(i, feature, count);
    }
    transpose(square);
    for (std::size_t i = 0; i < count; ++i) store(to + (feature + i) * panel_rows, square[i]);
  }
}

/// Where a row's features are, panel_rows floats apart.
STRAGGLER_INLINE float* lanes_of(float* panels, std::size_t features, std::size_t row) {
  return panels + row / panel_rows * panel_rows * features + row % panel_rows;
}

/// row_at(i): the start of row i < rows.
template <class RowAt>
STRAGGLER_INLINE void to_panels_from(std::size_t rows, std::size_t features, const RowAt& row_at, float* panels) {
  for (std::size_t row = 0; row < panels_of(rows) * panel_rows; row += lanes) {
    const float* at[lanes];
    for (std::size_t i = 0; i < lanes; ++i) at[i] = row + i < rows ? row_at(row + i) : nullptr;
    const auto all_of = [&](std::size_t i, std::size_t feature) __attribute__((always_inline)) { return load(at[i] + feature); };
    const auto some_of = [&](std::size_t i, std::size_t feature, std::size_t count) __attribute__((always_inline)) {
      return at[i] ? load_some(at[i] + feature, count) : Vector{};
    };
    to_lanes(0, features, row + lanes <= rows, all_of, some_of, lanes_of(panels, features, row));
  }
}

void to_panels(std::size_t rows, std::size_t features, const float* x, float* panels) {
  to_panels_from(
      rows, features, [=](std::size_t row) { return x + row * features; }, panels);
}

void gather_panels(std::size_t rows, std::size_t features, const float* x, const std::uint32_t* samples, float* panels) {
  to_panels_from(
      rows, features, [=](std::size_t row) { return x + samples[row] * features; }, panels);
}

void from_panels(std::size_t rows, std::size_t features, const float* panels, float* x) {
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const from = panels + row / panel_rows * features * panel_rows + row % panel_rows;
    for (std::size_t feature = 0; feature < features; ++feature) x[row * features + feature] = from[feature * panel_rows];
  }
}

#if defined(__AVX512F__)
/// values[at[lane]] from 8 tables of 32 values in registers: the lower 5 bits of a byte choose in each of them, the upper 3 the table.
STRAGGLER_INLINE Vector looked_up(const float* values, const std::uint8_t* at) {
  const __m512i bytes = _mm512_maskz_cvtepu8_epi32(every_lane, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  const auto in_table = [&](int table) __attribute__((always_inline)) {
    return static_cast<Vector>(_mm512_permutex2var_ps(load(values + table * 32), bytes, load(values + table * 32 + lanes)));
  };
  const auto bit = [&](int value) __attribute__((always_inline)) { return _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(value)); };
  const auto of = [](__mmask16 second, Vector a, Vector b) __attribute__((always_inline)) {
    return static_cast<Vector>(_mm512_mask_blend_ps(second, a, b));
  };
  const __mmask16 odd = bit(32), of_two = bit(64), of_four = bit(128);
  return of(of_four, of(of_two, of(odd, in_table(0), in_table(1)), of(odd, in_table(2), in_table(3))),
            of(of_two, of(odd, in_table(4), in_table(5)), of(odd, in_table(6), in_table(7))));
}
#else
/// One by one: a gather instruction is slower on Zen 3.
template <int... lane>
STRAGGLER_INLINE Vector looked_up(const float* values, const std::uint8_t* at, Lanes<lane...>) {
  return Vector{values[at[lane]]...};
}
STRAGGLER_INLINE Vector looked_up(const float* values, const std::uint8_t* at) { return looked_up(values, at, EveryLane()); }
#endif

/// All images that fill lanes, up to their last features; from where the rest is to be done.
STRAGGLER_INLINE std::size_t pixels_by_bytes([[maybe_unused]] std::size_t area, [[maybe_unused]] const PixelMap& map,
                                             [[maybe_unused]] const std::uint8_t* const* images, [[maybe_unused]] float* to) {
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("avx512vbmi")) {
    pixels_to_lanes(area, map, images, to);
    return area / lanes * lanes;
  }
#endif
  return 0;
}

/// Images are scattered in memory: while some are converted, the next ones are fetched. Of large ones only the start, which tells the
/// processor what follows.
STRAGGLER_INLINE void fetch(std::size_t rows, std::size_t from, std::size_t bytes, const std::uint8_t* images,
                            const std::uint32_t* samples) {
  constexpr std::size_t line = 64, start = 16 * line;
  for (std::size_t row = from; row < least(rows, from + lanes); ++row)
    for (std::size_t at = 0; at < least(bytes, start); at += line) __builtin_prefetch(images + samples[row] * bytes + at);
}

void gather_pixels(std::size_t rows, std::size_t channels, std::size_t area, const PixelMap* maps, const std::uint8_t* images,
                   const std::uint32_t* samples, float* panels) {
  const std::size_t features = channels * area;
  fetch(rows, 0, features, images, samples);
  for (std::size_t row = 0; row < panels_of(rows) * panel_rows; row += lanes) {
    fetch(rows, row + lanes, features, images, samples);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const PixelMap& map = maps[channel];
      const std::uint8_t* plane[lanes];
      for (std::size_t i = 0; i < lanes; ++i) plane[i] = row + i < rows ? images + samples[row + i] * features + channel * area : nullptr;
      const auto all_of = [&](std::size_t i, std::size_t at) __attribute__((always_inline)) {
        return looked_up(map.values, plane[i] + at);
      };
      const auto some_of = [&](std::size_t i, std::size_t at, std::size_t count) __attribute__((always_inline)) {
        Vector values{};
        for (std::size_t k = 0; plane[i] && k < count; ++k) values[k] = map.values[plane[i][at + k]];
        return values;
      };
      const bool whole = row + lanes <= rows;
      float* const to = lanes_of(panels, features, row) + channel * area * panel_rows;
      to_lanes(whole ? pixels_by_bytes(area, map, plane, to) : 0, area, whole, all_of, some_of, to);
    }
  }
}
