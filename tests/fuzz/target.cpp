#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

void run_target(const Target& target, std::string_view input) {
  try {
    target.run(input);
  } catch (const Find&) {
    throw;
  } catch (const std::exception& error) {
    throw Find(target.name + ": no refusal but " + typeid(error).name() + ": " + error.what());
  }
}

const test::TemporaryFolder& workplace() {
  static const test::TemporaryFolder folder;
  return folder;
}

std::string write_file(const std::string& name, std::string_view bytes) { return workplace().write(name, std::string(bytes)).string(); }

std::map<std::string, std::string> parts_of(std::string_view input, const std::string& first, const std::vector<std::string>& names) {
  std::map<std::string, std::string> parts;
  std::string current = first;
  bool counts = true;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size() - 1) + 1;
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end);
    if (line.starts_with("--- ") && line.ends_with('\n')) {
      current = line.substr(4, line.size() - 5);
      counts = false;
      for (const std::string& name : names) counts = counts || name == current;
      if (counts) parts[current].clear();
      continue;
    }
    if (counts) parts[current] += line;
  }
  return parts;
}

std::filesystem::path write_folder(const std::map<std::string, std::string>& files) {
  const std::filesystem::path folder = workplace() / "files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) write_file("files/" + name, text);
  return folder;
}

void check_message(const std::exception& error) {
  constexpr std::size_t longest = 100'000;
  const std::string_view text = error.what();
  if (text.find(' ') == std::string_view::npos) throw Find("a refusal without a sentence: '" + std::string(text) + "'");
  if (text.size() > longest) throw Find("a refusal of " + std::to_string(text.size()) + " bytes");
}

}  // namespace straggler::fuzz
