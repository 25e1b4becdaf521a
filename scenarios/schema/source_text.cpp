#include "scenarios/schema/source_text.hpp"

#include <iostream>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/text_lines.hpp"
#include "sim/base/utf8.hpp"

namespace straggler {

namespace {

void normalize(std::string& text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  std::string::size_type to = 0;
  for (std::string::size_type from = 0; from < text.size(); ++from)
    if (text[from] != '\r' || from + 1 >= text.size() || text[from + 1] != '\n') text[to++] = text[from];
  text.resize(to);
}

/// It can be read only once; later calls get the same text.
const std::string& standard_input_text() {
  static const std::string text = read_stream(std::cin, YamlLimits::bytes + 1);
  return text;
}

}  // namespace

std::filesystem::path input_file(const std::string& argument) {
  if (argument == "-") return standard_input;
  return argument == standard_input ? "./" + argument : argument;
}

std::optional<std::string> read_text(const std::filesystem::path& file, Problems& problems, const TextKind& kind) {
  const std::string noun = kind.noun;
  if (file == standard_input) {
    std::string text = standard_input_text();
    if (!check_text(text, 0, problems, kind)) return std::nullopt;
    return text;
  }
  FileText read = read_file(file, YamlLimits::bytes + 1);
  const auto refuse = [&](const std::string& what) {
    problems.add(whole_file, {}, what);
    return std::nullopt;
  };
  switch (read.fault) {
    case FileFault::folder:
      return refuse("is a folder; give the path of a " + noun + " file");
    case FileFault::missing:
    case FileFault::closed:
      return refuse("cannot be read: " + (read.reason.empty() ? "the file cannot be opened" : read.reason) + "; give the path of a " +
                    noun + " file");
    case FileFault::broken:
      return refuse("reading stopped half way; check the disk and the path");
    case FileFault::none:
      break;
  }
  if (!check_text(read.text, 0, problems, kind)) return std::nullopt;
  return std::move(read.text);
}

bool check_text(std::string& text, int source, Problems& problems, const TextKind& kind) {
  const std::string noun = kind.noun;
  normalize(text);
  Place at{source, 1, 1};
  const auto refuse = [&](const std::string& what) {
    problems.add(at, noun, what);
    return false;
  };
  if (text.empty()) {
    problems.add(source == 0 ? whole_file : at, {}, "is empty; write a " + noun + " that begins with '" + kind.beginning + "'");
    return false;
  }
  bool indenting = true;
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_character(text, i).bytes;
    if (length == 0) return refuse("is not UTF-8 text; save it as plain text in UTF-8");
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f)
      return refuse("has a control character, so it is not plain text; give the path of a " + noun + " file");
    if (byte == '\t' && indenting) {
      const std::size_t next = text.find_first_not_of(" \t", i);
      if (next != std::string::npos && text[next] != '\n' && text[next] != '#')
        return refuse("has a tab in its indentation; indent with spaces");
    }
    if (byte != ' ' && byte != '\t') indenting = byte == '\n';
    i += length;
    if (byte == '\n')
      at = {source, at.line + 1, 1};
    else
      at.column += static_cast<int>(length);
  }
  if (text.size() > YamlLimits::bytes) return refuse("is longer than 1 MiB; a " + noun + " is a short text");
  return true;
}

}  // namespace straggler
