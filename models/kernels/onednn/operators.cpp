#include "models/kernels/onednn/operators.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "models/kernels/onednn/late_dnnl.hpp"

namespace straggler::onednn {
namespace {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
constexpr auto fp32 = dnnl::memory::data_type::f32;

/// oneDNN splits work over the calling thread's OpenMP thread count, when a primitive is made and when it runs.
class OneThread {
 public:
  OneThread() : before_(parallel_threads()) {
    if (before_ != 1) set_parallel_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) set_parallel_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const dnnl::stream& this_thread() {
  thread_local const dnnl::stream stream(processor());
  return stream;
}

dnnl::memory::dim dim(std::size_t width) { return static_cast<dnnl::memory::dim>(width); }

Dims dims(std::initializer_list<std::size_t> widths) {
  Dims made;
  for (const std::size_t width : widths) made.push_back(dim(width));
  return made;
}

Desc any(const Dims& shape) { return Desc(shape, fp32, Tag::any); }

Desc row_major(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
  return Desc(shape, fp32, strides);
}

dnnl::primitive_attr own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// oneDNN 2 describes an operation before it describes the primitive; oneDNN 3 takes the arguments of both at once.

/// `Primitive` of a forward pass; empty if it is not available and `may_fail`.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(bool may_fail, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {processor(), arguments..., own_scratch(), may_fail};
#else
  return {typename Primitive::desc(arguments...), own_scratch(), processor(), may_fail};
#endif
}

/// `Primitive` of a backward pass, whose forward pass is `hint`.
template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc describe_backward(const Hint& hint, bool may_fail, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {processor(), arguments..., hint, own_scratch(), may_fail};
#else
  return {typename Primitive::desc(arguments...), own_scratch(), processor(), hint, may_fail};
#endif
}

}  // namespace

struct Layout::Descriptor {
  Desc desc;
};

struct Operator::Primitive {
  dnnl::primitive primitive;
  std::vector<int> names;  // oneDNN's names of the arguments
  std::vector<Layout> layouts;
  Desc scratch;
  std::string implementation;
};

struct Access {
  static Layout layout(const Desc& desc) {
    Layout made;
    made.descriptor_ = std::make_shared<const Layout::Descriptor>(Layout::Descriptor{desc});
    return made;
  }
  static const Desc& desc(const Layout& layout) { return layout.descriptor_->desc; }

  template <class Primitive, class PrimitiveDesc>
  static Operator make(const PrimitiveDesc& made, std::vector<std::pair<int, Desc>> arguments) {
    auto primitive = std::make_shared<Operator::Primitive>();
    primitive->primitive = Primitive(made);
    for (const auto& [name, desc] : arguments) {
      primitive->names.push_back(name);
      primitive->layouts.push_back(layout(desc));
    }
    primitive->scratch = made.scratchpad_desc();
    primitive->implementation = made.impl_info_str();
    Operator out;
    out.primitive_ = std::move(primitive);
    return out;
  }
};

namespace {

/// The instruction set chosen for oneDNN in this process; empty: none yet.
struct Confinement {
  std::mutex mutex;
  std::string chosen;
};
Confinement& confinement() {
  static Confinement one;
  return one;
}

std::optional<dnnl::cpu_isa> instructions_of(std::string_view kernels) {
  if (kernels == "x86-64-v2") return dnnl::cpu_isa::sse41;
  if (kernels == "x86-64-v3") return dnnl::cpu_isa::avx2;
  if (kernels == "x86-64-v4") return dnnl::cpu_isa::avx512_core;
  return std::nullopt;
}

}  // namespace

bool confine(std::string_view kernels) {
  const std::lock_guard lock(confinement().mutex);
  std::string& chosen = confinement().chosen;
  const std::optional<dnnl::cpu_isa> most = instructions_of(kernels);
  if (!most || !chosen.empty()) return most && chosen == kernels;
  if (dnnl::set_max_cpu_isa(*most) != dnnl::status::success && dnnl::get_effective_cpu_isa() != *most) return false;
  chosen = kernels;
  return true;
}

Layout Layout::plain(const std::vector<std::size_t>& shape) {
  Dims widths;
  for (const std::size_t width : shape) widths.push_back(dim(width));
  return Access::layout(row_major(widths));
}

Layout Layout::maps(const std::vector<std::size_t>& shape, std::size_t block) {
  if (block == 1) return plain(shape);
  Dims widths;
  for (const std::size_t width : shape) widths.push_back(dim(width));
  return Access::layout(Desc(widths, fp32, block == 4 ? Tag::nChw4c : block == 8 ? Tag::nChw8c : Tag::nChw16c));
}

std::size_t Layout::bytes() const { return descriptor_ ? descriptor_->desc.get_size() : 0; }

bool Layout::operator==(const Layout& other) const {
  return descriptor_ && other.descriptor_ ? descriptor_->desc == other.descriptor_->desc : descriptor_ == other.descriptor_;
}

namespace {

/// How a layout lies in memory.
struct Blocking {
  bool blocked;
  dnnl::memory::dim offset;
  Dims widths, padded, strides, inner, inner_dims;
};

Blocking blocking_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  return {true,
          desc.get_submemory_offset(),
          desc.get_dims(),
          desc.get_padded_dims(),
          desc.get_strides(),
          desc.get_inner_blks(),
          desc.get_inner_idxs()};
#else
  const dnnl_memory_desc_t& all = desc.data;
  if (all.format_kind != dnnl_blocked) return {};
  const dnnl_blocking_desc_t& blocking = all.format_desc.blocking;
  const auto numbers = [](const dnnl_dim_t* first, int count) { return Dims(first, first + count); };
  return {true,
          all.offset0,
          numbers(all.dims, all.ndims),
          numbers(all.padded_dims, all.ndims),
          numbers(blocking.strides, all.ndims),
          numbers(blocking.inner_blks, blocking.inner_nblks),
          numbers(blocking.inner_idxs, blocking.inner_nblks)};
#endif
}

}  // namespace

std::size_t Layout::block() const {
  const Blocking all = blocking_of(descriptor_->desc);
  if (!all.blocked || all.widths.size() != 4 || all.offset != 0) return 0;
  if (all.inner.size() > 1 || (all.inner.size() == 1 && all.inner_dims[0] != 1)) return 0;
  const dnnl_dim_t block = all.inner.size() == 1 ? all.inner[0] : 1;
  const dnnl_dim_t height = all.widths[2], width = all.widths[3], blocks = (all.widths[1] + block - 1) / block;
  const Dims strides = {blocks * height * width * block, height * width * block, width * block, block};
  return all.padded[1] == blocks * block && all.strides == strides ? static_cast<std::size_t>(block) : 0;
}

const Layout& Operator::layout(std::size_t argument) const { return primitive_->layouts.at(argument); }
std::size_t Operator::scratch_bytes() const { return primitive_->scratch.get_size(); }
std::string Operator::implementation() const { return primitive_->implementation; }

void Operator::run(const std::vector<const void*>& arguments, void* scratch) const {
  const Primitive& own = *primitive_;
  if (arguments.size() != own.names.size()) throw std::logic_error("an operator of oneDNN was given other arguments than it takes");
  const OneThread one;
  try {
    std::unordered_map<int, dnnl::memory> memories;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      memories.emplace(own.names[i], dnnl::memory(Access::desc(own.layouts[i]), processor(), const_cast<void*>(arguments[i])));
    if (scratch_bytes() > 0) memories.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(own.scratch, processor(), scratch));
    own.primitive.execute(this_thread(), memories);
  } catch (const dnnl::error& failed) {
    throw std::runtime_error("oneDNN cannot run " + own.implementation + ": " + failed.what());
  }
}

namespace {

struct ConvolutionShapes {
  explicit ConvolutionShapes(const Convolution& c)
      : source(dims({c.rows, c.in_channels, c.slide.in_height, c.slide.in_width})),
        weight(c.groups == 1 ? dims({c.out_channels, c.in_channels, c.slide.height, c.slide.width})
                             : dims({c.groups, c.out_channels / c.groups, c.in_channels / c.groups, c.slide.height, c.slide.width})),
        result(dims({c.rows, c.out_channels, c.slide.out_height, c.slide.out_width})),
        bias(dims({c.out_channels})),
        strides(dims({c.slide.stride, c.slide.stride})),
        pads(dims({c.slide.pad_height, c.slide.pad_width})) {}
  Dims source, weight, result, bias, strides, pads;
};

dnnl::algorithm name_of(Algorithm algorithm) {
  return algorithm == Algorithm::winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
}

dnnl::convolution_forward::primitive_desc describe_forward(const Convolution& c, dnnl::algorithm algorithm, bool may_fail = false) {
  const ConvolutionShapes s(c);
  using Forward = dnnl::convolution_forward;
  const auto training = dnnl::prop_kind::forward_training;
  return c.bias ? describe<Forward>(may_fail, training, algorithm, any(s.source), any(s.weight), any(s.bias), any(s.result), s.strides,
                                    s.pads, s.pads)
                : describe<Forward>(may_fail, training, algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads, s.pads);
}

/// `by(algorithm, may_fail)` with Winograd if it is requested and available, else direct.
template <class By>
auto described(Algorithm algorithm, const By& by) {
  if (algorithm == Algorithm::winograd)
    if (auto made = by(name_of(algorithm), true)) return made;
  return by(dnnl::algorithm::convolution_direct, false);
}

}  // namespace

Layout Convolution::plain_weight() const { return Access::layout(row_major(ConvolutionShapes(*this).weight)); }

Operator convolution(const Convolution& c) {
  const OneThread one;
  const auto made =
      described(c.algorithm, [&c](dnnl::algorithm algorithm, bool may_fail) { return describe_forward(c, algorithm, may_fail); });
  std::vector<std::pair<int, Desc>> arguments = {
      {DNNL_ARG_SRC, made.src_desc()}, {DNNL_ARG_WEIGHTS, made.weights_desc()}, {DNNL_ARG_DST, made.dst_desc()}};
  if (c.bias) arguments.emplace_back(DNNL_ARG_BIAS, made.bias_desc());
  return Access::make<dnnl::convolution_forward>(made, std::move(arguments));
}

Operator convolution_by_source(const Convolution& c) {
  const OneThread one;
  const ConvolutionShapes s(c);
  using Backward = dnnl::convolution_backward_data;
  const auto hint = describe_forward(c, dnnl::algorithm::convolution_direct);
  const auto made = described(c.algorithm, [&](dnnl::algorithm algorithm, bool may_fail) {
    return describe_backward<Backward>(hint, may_fail, algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads, s.pads);
  });
  return Access::make<Backward>(
      made,
      {{DNNL_ARG_DIFF_DST, made.diff_dst_desc()}, {DNNL_ARG_WEIGHTS, made.weights_desc()}, {DNNL_ARG_DIFF_SRC, made.diff_src_desc()}});
}

Operator convolution_by_weight(const Convolution& c) {
  const OneThread one;
  const ConvolutionShapes s(c);
  using Backward = dnnl::convolution_backward_weights;
  const auto hint = describe_forward(c, dnnl::algorithm::convolution_direct);
  const auto made = described(c.algorithm, [&](dnnl::algorithm algorithm, bool may_fail) {
    return c.bias ? describe_backward<Backward>(hint, may_fail, algorithm, any(s.source), any(s.weight), any(s.bias), any(s.result),
                                                s.strides, s.pads, s.pads)
                  : describe_backward<Backward>(hint, may_fail, algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads,
                                                s.pads);
  });
  std::vector<std::pair<int, Desc>> arguments = {
      {DNNL_ARG_SRC, made.src_desc()}, {DNNL_ARG_DIFF_DST, made.diff_dst_desc()}, {DNNL_ARG_DIFF_WEIGHTS, made.diff_weights_desc()}};
  if (c.bias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, made.diff_bias_desc());
  return Access::make<Backward>(made, std::move(arguments));
}

namespace {

struct LinearShapes {
  explicit LinearShapes(const Linear& l)
      : source(row_major(dims({l.rows, l.in}))),
        weight(any(dims({l.out, l.in}))),
        result(row_major(dims({l.rows, l.out}))),
        bias(row_major(dims({l.out}))) {}
  Desc source, weight, result, bias;
  dnnl::inner_product_forward::primitive_desc forward() const {
    return describe<dnnl::inner_product_forward>(false, dnnl::prop_kind::forward_training, source, weight, bias, result);
  }
};

}  // namespace

Operator linear(const Linear& l) {
  const OneThread one;
  const auto made = LinearShapes(l).forward();
  return Access::make<dnnl::inner_product_forward>(made, {{DNNL_ARG_SRC, made.src_desc()},
                                                          {DNNL_ARG_WEIGHTS, made.weights_desc()},
                                                          {DNNL_ARG_DST, made.dst_desc()},
                                                          {DNNL_ARG_BIAS, made.bias_desc()}});
}

Operator linear_by_source(const Linear& l) {
  const OneThread one;
  const LinearShapes s(l);
  using Backward = dnnl::inner_product_backward_data;
  const auto made = describe_backward<Backward>(s.forward(), false, s.source, s.weight, s.result);
  return Access::make<Backward>(
      made,
      {{DNNL_ARG_DIFF_DST, made.diff_dst_desc()}, {DNNL_ARG_WEIGHTS, made.weights_desc()}, {DNNL_ARG_DIFF_SRC, made.diff_src_desc()}});
}

Operator linear_by_weight(const Linear& l) {
  const OneThread one;
  const LinearShapes s(l);
  using Backward = dnnl::inner_product_backward_weights;
  const auto made = describe_backward<Backward>(s.forward(), false, s.source, s.weight, s.bias, s.result);
  return Access::make<Backward>(made, {{DNNL_ARG_SRC, made.src_desc()},
                                       {DNNL_ARG_DIFF_DST, made.diff_dst_desc()},
                                       {DNNL_ARG_DIFF_WEIGHTS, made.diff_weights_desc()},
                                       {DNNL_ARG_DIFF_BIAS, made.diff_bias_desc()}});
}

namespace {

constexpr auto mean = dnnl::algorithm::pooling_avg_include_padding;

/// `of(strides, widths, ..., pads, pads)`: the windows of a pool; oneDNN 3 asks for their dilation, too.
template <class Of>
auto with_windows(const Pool& p, const Of& of) {
  const Dims pads = dims({p.slide.pad_height, p.slide.pad_width}), strides = dims({p.slide.stride, p.slide.stride});
  const Dims widths = dims({p.slide.height, p.slide.width});
#if DNNL_VERSION_MAJOR >= 3
  return of(strides, widths, dims({0, 0}), pads, pads);
#else
  return of(strides, widths, pads, pads);
#endif
}

dnnl::pooling_forward::primitive_desc describe_pool(const Pool& p, const Layout& source) {
  const Desc result = any(dims({p.rows, p.channels, p.slide.out_height, p.slide.out_width}));
  return with_windows(p, [&](const auto&... windows) {
    return describe<dnnl::pooling_forward>(false, dnnl::prop_kind::forward_training, mean, Access::desc(source), result, windows...);
  });
}

}  // namespace

Operator average_pool(const Pool& p, const Layout& source) {
  const OneThread one;
  const auto made = describe_pool(p, source);
  return Access::make<dnnl::pooling_forward>(made, {{DNNL_ARG_SRC, made.src_desc()}, {DNNL_ARG_DST, made.dst_desc()}});
}

Operator average_pool_backward(const Pool& p, const Layout& source) {
  const OneThread one;
  const auto forward = describe_pool(p, source);
  const auto made = with_windows(p, [&](const auto&... windows) {
    return describe_backward<dnnl::pooling_backward>(forward, false, mean, Access::desc(source), forward.dst_desc(), windows...);
  });
  return Access::make<dnnl::pooling_backward>(made, {{DNNL_ARG_DIFF_DST, made.diff_dst_desc()}, {DNNL_ARG_DIFF_SRC, made.diff_src_desc()}});
}

Operator reorder(const Layout& from, const Layout& to, bool add) {
  const OneThread one;
  dnnl::primitive_attr attributes = own_scratch();
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const dnnl::reorder::primitive_desc made(processor(), Access::desc(from), processor(), Access::desc(to), attributes);
  return Access::make<dnnl::reorder>(made, {{DNNL_ARG_FROM, Access::desc(from)}, {DNNL_ARG_TO, Access::desc(to)}});
}

}  // namespace straggler::onednn
