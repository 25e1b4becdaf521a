// oneDNN's operators (https://oneapi-src.github.io/oneDNN/v2.6/) on raw pointers: convolutions, linear layers, average pools and changes of
// layout, forward and backward, fp32. Only files of this folder include oneDNN's headers.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/window.hpp"

namespace straggler::onednn {

/// Restricts oneDNN to the instructions of the kernels with that name ("x86-64-v3": AVX2). The library allows this once per process, before
/// its first use: false if the process has chosen otherwise, if another library has used the same oneDNN before (Debian's PyTorch) and the
/// processor has more instructions, or if oneDNN has no code for these kernels ("generic").
bool confine(std::string_view kernels);

/// Memory layout of a tensor.
class Layout {
 public:
  Layout() = default;
  /// Row-major.
  static Layout plain(const std::vector<std::size_t>& shape);
  /// [rows, channels, height, width] in the layout of Maps, in blocks of that many channels: 1, 4, 8 or 16.
  static Layout maps(const std::vector<std::size_t>& shape, std::size_t block);
  std::size_t bytes() const;  // including padding channels
  std::size_t floats() const { return bytes() / sizeof(float); }
  /// For maps [rows, channels, height, width]: `block` of Maps; 0 for any other layout.
  std::size_t block() const;
  bool operator==(const Layout& other) const;

 private:
  friend struct Access;
  struct Descriptor;
  std::shared_ptr<const Descriptor> descriptor_;
};

/// One of oneDNN's primitives, made for one shape. Immutable; may run in several threads at once, each with its own memory. Computes in the
/// calling thread, independent of OpenMP's settings.
class Operator {
 public:
  /// Layout of an argument, numbered as the functions below name them.
  const Layout& layout(std::size_t argument) const;
  std::size_t scratch_bytes() const;
  std::string implementation() const;  // oneDNN's name for it: "jit_wino_4x3:avx512_core"
  /// Scratch is aligned to a cache line. Throws std::runtime_error if oneDNN fails.
  void run(const std::vector<const void*>& arguments, void* scratch) const;

 private:
  friend struct Access;
  struct Primitive;
  std::shared_ptr<const Primitive> primitive_;
};

/// Algorithm of a convolution. Winograd (Lavin & Gray 2016, F(4x4, 3x3)) needs up to four times fewer multiplications and rounds more
/// coarsely. Where oneDNN lacks it (anything but stride 1, 3x3, AVX-512), the convolution is direct.
enum class Algorithm { direct, winograd };

struct Convolution {
  std::size_t rows, in_channels, out_channels, groups;
  SlidingWindow slide;
  bool bias;
  Algorithm algorithm = Algorithm::direct;
  /// Row-major: [out, in / groups, height, width] for one group, else [groups, out / groups, …], with the same memory layout.
  Layout plain_weight() const;
};

// oneDNN chooses the layouts of sources, weights and results. Arguments in this order:
/// source, weight, result[, bias]
Operator convolution(const Convolution& convolution);
/// gradient of the result, weight, gradient of the source
Operator convolution_by_source(const Convolution& convolution);
/// source, gradient of the result, gradient of the weight[, gradient of the bias]
Operator convolution_by_weight(const Convolution& convolution);

struct Linear {
  std::size_t rows, in, out;
  Layout plain_weight() const { return Layout::plain({out, in}); }
};
// Sources and results are row-major, oneDNN chooses the weight's layout. Arguments as above, with a bias.
Operator linear(const Linear& linear);
Operator linear_by_source(const Linear& linear);
Operator linear_by_weight(const Linear& linear);

/// Means of windows, in which padding counts as zeros.
struct Pool {
  std::size_t rows, channels;
  SlidingWindow slide;
};
/// source, result: both in the layout `source`
Operator average_pool(const Pool& pool, const Layout& source);
/// gradient of the result, gradient of the source
Operator average_pool_backward(const Pool& pool, const Layout& source);

/// from, to; `add`: accumulates into the destination.
Operator reorder(const Layout& from, const Layout& to, bool add = false);

}  // namespace straggler::onednn
