// A folder to try the program in.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

namespace straggler::test {

/// A folder of its own, gone afterwards.
class Workplace {
 public:
  Workplace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "straggler-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() { std::filesystem::remove_all(folder_); }
  const std::filesystem::path& folder() const { return folder_; }

  struct Done {
    int code;
    std::string out, err;
  };
  /// Runs a shell command line in the folder; `straggler` stands for the program.
  Done shell(const std::string& command) const {
    const std::string whole =
        "cd " + folder_.string() + " && straggler() { " STRAGGLER_PROGRAM " \"$@\"; }; { " + command + "; } >out.txt 2>err.txt";
    const int status = std::system(("bash -c '" + whole + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out.txt"), read("err.txt")};
  }
  std::string read(const std::filesystem::path& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
  void write(const std::filesystem::path& name, const std::string& text) const { std::ofstream(folder_ / name, std::ios::binary) << text; }
  nlohmann::json summary(const std::string& run) const { return nlohmann::json::parse(read(run + "/summary.json")); }
  std::map<std::string, std::string> files(const std::string& run) const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / run)) all[entry.path().filename().string()] = read(entry.path());
    return all;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace straggler::test
