#include <fmt/format.h>

#include "scenarios/results/whole_files.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/manual.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

struct Option {
  std::string name;    // without its dashes
  std::string letter;  // its short form; empty: none
  std::string about;   // up to the first sentence's end
  bool takes_value = false;
};

std::string letter_of(const po::option_description& option) {
  const std::string shorter = option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  return shorter.size() == 2 && shorter.front() == '-' ? shorter.substr(1) : std::string();
}

std::vector<Option> options_of(const CommandHelp& help) {
  std::vector<Option> options;
  for (const po::options_description* const group : {&help.own, &help.shared})
    for (const auto& option : group->options())
      options.push_back({option->long_name(), letter_of(*option), option->description(), option->semantic()->max_tokens() > 0});
  return options;
}

/// In single quotes, as bash and zsh read them.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

/// In single quotes, as fish reads them.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// In the specifications of zsh's _arguments and _describe: brackets and colons mean something.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string bash_script(const std::vector<CommandHelp>& all) {
  std::string names, cases;
  for (const CommandHelp& help : all) {
    names += (names.empty() ? "" : " ") + std::string(help.command->name);
    std::string words;
    for (const Option& option : options_of(help)) words += (words.empty() ? "--" : " --") + option.name;
    cases += fmt::format("    {}) words={} ;;\n", help.command->name, shell_quoted(words));
  }
  return fmt::format(R"(# bash completion of straggler
_straggler() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {} -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}}
complete -F _straggler straggler
)",
                     shell_quoted(names + " --help --version"), cases);
}

std::string zsh_script(const std::vector<CommandHelp>& all) {
  std::string names, cases;
  for (const CommandHelp& help : all) {
    names += "    " + shell_quoted(fmt::format("{}:{}", help.command->name, zsh_text(help.command->summary))) + "\n";
    cases += fmt::format("    {}) _arguments", help.command->name);
    for (const Option& option : options_of(help)) {
      const std::string rest = fmt::format("[{}]{}", zsh_text(option.about), option.takes_value ? ":value:_files" : "");
      cases += " \\\n      " + shell_quoted(fmt::format("*--{}{}", option.name, rest));
      if (!option.letter.empty()) cases += " \\\n      " + shell_quoted(fmt::format("*-{}{}", option.letter, rest));
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef straggler
# zsh completion of straggler
_straggler() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_straggler "$@"
)",
                     names, cases);
}

std::string fish_script(const std::vector<CommandHelp>& all) {
  std::string out = "# fish completion of straggler\n";
  for (const CommandHelp& help : all)
    out += fmt::format("complete -c straggler -n __fish_use_subcommand -f -a {} -d {}\n", help.command->name,
                       fish_quoted(help.command->summary));
  for (const CommandHelp& help : all)
    for (const Option& option : options_of(help))
      out += fmt::format("complete -c straggler -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n", help.command->name, option.name,
                         option.letter.empty() ? "" : " -s " + option.letter, option.takes_value ? " -r" : "", fish_quoted(option.about));
  return out;
}

int execute_completion(const std::vector<std::string>& given) {
  po::options_description own("Options", 110);
  own.add_options()("out,o", po::value<std::string>()->value_name("DIR"),
                    "writes the scripts of all shells there: straggler, _straggler, straggler.fish");
  Arguments arguments(completion_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  if (arguments.has("out")) {
    write_whole_files(
        arguments.get<std::string>("out"),
        {{"straggler", completion_for("bash")}, {"_straggler", completion_for("zsh")}, {"straggler.fish", completion_for("fish")}});
    return Exit::done;
  }
  if (arguments.positional().empty()) throw UsageError("SHELL is missing; name one of " + joined(shells()));
  fmt::print("{}", completion_for(arguments.positional().front()));
  return Exit::done;
}

}  // namespace

const std::vector<std::string>& shells() {
  static const std::vector<std::string> known{"bash", "zsh", "fish"};
  return known;
}

std::string completion_for(const std::string& shell) {
  const std::vector<CommandHelp> all = help_of_all_commands();
  if (shell == "bash") return bash_script(all);
  if (shell == "zsh") return zsh_script(all);
  if (shell == "fish") return fish_script(all);
  throw UsageError(unknown_name("shell", shell, shells()));
}

const Command completion_command{"completion", "SHELL", "prints the completion of commands and options for bash, zsh or fish",
                                 "  source <(straggler completion bash)\n"
                                 "  straggler completion fish > ~/.config/fish/completions/straggler.fish\n",
                                 execute_completion};

}  // namespace straggler::cli
