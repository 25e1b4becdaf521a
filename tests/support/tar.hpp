// Tar archives and gzip, as other programs write them.
#pragma once
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace straggler::test {

/// A member of an archive: header (POSIX ustar), bytes, and zeros up to the next block of 512.
inline std::string tar_member(const std::string& name, std::string_view bytes, char type = '0') {
  std::string head(512, '\0');
  const auto put = [&head](std::size_t at, std::string_view text) { head.replace(at, text.size(), text); };
  put(0, std::string_view(name).substr(0, 100));
  put(100, "0000644");
  char size[13];
  std::snprintf(size, sizeof size, "%011o", static_cast<unsigned>(bytes.size()));
  put(124, size);
  put(148, "        ");
  head[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  char stated[8];
  std::snprintf(stated, sizeof stated, "%06o", sum);
  put(148, std::string_view(stated, 7));
  std::string member = head + std::string(bytes);
  member.resize((member.size() + 511) / 512 * 512, '\0');
  return member;
}

/// Behind the last member.
inline std::string tar_end() { return std::string(1024, '\0'); }

/// Writes the bytes packed by gzip.
inline void write_packed(const std::filesystem::path& file, std::string_view bytes) {
  const gzFile out = gzopen(file.c_str(), "wb9");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

}  // namespace straggler::test
