#include "sim/base/hidden_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace straggler {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view random_part = "XXXXXX";  // what mkdtemp replaces
constexpr std::string_view unlocked = "new-";

/// A file's name has at most 255 bytes.
std::string prefix_of(const std::string& stem) { return "." + stem.substr(0, 100).append(hidden_mark); }

bool is_unlocked(const std::string& name) {
  const std::size_t mark = name.rfind(hidden_mark);
  return mark != std::string::npos && std::string_view(name).substr(mark + hidden_mark.size()).starts_with(unlocked);
}

bool is_of(const std::string& name, const std::vector<std::string>& stems) {
  if (stems.empty()) return name.starts_with('.') && name.find(hidden_mark) != std::string::npos;
  return std::any_of(stems.begin(), stems.end(), [&](const std::string& stem) { return name.starts_with(prefix_of(stem)); });
}

}  // namespace

HiddenFolder make_hidden_folder(const fs::path& place, const std::string& stem, std::error_code& error) {
  const std::string prefix = prefix_of(stem);
  std::string made = (place / (prefix + std::string(unlocked).append(random_part))).string();
  error.clear();
  if (::mkdtemp(made.data()) == nullptr) {
    error.assign(errno, std::generic_category());
    return {};
  }
  HiddenFolder folder{place / (prefix + made.substr(made.size() - random_part.size())), lock_folder(made)};
  fs::rename(made, folder.path, error);
  if (!error) return folder;
  ::rmdir(made.c_str());
  if (folder.lock >= 0) ::close(folder.lock);
  return {};
}

int lock_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void remove_abandoned(const fs::path& place, const std::vector<std::string>& stems, bool at_once) {
  constexpr auto young = std::chrono::minutes(1);
  std::error_code error;
  for (fs::directory_iterator at(place.empty() ? "." : place, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_of(name, stems)) continue;
    std::error_code ignored;
    const fs::file_time_type changed = fs::last_write_time(at->path(), ignored);
    if (ignored || (!at_once && is_unlocked(name) && fs::file_time_type::clock::now() - changed < young)) continue;
    const int lock = lock_folder(at->path());
    if (lock < 0) continue;
    fs::remove_all(at->path(), ignored);
    ::close(lock);
  }
}

}  // namespace straggler
