// Private folders for files that are not finished yet: ".STEM.straggler-RANDOM" beside the place where the files will be, and
// ".STEM.straggler-new-RANDOM" until its writer has its lock.
//
// Invariants:
//  - The name is random and the mode is 0700: nobody else can foresee it, plant a link in it or read what is half written.
//  - Files in it get the modes that the umask gives, and keep them when they are renamed into place.
//  - Its writer holds its lock (flock), which a killed process loses: a folder without a lock is abandoned.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace straggler {

/// In the name of every hidden folder, between stem and random part.
inline constexpr std::string_view hidden_mark = ".straggler-";

struct HiddenFolder {
  std::filesystem::path path;
  int lock = -1;  // as lock_folder returns it; its user closes it
};
/// Makes a hidden folder in `place` and locks it. No path if that fails: then `error` says why. A stem above 100 bytes is cut.
HiddenFolder make_hidden_folder(const std::filesystem::path& place, const std::string& stem, std::error_code& error);

/// A descriptor that holds the lock of `folder` until it is closed; -1 if another process holds it, or locks do not work here.
int lock_folder(const std::filesystem::path& folder);

/// Removes the hidden folders of these stems in `place` (no stems: of all) whose writer is dead: nobody holds their lock. Those that were
/// not locked yet go after a minute; `at_once`: now, where no other process can be making one.
void remove_abandoned(const std::filesystem::path& place, const std::vector<std::string>& stems = {}, bool at_once = false);

}  // namespace straggler
