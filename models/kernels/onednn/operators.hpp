// oneDNN's operators (https://oneapi-src.github.io/oneDNN/v2.6/) on raw pointers: convolutions, linear layers, average pools and changes of
// layout, forward and backward, fp32. The one door to oneDNN: no header of it is included outside this folder.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/window.hpp"

namespace straggler::onednn {

/// Makes oneDNN use no instructions beyond those of the kernels with that name ("x86-64-v3": AVX2). The library lets a process say so
/// once: false if the process has chosen otherwise, or has no code for these kernels ("generic").
bool confine(std::string_view kernels);
/// Whether `confine` would succeed.
bool confinable(std::string_view kernels);

/// How the numbers of a tensor lie in memory.
class Layout {
 public:
  Layout() = default;
  /// Row-major.
  static Layout plain(const std::vector<std::size_t>& shape);
  /// [rows, channels, height, width] as Maps has them in blocks of that many channels: 1, 4, 8 or 16.
  static Layout maps(const std::vector<std::size_t>& shape, std::size_t block);
  std::size_t bytes() const;  // with what lies past the last channel
  std::size_t floats() const { return bytes() / sizeof(float); }
  /// Of maps [rows, channels, height, width]: `block` of Maps; 0 where it lies otherwise.
  std::size_t block() const;
  bool operator==(const Layout& other) const;

 private:
  friend struct Access;
  struct Descriptor;
  std::shared_ptr<const Descriptor> descriptor_;
};

/// One of oneDNN's primitives, made for one shape. Immutable; may run in several threads at once, each with memory of its own. Computes
/// in the thread that calls it, whatever OpenMP is set to.
class Operator {
 public:
  /// Of an argument, numbered as the functions below name them.
  const Layout& layout(std::size_t argument) const;
  std::size_t scratch_bytes() const;
  std::string implementation() const;  // as oneDNN calls it: "jit_wino_4x3:avx512_core"
  /// Scratch begins at a cache line. Throws std::runtime_error if oneDNN fails.
  void run(const std::vector<const void*>& arguments, void* scratch) const;

 private:
  friend struct Access;
  struct Primitive;
  std::shared_ptr<const Primitive> primitive_;
};

/// How a convolution is computed. Winograd (Lavin & Gray 2016, F(4x4, 3x3)) takes up to four times fewer multiplications and rounds more
/// coarsely; where oneDNN has none (all but stride 1, 3x3, AVX-512), it is direct.
enum class Algorithm { direct, winograd };

struct Convolution {
  std::size_t rows, in_channels, out_channels, groups;
  SlidingWindow slide;
  bool bias;
  Algorithm algorithm = Algorithm::direct;
  /// Row-major: [out, in / groups, height, width] for one group, else [groups, out / groups, …], which lies the same.
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

/// from, to; `add`: added to what is there.
Operator reorder(const Layout& from, const Layout& to, bool add = false);

}  // namespace straggler::onednn
