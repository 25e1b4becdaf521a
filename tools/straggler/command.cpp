#include "tools/straggler/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

#include "models/kernels/kernels.hpp"
#include "scenarios/experiment/run_checkpoint.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/format_version.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/screen.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command* command : commands()) names.emplace_back(command->name);
  return names;
}

std::string version_text(std::string_view program) {
  const std::string_view kernels = select_kernels("auto").name;
  return fmt::format(
      "{} {} ({})\n"
      "commit: {}\n"
      "build: {}\n"
      "kernels: {} (of {})\n"
      "formats: scenario {}, sweep {}, claim {}, results {}, state {}, store {}, checkpoint {}\n",
      program, version(), compiler(), built_commit(), build_details(), kernels, fmt::join(available_kernels(), ", "),
      FormatVersion::scenario, FormatVersion::sweep, FormatVersion::claim, FormatVersion::results, FormatVersion::state,
      FormatVersion::store, FormatVersion::checkpoint);
}

namespace {

std::optional<CommandHelp>* collected = nullptr;  // where help_of() wants help instead of printing it

}  // namespace

Arguments::Arguments(const Command& command, po::options_description own)
    : command_(command), own_(std::move(own)), shared_("Common options", help_width), all_(help_width) {
  auto add = shared_.add_options();
  if (command.program == std::string_view("straggler"))
    add("threads", po::value<std::string>()->value_name("N"),
        "threads for the math, or auto: as many of these as prove fastest (default: all cores that affinity and control groups allow); "
        "results do not depend on it");
  add("quiet", "only errors on standard error");
  add("progress", po::value<std::string>()->value_name("HOW"), "auto, bar, plain or none; on standard error (default: auto)");
  add("help,h", "this page");
  add("version", "version, commit, build and kernel set");
  all_.add(own_).add(shared_);
}

bool Arguments::parse(const std::vector<std::string>& arguments, std::size_t least, std::size_t most) {
  po::options_description with_positional = all_;
  with_positional.add_options()("positional", po::value<std::vector<std::string>>(&positional_));
  po::positional_options_description positions;
  positions.add("positional", -1);
  constexpr int exact = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  try {
    po::store(po::command_line_parser(arguments).options(with_positional).positional(positions).style(exact).run(), values_);
    po::notify(values_);
  } catch (const po::unknown_option& error) {
    unknown_option(error.get_option_name());
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (values_.count("help")) {
    print_help();
    return false;
  }
  if (values_.count("version")) {
    print_text("{}", version_text(command_.program));
    return false;
  }
  if (positional_.size() < least) throw UsageError(fmt::format("{} is missing", command_.arguments));
  if (positional_.size() > most)
    throw UsageError(fmt::format("unexpected argument {}; {} takes {}", in_quotes(positional_[most]), command_.name,
                                 *command_.arguments == '\0' ? "no argument" : command_.arguments));
  if (std::ranges::any_of(positional_, [](const std::string& given) { return given.empty(); }))
    throw UsageError(fmt::format("an argument is empty; {} takes {}", command_.name, command_.arguments));
  read_common();
  return true;
}

std::uint64_t Arguments::count(const char* name, std::uint64_t least, const char* otherwise) const {
  const std::string& text = get<std::string>(name);
  try {
    const std::uint64_t value = parse_unsigned(text);
    if (value >= least) return value;
  } catch (const std::invalid_argument&) {
  }
  throw UsageError(fmt::format("--{} is {}; it must be a whole number of at least {}{}", name, in_quotes(text), least, otherwise));
}

std::filesystem::path Arguments::file(const char* name) const {
  std::filesystem::path given = get<std::string>(name);
  const std::filesystem::path folder = given.parent_path();
  if (given.empty()) throw UsageError(fmt::format("--{} is empty; name a file", name));
  std::error_code error;
  if (!given.has_filename() || std::filesystem::is_directory(given, error))
    throw UsageError(fmt::format("--{} {}: is a folder; name a file", name, given.string()));
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw UsageError(fmt::format("--{} {}: there is no folder {}; make it, or name another file", name, given.string(), folder.string()));
  return given;
}

CheckpointInterval Arguments::checkpoint_interval(const char* name) const {
  try {
    return straggler::checkpoint_interval(get<std::string>(name));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--{}{}", name, error.what()));
  }
}

void Arguments::read_common() {
  common_.choose_threads = has("threads") && get<std::string>("threads") == "auto";
  if (has("threads") && !common_.choose_threads) {
    const std::uint64_t threads = count("threads", 1, ", or auto");
    if (threads > most_threads) throw UsageError(fmt::format("--threads is {}; it must be at most {}", threads, most_threads));
    common_.threads = static_cast<unsigned>(threads);
  }
  common_.quiet = flag("quiet");
  if (has("progress")) common_.progress = progress_style();
  if (common_.quiet) common_.progress = ProgressStyle::none;
}

ProgressStyle Arguments::progress_style() const {
  static const std::vector<std::string> styles{"auto", "bar", "plain", "none"};
  const std::string& given = get<std::string>("progress");
  for (std::size_t i = 0; i < styles.size(); ++i)
    if (styles[i] == given) return static_cast<ProgressStyle>(i);
  throw UsageError(unknown_name("--progress", given, styles));
}

void Arguments::unknown_option(const std::string& given) const {
  std::vector<std::string> known;
  for (const auto& option : all_.options()) known.push_back("--" + option->long_name());
  throw UsageError(unknown_name("option", given, known));
}

void Arguments::print_help() const {
  if (collected) {
    collected->emplace(CommandHelp{&command_, own_, shared_});
    return;
  }
  std::ostringstream options;
  if (!own_.options().empty()) options << own_ << '\n';
  options << shared_;
  print_text("{} {} {}\n{}\n\n{}\nExamples:\n{}{}", command_.program, command_.name, command_.arguments, command_.summary, options.str(),
             command_.examples, command_.all_notes());
}

CommandHelp help_of(const Command& command) {
  std::optional<CommandHelp> help;
  collected = &help;
  command.run({"--help"});
  collected = nullptr;
  return *help;
}

std::vector<CommandHelp> help_of_all_commands() {
  std::vector<CommandHelp> all;
  for (const Command* command : commands()) all.push_back(help_of(*command));
  return all;
}

void print_page(const std::filesystem::path& page) {
  std::fflush(stderr);  // on a terminal it comes last
  print_text("page: {}\n", page.string());
}

void print_result(const std::string& text, bool quiet) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    const bool warning = line.starts_with("warning: ");
    std::FILE* const to = warning ? stderr : stdout;
    if (!warning || !quiet) print_text(to, "{}\n", wrapped(line, terminal_width(to)));
  }
}

double size_of(const std::string& text) {
  const bool has_unit = text.empty() || text.back() < '0' || text.back() > '9';
  return parse_quantity(has_unit ? text : text + "B", Dimension::bytes);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  std::erase(parts, "");
  return parts;
}

}  // namespace straggler::cli
