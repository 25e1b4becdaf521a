/* As zlib.h beside it: nothing is packed. */
#pragma once
#include <stddef.h>

struct libdeflate_decompressor;
enum libdeflate_result { LIBDEFLATE_SUCCESS = 0, LIBDEFLATE_BAD_DATA = 1 };
static inline struct libdeflate_decompressor* libdeflate_alloc_decompressor(void) { return 0; }
static inline void libdeflate_free_decompressor(struct libdeflate_decompressor*) {}
static inline enum libdeflate_result libdeflate_gzip_decompress_ex(struct libdeflate_decompressor*, const void*, size_t, void*, size_t, size_t*, size_t*) {
  return LIBDEFLATE_BAD_DATA;
}
