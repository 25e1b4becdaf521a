// oneDNN's C++ interface, of version 2 or 3. Include this instead of dnnl.hpp. The library is loaded at the first call, so a timing-only
// run never loads it; a program that holds oneDNN itself (STRAGGLER_DNNL_LINKED) calls it directly.
#pragma once
#include <oneapi/dnnl/dnnl.h>

#ifdef STRAGGLER_DNNL_LINKED
namespace straggler::onednn {
// A oneDNN that is linked into the program has no threads of its own.
inline int parallel_threads() { return 1; }
inline void set_parallel_threads(int) {}
}  // namespace straggler::onednn
#else
#include <type_traits>

#include "sim/base/late_library.hpp"

namespace straggler::onednn {
inline const LateLibrary library(STRAGGLER_DNNL, STRAGGLER_DNNL_PACKAGE);

// The OpenMP runtime that oneDNN links, which is loaded with it.
inline const LateLibrary openmp("libgomp.so.1", "libgomp1");
inline int parallel_threads() {
  static auto* const late = openmp.function<int()>("omp_get_max_threads");
  return late();
}
inline void set_parallel_threads(int threads) {
  static auto* const late = openmp.function<void(int)>("omp_set_num_threads");
  late(threads);
}
}  // namespace straggler::onednn

// The C++ interface is inline code over the C functions below; calling an unlisted function is a linker error.
// The preprocessor does not expand a macro inside its own expansion, so ::name is the function itself.
#define STRAGGLER_LATE(name)                                                                                           \
  ([] {                                                                                                                \
    static auto* const late = ::straggler::onednn::library.function<std::remove_reference_t<decltype(::name)>>(#name); \
    return late;                                                                                                       \
  }())
#define dnnl_engine_create STRAGGLER_LATE(dnnl_engine_create)
#define dnnl_engine_destroy STRAGGLER_LATE(dnnl_engine_destroy)
#define dnnl_get_effective_cpu_isa STRAGGLER_LATE(dnnl_get_effective_cpu_isa)
#define dnnl_memory_create STRAGGLER_LATE(dnnl_memory_create)
#define dnnl_memory_desc_equal STRAGGLER_LATE(dnnl_memory_desc_equal)
#define dnnl_memory_desc_get_size STRAGGLER_LATE(dnnl_memory_desc_get_size)
#define dnnl_memory_destroy STRAGGLER_LATE(dnnl_memory_destroy)
#define dnnl_post_ops_append_sum STRAGGLER_LATE(dnnl_post_ops_append_sum)
#define dnnl_post_ops_create STRAGGLER_LATE(dnnl_post_ops_create)
#define dnnl_post_ops_destroy STRAGGLER_LATE(dnnl_post_ops_destroy)
#define dnnl_primitive_attr_create STRAGGLER_LATE(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy STRAGGLER_LATE(dnnl_primitive_attr_destroy)
#define dnnl_primitive_attr_set_post_ops STRAGGLER_LATE(dnnl_primitive_attr_set_post_ops)
#define dnnl_primitive_attr_set_scratchpad_mode STRAGGLER_LATE(dnnl_primitive_attr_set_scratchpad_mode)
#define dnnl_primitive_create STRAGGLER_LATE(dnnl_primitive_create)
#define dnnl_primitive_desc_destroy STRAGGLER_LATE(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_query STRAGGLER_LATE(dnnl_primitive_desc_query)
#define dnnl_primitive_desc_query_md STRAGGLER_LATE(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy STRAGGLER_LATE(dnnl_primitive_destroy)
#define dnnl_primitive_execute STRAGGLER_LATE(dnnl_primitive_execute)
#define dnnl_reorder_primitive_desc_create STRAGGLER_LATE(dnnl_reorder_primitive_desc_create)
#define dnnl_set_max_cpu_isa STRAGGLER_LATE(dnnl_set_max_cpu_isa)
#define dnnl_stream_create STRAGGLER_LATE(dnnl_stream_create)
#define dnnl_stream_destroy STRAGGLER_LATE(dnnl_stream_destroy)
#if DNNL_VERSION_MAJOR >= 3
#define dnnl_convolution_backward_data_primitive_desc_create STRAGGLER_LATE(dnnl_convolution_backward_data_primitive_desc_create)
#define dnnl_convolution_backward_weights_primitive_desc_create STRAGGLER_LATE(dnnl_convolution_backward_weights_primitive_desc_create)
#define dnnl_convolution_forward_primitive_desc_create STRAGGLER_LATE(dnnl_convolution_forward_primitive_desc_create)
#define dnnl_inner_product_backward_data_primitive_desc_create STRAGGLER_LATE(dnnl_inner_product_backward_data_primitive_desc_create)
#define dnnl_inner_product_backward_weights_primitive_desc_create STRAGGLER_LATE(dnnl_inner_product_backward_weights_primitive_desc_create)
#define dnnl_inner_product_forward_primitive_desc_create STRAGGLER_LATE(dnnl_inner_product_forward_primitive_desc_create)
#define dnnl_memory_create_v2 STRAGGLER_LATE(dnnl_memory_create_v2)  // of a oneDNN that was built with sparse memory, as Debian's
#define dnnl_memory_desc_clone STRAGGLER_LATE(dnnl_memory_desc_clone)
#define dnnl_memory_desc_create_with_strides STRAGGLER_LATE(dnnl_memory_desc_create_with_strides)
#define dnnl_memory_desc_create_with_tag STRAGGLER_LATE(dnnl_memory_desc_create_with_tag)
#define dnnl_memory_desc_destroy STRAGGLER_LATE(dnnl_memory_desc_destroy)
#define dnnl_memory_desc_get_size_v2 STRAGGLER_LATE(dnnl_memory_desc_get_size_v2)
#define dnnl_memory_desc_query STRAGGLER_LATE(dnnl_memory_desc_query)
#define dnnl_pooling_backward_primitive_desc_create STRAGGLER_LATE(dnnl_pooling_backward_primitive_desc_create)
#define dnnl_pooling_forward_primitive_desc_create STRAGGLER_LATE(dnnl_pooling_forward_primitive_desc_create)
#else
#define dnnl_convolution_backward_data_desc_init STRAGGLER_LATE(dnnl_convolution_backward_data_desc_init)
#define dnnl_convolution_backward_weights_desc_init STRAGGLER_LATE(dnnl_convolution_backward_weights_desc_init)
#define dnnl_convolution_forward_desc_init STRAGGLER_LATE(dnnl_convolution_forward_desc_init)
#define dnnl_inner_product_backward_data_desc_init STRAGGLER_LATE(dnnl_inner_product_backward_data_desc_init)
#define dnnl_inner_product_backward_weights_desc_init STRAGGLER_LATE(dnnl_inner_product_backward_weights_desc_init)
#define dnnl_inner_product_forward_desc_init STRAGGLER_LATE(dnnl_inner_product_forward_desc_init)
#define dnnl_memory_desc_init_by_strides STRAGGLER_LATE(dnnl_memory_desc_init_by_strides)
#define dnnl_memory_desc_init_by_tag STRAGGLER_LATE(dnnl_memory_desc_init_by_tag)
#define dnnl_pooling_backward_desc_init STRAGGLER_LATE(dnnl_pooling_backward_desc_init)
#define dnnl_pooling_forward_desc_init STRAGGLER_LATE(dnnl_pooling_forward_desc_init)
#define dnnl_post_ops_append_sum_v2 STRAGGLER_LATE(dnnl_post_ops_append_sum_v2)  // named, though never called, where inlining is off
#define dnnl_primitive_desc_iterator_create STRAGGLER_LATE(dnnl_primitive_desc_iterator_create)
#define dnnl_primitive_desc_iterator_destroy STRAGGLER_LATE(dnnl_primitive_desc_iterator_destroy)
#define dnnl_primitive_desc_iterator_fetch STRAGGLER_LATE(dnnl_primitive_desc_iterator_fetch)
#endif
#endif

#include <oneapi/dnnl/dnnl.hpp>
