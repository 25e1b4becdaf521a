// Pieces of a picture in SVG: scales with ticks, marks, legends, and the colours of pages and pictures, light and dark.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// CSS custom properties, light, and dark where the reader prefers it, then the styles of the pictures' classes.
std::string picture_style();

inline constexpr std::size_t series_colours = 8;  // classes s0 ... s7

/// An estimate, for the fonts of different readers: enough to keep labels apart.
double text_width(std::string_view text, double size);

/// Where values go on a line of pixels; logarithmic if the values are positive and span a decade or more.
class Scale {
 public:
  /// `values` is not empty. Linear scales of values that are not negative begin at zero if `from_zero`. `from`, `to`: pixels of the ends.
  Scale(const std::vector<double>& values, double from, double to, bool from_zero, double margin = 0.04, bool may_be_logarithmic = true);
  double operator()(double value) const;
  bool logarithmic() const { return logarithmic_; }
  /// The value at the first end.
  double lowest() const;
  /// The value at the second end.
  double value_at_end() const;
  /// Round values, at most about seven.
  std::vector<double> ticks() const;

 private:
  double moved(double value) const;
  bool logarithmic_ = false;
  double low_ = 0, high_ = 1, from_, to_;  // moved
};

class SvgPicture {
 public:
  /// `label`: description for screen readers.
  SvgPicture(double width, double height, std::string label);
  /// CSS of this picture only, in addition to picture_style().
  void style(std::string_view rules);
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start, std::string_view classes = {});
  void upwards(double x, double y, std::string_view text);
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  /// Through points, as "x,y x,y".
  void path(const std::string& points, std::string_view classes);
  /// Within points, as "x,y x,y".
  void area(const std::string& points, std::string_view classes);
  /// Outlines as SVG path data, in pixels: many shapes of one look at few bytes.
  void shapes(const std::string& data, std::string_view classes);
  void rectangle(double x, double y, double width, double height, std::string_view classes, double opacity = 1);
  /// A mark of the shape and colour of series `series`; hollow: not all repeats are in it.
  void mark(double x, double y, std::size_t series, bool hollow, std::string_view tip);
  /// Another picture, scaled to this width; without its style().
  void inset(double x, double y, double width, const SvgPicture& picture);
  /// Opens a group that shows `tip`; close() ends it.
  void open(std::string_view classes, std::string_view tip = {});
  void close() { body_ += "</g>\n"; }

  /// Marks (or boxes) and names of series, line by line within the width.
  void legend(double x, double y, const std::vector<std::string>& names, const std::vector<std::size_t>& series, bool marks);
  static double legend_height(double width, const std::vector<std::string>& names);

  double width() const { return width_; }
  double height() const { return height_; }
  /// As part of a page, whose style has the colours.
  std::string inside() const;
  /// As a file of its own.
  std::string standalone() const;
  /// Whether the text is the output of standalone(), of this version or an earlier one.
  static bool is_standalone(std::string_view text);

 private:
  std::string root(std::string_view attributes) const;

  double width_, height_;
  std::string label_, body_;
};

}  // namespace straggler
