#include "scenarios/import/trace_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace straggler::import_trace_steps {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<Span> joined_spans(std::vector<Span>& spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> out;
  for (const Span& span : spans)
    if (!out.empty() && span.begin <= out.back().end)
      out.back().end = std::max(out.back().end, span.end);
    else
      out.push_back(span);
  return out;
}

double length_of(const std::vector<Span>& joined) {
  double all = 0;
  for (const Span& span : joined) all += span.length();
  return all;
}

double common_length(const std::vector<Span>& a, const std::vector<Span>& b) {
  double all = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    all += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return all;
}

/// The spans that begin in [from, to).
template <class Spans, class Begin>
auto within(Spans& spans, double from, double to, Begin begin) {
  const auto first = std::ranges::lower_bound(spans, from, {}, begin);
  const auto last = std::ranges::lower_bound(spans, to, {}, begin);
  return std::ranges::subrange(first, last < first ? first : last);
}

/// A step as the host sees it, and what was launched in it.
struct Window {
  double begin = 0, end = 0;  // up to the next one; of the last one its own end
  double forward_begin = 0, backward_begin = never, backward_end = -never, optimizer_begin = never, optimizer_end = -never;
  double loader = 0;
  std::vector<TorchTrace::Work> forward, backward, update;  // of the GPU
  std::vector<const TorchTrace::Collective*> collectives;
  double launched(const TorchTrace& trace, std::int64_t correlation) const {
    const auto found = trace.launches.find(correlation);
    return found == trace.launches.end() ? never : found->second.at;
  }
};

class Finder {
 public:
  Finder(const TorchTrace& trace, const std::string& what) : trace_(trace), what_(what) {}

  TraceSteps find() {
    windows();
    if (windows_.empty())
      throw DataError(what_ +
                      ": is a trace without a whole step: it has neither a ProfilerStep nor two optimizer steps; call the "
                      "profiler's step() after each step");
    for (Window& window : windows_) host_parts(window);
    if (trace_.has_gpu()) assign_work();
    assign_collectives();
    choose_clock();
    if (out_.clock == TraceSteps::Clock::gpu)
      for (Window& window : windows_) end_backward(window);
    for (std::size_t i = 0; i < windows_.size(); ++i) add_step(i);
    if (out_.steps.empty()) throw DataError(what_ + ": is a trace with one step that ends before its work does; record two steps or more");
    return std::move(out_);
  }

 private:
  void windows() {
    out_.marked = !trace_.steps.empty();
    if (out_.marked) {
      for (std::size_t i = 0; i < trace_.steps.size(); ++i)
        add_window(trace_.steps[i].begin, i + 1 < trace_.steps.size() ? trace_.steps[i + 1].begin : trace_.steps[i].end);
    } else {
      for (std::size_t i = 1; i < trace_.optimizers.size(); ++i) add_window(trace_.optimizers[i - 1].end, trace_.optimizers[i].end);
    }
  }
  void add_window(double begin, double end) {
    if (!(end > begin)) return;
    Window& window = windows_.emplace_back();
    window.begin = begin;
    window.end = end;
  }

  void host_parts(Window& window) const {
    for (const Span& span : within(trace_.loaders, window.begin, window.end, &Span::begin)) window.loader += span.length();
    for (const Span& span : within(trace_.optimizers, window.begin, window.end, &Span::begin)) {
      window.optimizer_begin = std::min(window.optimizer_begin, span.begin);
      window.optimizer_end = std::max(window.optimizer_end, span.end);
    }
    for (const Span& span : within(trace_.backwards, window.begin, window.end, &Span::begin)) {
      if (span.begin > window.optimizer_begin) break;
      window.backward_begin = std::min(window.backward_begin, span.begin);
      window.backward_end = std::max(window.backward_end, span.end);
    }
    window.forward_begin = window.begin;
    for (const Span& span : within(trace_.forwards, window.begin, window.end, &Span::begin)) {
      window.forward_begin = span.begin;
      break;
    }
  }

  Window* window_at(double time) {
    const auto after = std::ranges::upper_bound(windows_, time, {}, &Window::begin);
    if (after == windows_.begin()) return nullptr;
    Window& window = *(after - 1);
    return !out_.marked && time >= window.end ? nullptr : &window;
  }

  /// By the time of its launch.
  void assign_work() {
    for (const TorchTrace::Work& work : trace_.computing) {
      const auto launch = trace_.launches.find(work.launch);
      if (launch == trace_.launches.end()) continue;
      Window* const window = window_at(launch->second.at);
      if (window == nullptr) continue;
      const double at = launch->second.at;
      (at < window->backward_begin ? window->forward : at < window->optimizer_begin ? window->backward : window->update).push_back(work);
    }
  }
  void assign_collectives() {
    for (const TorchTrace::Collective& each : trace_.collectives) {
      double at = each.span.begin;
      if (trace_.has_gpu()) {
        const auto launch = each.launch ? trace_.launches.find(*each.launch) : trace_.launches.end();
        if (launch == trace_.launches.end()) {
          ++out_.before_trace;
          continue;
        }
        at = launch->second.at;
      }
      if (Window* const window = window_at(at)) window->collectives.push_back(&each);
    }
  }

  std::vector<Span> computing(const Window& window) const {
    std::vector<Span> spans;
    for (const auto* part : {&window.forward, &window.backward, &window.update})
      for (const TorchTrace::Work& work : *part) spans.push_back(work.span);
    return joined_spans(spans);
  }
  static std::vector<Span> communicating(const Window& window) {
    std::vector<Span> spans;
    for (const TorchTrace::Collective* each : window.collectives) spans.push_back(each->span);
    return joined_spans(spans);
  }

  /// What is launched behind the last collective of gradients copies them out of their buckets, when these have been reduced.
  void end_backward(Window& window) const {
    double last = -never;
    for (const TorchTrace::Collective* each : window.collectives) {
      const double launch = each->launch ? window.launched(trace_, *each->launch) : never;
      if (each->kind == TraceCollective::all_reduce && launch >= window.backward_begin && launch < window.optimizer_begin)
        last = std::max(last, launch);
    }
    if (last == -never) return;
    const auto behind = std::ranges::stable_partition(
        window.backward, [&](const TorchTrace::Work& work) { return window.launched(trace_, work.launch) <= last; });
    if (behind.begin() == window.backward.begin()) return;
    window.update.insert(window.update.begin(), behind.begin(), behind.end());
    window.backward.erase(behind.begin(), behind.end());
    std::ranges::stable_sort(window.update, {}, [](const TorchTrace::Work& work) { return work.span.begin; });
  }

  void choose_clock() {
    constexpr double filled = 0.5, binding = 0.2;
    double busy = 0, all = 0, waiting = 0;
    for (const Window& window : windows_) {
      const std::vector<Span> compute = computing(window), move = communicating(window);
      busy += length_of(compute) + length_of(move) - common_length(compute, move);
      all += window.end - window.begin;
      waiting += window.loader;
    }
    out_.loader_binds = waiting > binding * all;
    out_.clock =
        trace_.has_gpu() && out_.marked && !out_.loader_binds && busy > filled * all ? TraceSteps::Clock::gpu : TraceSteps::Clock::host;
  }

  static double first_of(const std::vector<TorchTrace::Work>& work) { return work.empty() ? never : work.front().span.begin; }
  static double last_of(const std::vector<TorchTrace::Work>& work) {
    double end = -never;
    for (const TorchTrace::Work& each : work) end = std::max(end, each.span.end);
    return end;
  }
  static double first_kernel(const Window& window) {
    return std::min({first_of(window.forward), first_of(window.backward), first_of(window.update)});
  }

  void add_step(std::size_t at) {
    const Window& window = windows_[at];
    TraceStep step;
    step.loader = 1e-6 * window.loader;
    const std::vector<Span> compute = computing(window), move = communicating(window);
    step.computing = 1e-6 * length_of(compute);
    step.communicating = 1e-6 * length_of(move);
    step.hidden = 1e-6 * common_length(compute, move);
    const bool gpu = out_.clock == TraceSteps::Clock::gpu;
    if (gpu && windows_.size() > 1) {
      if (at + 1 == windows_.size()) return;  // how long it takes, the next one would say
      const double begin = first_kernel(window), next = first_kernel(windows_[at + 1]);
      if (!(next > begin) || next == never) return;
      step.begin = begin;
      step.seconds = 1e-6 * (next - begin);
    } else {
      step.begin = window.begin;
      step.seconds = 1e-6 * (window.end - window.begin);
    }
    if (gpu)
      gpu_parts(window, step);
    else
      host_step(window, step);
    out_.steps.push_back(std::move(step));
  }

  void gpu_parts(const Window& window, TraceStep& step) const {
    const double begin = std::min(first_of(window.forward), first_of(window.backward));
    const double backward = std::min(first_of(window.backward), never);
    if (begin == never || backward == never) {
      step.forward = step.computing;
      return add_collectives(window, step, step.begin, never);
    }
    const double backward_end = last_of(window.backward);
    step.forward = 1e-6 * (backward - begin);
    step.backward = 1e-6 * (backward_end - backward);
    add_collectives(window, step, backward, backward_end);
    std::vector<Span> update;
    for (const TorchTrace::Work& work : window.update) update.push_back(work.span);
    step.update = 1e-6 * length_of_union(update);
  }

  void host_step(const Window& window, TraceStep& step) const {
    if (window.backward_begin == never) {
      step.forward = step.seconds - step.loader;
      return add_collectives(window, step, step.begin, never);
    }
    const bool has_forward = window.forward_begin > window.begin;
    const auto within_forward = std::ranges::find_if(trace_.forwards, [&](const Span& span) { return span.begin == window.forward_begin; });
    step.forward = 1e-6 * ((has_forward ? within_forward->end : window.backward_begin) - window.forward_begin);
    if (!has_forward) step.forward = std::max(0.0, step.forward - step.loader);
    step.backward = 1e-6 * (window.backward_end - window.backward_begin);
    add_collectives(window, step, window.backward_begin, window.backward_end);
    if (window.optimizer_begin == never) return;
    step.update = 1e-6 * (window.optimizer_end - window.optimizer_begin);
    // Up to the optimizer gradients are finished: copied out of their buckets, clipped.
    step.backward = std::max(step.backward, 1e-6 * (window.optimizer_begin - window.backward_begin) - step.exposed);
  }

  /// With the time that those of gradients take behind backward.
  void add_collectives(const Window& window, TraceStep& step, double backward, double backward_end) const {
    double last = -never;
    for (const TorchTrace::Collective* each : window.collectives) {
      TraceStep::Collective made;
      made.kind = each->kind;
      made.elements = each->elements;
      made.element_bytes = each->element_bytes;
      made.begin = each->span.begin;
      made.end = each->span.end;
      double ready = each->span.begin;
      if (each->launch && trace_.has_gpu()) {
        const double launch = window.launched(trace_, *each->launch);
        ready = out_.clock == TraceSteps::Clock::host ? launch : before(window, launch).value_or(ready);
      }
      made.ready = 1e-6 * (std::min(ready, each->span.begin) - backward);
      if (made.kind != TraceCollective::broadcast && made.begin >= backward) last = std::max(last, made.end);
      step.collectives.push_back(made);
    }
    std::ranges::stable_sort(step.collectives, {}, &TraceStep::Collective::begin);
    // A host that is slower than its GPU does not wait for it.
    if (backward_end == never || (out_.clock == TraceSteps::Clock::host && trace_.has_gpu())) return;
    const double stop = out_.clock == TraceSteps::Clock::host && window.optimizer_begin < never ? window.optimizer_begin : never;
    step.exposed = 1e-6 * std::max(0.0, std::min(last, stop) - backward_end);
  }
  /// When the backward work that was launched before `launch` ends.
  std::optional<double> before(const Window& window, double launch) const {
    double end = -never;
    for (const TorchTrace::Work& work : window.backward)
      if (window.launched(trace_, work.launch) < launch) end = std::max(end, work.span.end);
    return end > -never ? std::optional(end) : std::nullopt;
  }

  const TorchTrace& trace_;
  const std::string& what_;
  std::vector<Window> windows_;
  TraceSteps out_;
};

}  // namespace
}  // namespace straggler::import_trace_steps

namespace straggler {

double length_of_union(std::vector<Span>& spans) { return import_trace_steps::length_of(import_trace_steps::joined_spans(spans)); }

TraceSteps steps_of(const TorchTrace& trace, const std::string& what) { return import_trace_steps::Finder(trace, what).find(); }

}  // namespace straggler
