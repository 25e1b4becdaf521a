// Numbers and tables for people.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace straggler {

// Three or four significant digits and a unit; "nan", "inf" and "-inf" for what is not finite.
std::string readable_seconds(double seconds);               // "1.25 ms", "83.4 s", "2 h 03 min"
std::string readable_bytes(double bytes);                   // "44.7 MB", decimal prefixes
std::string readable_rate(double bytes_per_second);         // "1.25 MB/s"
std::string readable_watts(double watts);                   // "1.2 kW"
std::string readable_joules(double joules);                 // "44.7 MJ"
std::string readable_joules_per_byte(double value);         // "5 nJ/B"
std::string readable_price(double price);                   // "0.0312", "12.30", "1,234"
std::string readable_number(double value);                  // "1234", "0.02346", "1.2e+16"
std::string readable_score(double value);                   // a loss or an accuracy: "0.8708", "2.23e+30"
std::string readable_count(std::uint64_t count);            // "1,234,567"
std::string readable_share(double share);                   // "43.2 %"
std::string listed(const std::vector<std::string>& words);  // "a", "a and b", "a, b and c"

/// Rows of equal length, columns aligned two blanks apart: the first `left` of them to the left, the others to the right. Lines end without
/// blanks.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left);

}  // namespace straggler
