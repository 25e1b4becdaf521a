#include "scenarios/import/torch_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "scenarios/import/chrome_trace.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::import_torch_trace {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool has_events(std::string_view text) { return (text.starts_with('{') || text.starts_with('[')) && has(text, "\"ph\""); }

/// A collective as the host issued it: what the kernels launched within it do not say themselves.
struct Call {
  Span span;
  std::uint64_t thread = 0;
  TraceCollective kind = TraceCollective::other;
  std::optional<double> elements, group;
  std::optional<int> element_bytes;
  bool gloo = false;
};

/// ProfilerStep#12
bool is_step(std::string_view name) {
  constexpr std::string_view begin = "ProfilerStep#";
  return name.starts_with(begin) && name.size() > begin.size() &&
         std::ranges::all_of(name.substr(begin.size()), [](char c) { return c >= '0' && c <= '9'; });
}

class Reading {
 public:
  void take(ChromeEvent& event) {
    ++trace_.events;
    const Span span{event.begin, event.end};
    const std::string_view name = event.name, category = event.category;
    if (category == "kernel" || category == "Kernel") return kernel(event, span);
    if (category == "gpu_memcpy" || category == "gpu_memset" || category == "Memcpy" || category == "Memset") {
      trace_.computing.push_back({span, event.correlation.value_or(-1)});
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime" || category == "runtime") {
      if (event.correlation) trace_.launches[*event.correlation] = {event.begin, event.thread};
    } else if (category == "user_annotation" || category == "cpu_op" || category == "Operator" || category == "operator" ||
               category.empty()) {
      host(event, span, name);
    }
  }

  TorchTrace finish(ChromeHeader header) {
    trace_.rank = header.rank;
    trace_.world = header.world;
    trace_.library = std::move(header.library);
    trace_.device = std::move(header.device);
    trace_.backend = std::move(header.backend);
    trace_.base = header.base;
    for (auto* spans : {&trace_.steps, &trace_.optimizers, &trace_.forwards, &trace_.backwards, &trace_.loaders})
      std::ranges::sort(*spans, {}, &Span::begin);
    std::ranges::sort(trace_.computing, {}, [](const TorchTrace::Work& work) { return work.span.begin; });
    std::ranges::sort(calls_, {}, [](const Call& call) { return std::pair(call.thread, call.span.begin); });
    for (TorchTrace::Collective& each : trace_.collectives) complete(each);
    if (trace_.computing.empty()) without_gpu();
    std::ranges::sort(trace_.collectives, {}, [](const TorchTrace::Collective& each) { return each.span.begin; });
    return std::move(trace_);
  }

 private:
  void kernel(ChromeEvent& event, const Span& span) {
    const std::string name = lower(event.name.substr(0, 40));
    if (!has(name, "nccl") && !has(name, "rccl")) {
      trace_.computing.push_back({span, event.correlation.value_or(-1)});
      return;
    }
    TorchTrace::Collective each;
    each.kind = collective_called(event.collective.empty() ? event.name.substr(0, event.name.find('(')) : event.collective);
    each.span = span;
    each.launch = event.correlation;
    each.elements = event.elements;
    each.element_bytes = element_bytes(event.element_type);
    each.group = event.group;
    trace_.collectives.push_back(each);
  }

  void host(ChromeEvent& event, const Span& span, std::string_view name) {
    if (is_step(name)) {
      trace_.steps.push_back(span);
    } else if (name.starts_with("autograd::engine::evaluate_function")) {
      trace_.backwards.push_back(span);
    } else if (name.starts_with("Optimizer.step")) {
      trace_.optimizers.push_back(span);
    } else if (name.starts_with("DistributedDataParallel.forward")) {
      trace_.forwards.push_back(span);
    } else if (name.starts_with("FullyShardedDataParallel.forward") || name.starts_with("FSDP::")) {
      trace_.sharded = true;
      if (name.starts_with("Full")) trace_.forwards.push_back(span);
    } else if (name.starts_with("enumerate(DataLoader)")) {
      trace_.loaders.push_back(span);
    } else if (name.starts_with("nccl:") || name.starts_with("gloo:") || name == "record_param_comms") {
      const std::string_view called = name == "record_param_comms" ? std::string_view(event.collective) : name;
      if (called.empty() && !event.elements) return;
      calls_.push_back({span, event.thread, collective_called(called), event.elements, event.group, element_bytes(event.element_type),
                        name.starts_with("gloo:")});
    }
  }

  /// From the calls around its launch: the innermost that knows.
  void complete(TorchTrace::Collective& each) {
    const auto launch = each.launch ? trace_.launches.find(*each.launch) : trace_.launches.end();
    if (launch == trace_.launches.end()) return;
    const auto& [at, thread] = launch->second;
    auto call = std::ranges::upper_bound(calls_, std::pair(thread, at), {},
                                         [](const Call& other) { return std::pair(other.thread, other.span.begin); });
    for (int back = 0; back < 8 && call != calls_.begin() && (--call)->thread == thread; ++back) {
      if (call->span.end < at) continue;
      if (each.kind == TraceCollective::other) each.kind = call->kind;
      if (!each.elements && call->elements) {
        each.elements = call->elements;
        each.element_bytes = call->element_bytes;
      }
      if (!each.element_bytes) each.element_bytes = call->element_bytes;
      if (!each.group) each.group = call->group;
    }
  }

  /// Gloo's calls are the collectives; it runs them on threads of its own.
  void without_gpu() {
    for (const Call& call : calls_)
      if (call.gloo && call.kind != TraceCollective::other)
        trace_.collectives.push_back({call.kind, call.span, {}, call.elements, call.element_bytes, call.group});
  }

  TorchTrace trace_;
  std::vector<Call> calls_;
};

}  // namespace
}  // namespace straggler::import_torch_trace

namespace straggler {

const char* name_of(TraceCollective kind) {
  constexpr std::array names = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "other"};
  return names[static_cast<std::size_t>(kind)];
}

TraceCollective collective_called(std::string_view name) {
  std::string letters;
  for (const char c : import_torch_trace::lower(name))
    if (c != '_') letters += c;
  constexpr std::array<std::pair<std::string_view, TraceCollective>, 6> parts = {{{"allreduce", TraceCollective::all_reduce},
                                                                                  {"allgather", TraceCollective::all_gather},
                                                                                  {"reducescatter", TraceCollective::reduce_scatter},
                                                                                  {"broadcast", TraceCollective::broadcast},
                                                                                  {"alltoall", TraceCollective::all_to_all},
                                                                                  {"sendrecv", TraceCollective::all_to_all}}};
  for (const auto& [part, kind] : parts)
    if (import_torch_trace::has(letters, part)) return kind;
  return TraceCollective::other;
}

std::optional<int> element_bytes(std::string_view type) {
  std::string name = import_torch_trace::lower(type);
  if (name.starts_with("c10::")) name.erase(0, 5);
  constexpr std::array<std::pair<std::string_view, int>, 18> known = {{{"float", 4},
                                                                       {"half", 2},
                                                                       {"bfloat16", 2},
                                                                       {"double", 8},
                                                                       {"long", 8},
                                                                       {"long int", 8},
                                                                       {"int", 4},
                                                                       {"byte", 1},
                                                                       {"char", 1},
                                                                       {"unsigned char", 1},
                                                                       {"bool", 1},
                                                                       {"short", 2},
                                                                       {"int8", 1},
                                                                       {"uint8", 1},
                                                                       {"float8_e4m3fn", 1},
                                                                       {"float8_e5m2", 1},
                                                                       {"int64", 8},
                                                                       {"int32", 4}}};
  for (const auto& [word, bytes] : known)
    if (word == name) return bytes;
  return std::nullopt;
}

bool is_torch_cpu(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  return text.starts_with('[') && import_torch_trace::has_events(text) && import_torch_trace::has(text, "\"CPU functions\"");
}

bool is_kineto(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  if (!import_torch_trace::has_events(text) || is_torch_cpu(start)) return false;
  for (const char* mark : {"\"deviceProperties\"", "\"cuda_runtime\"", "\"cpu_op\"", "ProfilerStep#", "\"gpu_memcpy\"",
                           "\"baseTimeNanoseconds\"", "autograd::engine", "\"python_function\""})
    if (import_torch_trace::has(text, mark)) return true;
  return false;
}

TorchTrace read_torch_trace(const GivenFile& file) {
  import_torch_trace::Reading reading;
  ChromeHeader header = read_chrome_trace(file, [&](ChromeEvent& event) { reading.take(event); });
  return reading.finish(std::move(header));
}

void refuse_other_job(const std::string& one, const TorchTrace& a, const std::string& other, const TorchTrace& b) {
  const auto refuse = [&](const char* what, const std::string& of_one, const std::string& of_other) {
    if (of_one != of_other)
      throw DataError(fmt::format("{} and {}: are of two jobs: {} {} and {}; give the files of one", one, other, what,
                                  shown_text(shortened(of_one, 40)), shown_text(shortened(of_other, 40))));
  };
  if (a.world && b.world) refuse("world size", std::to_string(*a.world), std::to_string(*b.world));
  if (!a.backend.empty() && !b.backend.empty()) refuse("backend", a.backend, b.backend);
  if (!a.device.empty() && !b.device.empty()) refuse("device", a.device, b.device);
  refuse("gradients", a.sharded ? "sharded" : "whole", b.sharded ? "sharded" : "whole");
  if (a.world && b.rank && *b.rank >= *a.world)
    throw DataError(fmt::format("{}: is of rank {} in a job of {} ranks; give the original file", other, *b.rank, *a.world));
}

}  // namespace straggler
