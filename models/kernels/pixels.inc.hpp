// Images of bytes into panels of floats, with AVX-512 VBMI. Included by set.inc.hpp only, in sets with AVX-512; those without VBMI use the
// tables of looked_up.
//
// A float is four bytes. Each is looked up for 64 pixels at once, in a table of 256 bytes that is held in registers; only then the four are
// put together. So the pixels are transposed while they are bytes.
#define STRAGGLER_BYTES [[gnu::target("avx512vbmi"), gnu::always_inline]] static inline

/// Byte `plane` of each of a map's floats.
struct BytePlane {
  __m512i quarters[4];
};

STRAGGLER_BYTES BytePlane byte_plane(const float* values, int plane) {
  alignas(64) std::uint8_t bytes[256];
  for (int i = 0; i < 256; i += lanes) {
    const __m512i shifted = _mm512_maskz_srl_epi32(every_lane, _mm512_castps_si512(load(values + i)), _mm_cvtsi32_si128(8 * plane));
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes + i), _mm512_maskz_cvtepi32_epi8(every_lane, shifted));
  }
  BytePlane made;
  STRAGGLER_UNROLL
  for (int i = 0; i < 4; ++i) made.quarters[i] = _mm512_load_si512(bytes + 64 * i);
  return made;
}

STRAGGLER_BYTES __m512i looked_up(const BytePlane& plane, __m512i pixels) {
  const __m512i low = _mm512_permutex2var_epi8(plane.quarters[0], pixels, plane.quarters[1]),
                high = _mm512_permutex2var_epi8(plane.quarters[2], pixels, plane.quarters[3]);
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(pixels), low, high);
}

/// Bytes [feature, feature + 16) of images first, first + 4, first + 8 and first + 12.
STRAGGLER_BYTES __m512i every_fourth(const std::uint8_t* const* images, std::size_t first, std::size_t feature) {
  const auto at = [=](std::size_t i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(images[first + i] + feature)); };
  __m512i made = _mm512_zextsi128_si512(at(0));
  made = _mm512_mask_broadcast_i32x4(made, 0x00F0, at(4));
  made = _mm512_mask_broadcast_i32x4(made, 0x0F00, at(8));
  return _mm512_mask_broadcast_i32x4(made, 0xF000, at(12));
}

/// to[area rounded down to 16][panel_rows]: the first `lanes` lanes, of as many images.
[[gnu::target("avx512vbmi")]] void pixels_to_lanes(std::size_t area, const PixelMap& map, const std::uint8_t* const* images, float* to) {
  const BytePlane planes[4] = {byte_plane(map.values, 0), byte_plane(map.values, 1), byte_plane(map.values, 2), byte_plane(map.values, 3)};
  for (std::size_t feature = 0; feature + lanes <= area; feature += lanes) {
    const __m512i a = every_fourth(images, 0, feature), b = every_fourth(images, 1, feature), c = every_fourth(images, 2, feature),
                  d = every_fourth(images, 3, feature);
    const __m512i ab[2] = {_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)},
                  cd[2] = {_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d)};
    STRAGGLER_UNROLL
    for (std::size_t four = 0; four < 4; ++four) {
      // Block l of 128 bits: features 4 four .. 4 four + 3, of each of them images 4 l .. 4 l + 3.
      const __m512i pixels =
          four % 2 == 0 ? _mm512_unpacklo_epi16(ab[four / 2], cd[four / 2]) : _mm512_unpackhi_epi16(ab[four / 2], cd[four / 2]);
      const __m512i p0 = looked_up(planes[0], pixels), p1 = looked_up(planes[1], pixels), p2 = looked_up(planes[2], pixels),
                    p3 = looked_up(planes[3], pixels);
      const __m512i low[2] = {_mm512_unpacklo_epi8(p0, p1), _mm512_unpackhi_epi8(p0, p1)},
                    high[2] = {_mm512_unpacklo_epi8(p2, p3), _mm512_unpackhi_epi8(p2, p3)};
      float* const at = to + (feature + 4 * four) * panel_rows;
      STRAGGLER_UNROLL
      for (std::size_t half = 0; half < 2; ++half) {
        store(at + 2 * half * panel_rows, static_cast<Vector>(_mm512_castsi512_ps(_mm512_unpacklo_epi16(low[half], high[half]))));
        store(at + (2 * half + 1) * panel_rows, static_cast<Vector>(_mm512_castsi512_ps(_mm512_unpackhi_epi16(low[half], high[half]))));
      }
    }
  }
}

#undef STRAGGLER_BYTES
