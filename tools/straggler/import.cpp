#include "scenarios/import/import_format.hpp"

#include <fmt/format.h>

#include <limits>

#include "scenarios/report/import_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/table_folder.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

po::options_description import_command_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of what is written (default: results/NAME-import)");
  add("as", po::value<std::string>()->value_name("FORMAT"), "reads files of this format alone: straggler list imports");
  add("hold-out", po::value<std::vector<std::string>>()->composing()->value_name("FILE"),
      "another run of the job, which claim.yaml predicts; repeatable");
  for (const ImportOption& option : import_options()) {
    const std::string name = option_name(option.parameter.name);
    const std::string about = fmt::format("{} ({})", option.parameter.meaning, joined(option.formats));
    if (option.parameter.type == ValueType::boolean)
      add(name.c_str(), about.c_str());
    else
      add(name.c_str(), po::value<std::string>()->value_name("VALUE"), about.c_str());
  }
  add("json", "prints import.json");
  add("force", "writes into the folder even if it holds something else");
  return options;
}

Parameters given_options(const Arguments& arguments) {
  Parameters given;
  for (const ImportOption& option : import_options()) {
    const std::string name = option_name(option.parameter.name);
    if (!arguments.has(name.c_str())) continue;
    if (option.parameter.type == ValueType::boolean) {
      given.set(option.parameter.name, true);
      continue;
    }
    try {
      given.set(option.parameter.name, parse_value(option.parameter, arguments.get<std::string>(name.c_str())));
    } catch (const std::invalid_argument& error) {
      throw UsageError(fmt::format("--{}: {}", name, error.what()));
    }
  }
  return given;
}

/// Refuses a folder of something else, and an import that has become the user's.
void refuse_to_replace_import(const fs::path& out, const Imported& imported, bool force) {
  std::error_code error;
  if (imported.next.empty()) return refuse_foreign_folder(out, "import", "import.json", "{", force);
  if (!force && fs::exists(out / "import.json", error) && fs::exists(out / imported.next, error) &&
      !first_line(out / imported.next).starts_with(import_mark))
    throw ResultsError(fmt::format("{}: {} was changed, since its first line is gone; use --out {}, or --force to replace it", out.string(),
                                   imported.next, free_neighbour(out)));
  refuse_foreign_folder(out, "import", imported.next, import_mark, force);
}

/// report.html, of a job that runs: whether there is one now.
bool write_import_page(const fs::path& out) {
  std::error_code error;
  fs::remove(out / "report.html", error);  // of an earlier import
  const ImportedFolder folder(out);
  if (!folder.is_job()) return false;
  write_whole_files(out, {{"report.html", import_page(folder)}});
  return true;
}

int execute_import(const std::vector<std::string>& given) {
  Arguments arguments(import_command, import_command_options());
  if (!arguments.parse(given, 1, std::numeric_limits<std::size_t>::max())) return Exit::done;
  ImportRequest request;
  request.files.assign(arguments.positional().begin(), arguments.positional().end());
  request.options = given_options(arguments);
  if (arguments.has("as")) request.format = arguments.get<std::string>("as");
  if (arguments.has("hold-out"))
    for (const std::string& file : arguments.get<std::vector<std::string>>("hold-out")) request.held_out.emplace_back(file);
  Imported imported = import_files(request);
  const fs::path out =
      arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / (imported.name + "-import");
  refuse_to_replace_import(out, imported, arguments.flag("force"));
  write_whole_files(out, imported.files);
  const bool page = write_import_page(out);
  results_are_in(out);
  if (arguments.flag("json")) {
    for (const auto& [name, text] : imported.files)
      if (name == "import.json") print_text("{}", text);
    return Exit::done;
  }
  std::vector<std::string> names;
  for (const auto& [name, text] : imported.files) names.push_back(name);
  imported.said.emplace_back("results", fmt::format("{}: {}", out.string(), joined(names)));
  print_text("{}", import_text(imported));
  if (const std::string next = (out / imported.next).string(); !imported.next.empty())
    print_text("next: straggler check {0}\n      straggler run {0} --timing-only\n{1}", next,
               request.held_out.empty() ? std::string() : fmt::format("      straggler validate {}\n", (out / "claim.yaml").string()));
  if (page) print_page(out / "report.html");
  return Exit::done;
}

std::string import_formats_help() {
  std::string text = "FILE, plain, packed by gzip or in a tar archive, describes\n";
  std::string yields;
  for (const ImportFormat& format : import_formats()) {
    if (format.yields != yields) text += fmt::format(" {}:\n", yields = format.yields);
    text += fmt::format("  {:<18}  {}\n", format.name, format.summary);
  }
  return text;
}

}  // namespace

const Command import_command{.name = "import",
                             .arguments = "FILE...",
                             .summary = "turns traces, logs or a model's description into a scenario",
                             .examples =
                                 "  straggler import config.json --sequence 1024\n"
                                 "  straggler import rank*.json.gz --out results/mine\n"
                                 "  straggler list imports              formats, and how to make such files\n",
                             .run = execute_import,
                             .notes = "\n",
                             .formats = import_formats_help};

}  // namespace straggler::cli
