/* For readers of files that may be packed: the page unpacks what is dropped on it, so that files are plain here. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char Bytef;
typedef unsigned uInt;
typedef unsigned long uLong;
enum { Z_OK = 0, Z_STREAM_END = 1, Z_ERRNO = -1, Z_DATA_ERROR = -3, Z_BUF_ERROR = -5, Z_NO_FLUSH = 0 };
typedef struct {
  Bytef *next_in, *next_out;
  uInt avail_in, avail_out;
  uLong total_in, total_out;
  const char* msg;
} z_stream;
typedef struct gzFile_s* gzFile; /* a FILE */

static inline FILE* straggler_file(gzFile file) { return (FILE*)file; }
static inline gzFile gzopen(const char* path, const char* mode) { return (gzFile)fopen(path, mode); }
static inline int gzbuffer(gzFile, unsigned) { return 0; }
static inline int gzread(gzFile file, void* to, unsigned bytes) {
  const size_t got = fread(to, 1, bytes, straggler_file(file));
  return got == 0 && ferror(straggler_file(file)) ? -1 : (int)got;
}
static inline const char* gzerror(gzFile file, int* code) {
  *code = ferror(straggler_file(file)) ? Z_ERRNO : Z_OK;
  return "cannot be read";
}
static inline int gzclose_r(gzFile file) { return fclose(straggler_file(file)) == 0 ? Z_OK : Z_ERRNO; }
static inline int gzdirect(gzFile) { return 1; }
static inline long gzoffset(gzFile file) { return ftell(straggler_file(file)); }
static inline int gzeof(gzFile file) { return feof(straggler_file(file)); }
static inline int inflateInit2(z_stream* stream, int) {
  stream->msg = "the page does not unpack it";
  return Z_OK;
}
static inline int inflate(z_stream*, int) { return Z_DATA_ERROR; }
static inline int inflateReset(z_stream*) { return Z_OK; }
static inline int inflateEnd(z_stream*) { return Z_OK; }
