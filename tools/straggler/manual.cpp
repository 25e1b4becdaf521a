#include "tools/straggler/manual.hpp"

#include <fmt/format.h>

#include <cctype>

#include "scenarios/results/run_info.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

/// Text for roff: backslashes and hyphens are escaped, and no line begins as a request does.
std::string roff_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// "-h, --help", "--set PATH=VALUE".
std::string term_of(const po::option_description& option) {
  std::string term = "\\fB\\-\\-" + roff_text(option.long_name()) + "\\fR";
  const std::string shorter = option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  if (shorter.size() == 2 && shorter.front() == '-') term = "\\fB" + roff_text(shorter) + "\\fR, " + term;
  const bool takes_value = option.semantic()->max_tokens() > 0;
  return takes_value ? term + " \\fI" + roff_text(option.format_parameter()) + "\\fR" : term;
}

ManPage page_of(const CommandHelp& help) {
  const Command& command = *help.command;
  ManPage page{.name = fmt::format("straggler-{}", command.name), .summary = command.summary, .synopsis = {}};
  page.synopsis = {fmt::format("straggler {} {} [OPTION]...", command.name, command.arguments)};
  page.options = {&help.own, &help.shared};
  page.examples = command.examples;
  if (const std::string notes = command.all_notes(); !trimmed(notes).empty()) page.paragraphs = {std::string(trimmed(notes))};
  page.see_also = {"straggler"};
  return page;
}

ManPage program_page() {
  ManPage page{.name = "straggler", .summary = "distributed SGD in simulated time", .synopsis = {"straggler COMMAND [OPTION]..."}};
  page.paragraphs = {
      "Which way of training finishes first on this cluster, and why? straggler computes the real gradients of distributed SGD in "
      "simulated "
      "time, on a cluster described in YAML.",
      "Results go to standard output, progress and messages to standard error. Exit codes: 0 done, 1 a bound was exceeded, 2 bad usage or "
      "bad input, 3 it could not continue (failed points, a full disk), 130 interrupted (what was finished is written)."};
  for (const Command* command : commands()) {
    page.commands.emplace_back(fmt::format("{} {}", command->name, command->arguments), command->summary);
    page.see_also.push_back(fmt::format("straggler-{}", command->name));
  }
  page.examples = "  straggler check scenario.yaml\n  straggler run scenario.yaml --out results/first\n";
  return page;
}

int execute_man(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  own.add_options()("out,o", po::value<std::string>()->value_name("DIR"),
                    "writes all pages there, as straggler.1, straggler-run.1 and so on");
  Arguments arguments(man_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  if (arguments.has("out")) {
    write_whole_files(arguments.get<std::string>("out"), man_pages());
    return Exit::done;
  }
  fmt::print("{}", man_page_of(arguments.positional().empty() ? std::string() : arguments.positional().front()));
  return Exit::done;
}

}  // namespace

std::string roff(const ManPage& page) {
  std::string out = fmt::format(".TH {} 1 \"\" \"straggler {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", upper(page.name),
                                version(), roff_text(page.name), roff_text(page.summary));
  for (const std::string& line : page.synopsis) out += roff_text(line) + "\n.br\n";
  if (!page.paragraphs.empty()) out += ".SH DESCRIPTION\n";
  for (const std::string& paragraph : page.paragraphs) out += ".PP\n" + roff_text(paragraph) + "\n";
  if (!page.commands.empty()) out += ".SH COMMANDS\n";
  for (const auto& [term, meaning] : page.commands) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff_text(term), roff_text(meaning));
  if (!page.options.empty()) out += ".SH OPTIONS\n";
  for (const po::options_description* const group : page.options)
    for (const auto& option : group->options()) out += fmt::format(".TP\n{}\n{}\n", term_of(*option), roff_text(option->description()));
  if (!page.examples.empty()) out += ".SH EXAMPLES\n.nf\n" + roff_text(page.examples) + ".fi\n";
  if (!page.see_also.empty()) out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < page.see_also.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", roff_text(page.see_also[i]), i + 1 < page.see_also.size() ? "," : "");
  return out;
}

std::vector<std::pair<std::string, std::string>> man_pages() {
  std::vector<std::pair<std::string, std::string>> pages{{"straggler.1", roff(program_page())}};
  for (const CommandHelp& help : help_of_all_commands()) pages.emplace_back(page_of(help).name + ".1", roff(page_of(help)));
  return pages;
}

std::string man_page_of(const std::string& command) {
  if (command.empty()) return roff(program_page());
  for (const CommandHelp& help : help_of_all_commands())
    if (command == help.command->name) return roff(page_of(help));
  throw UsageError(unknown_name("command", command, command_names()));
}

const Command man_command{.name = "man",
                          .arguments = "[COMMAND]",
                          .summary = "prints the man page of a command, or of the program",
                          .examples =
                              "  straggler man run | man -l -\n"
                              "  straggler man --out ~/.local/share/man/man1\n",
                          .run = execute_man,
                          .words = command_names};

}  // namespace straggler::cli
