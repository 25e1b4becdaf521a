#include "scenarios/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "scenarios/report/charts.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

void Timeline::contribution(std::uint64_t update, Time time, Rank worker, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t) {
  if (time > until_) return;
  if (updates_.empty() || updates_.back().version != update) updates_.push_back({update, time, {}});
  if (worker < workers()) updates_.back().workers.push_back(worker);
}

void Timeline::span(Rank worker, Phase phase, Time start, Time end) {
  if (worker >= workers() || start >= until_ || start == end) return;
  if (phase == Phase::compute) computed_[index_of(worker)].push_back(spans_[index_of(worker)].size());
  spans_[index_of(worker)].push_back({phase, start, end});
}

/// Dropped work was computed in one go: the first computations in a row that took exactly that long, or every other one of a row, if the
/// worker takes a local step after each.
void Timeline::wasted(Rank worker, Time spent) {
  if (worker >= workers()) return;
  std::vector<std::size_t>& computed = computed_[index_of(worker)];
  std::vector<Span>& spans = spans_[index_of(worker)];
  for (const std::size_t stride : {1u, 2u}) {
    for (std::size_t first = 0; first < computed.size(); ++first) {
      Time sum;
      std::size_t last = first;
      for (; last < computed.size() && sum < spent; last += stride) sum += spans[computed[last]].end - spans[computed[last]].start;
      if (sum != spent) continue;
      for (std::size_t each = first; each < last; each += stride) spans[computed[each]].phase = Phase::wasted;
      std::erase_if(computed, [&](std::size_t span) { return spans[span].phase == Phase::wasted; });
      return;
    }
  }
}

namespace {

constexpr double row_pitch = 34, block_height = 20, axis_height = 30, number_strip = 20;

/// The class of a sample's colour and of its shape in the legend, and what it means.
struct LegendItem {
  const char *meaning, *colour, *shape;
};
constexpr LegendItem in_update = {"work in this update", "s3", "dots"};

/// To a tenth of a pixel, as short as it can be.
std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

/// A span from x to x + width, around the middle of its row: a line whose class sets its thickness, or an outline. Neighbours are a pixel
/// apart.
std::string shape_of(std::string_view shape, double x, double width, double middle) {
  const double shown = std::max(0.6, width - 1);
  if (shape != "hollow" && shape != "nobody") return fmt::format("M{} {}h{}", px(x), px(middle), px(shown));
  const double inside = std::max(0.6, shown - 2);  // its outline is two pixels wide
  return fmt::format("M{} {}h{}v{}h{}z", px(x + 1), px(middle - block_height / 2 + 1), px(inside), px(block_height - 2), px(-inside));
}

std::string dot(double x, double y) { return fmt::format("M{} {}h0", px(x), px(y)); }

/// Item by item, line by line; returns the height. Without a picture it only measures.
double legend(SvgPicture* drawing, const std::vector<LegendItem>& items) {
  constexpr double line = 22, sample = 26, gap = 14, font = 13;
  double x = 0, y = 0;
  for (const LegendItem& item : items) {
    const double wide = sample + 6 + text_width(item.meaning, font) + gap;
    if (x > 0 && x + wide - gap > chart_width) {
      x = 0;
      y += line;
    }
    if (drawing) {
      const double middle = y + line / 2 + 2;
      const bool is_dot = item.shape == std::string_view(in_update.shape);
      drawing->open(item.colour);
      drawing->shapes(is_dot ? dot(x + sample / 2, middle) : shape_of(item.shape, x + 1, sample, middle), item.shape);
      drawing->close();
      drawing->text(x + sample + 6, middle + 4.5, item.meaning);
    }
    x += wide;
  }
  return y + line;
}

std::vector<LegendItem> legend_of(const Timeline& timeline) {
  std::vector<LegendItem> items;
  for (const PhaseRow& row : phase_rows)
    for (Rank worker = 0; worker < timeline.workers(); ++worker)
      if (std::ranges::any_of(timeline.spans(worker), [&](const Timeline::Span& span) { return span.phase == row.phase; })) {
        items.push_back({row.does, row.colour, row.shape});
        break;
      }
  if (!timeline.updates().empty()) items.push_back(in_update);
  return items;
}

}  // namespace

SvgPicture draw(const Timeline& timeline, const std::vector<std::string>& names, const std::string& label) {
  double widest = text_width("update", 11.5);
  for (const std::string& name : names) widest = std::max(widest, text_width(name, 13));
  const double left = widest + 12, right = chart_width - 16;
  const std::vector<LegendItem> items = legend_of(timeline);
  const double top = legend(nullptr, items) + 8 + number_strip, base = top + row_pitch * static_cast<double>(names.size());
  SvgPicture drawing(chart_width, base + axis_height, label);
  drawing.style(
      "svg .update{stroke:var(--fg);stroke-opacity:.45}svg .block,svg .thick,svg .dots{stroke:currentColor;stroke-width:20}"
      "svg .thick{stroke-width:8}svg .dots{stroke-width:9;stroke-linecap:round}");
  legend(&drawing, items);
  const Scale x({0, timeline.until().seconds()}, left, right, true, 0, false);
  const auto middle = [&](Rank worker) { return top + row_pitch * (static_cast<double>(worker) + 0.5); };

  for (Rank worker = 0; worker < timeline.workers(); ++worker)
    drawing.text(left - 8, middle(worker) + 4.5, names[index_of(worker)], SvgPicture::Anchor::end);
  for (const PhaseRow& row : phase_rows) {
    std::string all;
    for (Rank worker = 0; worker < timeline.workers(); ++worker)
      for (const Timeline::Span& span : timeline.spans(worker))
        if (span.phase == row.phase) {
          const double from = x(span.start.seconds()), to = x(std::min(span.end, timeline.until()).seconds());
          all += shape_of(row.shape, from, to - from, middle(worker));
        }
    if (all.empty()) continue;
    drawing.open(row.colour);
    drawing.shapes(all, row.shape);
    drawing.close();
  }

  std::string lines, marks;
  double free_from = left;
  for (const Timeline::Update& update : timeline.updates()) {
    const double at = x(update.time.seconds());
    lines += fmt::format("M{} {}V{}", px(at), px(top), px(base));
    for (const Rank worker : update.workers) marks += dot(at, middle(worker));
    const std::string number = std::to_string(update.version);
    const double half = text_width(number, 11.5) / 2 + 4;
    if (at - half < free_from) continue;
    drawing.text(at, top - 5, number, SvgPicture::Anchor::middle, "small dim");
    free_from = at + half;
  }
  if (!lines.empty()) {
    drawing.text(left - 8, top - 5, "update", SvgPicture::Anchor::end, "small dim");
    drawing.shapes(lines, "update");
    drawing.open(in_update.colour);
    drawing.shapes(marks, in_update.shape);
    drawing.close();
  }
  drawing.line(left, base, right, base, "axis");
  for (const double tick : x.ticks()) drawing.text(x(tick), base + 18, readable_seconds(tick), SvgPicture::Anchor::middle, "small");
  return drawing;
}

}  // namespace straggler
