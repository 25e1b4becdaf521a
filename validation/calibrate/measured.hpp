// Measured tables that `straggler calibrate` knows, as one of two things: times of messages, or times of batches.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace straggler {

/// The distance of a normal distribution's quartile from its mean, in standard deviations.
inline constexpr double quartile = 0.6744897501960817;
/// Largest sigma of a lognormal jitter that a scenario accepts.
inline constexpr double largest_sigma = 5;

struct MessageTimes {
  struct Sample {
    double bytes = 0, seconds = 0;  // of one message, one way
  };
  std::string found;    // "OSU latency, 23 sizes"
  std::string meaning;  // how seconds were derived from the file
  bool within_host = false;
  std::vector<Sample> samples;      // of a message alone
  std::vector<Sample> streamed;     // where the next ones are on their way: the time from one to the next
  std::vector<std::string> doubts;  // for warnings
};

struct BatchTimes {
  struct Sample {
    std::int64_t batch = 0;
    double seconds = 0;
    std::optional<double> iqr;           // seconds: spread of the repeats; `seconds` is their median
    std::optional<double> memory_bytes;  // at its peak
  };
  struct Device {
    std::string name;  // fit for a scenario: device, model and precision joined
    std::vector<Sample> samples;
  };
  std::string found;
  std::vector<Device> devices;  // in the order of the file
};

using Measurements = std::variant<MessageTimes, BatchTimes>;

/// Recognizes the format by the file's content (the registered ones of formats.hpp). Throws ScenarioErrors with all problems.
Measurements read_measured(const std::filesystem::path& file);
/// One of messages alone, the other of streamed ones. Throws ScenarioErrors if they are others; `file`: the second one, for messages.
MessageTimes joined_times(const MessageTimes& one, const MessageTimes& other, const std::filesystem::path& file);

/// What calibrate reads, a noun phrase each.
std::vector<std::string> measured_formats();

}  // namespace straggler
