// The space of a search: settings of a scenario, each mapped to [0, 1], and points that cover such a space evenly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/sweep/sweep.hpp"

namespace straggler {

/// `key`: which part of the setting is wrong ("from", "to", "scale", "whole").
struct SettingError : std::invalid_argument {
  SettingError(std::string which, const std::string& what) : std::invalid_argument(what), key(std::move(which)) {}
  std::string key;
};

/// A range as it is written: numbers, with the units that scenarios take.
struct SettingRange {
  std::string from, to;
  bool logarithmic = false, whole = false;
};

/// A path of a scenario, and the values that it may take: those of a range, or choices. A share of [0, 1] names a value.
///
/// Invariants: value(share(v).yaml) is v for every v that value() gives; in a range larger shares give no smaller values; the ends are
/// at 0 and 1; every one of finitely many values has the same part of the shares, but for a logarithmic range of whole numbers.
class Setting {
 public:
  /// `resolution`: values between the ends are rounded to at least so small a share of the range. Throws SettingError.
  static Setting range(std::string path, const SettingRange& range, Place place = whole_file, double resolution = 1e-3);
  /// At least one.
  static Setting choices(std::string path, std::vector<AxisValue> values);

  const std::string& path() const { return path_; }
  AxisValue value(double share) const;
  /// The middle of the shares that give this value. Throws std::invalid_argument if it is none of the setting's.
  double share(const std::string& yaml) const;
  /// The shares of the neighbouring values: of whole numbers one less and one more, in a continuum the nearest ones that rounding keeps
  /// distinct; of choices its own.
  std::pair<double, double> around(double share) const;
  /// How many values there are; 0: a continuum.
  std::size_t count() const { return count_; }
  /// False: choices, of which none lies between two others.
  bool ordered() const { return choices_.empty(); }
  bool logarithmic() const { return logarithmic_; }

 private:
  struct Unit {
    std::string text;  // with the blanks before it
    double size = 1;   // in SI
  };
  static Unit unit_of(const std::string& written);
  double between(double share) const;
  double rounded(double value, const Unit& unit) const;

  std::string path_;
  std::vector<AxisValue> choices_;
  SettingRange written_;
  Place place_;
  double low_ = 0, high_ = 0;  // in SI; whole: half a step beyond the ends
  Unit small_, large_;         // values are written in the larger one where they are at least one of it
  bool logarithmic_ = false, whole_ = false;
  double resolution_ = 0;
  std::size_t count_ = 0;
};

/// Points of [0, 1)^d, each where the ones before it left most room: Sobol's sequence (direction numbers of Joe and Kuo, 2008, as Boost has
/// them), each coordinate shifted modulo 1 by an amount that follows from the seed (Cranley and Patterson, 1976).
class EvenDraw {
 public:
  EvenDraw(std::size_t dimensions, std::uint64_t seed);
  std::vector<double> next();

 private:
  std::vector<double> shift_;
  std::uint64_t drawn_ = 0;
};

}  // namespace straggler
