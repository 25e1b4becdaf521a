#include "sim/base/units.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/base/readable.hpp"

namespace straggler {

namespace {

constexpr double kibi = 1024;

constexpr Unit time_units[] = {{"s", 0, 1},   {"ms", -3, 1},  {"us", -6, 1, {"\xC2\xB5s", "\xCE\xBCs"}},
                               {"ns", -9, 1}, {"min", 0, 60}, {"h", 0, 3600}};
constexpr OtherUnit other_times[] = {{"usec", "us"},  {"msec", "ms"},    {"nsec", "ns"}, {"sec", "s"},
                                     {"second", "s"}, {"minute", "min"}, {"hr", "h"},    {"hour", "h"}};

constexpr Unit byte_units[] = {
    {"B", 0, 1}, {"kB", 3, 1}, {"MB", 6, 1}, {"GB", 9, 1}, {"KiB", 0, kibi}, {"MiB", 0, kibi* kibi}, {"GiB", 0, kibi* kibi* kibi}};
constexpr OtherUnit other_sizes[] = {{"byte", "B"}, {"k", "kB"}, {"m", "MB"}, {"g", "GB"}};

constexpr Unit rate_units[] = {{"B/s", 0, 1},
                               {"kB/s", 3, 1},
                               {"MB/s", 6, 1},
                               {"GB/s", 9, 1},
                               {"TB/s", 12, 1, {}, false},
                               {"KiB/s", 0, kibi},
                               {"MiB/s", 0, kibi* kibi},
                               {"GiB/s", 0, kibi* kibi* kibi},
                               {"bps", 0, 0.125},
                               {"kbps", 3, 0.125},
                               {"Mbps", 6, 0.125},
                               {"Gbps", 9, 0.125},
                               {"Tbps", 12, 0.125, {}, false}};

constexpr Unit compute_units[] = {{"GFLOPS", 9, 1}, {"TFLOPS", 12, 1}};
constexpr OtherUnit other_compute_rates[] = {{"gflop", "GFLOPS"}, {"tflop", "TFLOPS"}, {"gflop/s", "GFLOPS"}, {"tflop/s", "TFLOPS"}};

constexpr Unit amount_units[] = {{"", 0, 1}, {"k", 3, 1}, {"M", 6, 1}, {"G", 9, 1}, {"T", 12, 1}};
constexpr OtherUnit other_amounts[] = {{"b", "G"}, {"million", "M"}, {"billion", "G"}, {"trillion", "T"}};

constexpr Unit power_units[] = {{"W", 0, 1}, {"mW", -3, 1}, {"kW", 3, 1}, {"MW", 6, 1}};
constexpr OtherUnit other_powers[] = {{"watt", "W"}, {"milliwatt", "mW"}, {"kilowatt", "kW"}, {"megawatt", "MW"}};

constexpr Unit energy_units[] = {{"J", 0, 1}, {"mJ", -3, 1}, {"kJ", 3, 1}, {"MJ", 6, 1}, {"Wh", 0, 3600}, {"kWh", 3, 3600}};
constexpr OtherUnit other_energies[] = {{"joule", "J"}, {"watt hour", "Wh"}};

constexpr Unit energy_per_byte_units[] = {{"J/B", 0, 1},     {"mJ/B", -3, 1},  {"uJ/B", -6, 1, {"\xC2\xB5J/B", "\xCE\xBCJ/B"}},
                                          {"nJ/B", -9, 1},   {"pJ/B", -12, 1}, {"nJ/bit", -9, 8},
                                          {"pJ/bit", -12, 8}};
constexpr OtherUnit other_energies_per_byte[] = {{"j/byte", "J/B"}, {"nj/byte", "nJ/B"}, {"pj/byte", "pJ/B"},
                                                 {"j", "J/B"},      {"nj", "nJ/B"},      {"pj", "pJ/B"}};

constexpr Unit price_units[] = {{"", 0, 1}, {"/h", 0, 1}};
constexpr OtherUnit other_prices[] = {{"/hr", "/h"}, {"/hour", "/h"}, {"per hour", "/h"}};

const DimensionRow rows[] = {
    {Dimension::time, ValueType::time, "time", "a time", "time", "10ms", "seconds", time_units, other_times, readable_seconds},
    {.dimension = Dimension::bytes,
     .type = ValueType::bytes,
     .name = "bytes",
     .noun = "a size",
     .form = "size",
     .example = "25MiB",
     .on_page = "bytes",
     .units = byte_units,
     .others = other_sizes,
     .readable = readable_bytes,
     .usual = 1e6,
     .whole = "a whole number of bytes that can be counted",
     .most = 0x1p62},
    {Dimension::rate, ValueType::rate, "rate", "a rate", "rate", "1Gbps or 125MB/s", "rate", rate_units, {}, readable_rate, 1e8},
    {Dimension::compute, ValueType::flops, "flops", "a compute rate", "compute rate", "14TFLOPS", "flops", compute_units,
     other_compute_rates, [](double value) { return readable_number(value / 1e9) + " GFLOPS"; }, 1e12},
    {.dimension = Dimension::amount,
     .type = ValueType::amount,
     .name = "amount",
     .noun = "an amount",
     .form = "an amount",
     .example = "350M",
     .on_page = "number",
     .units = amount_units,
     .others = other_amounts,
     .readable = readable_number,
     .bare = true,
     .whole = "a whole number"},
    {Dimension::power, ValueType::power, "power", "a power", "power", "250W", "watts", power_units, other_powers, readable_watts, 100},
    {Dimension::energy, ValueType::energy, "energy", "an energy", "energy", "5kJ", "joules", energy_units, other_energies, readable_joules},
    {Dimension::energy_per_byte, ValueType::energy_per_byte, "energy_per_byte", "an energy per byte", "energy per byte", "5nJ/B",
     "joules_per_byte", energy_per_byte_units, other_energies_per_byte, readable_joules_per_byte, 1e-9},
    {.dimension = Dimension::price,
     .type = ValueType::price,
     .name = "price",
     .noun = "a price per hour",
     .form = "price per hour",
     .example = "2.49",
     .on_page = "number",
     .units = price_units,
     .others = other_prices,
     .readable = readable_price,
     .bare = true},
};

}  // namespace

std::span<const DimensionRow> dimensions() { return rows; }

const DimensionRow& row_of(Dimension dimension) {
  const auto found = std::ranges::find(rows, dimension, &DimensionRow::dimension);
  if (found == std::end(rows)) throw std::logic_error("no such dimension");
  return *found;
}

const DimensionRow* row_of(ValueType type) {
  const auto found = std::ranges::find(rows, type, &DimensionRow::type);
  return found == std::end(rows) ? nullptr : &*found;
}

}  // namespace straggler
