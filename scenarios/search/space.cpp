#include "scenarios/search/space.hpp"

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>

#include "scenarios/sweep/range.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/random.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr double most_whole = 1e15;  // larger whole numbers are not distinct

RangeEnd end_of(const std::string& key, const std::string& text) {
  if (const auto end = parse_range_end(text)) {
    if (const std::string wrong = out_of_span(*end); !wrong.empty()) throw SettingError(key, "is " + in_quotes(text) + "; " + wrong);
    return *end;
  }
  throw SettingError(key, "is " + in_quotes(text) + "; write a number, with its unit where one belongs");
}

/// A multiple of 10^power, without the last digits that are rounding's.
double to_power_of_ten(double value, double power) {
  const double unit = std::pow(10, std::abs(power));
  return (power < 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit) + 0.0;  // never -0
}

}  // namespace

Setting::Unit Setting::unit_of(const std::string& written) {
  const std::size_t last = written.find_last_of("0123456789.");
  Unit unit{written.substr(last + 1), 1};
  if (!unit.text.empty()) unit.size = parse_range_end("1" + unit.text)->value;
  return unit;
}

Setting Setting::range(std::string path, const SettingRange& range, Place place, double resolution) {
  const RangeEnd from = end_of("from", range.from), to = end_of("to", range.to);
  if (from.dimension != to.dimension)
    throw SettingError("to", "has another unit than `from`; write both as times, as sizes or as rates, or both without a unit");
  if (from.value == to.value) throw SettingError("to", "is the same as `from`; write the end of a range");
  if (from.value > to.value) throw SettingError("from", "is above `to`; write the smaller one first");
  if (range.logarithmic && !(from.value > 0))
    throw SettingError("scale", "log needs a range above 0; write `from` above 0, or scale: linear");
  Setting setting;
  setting.path_ = std::move(path);
  setting.written_ = range;
  setting.place_ = place;
  setting.low_ = from.value;
  setting.high_ = to.value;
  setting.logarithmic_ = range.logarithmic;
  setting.whole_ = range.whole;
  setting.resolution_ = resolution;
  setting.small_ = unit_of(range.from);
  setting.large_ = unit_of(range.to);
  if (!range.whole) return setting;
  const double step = setting.small_.size, first = from.value / step, last = to.value / step;
  const auto is_whole = [](double x) {
    return std::abs(x - std::round(x)) <= 1e-9 * std::max(1.0, std::abs(x)) && std::abs(x) < most_whole;
  };
  if (!is_whole(first)) throw SettingError("from", "is not a whole number; write one, or remove whole");
  if (!is_whole(last))
    throw SettingError("to", "is not a whole number of " + (setting.small_.text.empty() ? std::string("ones") : setting.small_.text) +
                                 "; write one, or remove whole");
  setting.large_ = setting.small_;
  setting.count_ = static_cast<std::size_t>(std::round(last) - std::round(first)) + 1;
  setting.low_ = (std::round(first) - 0.5) * step;
  setting.high_ = (std::round(last) + 0.5) * step;
  return setting;
}

Setting Setting::choices(std::string path, std::vector<AxisValue> values) {
  Setting setting;
  setting.path_ = std::move(path);
  setting.count_ = values.size();
  setting.place_ = values.front().place;
  setting.choices_ = std::move(values);
  return setting;
}

double Setting::between(double share) const { return logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + (high_ - low_) * share; }

/// In its unit: whole, or to a power of ten of it. In a logarithmic range all values have the same number of digits, so that a rounded
/// value is not rounded further when it is read back.
double Setting::rounded(double value, const Unit& unit) const {
  const double number = value / unit.size;
  if (whole_) return std::clamp(std::round(number), std::round(low_ / unit.size + 0.5), std::round(high_ / unit.size - 0.5));
  if (!logarithmic_) return to_power_of_ten(number, std::floor(std::log10((high_ - low_) * resolution_ / unit.size)));
  const double digits = std::ceil(-std::log10(std::log(high_ / low_) * resolution_));
  return to_power_of_ten(number, std::floor(std::log10(number)) - digits);
}

AxisValue Setting::value(double share) const {
  if (!choices_.empty()) {
    const auto at = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(choices_.size()));
    return choices_[std::min(at, choices_.size() - 1)];
  }
  const double value = between(std::clamp(share, 0.0, 1.0));
  const Unit* unit = &small_;
  double number = rounded(value, *unit);
  if (number * unit->size >= large_.size) {
    unit = &large_;
    number = rounded(value, *unit);
  }
  std::string text = (whole_ ? std::to_string(static_cast<std::int64_t>(number)) : format_number(number)) + unit->text;
  if (!whole_ && number * unit->size <= low_) text = written_.from;
  if (!whole_ && number * unit->size >= high_) text = written_.to;
  return {text, text, place_};
}

double Setting::share(const std::string& yaml) const {
  if (!choices_.empty()) {
    const auto at = std::find_if(choices_.begin(), choices_.end(), [&](const AxisValue& each) { return each.yaml == yaml; });
    if (at == choices_.end()) throw std::invalid_argument("is not one of the choices");
    return (static_cast<double>(at - choices_.begin()) + 0.5) / static_cast<double>(choices_.size());
  }
  const double value = end_of("value", yaml).value;
  const double slack = 1e-9 * std::max(std::abs(low_), std::abs(high_));
  if (!(value >= low_ - slack && value <= high_ + slack)) throw std::invalid_argument("is outside the range");
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return std::clamp(share, 0.0, 1.0);
}

std::pair<double, double> Setting::around(double share) const {
  if (!choices_.empty()) return {share, share};
  if (!whole_) return {std::max(0.0, share - resolution_), std::min(1.0, share + resolution_)};
  const double step = small_.size, value = std::round(between(std::clamp(share, 0.0, 1.0)) / step) * step;
  const auto share_of = [&](double number) {
    const double inside = std::clamp(number, low_ + step / 2, high_ - step / 2);
    return logarithmic_ ? std::log(inside / low_) / std::log(high_ / low_) : (inside - low_) / (high_ - low_);
  };
  return {share_of(value - step), share_of(value + step)};
}

EvenDraw::EvenDraw(std::size_t dimensions, std::uint64_t seed) {
  for (std::size_t i = 0; i < dimensions; ++i) shift_.push_back(RandomStream(seed, "search/shift", i).uniform());
}

std::vector<double> EvenDraw::next() {
  boost::random::sobol sequence(shift_.size());
  sequence.discard(drawn_++ * shift_.size());
  std::vector<double> point;
  for (const double shift : shift_) {
    const double sum = static_cast<double>(sequence() >> 11) * 0x1p-53 + shift;
    point.push_back(sum - std::floor(sum));
  }
  return point;
}

}  // namespace straggler
