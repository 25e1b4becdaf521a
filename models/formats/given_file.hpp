// The files that a user gives: plain, packed by gzip, or those of an archive (tar, plain or packed; so are the files in it). Nothing is
// unpacked onto the disk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/dataset.hpp"

namespace straggler {

/// The first bytes of a file, by which its format is recognized.
struct FileStart {
  std::string_view bytes;   // up to file_start_bytes of them
  std::uintmax_t size = 0;  // of the whole file, unpacked
};
inline constexpr std::size_t file_start_bytes = 1 << 20;

class GivenFile {
 public:
  /// For messages: "gpt2/config.json", or "job.tar.gz: gpt2/config.json".
  std::filesystem::path shown() const;
  /// Its own, in its folder or archive.
  const std::filesystem::path& path() const { return in_archive() ? member_ : file_; }
  bool in_archive() const { return members_ != nullptr; }
  std::uintmax_t size() const { return size_; }
  /// Its first `most` bytes; all, if it has fewer. Throws DataError.
  std::string text(std::uintmax_t most) const;
  /// A file of this name in its folder, or in its folder of the archive.
  bool has_beside(const std::string& name) const;
  /// Requires: it is there. Throws DataError if it cannot be read, or is an archive.
  GivenFile beside(const std::string& name) const;

 private:
  struct Member {
    std::filesystem::path path;
    std::uintmax_t begin = 0, size = 0;  // size: unpacked
    std::uintmax_t packed = 0;           // bytes in the archive, if gzip packed it; 0: it did not
  };
  const Member* member_beside(const std::string& name) const;
  friend class GivenStream;
  friend bool for_each_file(const std::filesystem::path& file,
                            const std::function<void(const GivenFile& file, const FileStart& start)>& seen);

  std::filesystem::path file_, member_;
  std::uintmax_t begin_ = 0, size_ = 0, packed_ = 0;    // begin_: in the unpacked bytes of file_; the others as of a member
  std::shared_ptr<const std::vector<Member>> members_;  // of the archive; null: it is in none
};

/// The bytes of a file from its beginning, piece by piece: only one is in memory.
class GivenStream {
 public:
  /// Throws DataError, as next() does.
  explicit GivenStream(GivenFile file);
  ~GivenStream();
  GivenStream(const GivenStream&) = delete;
  GivenStream& operator=(const GivenStream&) = delete;
  /// It holds until the next call; empty: the end.
  std::string_view next();
  /// Throws DataError: "FILE: sentence".
  [[noreturn]] void refuse(const std::string& sentence) const;

 private:
  struct Bytes;
  GivenFile file_;
  std::unique_ptr<Bytes> bytes_;
  std::uintmax_t left_ = 0;
};

/// Calls `seen` with the file, or with each file of the archive that it is; `start` holds until `seen` returns. A file of an archive finds
/// others beside it once this has returned. False: it is no archive. Throws DataError ("PATH: what is wrong; what would be right").
bool for_each_file(const std::filesystem::path& file, const std::function<void(const GivenFile& file, const FileStart& start)>& seen);

}  // namespace straggler
