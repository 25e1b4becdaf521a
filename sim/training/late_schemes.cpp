#include "sim/training/late_schemes.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "sim/base/late_entry.hpp"

namespace straggler {

namespace {

struct LateCodes {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> by_scheme;
};

LateCodes& late_codes() {
  static LateCodes codes;
  return codes;
}

}  // namespace

void register_late(SchemeEntry entry, std::string code) {
  LateCodes& codes = late_codes();
  const std::lock_guard lock(codes.mutex);
  if (Registry<SchemeEntry>::instance().find(entry.name) && !codes.by_scheme.contains(entry.name))
    throw std::invalid_argument("there is a scheme '" + entry.name + "' already; choose another name");
  const std::string name = entry.name;
  register_or_replace(std::move(entry));
  codes.by_scheme[name] = std::move(code);
}

std::string late_code(std::string_view scheme) {
  LateCodes& codes = late_codes();
  const std::lock_guard lock(codes.mutex);
  const auto found = codes.by_scheme.find(scheme);
  return found == codes.by_scheme.end() ? std::string() : found->second;
}

}  // namespace straggler
