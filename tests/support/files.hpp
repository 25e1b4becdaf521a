// Files of a test: a folder of its own, gone afterwards.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "scenarios/schema/errors.hpp"
#include "tests/support/folder.hpp"

namespace straggler::test {

class Files : public TemporaryFolder {
 public:
  const std::filesystem::path& folder() const { return path(); }
};

/// What is said to be wrong, the folder's name left out; "" if nothing is.
inline std::string said(const Files& files, const std::function<void()>& act) {
  try {
    act();
  } catch (const ScenarioErrors& errors) {
    std::string text = errors.what();
    const std::string folder = files.folder().string() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
    return text;
  }
  return "";
}

}  // namespace straggler::test
