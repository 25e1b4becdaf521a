// A file that appears at its place complete, or not at all.
#pragma once
#include <filesystem>
#include <system_error>

#include "sim/base/hidden_folder.hpp"

namespace straggler {

/// A file while it is written: in a hidden folder beside its place (sim/base/hidden_folder.hpp). The writer makes it with path(), and
/// closes it before put_into_place().
class AsideFile {
 public:
  explicit AsideFile(std::filesystem::path place);
  /// Removes the file unless it was put into place.
  ~AsideFile();
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;

  /// Where the hidden folder cannot be made, this cannot be opened either, for the same reason.
  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& place() const { return place_; }
  /// Once the disk holds its bytes it replaces the old file: a crash of the machine leaves the old file or the new one.
  std::error_code put_into_place();

 private:
  std::filesystem::path place_, path_;
  HiddenFolder folder_;
  bool moved_ = false;
};

}  // namespace straggler
