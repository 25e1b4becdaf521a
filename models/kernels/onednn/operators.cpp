#include "models/kernels/onednn/operators.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "models/kernels/onednn/late_dnnl.hpp"

namespace straggler::onednn {
namespace {

// The OpenMP runtime that oneDNN links, which is loaded with it.
const LateLibrary openmp("libgomp.so.1", "libgomp1");
int omp_get_max_threads() {
  static auto* const late = openmp.function<int()>("omp_get_max_threads");
  return late();
}
void omp_set_num_threads(int threads) {
  static auto* const late = openmp.function<void(int)>("omp_set_num_threads");
  late(threads);
}

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
constexpr auto fp32 = dnnl::memory::data_type::f32;

/// oneDNN splits work over the calling thread's OpenMP thread count, when a primitive is made and when it runs.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
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

bool confinable(std::string_view kernels) {
  const std::lock_guard lock(confinement().mutex);
  return instructions_of(kernels) && (confinement().chosen.empty() || confinement().chosen == kernels);
}

bool confine(std::string_view kernels) {
  const std::lock_guard lock(confinement().mutex);
  std::string& chosen = confinement().chosen;
  const std::optional<dnnl::cpu_isa> most = instructions_of(kernels);
  if (!most || !chosen.empty()) return most && chosen == kernels;
  if (dnnl::set_max_cpu_isa(*most) != dnnl::status::success) return false;
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

std::size_t Layout::block() const {
  const dnnl_memory_desc_t& all = descriptor_->desc.data;
  if (all.format_kind != dnnl_blocked || all.ndims != 4 || all.offset0 != 0) return 0;
  const dnnl_blocking_desc_t& blocking = all.format_desc.blocking;
  if (blocking.inner_nblks > 1 || (blocking.inner_nblks == 1 && blocking.inner_idxs[0] != 1)) return 0;
  const dnnl_dim_t block = blocking.inner_nblks == 1 ? blocking.inner_blks[0] : 1;
  const dnnl_dim_t height = all.dims[2], width = all.dims[3], blocks = (all.dims[1] + block - 1) / block;
  const dnnl_dim_t strides[4] = {blocks * height * width * block, height * width * block, width * block, block};
  if (all.padded_dims[1] != blocks * block) return 0;
  return std::equal(strides, strides + 4, blocking.strides) ? static_cast<std::size_t>(block) : 0;
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
  const Forward::desc desc =
      c.bias ? Forward::desc(training, algorithm, any(s.source), any(s.weight), any(s.bias), any(s.result), s.strides, s.pads, s.pads)
             : Forward::desc(training, algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads, s.pads);
  return Forward::primitive_desc(desc, own_scratch(), processor(), may_fail);
}

/// `describe(algorithm, may_fail)` with Winograd if it is requested and available, else direct.
template <class Describe>
auto described(Algorithm algorithm, const Describe& describe) {
  if (algorithm == Algorithm::winograd)
    if (auto made = describe(name_of(algorithm), true)) return made;
  return describe(dnnl::algorithm::convolution_direct, false);
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
    const Backward::desc desc(algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads, s.pads);
    return Backward::primitive_desc(desc, own_scratch(), processor(), hint, may_fail);
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
    const Backward::desc desc =
        c.bias ? Backward::desc(algorithm, any(s.source), any(s.weight), any(s.bias), any(s.result), s.strides, s.pads, s.pads)
               : Backward::desc(algorithm, any(s.source), any(s.weight), any(s.result), s.strides, s.pads, s.pads);
    return Backward::primitive_desc(desc, own_scratch(), processor(), hint, may_fail);
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
    return {{dnnl::prop_kind::forward_training, source, weight, bias, result}, own_scratch(), processor()};
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
  const Backward::primitive_desc made({s.source, s.weight, s.result}, own_scratch(), processor(), s.forward());
  return Access::make<Backward>(
      made,
      {{DNNL_ARG_DIFF_DST, made.diff_dst_desc()}, {DNNL_ARG_WEIGHTS, made.weights_desc()}, {DNNL_ARG_DIFF_SRC, made.diff_src_desc()}});
}

Operator linear_by_weight(const Linear& l) {
  const OneThread one;
  const LinearShapes s(l);
  using Backward = dnnl::inner_product_backward_weights;
  const Backward::primitive_desc made({s.source, s.weight, s.bias, s.result}, own_scratch(), processor(), s.forward());
  return Access::make<Backward>(made, {{DNNL_ARG_SRC, made.src_desc()},
                                       {DNNL_ARG_DIFF_DST, made.diff_dst_desc()},
                                       {DNNL_ARG_DIFF_WEIGHTS, made.diff_weights_desc()},
                                       {DNNL_ARG_DIFF_BIAS, made.diff_bias_desc()}});
}

namespace {

constexpr auto mean = dnnl::algorithm::pooling_avg_include_padding;

dnnl::pooling_forward::primitive_desc describe_pool(const Pool& p, const Layout& source) {
  const Desc result = any(dims({p.rows, p.channels, p.slide.out_height, p.slide.out_width}));
  const Dims pads = dims({p.slide.pad_height, p.slide.pad_width});
  return {{dnnl::prop_kind::forward_training, mean, Access::desc(source), result, dims({p.slide.stride, p.slide.stride}),
           dims({p.slide.height, p.slide.width}), pads, pads},
          own_scratch(),
          processor()};
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
  const Dims pads = dims({p.slide.pad_height, p.slide.pad_width});
  const dnnl::pooling_backward::primitive_desc made({mean, Access::desc(source), forward.dst_desc(), dims({p.slide.stride, p.slide.stride}),
                                                     dims({p.slide.height, p.slide.width}), pads, pads},
                                                    own_scratch(), processor(), forward);
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
