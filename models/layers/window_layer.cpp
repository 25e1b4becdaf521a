#include "models/layers/window_layer.hpp"

#include <stdexcept>
#include <tuple>
#include <utility>

namespace straggler {
namespace {

constexpr double widest = 1e9;  // sums of such stay far from overflow

std::pair<std::size_t, std::size_t> height_and_width(const LayerSpec& layer, const char* name) {
  const std::vector<std::int64_t>& given = layer.parameters.counts(name);
  if (given.empty() || given.size() > 2)
    throw std::invalid_argument(std::string(name) + ": has " + std::to_string(given.size()) +
                                " numbers; write one for both sides, or [height, width]");
  return {static_cast<std::size_t>(given.front()), static_cast<std::size_t>(given.back())};
}

std::string sides(std::size_t height, std::size_t width) { return std::to_string(height) + " x " + std::to_string(width); }

}  // namespace

Parameter window_parameter(const char* fallback, bool required) {
  Parameter parameter{.name = "window",
                      .type = ValueType::counts,
                      .required = required,
                      .meaning = "places that an output meets: one number, or [height, width]",
                      .range = Range::between(1, widest)};
  if (fallback) parameter.fallback = fallback;
  return parameter;
}

Parameter stride_parameter(const char* fallback) {
  Parameter parameter{
      .name = "stride", .type = ValueType::count, .meaning = "places from output to output", .range = Range::between(1, widest)};
  if (fallback) parameter.fallback = fallback;
  return parameter;
}

Parameter pad_parameter() {
  return {.name = "pad",
          .type = ValueType::counts,
          .fallback = "[0]",
          .meaning = "places beyond each edge of the input: one number, or [height, width]",
          .range = Range::between(0, widest)};
}

Window window_of(const LayerSpec& layer) {
  Window window{layer.in.height, layer.in.width, 1, 0, 0};
  const bool given = layer.parameters.has("window");
  if (given) std::tie(window.height, window.width) = height_and_width(layer, "window");
  std::tie(window.pad_height, window.pad_width) = height_and_width(layer, "pad");
  if (layer.parameters.has("stride"))
    window.stride = layer.count("stride");
  else if (given && window.height != window.width)
    throw std::invalid_argument("a window of " + sides(window.height, window.width) + " has no stride; give one");
  else if (given)
    window.stride = window.height;
  return window;
}

Shape slide(const LayerSpec& layer, std::size_t channels) {
  const Window& window = layer.window;
  if (layer.in.height + 2 * window.pad_height < window.height || layer.in.width + 2 * window.pad_width < window.width)
    throw std::invalid_argument("the window is wider than its padded input: " + sides(window.height, window.width) + " on " +
                                shape_text(layer.in) + ", padded by " + sides(window.pad_height, window.pad_width) +
                                "; make the input larger or the window smaller");
  return {channels, (layer.in.height + 2 * window.pad_height - window.height) / window.stride + 1,
          (layer.in.width + 2 * window.pad_width - window.width) / window.stride + 1};
}

Shape slide_pool(const LayerSpec& layer) {
  const Window& window = layer.window;
  if (window.pad_height >= window.height || window.pad_width >= window.width)
    throw std::invalid_argument("some windows of " + sides(window.height, window.width) + " lie in the padding of " +
                                sides(window.pad_height, window.pad_width) + " alone; pad by less than the window's side");
  return slide(layer, layer.in.channels);
}

}  // namespace straggler
