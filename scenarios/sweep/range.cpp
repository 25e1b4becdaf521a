#include "scenarios/sweep/range.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "scenarios/schema/part.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/units.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_values = 10'000;
constexpr double slack = 1e-9;  // relative: an end that rounding just misses belongs to the range

using End = RangeEnd;

std::optional<End> read_end(Section& range, const char* key) {
  const YamlNode* const node = range.require(key, std::string("write where the range ") + (key[0] == 'f' ? "begins" : "ends"));
  if (node == nullptr) return std::nullopt;
  if (node->type == YamlNode::Type::scalar)
    if (const auto end = parse_range_end(node->text)) {
      const std::string wrong = out_of_span(*end);
      if (wrong.empty()) return end;
      range.problem(key, "is " + in_quotes(node->text) + "; " + wrong);
      return std::nullopt;
    }
  range.problem(key, "is " + what_stands(*node) + "; write a number, with its unit where one belongs");
  return std::nullopt;
}

/// A range as it is written.
struct WrittenRange {
  std::optional<End> from, to, step;
  bool stepped = false;
  std::optional<double> times;
  std::optional<std::int64_t> steps;
  bool logarithmic = false, whole = false;
};

ScenarioKey end_key(const char* name, const char* meaning, bool required) {
  return {.name = name, .type = ValueType::text, .meaning = meaning, .required = required, .form = "number or quantity"};
}

const Part<WrittenRange>& range_part() {
  using Range = straggler::Range;
  static const Part<WrittenRange> part({
      read_by<WrittenRange>(end_key("from", "the first value", true),
                            [](Section& range, WrittenRange& written) { written.from = read_end(range, "from"); }),
      read_by<WrittenRange>(end_key("to", "the last value that it may reach", true),
                            [](Section& range, WrittenRange& written) { written.to = read_end(range, "to"); }),
      field(&WrittenRange::times,
            {.name = "times", .type = ValueType::number, .range = Range::above(0), .meaning = "each value is the last times this"}),
      read_by<WrittenRange>(end_key("step", "each value is the last plus this", false),
                            [](Section& range, WrittenRange& written) {
                              written.stepped = range.find("step") != nullptr;
                              if (written.stepped) written.step = read_end(range, "step");
                            }),
      field(&WrittenRange::steps, {.name = "steps",
                                   .type = ValueType::count,
                                   .range = Range::between(1, most_values),
                                   .meaning = "number of values, evenly spread"}),
      two_words(&WrittenRange::logarithmic,
                {.name = "scale", .meaning = "scale on which `steps` values are evenly spread", .choices = {"linear", "log"}}, "log",
                "linear"),
      field(&WrittenRange::whole, {.name = "whole", .meaning = "round to whole numbers"}),
  });
  return part;
}

std::vector<double> geometric(double from, double to, double times) {
  std::vector<double> values;
  for (double x = from; values.size() <= most_values && (times > 1 ? x <= to * (1 + slack) : x >= to * (1 - slack)); x *= times)
    values.push_back(x);
  return values;
}

std::vector<double> arithmetic(double from, double to, double step) {
  std::vector<double> values;
  const double count = std::floor((to - from) / step * (1 + slack) + slack);
  for (std::size_t i = 0; static_cast<double>(i) <= count && i <= most_values; ++i) values.push_back(from + step * static_cast<double>(i));
  return values;
}

/// Four digits are enough between the ends of a logarithmic range.
double four_digits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::round(value / unit) * unit;
}

std::vector<double> spread(double from, double to, std::size_t steps, bool logarithmic, double unit) {
  std::vector<double> values;
  for (std::size_t i = 0; i < steps; ++i) {
    const double share = steps == 1 ? 0 : static_cast<double>(i) / static_cast<double>(steps - 1);
    values.push_back(logarithmic ? four_digits(from * std::pow(to / from, share) * unit) / unit : from + (to - from) * share);
  }
  values.front() = from;
  if (steps > 1) values.back() = to;
  return values;
}

/// Without the last digits, which are rounding's: 0.1 + 2 x 0.1 is 0.3.
double twelve_digits(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 11);
  return unit < 1 ? std::round(value / unit) / std::round(1 / unit) : std::round(value / unit) * unit;
}

constexpr double bits_per_byte = 8;

/// "702.9kbps"
std::string bits_text(double bits_per_second) {
  for (const auto& [unit, name] : {std::pair{1e9, "Gbps"}, std::pair{1e6, "Mbps"}, std::pair{1e3, "kbps"}})
    if (bits_per_second >= unit * (1 - slack)) return format_number(twelve_digits(bits_per_second / unit)) + name;
  return format_number(twelve_digits(bits_per_second)) + "bps";
}

std::string text_of(double exact, const End& like) {
  if (like.bits) return bits_text(exact * bits_per_byte);
  const double value = twelve_digits(like.percent ? exact * 100 : exact);
  if (like.dimension) return format_quantity(value, *like.dimension);
  return format_number(value) + (like.percent ? "%" : "");
}

}  // namespace

std::optional<RangeEnd> parse_range_end(const std::string& text) {
  const auto attempt = [](const auto& parse) -> std::optional<double> {
    try {
      return parse();
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  };
  // What has a unit is not tried as a plain number: a sweep has thousands of labels, and to throw takes longer than to read.
  for (const DimensionRow& row : dimensions())
    if (!row.bare && has_unit_of(text, row.dimension))
      if (const auto value = attempt([&] { return parse_quantity(text, row.dimension); }))
        return RangeEnd{*value, row.dimension, false, text.ends_with("bps")};
  if (const auto plain = attempt([&] { return parse_number(text); })) return RangeEnd{*plain, {}, false};
  if (const auto share = attempt([&] { return parse_fraction(text); })) return RangeEnd{*share, {}, true};
  return std::nullopt;
}

std::string out_of_span(const RangeEnd& end) {
  constexpr double least = 1e-100, most = 1e100;
  const double size = std::abs(end.value);
  if (size == 0 || (size >= least && size <= most)) return {};
  return size > most ? "a range ends between -1e100 and 1e100" : "a range ends at 0, or at least 1e-100 from it";
}

std::vector<ScenarioKey> range_keys() { return range_part().keys(); }

std::vector<std::string> read_range(Section range) {
  WrittenRange written;
  range_part().read(range, written);
  range.finish();
  const auto& [from, to, step, stepped, times, steps, logarithmic, whole] = written;
  if (!from || !to) return {};
  const auto refuse = [&](std::string_view key, const std::string& what) {
    range.problem(key, what);
    return std::vector<std::string>();
  };
  if (from->dimension != to->dimension) return refuse("to", "has another unit than `from`; write both as times, as sizes or as rates");
  if ((times ? 1 : 0) + (stepped ? 1 : 0) + (steps ? 1 : 0) != 1)
    return refuse("from", "needs one of times (the factor between two values), step (their difference) or steps (the number of values)");
  if (logarithmic && !steps) return refuse("scale", "needs `steps`; write the number of values");
  std::vector<double> values;
  if (times) {
    if (*times == 1 || !(from->value > 0) || (*times > 1) != (to->value >= from->value))
      return refuse("times", "never gets from `from` to `to`; write a factor above 1 to go up, below 1 to go down, from above 0");
    values = geometric(from->value, to->value, *times);
  } else if (stepped) {
    if (!step) return {};
    if (step->dimension != from->dimension || step->value == 0 || (step->value > 0) != (to->value >= from->value))
      return refuse("step", "never gets from `from` to `to`; write a step in their unit and direction");
    values = arithmetic(from->value, to->value, step->value);
  } else {
    if (logarithmic && !(from->value > 0 && to->value > 0)) return refuse("scale", "log needs a range above 0");
    values = spread(from->value, to->value, static_cast<std::size_t>(*steps), logarithmic, from->bits ? bits_per_byte : 1);
  }
  if (values.size() > most_values) return refuse("from", "gives more than 10,000 values; use larger steps");
  std::vector<std::string> texts;
  for (const double value : values) {
    std::string text = text_of(whole ? std::round(value) : value, *from);
    if (texts.empty() || texts.back() != text) texts.push_back(std::move(text));
  }
  return texts;
}

std::string hint_at_whole(const std::string& value, const std::string& line) {
  const auto number = parse_range_end(value);
  const bool wanted = line.find("is not a whole number") != std::string::npos;
  return wanted && number && std::floor(number->value) != number->value ? ", or whole: true beside the ends of a range" : "";
}

}  // namespace straggler
