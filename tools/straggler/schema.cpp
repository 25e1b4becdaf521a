#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/schema/scenario_keys.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/file_formats.hpp"

namespace straggler::cli {

namespace {

/// A value that fits stands on one line; of others, each part stands on a line of its own. So a changed key is a changed line. There is no
/// other white space: editors read the file at each start.
std::string in_lines(const nlohmann::ordered_json& json) {
  constexpr std::size_t line = 400;
  std::string text = json.dump();
  if (text.size() <= line || !json.is_structured()) return text;
  std::string out(1, json.is_object() ? '{' : '[');
  for (const auto& [key, value] : json.items()) {
    out += out.size() > 1 ? ",\n" : "\n";
    if (json.is_object()) out += nlohmann::ordered_json(key).dump() + ":";
    out += in_lines(value);
  }
  return out + "\n" + (json.is_object() ? '}' : ']');
}

std::vector<std::string> kinds_of_files() {
  std::vector<std::string> names;
  for (const FileFormat& format : file_formats()) names.push_back(format.name);
  return names;
}

int execute_schema(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", help_width);
  Arguments arguments(schema_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  const std::string kind = arguments.positional().empty() ? "scenario" : arguments.positional().front();
  for (const FileFormat& format : file_formats())
    if (format.name == kind) {
      print_text("{}\n", in_lines(json_schema(format.title, format.keys)));
      return Exit::done;
    }
  throw UsageError(unknown_name("kind of file", kind, kinds_of_files()));
}

}  // namespace

const Command schema_command{.name = "schema",
                             .arguments = "[scenario|sweep|claim]",
                             .summary = "the JSON Schema of a scenario, a sweep or a claim, for editors",
                             .examples =
                                 "  straggler schema > scenario.json\n"
                                 "  straggler schema sweep > sweep.json   # refers to scenario.json beside it\n",
                             .run = execute_schema,
                             .notes =
                                 "\nEditors with a YAML language server complete and check a file that begins with\n"
                                 "'# yaml-language-server: $schema=scenario.json'.\n",
                             .words = kinds_of_files};

}  // namespace straggler::cli
