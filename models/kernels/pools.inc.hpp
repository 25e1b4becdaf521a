// Pools on panels. Included by set.inc.hpp only.

typedef std::uint8_t Bytes __attribute__((vector_size(lanes)));
typedef std::uint8_t UnalignedBytes __attribute__((vector_size(lanes), aligned(1), may_alias));

/// Calls body(offset) for the first float of every vector with samples, in panels of this many features.
template <class Body>
STRAGGLER_INLINE void for_sample_vectors(std::size_t rows, const Body& body) {
  for (std::size_t p = 0; p < panels_of(rows); ++p)
    for (std::size_t lane = 0; lane < rows_in(rows, p); lane += lanes) body(p, lane);
}

/// Calls body(place, rows, columns, width) for each place of the output, with the taps of its window inside the plane and the window's
/// width. The commonest windows, 2x2 without padding, have constant taps.
template <class Body>
STRAGGLER_INLINE void for_windows(const SlidingWindow& s, const Body& body) {
  const bool inside = s.pad_height == 0 && s.pad_width == 0 && (s.out_height - 1) * s.stride + s.height <= s.in_height &&
                      (s.out_width - 1) * s.stride + s.width <= s.in_width;
  if (inside && s.height == 2 && s.width == 2) {
    for (std::size_t row = 0, place = 0; row < s.out_height; ++row)
      for (std::size_t column = 0; column < s.out_width; ++column, ++place)
        body(place, Taps{0, 2, 1, row * s.stride, 1}, Taps{0, 2, 1, column * s.stride, 1}, 2);
    return;
  }
  for (std::size_t row = 0, place = 0; row < s.out_height; ++row)
    for (std::size_t column = 0; column < s.out_width; ++column, ++place)
      body(place, forward_taps(row, s.in_height, s.height, s.stride, s.pad_height),
           forward_taps(column, s.in_width, s.width, s.stride, s.pad_width), s.width);
}

void max_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* x, float* y, std::uint8_t* winner) {
  for_sample_vectors(rows, [&](std::size_t p, std::size_t lane) {
    for (std::size_t channel = p * channels; channel < (p + 1) * channels; ++channel) {
      const float* const plane = x + channel * s.inputs() * panel_rows + lane;
      const std::size_t to = channel * s.outputs() * panel_rows + lane;
      for_windows(
          s, [&](std::size_t place, const Taps& r, const Taps& c, std::size_t width) __attribute__((always_inline)) {
            const float* from = plane + (r.source * s.in_width + c.source) * panel_rows;
            Vector top = load(from);
            Integers best = Integers{} + static_cast<std::int32_t>(r.first * width + c.first);
            for (std::size_t i = 0; i < r.count; ++i, from += s.in_width * panel_rows)
              for (std::size_t j = 0; j < c.count; ++j) {
                const Vector value = load(from + j * panel_rows);
                const Integers larger = (value > top) | (value != value);
                top = larger ? value : top;
                best = larger ? Integers{} + static_cast<std::int32_t>((r.first + i) * width + c.first + j) : best;
              }
            store(y + to + place * panel_rows, top);
            *reinterpret_cast<UnalignedBytes*>(winner + to + place * panel_rows) = __builtin_convertvector(best, Bytes);
          });
    }
  });
}

void max_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* dy, const std::uint8_t* winner,
                       float* dx) {
  // If windows tile the plane, each place is written once and needs no initial zero.
  const bool tiles = s.pad_height == 0 && s.pad_width == 0 && s.stride == s.height && s.stride == s.width &&
                     s.out_height * s.stride == s.in_height && s.out_width * s.stride == s.in_width;
  for_sample_vectors(rows, [&](std::size_t p, std::size_t lane) {
    for (std::size_t channel = p * channels; channel < (p + 1) * channels; ++channel) {
      float* const plane = dx + channel * s.inputs() * panel_rows + lane;
      const std::size_t from = channel * s.outputs() * panel_rows + lane;
      if (!tiles)
        for (std::size_t place = 0; place < s.inputs(); ++place) store(plane + place * panel_rows, Vector{});
      for_windows(
          s, [&](std::size_t place, const Taps& r, const Taps& c, std::size_t width) __attribute__((always_inline)) {
            const Vector derivative = load(dy + from + place * panel_rows);
            const Integers best = __builtin_convertvector(
                static_cast<Bytes>(*reinterpret_cast<const UnalignedBytes*>(winner + from + place * panel_rows)), Integers);
            float* to = plane + (r.source * s.in_width + c.source) * panel_rows;
            for (std::size_t i = 0; i < r.count; ++i, to += s.in_width * panel_rows)
              for (std::size_t j = 0; j < c.count; ++j) {
                const auto tap = static_cast<std::int32_t>((r.first + i) * width + c.first + j);
                const Vector share = best == Integers{} + tap ? derivative : Vector{};
                store(to + j * panel_rows, tiles ? share : load(to + j * panel_rows) + share);
              }
          });
    }
  });
}

void average_pool_forward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* x, float* y) {
  const Vector divisor = all(static_cast<float>(s.places()));
  for_sample_vectors(rows, [&](std::size_t p, std::size_t lane) {
    for (std::size_t channel = p * channels; channel < (p + 1) * channels; ++channel) {
      const float* const plane = x + channel * s.inputs() * panel_rows + lane;
      float* const to = y + channel * s.outputs() * panel_rows + lane;
      for_windows(
          s, [&](std::size_t place, const Taps& r, const Taps& c, std::size_t) __attribute__((always_inline)) {
            Vector sum{};
            for (std::size_t i = 0; i < r.count; ++i)
              for (std::size_t j = 0; j < c.count; ++j) sum += load(plane + ((r.source + i) * s.in_width + c.source + j) * panel_rows);
            store(to + place * panel_rows, sum / divisor);
          });
    }
  });
}

void average_pool_backward(std::size_t rows, std::size_t channels, const SlidingWindow& s, const float* dy, const float* x, bool relu,
                           float* dx) {
  const Vector divisor = all(static_cast<float>(s.places()));
  for_sample_vectors(rows, [&](std::size_t p, std::size_t lane) {
    for (std::size_t channel = p * channels; channel < (p + 1) * channels; ++channel) {
      const std::size_t to = channel * s.inputs() * panel_rows + lane;
      const float* const plane = dy + channel * s.outputs() * panel_rows + lane;
      for (std::size_t row = 0, place = 0; row < s.in_height; ++row)
        for (std::size_t column = 0; column < s.in_width; ++column, ++place) {
          const Taps r = backward_taps(row, s.out_height, s.height, s.stride, s.pad_height);
          const Taps c = backward_taps(column, s.out_width, s.width, s.stride, s.pad_width);
          Vector sum{};
          for (std::size_t i = 0; i < r.count; ++i)
            for (std::size_t j = 0; j < c.count; ++j) sum += load(plane + ((r.source - i) * s.out_width + c.source - j) * panel_rows);
          Vector value = sum / divisor;
          if (relu) value = load(x + to + place * panel_rows) <= 0.0f ? Vector{} : value;
          store(dx + to + place * panel_rows, value);
        }
    }
  });
}
