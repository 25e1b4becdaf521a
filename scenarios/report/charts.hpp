// The charts of pages: as data that the script of a page draws (scenarios/report/web), and as still pictures of lines, bars and cells for
// print, for readers without scripts, and for files.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/picture.hpp"
#include "scenarios/report/units.hpp"

namespace straggler {

/// Width of most pictures, and height of the labels and the title below an axis; in pixels.
inline constexpr double chart_width = 720, below_axis = 56;

/// A numeric axis: with labels of its own, as a sweep wrote them, or with round ticks.
struct NumberAxis {
  std::string title;
  std::vector<double> numbers;      // not empty
  std::vector<std::string> labels;  // of the numbers; empty: ticks
  NumberText text = nullptr;        // of ticks
};

struct ChartPoint {
  double x = 0, mean = 0;
  double half_width = 0;  // of the interval; 0: none
  bool some_missed = false;
  std::string tip, link = {};                   // link: to where a click leads
  std::optional<double> from = {}, up_to = {};  // of an interval that is not as wide to both sides
  double low() const { return from.value_or(mean - half_width); }
  double high() const { return up_to.value_or(mean + half_width); }
  bool has_interval() const { return high() > low(); }
};
/// A mark with words: a peak, a knee.
struct CurveNote {
  double x = 0, y = 0;
  std::string text;
};
struct Curve {
  std::string name;
  std::size_t colour = 0;
  std::vector<ChartPoint> points;                 // by x
  std::vector<double> missed;                     // x where no repeat has a value
  bool joined = true;                             // by a line; else marks alone
  std::vector<std::array<double, 3>> range = {};  // (x, low, high): an area behind the line
  std::vector<CurveNote> notes = {};
};
/// A stretch of x that stands out.
struct Band {
  double from = 0, to = 0;
  std::string name;  // above it; may be empty
};
struct LineChart {
  std::string label;  // description
  NumberAxis x;
  std::string y_title;
  NumberText y_text = nullptr;
  bool from_zero = true, marks = true, linear_x = false, linear_y = false, x_from_zero = true;
  std::vector<Curve> curves;
  std::vector<std::pair<double, double>> ideal;  // a broken line, drawn as far as the curves reach
  std::string ideal_name;
  std::vector<Band> bands;
  std::vector<double> lines = {}, ticks = {};  // x of lines through the picture, and of ticks on its axis
  bool square = false;                         // both axes alike: values against values of the same kind
};
SvgPicture draw(const LineChart& chart);

struct MapCell {
  enum class Kind : std::uint8_t { winner, level, tie, nobody, nothing };
  Kind kind = Kind::nothing;
  std::size_t series = 0;  // winner
  double level = 0;        // 0 .. 1
  bool best = false;
  std::vector<std::string> lines;  // the first one is bold
  std::string tip, link = {};
};
/// The values of the weakest and the strongest colour.
struct ColourScale {
  double low = 0, high = 0;
  NumberText text = nullptr;
  std::string title;
  bool less_is_better = true;
};
struct MapChart {
  std::string label, x_title, y_title;
  std::vector<std::string> x_labels, y_labels;  // y from below
  std::vector<std::vector<MapCell>> cells;      // [y][x]
  std::optional<ColourScale> scale = {};        // of cells with a level
  std::vector<std::string> series;              // of the legend; may be empty
  std::vector<std::size_t> looks;               // [series]; cells name a place in `series`
};
SvgPicture draw(const MapChart& chart);

/// Learning curves over several axes: time, epochs, updates, bytes.
struct LearningPoint {
  std::vector<double> x;  // [axes]
  double value = 0;
  std::optional<double> low = {}, high = {};  // over repeats
};
struct LearningCurve {
  std::string name;
  std::size_t colour = 0;
  std::vector<LearningPoint> points;
  std::string link = {};                                       // to where a click on it leads
  std::vector<double> reached = {};                            // [axes]: where it reaches the target; empty: it does not
  bool best = false;                                           // it is the first to reach it
  std::vector<std::pair<std::string, std::string>> keys = {};  // of a single run: settings by which runs can be grouped
  std::string reached_by = {};                                 // "1 of 2": not all of its runs do
};
/// On the axis of time: a failure, a rollback, a checkpoint.
struct LearningEvent {
  double seconds = 0;
  bool through = true;  // a line through the picture; else a tick on the axis
  std::string name;     // "rollback"
};
/// What is shown first: all, where values differ, or besides only until all have reached the target that do.
enum class Crop : std::uint8_t { none, values, both };
inline constexpr std::size_t most_still_points = 600;  // of a curve that does not move
struct LearningChart {
  std::string label, y_title;
  bool linear_y = true;
  std::vector<std::pair<std::string, NumberText>> axes;
  std::vector<LearningCurve> curves;
  std::optional<double> target;  // a broken line
  std::string target_name = {};
  std::size_t still_points = most_still_points;  // of a curve in the still pictures
  Crop crop = Crop::none;
  std::vector<LearningEvent> events = {};  // the first axis is that of time
  std::string group = {};                  // charts of one group show the same names
  std::vector<LearningCurve> runs = {};    // each run by itself, where `curves` are means over seeds; for the script alone
};
/// One picture per axis, "LABEL over AXIS".
std::vector<SvgPicture> draw(const LearningChart& chart);

/// Parts of a whole, row by row. Without a script it is a table (figure.hpp).
struct StackPart {
  std::string name;
  std::string colour;  // class: "computing", "s3"
};
struct StackChart {
  std::string label, title;
  NumberText text = nullptr;
  std::vector<StackPart> parts;             // of the legend
  std::vector<std::string> names;           // [rows]
  std::vector<std::vector<double>> values;  // [rows][parts]
  std::vector<std::string> links = {};      // [rows]
  std::string group = {};                   // as of a LearningChart, by rows
  std::optional<std::size_t> best = {};     // the row of the winner
};

/// Values with their intervals, one below the other, in groups: times of several schemes, ratios of pairs. The still picture has bars.
struct IntervalRow {
  std::string name, text;
  std::optional<std::size_t> colour;  // of a series; none: grey
  bool missed = false;                // there is no value; `text` has the reason
  bool hollow = false;                // some repeats have none
  double low = 0, value = 0, high = 0;
  std::string tip = {}, link = {};
};
struct IntervalGroup {
  std::string title;  // may be empty
  std::vector<IntervalRow> rows;
};
struct IntervalChart {
  std::string label, title;
  NumberText text = nullptr;
  std::vector<IntervalGroup> groups;
  std::optional<double> reference;  // a broken line
  bool from_zero = true;
  std::string interval = "95 % interval";  // meaning of low and high
};
SvgPicture draw(const IntervalChart& chart);

/// Values of rows by columns: the larger, the stronger the colour. The still picture has a line for each row: the first one, and of many
/// others the highest ones.
struct HeatChart {
  std::string label, x_title, y_title, title;  // title: of the values
  std::vector<double> x;
  std::vector<std::string> y_labels;        // from above, not empty
  std::vector<std::vector<double>> values;  // [y][x]
  double least = 0;                         // the value without colour
  NumberText text = nullptr;
};
SvgPicture draw(const HeatChart& chart);

struct BarRow {
  std::string name;
  std::size_t colour = 0;
  bool missed = false;
  double mean = 0, half_width = 0;
  std::string text, link = {};
  bool best = false;
};
struct BarChart {
  std::string label, title;
  NumberText text = nullptr;
  std::vector<BarRow> rows;
  std::string group = {};  // as of a LearningChart
};
SvgPicture draw(const BarChart& chart);

/// JSON that is safe between tags of a page. Numbers have seven digits. A page draws at most 20,000 points: curves are thinned before
/// (run_charts.hpp).
std::string chart_data(const LineChart& chart);
std::string chart_data(const LearningChart& chart);
std::string chart_data(const MapChart& chart);
std::string chart_data(const StackChart& chart);
std::string chart_data(const IntervalChart& chart);
std::string chart_data(const BarChart& chart);
std::string chart_data(const HeatChart& chart);

}  // namespace straggler
