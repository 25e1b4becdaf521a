#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/schema/scenario_keys.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/file_formats.hpp"

namespace straggler::cli {

namespace {

/// A value that fits stands on one line; of others, each part stands on a line of its own. So a changed key is a changed line.
std::string in_lines(const nlohmann::ordered_json& json, const std::string& indent = {}) {
  constexpr std::size_t line = 400;
  std::string text = json.dump();
  if (text.size() <= line || !json.is_structured()) return text;
  const std::string deeper = indent + ' ';
  std::string out(1, json.is_object() ? '{' : '[');
  for (const auto& [key, value] : json.items()) {
    out += (out.size() > 1 ? ",\n" : "\n") + deeper;
    if (json.is_object()) out += nlohmann::ordered_json(key).dump() + ": ";
    out += in_lines(value, deeper);
  }
  return out + "\n" + indent + (json.is_object() ? '}' : ']');
}

int execute_schema(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", 110);
  Arguments arguments(schema_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  const std::string kind = arguments.positional().empty() ? "scenario" : arguments.positional().front();
  std::vector<std::string> known;
  for (const FileFormat& format : file_formats()) {
    if (format.name == kind) {
      print_text("{}\n", in_lines(json_schema(format.title, format.keys)));
      return Exit::done;
    }
    known.push_back(format.name);
  }
  throw UsageError(unknown_name("kind of file", kind, known));
}

}  // namespace

const Command schema_command{"schema",
                             "[scenario|sweep|claim]",
                             "the JSON Schema of a scenario, a sweep or a claim, for completion and checks in editors",
                             "  straggler schema > scenario.json\n"
                             "  straggler schema sweep > sweep.json   # refers to scenario.json beside it\n",
                             execute_schema,
                             "Editors with a YAML language server complete and check a file that begins with "
                             "'# yaml-language-server: $schema=scenario.json'.\n"};

}  // namespace straggler::cli
