#include "scenarios/experiment/run_checkpoint.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "scenarios/experiment/trajectory_store.hpp"
#include "sim/base/hidden_folder.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace fs = std::filesystem;

namespace {

/// Relative to the current folder where it lies below it.
fs::path file_beside(const fs::path& out) {
  fs::path folder = fs::weakly_canonical(fs::absolute(out));
  if (!folder.has_filename()) folder = folder.parent_path();
  folder += ".checkpoint";
  std::error_code error;
  const fs::path shown = fs::relative(folder, error);
  return error || shown.empty() || *shown.begin() == ".." ? folder : shown;
}

}  // namespace

CheckpointInterval checkpoint_interval(const std::string& given) {
  constexpr const char* right = "give a time such as 10min, or a number of updates such as 5000";
  CheckpointInterval interval;
  try {
    if (given.find_first_not_of("0123456789") == std::string::npos)
      interval.updates = parse_unsigned(given);
    else
      interval.seconds = parse_quantity(given, Dimension::time);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format(": {}; {}", error.what(), right));
  }
  if (!interval.given()) throw std::invalid_argument(fmt::format(" is 0; {}", right));
  return interval;
}

CheckpointRequest checkpoint_beside(const fs::path& out, const std::string& version, const std::string& compiler) {
  CheckpointRequest request;
  request.file = file_beside(out);
  std::error_code ignored;
  if (fs::exists(request.file, ignored) && !fs::is_regular_file(request.file, ignored))
    throw std::invalid_argument(
        fmt::format("{}: is the place of the checkpoint, but not a file; move it away, or use another --out", request.file.string()));
  request.build = fmt::format("straggler {} ({}, math {:08x})", version, compiler, math_stamp().low >> 32);
  return request;
}

std::string checkpoint_text(const CheckpointNote& note, const fs::path& file) {
  const std::string size = readable_bytes(static_cast<double>(note.bytes)), update = readable_count(note.version);
  using What = CheckpointNote::What;
  switch (note.what) {
    case What::found:
      return fmt::format("continues from {} ({}, update {}); the timing up to there is computed again", file.string(), size, update);
    case What::none:
      return fmt::format("there is no {}: the run starts from the beginning", file.string());
    case What::reached:
      return fmt::format("has caught up with update {}", update);
    case What::replaced:
      return fmt::format("{} of an earlier run will be replaced; --resume would have continued from it", file.string());
    case What::failed:
      return note.problem;
    case What::written:
      break;
  }
  return fmt::format("checkpoint at update {}: {} in {}, {:.2g} s", update, size, file.string(), note.seconds);
}

bool finish_checkpoint(const fs::path& file, bool interrupted) {
  std::error_code ignored;
  remove_abandoned(file.parent_path(), {file.filename().string()}, true);
  if (!interrupted) fs::remove(file, ignored);
  return fs::exists(file, ignored);
}

}  // namespace straggler
