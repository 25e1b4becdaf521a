#include "scenarios/report/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/xml_text.hpp"

namespace straggler {
namespace {

constexpr double legend_line = 22, legend_mark = 26, legend_gap = 18, font = 13;

std::string tip_of(std::string_view tip) { return tip.empty() ? std::string() : fmt::format("<title>{}</title>", xml_text(tip)); }

/// Circle, square, triangle, diamond, cross …: distinct without colours.
std::string shape(double x, double y, std::size_t series) {
  switch (series % 4) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>", x, y);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8.4\" height=\"8.4\"/>", x - 4.2, y - 4.2);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5.2 9h-10.4z\"/>", x, y - 5.6);
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l5.4 5.4l-5.4 5.4l-5.4 -5.4z\"/>", x, y - 5.4);
  }
}

}  // namespace

std::string picture_style() {
  // Eight hues told apart with the common kinds of colour blindness (after Okabe and Ito), each at 3:1 or more on its ground.
  return R"(:root{--bg:#fff;--fg:#1d2129;--dim:#59616e;--rule:#dfe3e8;--panel:#f4f6f8;
--s0:#0067a5;--s1:#c8500a;--s2:#00805d;--s3:#a33c83;--s4:#8a6500;--s5:#2385b8;--s6:#6b4fb3;--s7:#5a5a5a}
@media(prefers-color-scheme:dark){:root{--bg:#14171c;--fg:#e6e9ee;--dim:#a2abb8;--rule:#343b45;--panel:#1d2229;
--s0:#5ab0ee;--s1:#ff9255;--s2:#3ec99b;--s3:#e895cd;--s4:#e6bd4a;--s5:#8fd3ff;--s6:#b9a3ff;--s7:#b5b5b5}}
svg text{font-size:13px;fill:var(--fg);font-family:system-ui,'DejaVu Sans',sans-serif}
svg .dim{fill:var(--dim)}svg .bold{font-weight:600}svg .small{font-size:11.5px}
svg .grid{stroke:var(--rule)}svg .axis{stroke:var(--dim)}svg .ideal{stroke:var(--dim);stroke-dasharray:6 5;fill:none}
svg .course{fill:none;stroke:currentColor;stroke-width:2}svg .bar{stroke:currentColor;stroke-width:1.5}
svg .full{fill:currentColor;stroke:none}svg .hollow{fill:var(--bg);stroke:currentColor;stroke-width:2}
svg .level{fill:var(--s0)}svg .band{fill:var(--dim)}svg .grey{color:var(--dim)}svg .tie{fill:var(--panel);stroke:var(--dim);stroke-dasharray:2 3}
svg .nobody{fill:none;stroke:var(--rule)}svg .best{fill:none;stroke:var(--fg);stroke-width:2.5}svg .ground{fill:var(--bg)}
.s0{color:var(--s0)}.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}.s5{color:var(--s5)}
.s6{color:var(--s6)}.s7{color:var(--s7)}
)";
}

double text_width(std::string_view text, double size) {
  // Only the first byte of a UTF-8 character counts.
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return 0.6 * size * static_cast<double>(letters);
}

Scale::Scale(const std::vector<double>& values, double from, double to, bool from_zero, double margin, bool may_be_logarithmic)
    : from_(from), to_(to) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  logarithmic_ = may_be_logarithmic && *low > 0 && *high >= 10 * *low;
  low_ = moved(from_zero && !logarithmic_ && *low > 0 ? 0 : *low);
  high_ = moved(*high);
  if (high_ == low_) high_ = low_ + (low_ == 0 ? 1 : std::abs(low_) * 0.1);
  const double more = margin * (high_ - low_);
  if (!(from_zero && !logarithmic_ && low_ == 0)) low_ -= more;
  high_ += more;
}

double Scale::moved(double value) const { return logarithmic_ ? std::log10(value) : value; }
double Scale::operator()(double value) const { return from_ + (moved(value) - low_) / (high_ - low_) * (to_ - from_); }

double Scale::lowest() const { return logarithmic_ ? std::pow(10.0, low_) : low_; }

double Scale::value_at_end() const { return logarithmic_ ? std::pow(10.0, high_) : high_; }

std::vector<double> Scale::ticks() const {
  std::vector<double> all;
  if (logarithmic_) {
    for (const bool fine : {true, false}) {
      all.clear();
      for (int decade = static_cast<int>(std::floor(low_)); decade <= static_cast<int>(std::ceil(high_)); ++decade)
        for (const double digit : {1.0, 2.0, 5.0})
          if (const double tick = digit * std::pow(10.0, decade); (fine || digit == 1) && moved(tick) >= low_ && moved(tick) <= high_)
            all.push_back(tick);
      if (all.size() <= 8) return all;
    }
    return all;
  }
  const double rough = (high_ - low_) / 5, unit = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * unit;
  for (const double part : {5.0, 2.0, 1.0})
    if (part * unit >= rough) step = part * unit;
  for (double i = std::ceil(low_ / step - 1e-9) + 0.0; i * step <= high_ * (1 + 1e-12); ++i) all.push_back(i * step);
  return all;
}

SvgPicture::SvgPicture(double width, double height, std::string label) : width_(width), height_(height), label_(std::move(label)) {}

void SvgPicture::style(std::string_view rules) { body_ += fmt::format("<style>{}</style>\n", rules); }

void SvgPicture::text(double x, double y, std::string_view text, Anchor anchor, std::string_view classes) {
  const char* const where = anchor == Anchor::start ? "" : anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
  fmt::format_to(std::back_inserter(body_), "<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, where,
                 classes.empty() ? std::string() : fmt::format(" class=\"{}\"", classes), xml_text(text));
}

void SvgPicture::upwards(double x, double y, std::string_view text) {
  fmt::format_to(std::back_inserter(body_),
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" class=\"dim\">{}</text>\n", x, y,
                 xml_text(text));
}

void SvgPicture::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  fmt::format_to(std::back_inserter(body_), "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
                 y2, classes);
}

void SvgPicture::path(const std::string& points, std::string_view classes) {
  fmt::format_to(std::back_inserter(body_), "<polyline points=\"{}\" class=\"{}\"/>\n", points, classes);
}

void SvgPicture::area(const std::string& points, std::string_view classes) {
  fmt::format_to(std::back_inserter(body_), "<polygon points=\"{}\" class=\"{}\"/>\n", points, classes);
}

void SvgPicture::shapes(const std::string& data, std::string_view classes) {
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" class=\"{}\"/>\n", data, classes);
}

void SvgPicture::rectangle(double x, double y, double width, double height, std::string_view classes, double opacity) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" class=\"{}\"{}/>\n", x, y, width, height,
                 classes, opacity == 1 ? std::string() : fmt::format(" fill-opacity=\"{:.3f}\"", opacity));
}

void SvgPicture::mark(double x, double y, std::size_t series, bool hollow, std::string_view tip) {
  fmt::format_to(std::back_inserter(body_), "<g class=\"s{} {}\">{}{}</g>\n", series % series_colours, hollow ? "hollow" : "full",
                 tip_of(tip), shape(x, y, series));
}

void SvgPicture::inset(double x, double y, double width, const SvgPicture& picture) {
  fmt::format_to(std::back_inserter(body_),
                 "<svg x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" viewBox=\"0 0 {:.0f} {:.0f}\">\n{}</svg>\n", x, y,
                 width, picture.height_ * width / picture.width_, picture.width_, picture.height_, picture.body_);
}

void SvgPicture::open(std::string_view classes, std::string_view tip) {
  fmt::format_to(std::back_inserter(body_), "<g class=\"{}\">{}", classes, tip_of(tip));
}

double SvgPicture::legend_height(double width, const std::vector<std::string>& names) {
  double x = 0, lines = 1;
  for (const std::string& name : names) {
    const double wide = legend_mark + text_width(name, font) + legend_gap;
    if (x > 0 && x + wide > width) {
      x = 0;
      ++lines;
    }
    x += wide;
  }
  return lines * legend_line;
}

void SvgPicture::legend(double left, double top, const std::vector<std::string>& names, const std::vector<std::size_t>& series,
                        bool marks) {
  double x = left, middle = top + legend_line / 2;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double wide = legend_mark + text_width(names[i], font) + legend_gap;
    if (x > left && x + wide > width_) {
      x = left;
      middle += legend_line;
    }
    open(fmt::format("s{}", series[i] % series_colours));
    if (marks)
      line(x, middle, x + 20, middle, "course");
    else
      rectangle(x + 2, middle - 8, 16, 16, "full");
    close();
    if (marks) mark(x + 10, middle, series[i], false, {});
    text(x + legend_mark, middle + 4.5, names[i]);
    x += wide;
  }
}

std::string SvgPicture::root(std::string_view attributes) const {
  return fmt::format("<svg {}viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                     attributes, width_, height_, width_, height_, xml_text(label_));
}

std::string SvgPicture::inside() const { return root("") + body_ + "</svg>\n"; }

bool SvgPicture::is_standalone(std::string_view text) {
  return text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=") &&
         text.find("</title>\n<style>\n:root{--bg:") != std::string_view::npos;
}

std::string SvgPicture::standalone() const {
  return root("xmlns=\"http://www.w3.org/2000/svg\" ") +
         fmt::format("<title>{}</title>\n<style>\n{}</style>\n<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n", xml_text(label_),
                     picture_style()) +
         body_ + "</svg>\n";
}

}  // namespace straggler
