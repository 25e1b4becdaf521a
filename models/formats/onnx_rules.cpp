#include "models/formats/onnx_rules.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace straggler::formats::onnx {

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

double numbers_of(const Sides& sides) {
  double count = 1;
  for (const std::int64_t side : sides) count *= static_cast<double>(side);
  return count;
}

std::optional<Sides> common(const Sides& a, const Sides& b) {
  Sides out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {  // from the last one on
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t sides) {
  if (axis < 0) axis += static_cast<std::int64_t>(sides);
  if (axis < 0 || axis >= static_cast<std::int64_t>(sides)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

std::int64_t item(const std::vector<std::int64_t>* list, std::size_t at, std::int64_t otherwise) {
  return list != nullptr && at < list->size() ? (*list)[at] : otherwise;
}

std::optional<Sides> slid(const Node& node, const Sides& in, const Sides& window, std::int64_t channels) {
  if (in.size() < 3 || window.size() != in.size() - 2) return std::nullopt;
  const std::vector<std::int64_t>*const pads = node.integers("pads"), *const strides = node.integers("strides"),
                                        *const dilations = node.integers("dilations");
  const Attribute* const rule = node.find("auto_pad");
  const bool same = rule != nullptr && rule->text.starts_with("SAME"), up = node.integer("ceil_mode", 0) != 0;
  Sides out = {in[0], channels};
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::int64_t stride = item(strides, i, 1), dilation = item(dilations, i, 1);
    const std::int64_t before = item(pads, i, 0), behind = item(pads, i + window.size(), 0);
    for (const std::int64_t each : {stride, dilation, window[i]})
      if (each < 1 || each > longest_side) return std::nullopt;
    for (const std::int64_t each : {before, behind})
      if (each < 0 || each > longest_side) return std::nullopt;
    const std::int64_t reach = dilation * (window[i] - 1) + 1, room = in[i + 2] + before + behind - reach;
    if (same)
      out.push_back((in[i + 2] + stride - 1) / stride);
    else if (room < 0)
      return std::nullopt;
    else
      out.push_back((up ? (room + stride - 1) / stride : room / stride) + 1);
  }
  return out;
}

std::optional<Sides> widened(const Node& node, const Sides& in, const Sides& weight) {
  if (in.size() < 3 || weight.size() != in.size()) return std::nullopt;
  const std::vector<std::int64_t>*const pads = node.integers("pads"), *const strides = node.integers("strides"),
                                        *const more = node.integers("output_padding");
  const std::int64_t group = node.integer("group", 1);
  const auto too_long = [](std::int64_t side) { return side > longest_side; };
  if (group < 1 || group > longest_side || std::ranges::any_of(in, too_long) || std::ranges::any_of(weight, too_long)) return std::nullopt;
  Sides out = {in[0], weight[1] * group};
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    const std::int64_t stride = item(strides, i, 1);
    if (stride < 1 || stride > 1'000'000) return std::nullopt;
    const std::int64_t before = item(pads, i, 0), behind = item(pads, i + in.size() - 2, 0);
    if (before < 0 || before > longest_side || behind < 0 || behind > longest_side) return std::nullopt;
    const std::int64_t pad = before + behind;
    const std::int64_t extra = item(more, i, 0);
    if (extra < 0 || extra > longest_side) return std::nullopt;
    const std::int64_t side = stride * (in[i + 2] - 1) + extra + weight[i + 2] - pad;
    if (side < 1) return std::nullopt;
    out.push_back(side);
  }
  return out;
}

std::optional<Sides> of_blocks(const Node& node, const Sides& in) {
  const std::int64_t block = node.integer("blocksize", 0), square = block * block;
  if (block < 1 || block > 1000 || in.size() != 4) return std::nullopt;
  if (node.op == "DepthToSpace") {
    if (in[1] % square != 0 || std::max(in[2], in[3]) > longest_side / block) return std::nullopt;
    return Sides{in[0], in[1] / square, in[2] * block, in[3] * block};
  }
  if (in[2] % block != 0 || in[3] % block != 0 || in[1] > longest_side / square) return std::nullopt;
  return Sides{in[0], in[1] * square, in[2] / block, in[3] / block};
}

std::optional<Cut> cut_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t side) {
  if (step == 0 || step > longest_side || step < -longest_side) return std::nullopt;
  if (side == 0) return Cut{0, 0, step};
  const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? side : side - 1;  // of the end, which is left out
  const auto place = [&](std::int64_t at, std::int64_t low) { return std::clamp<std::int64_t>(at < 0 ? at + side : at, low, most); };
  const std::int64_t from = place(start, 0), to = place(end, least);
  const std::int64_t way = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
  return Cut{from, way > 0 ? (way + stride - 1) / stride : 0, step};
}

std::optional<Einsum> einsum_of(const Node& node, const Sides& a, const Sides* b) {
  const Attribute* const given = node.find("equation");
  std::string equation;
  if (given != nullptr)
    for (const char c : given->text)
      if (c != ' ') equation += c;
  const std::size_t arrow = equation.find("->"), comma = equation.find(',');
  if (arrow == std::string::npos || equation.find('.') != std::string::npos || (comma == std::string::npos) != (b == nullptr))
    return std::nullopt;
  std::map<char, std::int64_t> sides;
  const auto takes = [&](std::string_view letters, const Sides& in) {
    if (letters.size() != in.size()) return false;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (const auto [at, fresh] = sides.emplace(letters[i], in[i]); !fresh && at->second != in[i]) return false;
    return true;
  };
  const std::string_view left = std::string_view(equation).substr(0, arrow);
  const bool fits = b == nullptr ? takes(left, a) : takes(left.substr(0, comma), a) && takes(left.substr(comma + 1), *b);
  if (!fits) return std::nullopt;
  Einsum made;
  for (const char letter : std::string_view(equation).substr(arrow + 2)) {
    if (!sides.contains(letter) || made.out.size() >= most_sides) return std::nullopt;
    made.out.push_back(sides.at(letter));
  }
  made.products = b == nullptr ? 0 : 1;
  for (const auto& [letter, side] : sides) made.products *= static_cast<double>(side);
  return made;
}

std::optional<Sides> product(Sides a, Sides b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const std::int64_t height = a[a.size() - 2], inner = a.back(), width = b.back();
  if (b[b.size() - 2] != inner) return std::nullopt;
  std::optional<Sides> out = common({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!out) return out;
  if (!row) out->push_back(height);
  if (!column) out->push_back(width);
  return out;
}

}  // namespace straggler::formats::onnx
