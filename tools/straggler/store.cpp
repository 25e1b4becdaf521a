#include <fmt/format.h>

#include "scenarios/sweep/evaluation_file.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

fs::path file_of(const Arguments& arguments) {
  if (arguments.has("store")) return arguments.file("store");
  if (fs::path usual = EvaluationFile::default_file(); !usual.empty()) return usual;
  throw UsageError("neither XDG_CACHE_HOME nor HOME is set, so there is no default place; name the file with --store");
}

std::vector<std::string> actions() { return {"info", "clear"}; }

int execute_store(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  own.add_options()("store", po::value<std::string>()->value_name("FILE"), "the file (default: in the user's cache folder)");
  Arguments arguments(store_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const std::string& what = arguments.positional().front();
  if (what != "info" && what != "clear") throw UsageError(unknown_name("action", what, actions()));
  const fs::path file = file_of(arguments);
  if (!fs::exists(file)) {
    print_text("{}: no store yet; a sweep makes one\n", file.string());
    return Exit::done;
  }
  if (what == "clear") EvaluationFile(file).clear();
  const EvaluationFile::Facts facts = EvaluationFile::facts_of(file);
  const auto bytes = [](std::uint64_t count) { return readable_bytes(static_cast<double>(count)); };
  print_text("{}\n", file.string());
  if (facts.older)
    print_text("an older format, version {}; it will be emptied when a run writes to it\n", *facts.older);
  else
    print_text("{} evaluations, {} of them by this program's math\n{} weights and momenta, {} of them by this program's math; {}\n",
               readable_count(facts.evaluations), readable_count(facts.own_evaluations), readable_count(facts.values),
               readable_count(facts.own_values), bytes(facts.value_bytes));
  print_text("{} of at most {}\n", bytes(facts.file_bytes), bytes(facts.cap));
  return Exit::done;
}

}  // namespace

const Command store_command{.name = "store",
                            .arguments = "info|clear",
                            .summary = "the store of evaluations and weights that sweeps share",
                            .examples = "  straggler store info\n  straggler store clear --store sweeps.sqlite\n",
                            .run = execute_store,
                            .words = actions};

}  // namespace straggler::cli
