#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/schema/scenario_keys.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

int execute(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", 110);
  Arguments arguments(schema_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  const std::string kind = arguments.positional().empty() ? "scenario" : arguments.positional().front();
  if (kind != "scenario") throw UsageError(unknown_name("kind of file", kind, {"scenario"}));
  fmt::print("{}\n", scenario_schema().dump(1));
  return Exit::done;
}

}  // namespace

const Command schema_command{"schema",
                             "[scenario]",
                             "the JSON Schema of a scenario, by which editors complete and check",
                             "  straggler schema > scenario.json\n",
                             execute,
                             "A file that begins with '# yaml-language-server: $schema=scenario.json' is completed and checked while it "
                             "is written.\n"};

}  // namespace straggler::cli
