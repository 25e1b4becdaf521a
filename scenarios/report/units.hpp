// Texts of numbers in charts, and the names under which the script of pages knows them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

using NumberText = std::string (*)(double);

/// "43.2 %"; of small ones two digits that count: "0.034 %". Only 0 is "0 %".
std::string share_text(double share);
std::string bits_rate_text(double bits);  // "1.25 Mbit/s"
std::string factor_text(double factor);   // "1.25x"
std::string count_text(double count);     // "1,234"

/// Of the ticks of an axis, ascending and evenly spaced: with more digits, in one unit, where `text` cannot tell them apart.
std::vector<std::string> tick_texts(NumberText text, const std::vector<double>& ticks);

/// "seconds", "bytes", "share", "score", "factor", "count", "bits/s", "bytes/s", "price", "joules", "watts"; "number" for every other one.
std::string_view unit_of(NumberText text);

}  // namespace straggler
