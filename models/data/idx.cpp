#include "models/data/idx.hpp"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "models/data/dataset.hpp"
#include "models/data/unpacked.hpp"

namespace straggler {
namespace {

// Deflate compresses at most 1032 : 1 (zlib's technical notes), which bounds the size that a header may promise.
constexpr std::uintmax_t most_expansion = 1032;
// A larger file is one compressed stream that says its own size, so that a false promise is found before, or while, it is read once.
constexpr std::uintmax_t large = freely_unpacked;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& sentence) {
  throw DataError(fmt::format("{}: {}", path.string(), sentence));
}

class GzipFile {
 public:
  explicit GzipFile(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) fail(path, "no such file; give the path of an IDX file, plain or compressed by gzip");
    if (!std::filesystem::is_regular_file(path, error)) fail(path, "not a file; give the path of an IDX file, plain or compressed by gzip");
    size_ = std::filesystem::file_size(path, error);
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    if (!file_) fail(path, fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
    gzbuffer(file_, 1 << 18);
  }
  ~GzipFile() {
    if (file_) gzclose_r(file_);
  }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// The number of bytes read, below `count` only at the end.
  std::size_t read(void* out, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      const auto piece = static_cast<unsigned>(std::min<std::size_t>(count - done, 1u << 30));
      const int got = gzread(file_, static_cast<char*>(out) + done, piece);
      if (got < 0) damaged();
      if (got == 0) {
        int code = Z_OK;
        gzerror(file_, &code);
        if (code != Z_OK) damaged();
        break;
      }
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  /// Throws if a compressed stream ended early.
  void close() {
    const int result = gzclose_r(std::exchange(file_, nullptr));
    if (result == Z_BUF_ERROR) fail(path_, "the compressed stream is cut off; get the whole file");
    if (result != Z_OK) fail(path_, "reading failed; get a whole, undamaged file");
  }
  bool plain() { return gzdirect(file_) == 1; }
  std::uintmax_t size() const { return size_; }

 private:
  [[noreturn]] void damaged() {
    int code = Z_OK;
    const std::string message = gzerror(file_, &code);
    if (code == Z_BUF_ERROR) fail(path_, "the compressed stream is cut off; get the whole file");
    fail(path_, fmt::format("damaged ({}); get an undamaged IDX file, plain or compressed by gzip", message));
  }

  const std::filesystem::path& path_;
  std::uintmax_t size_ = 0;
  gzFile file_ = nullptr;
};

std::size_t checked_product(const std::filesystem::path& path, const std::vector<std::size_t>& dimensions, std::uintmax_t most) {
  std::uintmax_t total = 1;
  for (const std::size_t dimension : dimensions) {
    if (dimension == 0) fail(path, "the header says that there are no items; an IDX file of a data set has at least one");
    if (total > most / dimension)
      fail(path, fmt::format("the header promises sizes {}, more than the file can hold; get the whole, undamaged file",
                             fmt::join(dimensions, " x ")));
    total *= dimension;
  }
  return static_cast<std::size_t>(total);
}

/// The size that a compressed stream states at its end, modulo 2^32 (RFC 1952, ISIZE). The file has been opened, and has bytes.
std::uint32_t stated_size(const std::filesystem::path& path) {
  std::array<unsigned char, 4> tail{};
  std::ifstream in(path, std::ios::binary);
  in.seekg(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  if (!in.read(reinterpret_cast<char*>(tail.data()), tail.size())) fail(path, "reading failed; get a whole, undamaged file");
  return std::uint32_t{tail[3]} << 24 | std::uint32_t{tail[2]} << 16 | std::uint32_t{tail[1]} << 8 | tail[0];
}

/// A large compressed file holds what its header promises, as far as that can be told without decompressing it.
void check_promise(const std::filesystem::path& path, std::uintmax_t packed, std::uintmax_t promised) {
  if (promised <= large) return;
  if (unpacks_too_far(packed, promised))
    fail(path,
         fmt::format("its header asks for {} bytes, more than {} times the {} of the compressed file; get the whole, undamaged file, or "
                     "decompress it",
                     promised, most_unpacked, packed));
  if (const std::uint32_t stated = stated_size(path); stated != static_cast<std::uint32_t>(promised))
    fail(path, fmt::format("its header asks for {} bytes, but the compressed stream says that it holds {}; get the whole, undamaged file, "
                           "compressed as one stream",
                           promised, stated));
}

Idx read_header(GzipFile& file, const std::filesystem::path& path, std::size_t dimensions) {
  std::array<unsigned char, 4> magic{};
  const std::size_t got = file.read(magic.data(), magic.size());
  const auto expected = fmt::format("00 00 08 {:02x}", dimensions);
  if (got < magic.size()) fail(path, fmt::format("only {} bytes long; an IDX file starts with the bytes {}", got, expected));
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] != dimensions)
    fail(path, fmt::format("starts with the bytes {:02x}; an IDX file of unsigned bytes with {} dimension{} starts with {}",
                           fmt::join(magic, " "), dimensions, dimensions == 1 ? "" : "s", expected));
  Idx idx;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::array<unsigned char, 4> size{};
    if (file.read(size.data(), size.size()) < size.size())
      fail(path, fmt::format("ends inside its header; {} dimensions take {} bytes", dimensions, 4 + 4 * dimensions));
    idx.dimensions.push_back(std::size_t{size[0]} << 24 | std::size_t{size[1]} << 16 | std::size_t{size[2]} << 8 | size[3]);
  }
  const std::uintmax_t header = idx.start();
  if (!file.plain()) {
    check_promise(path, file.size(), header + checked_product(path, idx.dimensions, file.size() * most_expansion));
    idx.packed = static_cast<std::size_t>(file.size());
  } else if (const std::size_t items = checked_product(path, idx.dimensions, std::uintmax_t{1} << 48); items + header != file.size()) {
    fail(path, fmt::format("{} bytes long, but its header ({}) asks for {}; get the whole, undamaged file", file.size(),
                           fmt::join(idx.dimensions, " x "), items + header));
  }
  return idx;
}

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
};

/// Decompresses a file at once, three times as fast as zlib streams it. False unless it is a single intact compressed stream of exactly the
/// size of `out`: zlib then reads it or reports the error. Large files must be such a stream.
bool unpack(const std::filesystem::path& path, std::uintmax_t size, SampleBytes& out) {
  if (size < 18 || stated_size(path) != static_cast<std::uint32_t>(out.size())) return false;  // 18: a stream's head and tail
  SampleBytes packed(static_cast<std::size_t>(size));
  if (!std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(packed.data()), static_cast<std::streamsize>(size))) return false;
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  std::size_t read = 0;
  const bool good = decompressor &&
                    libdeflate_gzip_decompress_ex(decompressor.get(), packed.data(), packed.size(), out.data(), out.size(), &read,
                                                  nullptr) == LIBDEFLATE_SUCCESS &&
                    read == packed.size();
  if (!good && out.size() > large)
    fail(path, fmt::format("damaged: it is no compressed stream of the {} bytes that its header asks for; get an undamaged IDX file",
                           out.size()));
  return good;
}

}  // namespace

Idx read_idx_header(const std::filesystem::path& path, std::size_t dimensions) {
  GzipFile file(path);
  return read_header(file, path, dimensions);
}

std::size_t idx_dimensions(const std::filesystem::path& path) {
  GzipFile file(path);
  std::array<unsigned char, 4> magic{};
  return file.read(magic.data(), magic.size()) == magic.size() && magic[0] == 0 && magic[1] == 0 ? magic[3] : 0;
}

Idx read_idx(const std::filesystem::path& path, std::size_t dimensions) {
  GzipFile file(path);
  Idx idx = read_header(file, path, dimensions);
  std::size_t count = 1;
  for (const std::size_t dimension : idx.dimensions) count *= dimension;
  idx.file.resize(idx.start() + count);
  if (!file.plain() && unpack(path, file.size(), idx.file)) return idx;
  const std::size_t got = file.read(idx.file.data() + idx.start(), count);
  if (got < count) fail(path, fmt::format("holds {} of the {} bytes that its header promises; get the whole file", got, count));
  unsigned char extra = 0;
  if (file.read(&extra, 1) != 0)
    fail(path, fmt::format("continues after the {} bytes that its header promises; get an undamaged IDX file", count));
  file.close();
  return idx;
}

}  // namespace straggler
