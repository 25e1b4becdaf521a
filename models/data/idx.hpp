// IDX, the file format of MNIST and related sets (LeCun, Cortes, Burges: "The MNIST database", yann.lecun.com/exdb/mnist):
// two zero bytes, a type (8: unsigned byte), the number of dimensions, one big-endian 32-bit size per dimension, the items.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "models/data/sample_inputs.hpp"

namespace straggler {

struct Idx {
  std::vector<std::size_t> dimensions;  // outermost first: {items, rows, columns} or {items}
  std::size_t packed = 0;               // bytes of the compressed file; 0: it is plain
  SampleBytes file;                     // decompressed, header included; empty: only the header was read

  std::size_t start() const { return 4 + 4 * dimensions.size(); }
  /// The items, row-major.
  std::span<const std::uint8_t> bytes() const { return file.empty() ? std::span<const std::uint8_t>() : std::span(file).subspan(start()); }
};

/// Reads the header of a file of unsigned bytes with `dimensions` dimensions, plain or gzipped. Checks it against the size of the file as
/// far as possible without decompressing; above 64 MiB it may be 50 times smaller than its items, and is one stream. Throws DataError.
Idx read_idx_header(const std::filesystem::path& path, std::size_t dimensions);

/// The number of dimensions in a file's header; 0 if it is not an IDX file. Throws DataError if it cannot be read.
std::size_t idx_dimensions(const std::filesystem::path& path);

/// Reads the whole file, which must be exactly as long as its header says. Throws DataError.
Idx read_idx(const std::filesystem::path& path, std::size_t dimensions);

}  // namespace straggler
