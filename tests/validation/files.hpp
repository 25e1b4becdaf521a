// Files of a test: a folder of its own, gone afterwards.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "scenarios/schema/errors.hpp"

namespace straggler::test {

class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "straggler-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
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
