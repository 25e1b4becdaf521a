// A file that appears at its place complete, or not at all.
#pragma once
#include <filesystem>
#include <system_error>
#include <utility>

namespace straggler {

/// The name of a file while it is written, beside its place. The writer closes it before put_into_place().
class AsideFile {
 public:
  /// `beside` is in the folder of `place`.
  AsideFile(std::filesystem::path place, std::filesystem::path beside) : place_(std::move(place)), path_(std::move(beside)) {}
  /// "PLACE.part".
  explicit AsideFile(const std::filesystem::path& place);
  /// Removes the file unless it was put into place.
  ~AsideFile();
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& place() const { return place_; }
  /// Once the disk holds its bytes it replaces the old file: a crash of the machine leaves the old file or the new one.
  std::error_code put_into_place();

 private:
  std::filesystem::path place_, path_;
  bool moved_ = false;
};

}  // namespace straggler
