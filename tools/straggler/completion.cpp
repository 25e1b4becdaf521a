#include <fmt/format.h>

#include <map>
#include <set>

#include "scenarios/import/import_format.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/scenario_keys.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/manual.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

struct Option {
  std::string name;    // without its dashes
  std::string letter;  // its short form; empty: none
  std::string about;   // up to the first sentence's end
  std::string value;   // what its value is called: "FILE", "PATH=VALUE"; empty: it has none
  bool is(std::string_view called) const { return value == called; }
};
constexpr std::string_view setting = "PATH=VALUE", schemes = "SCHEME,...",
                           import_format = "FORMAT";  // values with completions of their own

std::string letter_of(const po::option_description& option) {
  const std::string shorter = option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  return shorter.size() == 2 && shorter.front() == '-' ? shorter.substr(1) : std::string();
}

std::vector<Option> options_of(const CommandHelp& help) {
  std::vector<Option> options;
  for (const po::options_description* const group : {&help.own, &help.shared})
    for (const auto& option : group->options()) {
      const bool takes_value = option->semantic()->max_tokens() > 0;
      options.push_back(
          {option->long_name(), letter_of(*option), option->description(), takes_value ? option->format_parameter() : std::string()});
    }
  return options;
}

/// The keys of a scenario by their paths, each with the words that its value may be, if these are known.
class Settings {
 public:
  Settings() { add(scenario_keys(), {}); }
  const std::map<std::string, std::set<std::string>>& all() const { return all_; }
  /// A line each: "training.scheme.kind=asgd ssgd".
  std::string lines() const {
    std::string text;
    for (const auto& [path, words] : all_) text += fmt::format("{}={}\n", path, fmt::join(words, " "));
    return text;
  }

 private:
  using Shape = ScenarioKey::Shape;

  void add(const std::vector<ScenarioKey>& keys, const std::string& prefix) {
    for (const ScenarioKey& key : keys)
      if (key.listed() || key.shape == Shape::kind) add(key, prefix + key.name);
  }

  void add(const ScenarioKey& key, const std::string& path) {
    if (key.shape == Shape::map) {
      if (!key.choices.empty()) add(path, ValueType::choice, key.choices);
      return add(key.keys, path + ".");
    }
    if (key.shape == Shape::one_of) {  // its alternatives have no path of their own
      for (const ScenarioKey& each : key.keys) add(each, path);
      return;
    }
    add(path, key.type, key.choices);
    if (key.shape == Shape::list) add(key.keys, path + "[0].");
    if (key.shape == Shape::list_of)
      for (const ScenarioKey& each : key.keys)
        if (each.shape == Shape::map) add(each.keys, path + "[0].");
    if (key.shape == Shape::kind) add_kinds(*key.kind, path);
    if (key.shape == Shape::kind) add(key.keys, path + ".");
  }

  void add(const std::string& path, ValueType type, const std::vector<std::string>& choices) {
    std::set<std::string>& words = all_[path];
    words.insert(choices.begin(), choices.end());
    if (type == ValueType::boolean) words.insert({"false", "true"});
  }

  void add_kinds(KindGroup group, const std::string& path) {
    const Vocabulary& vocabulary = Vocabulary::from_registries();
    const std::vector<std::string> names = vocabulary.names(group);
    add(path, ValueType::choice, names);
    add(path + ".kind", ValueType::choice, names);
    for (const std::string& name : names)
      for (const Parameter& parameter : vocabulary.find(group, name)->parameters)
        add(path + "." + parameter.name, parameter.type, parameter.choices);
  }

  std::map<std::string, std::set<std::string>> all_;
};

std::string scheme_names() { return fmt::format("{}", fmt::join(Vocabulary::from_registries().names(KindGroup::scheme), " ")); }

std::string format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& each : import_formats()) names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// The words that the argument of a command may be, between blanks; empty: it is a file.
std::string words_of(const Command& command) { return command.words ? fmt::format("{}", fmt::join(command.words(), " ")) : std::string(); }

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
    std::string options;
    for (const Option& option : options_of(help)) options += (options.empty() ? "--" : " --") + option.name;
    cases += fmt::format("    {}) options={}", help.command->name, shell_quoted(options));
    if (const std::string words = words_of(*help.command); !words.empty()) cases += " words=" + shell_quoted(words);
    for (const Option& option : options_of(help)) {
      if (option.is(setting)) cases += " setting=--" + option.name;
      if (option.is(schemes)) cases += " schemes=--" + option.name;
      if (option.is(import_format)) cases += " format=--" + option.name;
    }
    cases += " ;;\n";
  }
  // Readline replaces what stands behind the last = only, and $word is all that stands behind a blank.
  return fmt::format(R"(# bash completion of straggler
_straggler_settings={}
_straggler_schemes={}
_straggler_formats={}

# Offers the words that begin with $2, behind $1.
_straggler_offer() {{
  local begin=$1 part=$2 kept
  shift 2
  kept=$begin$part
  case $COMP_WORDBREAKS in
    *=*) kept=${{kept%"${{kept##*=}}"}} ;;
    *) kept= ;;
  esac
  local each
  for each; do
    [[ $each == "$part"* ]] || continue
    each=$begin$each
    COMPREPLY+=("${{each#"$kept"}}")
  done
  case ${{COMPREPLY[0]}} in
    *[=.]) compopt -o nospace 2>/dev/null ;;
  esac
}}

# Keys of a scenario up to their next dot, or the values of one.
_straggler_setting() {{
  local begin=$1 part=$2 line path rest found=()
  while IFS= read -r line; do
    path=${{line%%=*}}
    if [[ $part == "$path="* ]]; then
      for rest in ${{line#*=}}; do found+=("$path=$rest"); done
    elif [[ $path == "$part"* ]]; then
      rest=${{path#"$part"}}
      case $rest in
        *.*) path=$part${{rest%%.*}}. ;;
        *) path=$path= ;;
      esac
      [[ " ${{found[*]}} " == *" $path "* ]] || found+=("$path")
    fi
  done <<<"$_straggler_settings"
  _straggler_offer "$begin" "$part" "${{found[@]}}"
}}

_straggler() {{
  local line=${{COMP_LINE:0:COMP_POINT}} word before option begin options= words= setting= schemes= format=
  COMPREPLY=()
  word=${{line##*[[:space:]]}}
  before=${{line%"$word"}}
  before=${{before%"${{before##*[![:space:]]}}"}}
  before=${{before##*[[:space:]]}}
  if [ "$COMP_CWORD" -eq 1 ]; then
    _straggler_offer '' "$word" {} --help --version
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  option=$before begin=
  case $word in
    --*=*) option=${{word%%=*}} begin=$option= ;;
  esac
  word=${{word#"$begin"}}
  if [ -n "$setting" ] && [ "$option" = "$setting" ]; then
    _straggler_setting "$begin" "$word"
  elif [ -n "$schemes" ] && [ "$option" = "$schemes" ]; then
    case $word in
      *,*) begin=$begin${{word%,*}}, word=${{word##*,}} ;;
    esac
    _straggler_offer "$begin" "$word" $_straggler_schemes
  elif [ -n "$format" ] && [ "$option" = "$format" ]; then
    _straggler_offer "$begin" "$word" $_straggler_formats
  elif [[ $begin$word == -* ]]; then
    _straggler_offer '' "$begin$word" $options
  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    _straggler_offer '' "$word" $words
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -F _straggler straggler
)",
                     shell_quoted(Settings().lines()), shell_quoted(scheme_names()), shell_quoted(format_names()), names, cases);
}

std::string zsh_script(const std::vector<CommandHelp>& all) {
  std::string names, cases;
  for (const CommandHelp& help : all) {
    names += "    " + shell_quoted(fmt::format("{}:{}", help.command->name, zsh_text(help.command->summary))) + "\n";
    cases += fmt::format("    {}) _arguments", help.command->name);
    for (const Option& option : options_of(help)) {
      const std::string action = option.is(setting)         ? "_straggler_setting"
                                 : option.is(schemes)       ? "_straggler_schemes"
                                 : option.is(import_format) ? "(" + format_names() + ")"
                                                            : "_files";
      const std::string rest = fmt::format("[{}]{}", zsh_text(option.about), option.value.empty() ? "" : ":value:" + action);
      cases += " \\\n      " + shell_quoted(fmt::format("*--{}{}", option.name, rest));
      if (!option.letter.empty()) cases += " \\\n      " + shell_quoted(fmt::format("*-{}{}", option.letter, rest));
    }
    if (const std::string words = words_of(*help.command); !words.empty()) cases += " \\\n      " + shell_quoted("1:word:(" + words + ")");
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef straggler
# zsh completion of straggler
_straggler_settings={}

# Keys of a scenario up to their next dot, or the values of one.
_straggler_setting() {{
  local line key rest
  local -aU found=()
  for line in ${{(f)_straggler_settings}}; do
    key=${{line%%=*}}
    if [[ $PREFIX == "$key="* ]]; then
      for rest in ${{=line#*=}}; do found+=("$key=$rest"); done
    elif [[ $key == "$PREFIX"* ]]; then
      rest=${{key#"$PREFIX"}}
      if [[ $rest == *.* ]]; then found+=("$PREFIX${{rest%%.*}}."); else found+=("$key="); fi
    fi
  done
  compadd -S '' -a found
}}
_straggler_schemes() {{
  _values -s , scheme {}
}}
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
                     shell_quoted(Settings().lines()), scheme_names(), names, cases);
}

std::string fish_script(const std::vector<CommandHelp>& all) {
  std::string settings;
  const Settings all_settings;
  for (const auto& [path, words] : all_settings.all()) {
    settings += path + "=\n";
    for (const std::string& word : words) settings += path + "=" + word + "\n";
  }
  std::string out = fmt::format(R"(# fish completion of straggler
function __straggler_settings
    printf '%s' {}
end
function __straggler_schemes
    set -l before (commandline -ct | string match -r '.*,')
    for scheme in {}
        echo $before$scheme
    end
end
)",
                                fish_quoted(settings), scheme_names());
  for (const CommandHelp& help : all)
    out += fmt::format("complete -c straggler -n __fish_use_subcommand -f -a {} -d {}\n", help.command->name,
                       fish_quoted(help.command->summary));
  for (const CommandHelp& help : all) {
    const std::string begin = fmt::format("complete -c straggler -n '__fish_seen_subcommand_from {}'", help.command->name);
    if (const std::string words = words_of(*help.command); !words.empty()) out += fmt::format("{} -f -a {}\n", begin, fish_quoted(words));
    for (const Option& option : options_of(help)) {
      const std::string value = option.is(setting)         ? " -r -f -a '(__straggler_settings)'"
                                : option.is(schemes)       ? " -r -f -a '(__straggler_schemes)'"
                                : option.is(import_format) ? " -r -f -a " + fish_quoted(format_names())
                                : option.value.empty()     ? ""
                                                           : " -r";
      out += fmt::format("{} -l {}{}{} -d {}\n", begin, option.name, option.letter.empty() ? "" : " -s " + option.letter, value,
                         fish_quoted(option.about));
    }
  }
  return out;
}

int execute_completion(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
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

const Command completion_command{.name = "completion",
                                 .arguments = "SHELL",
                                 .summary = "prints the completion of commands, options and keys for a shell",
                                 .examples =
                                     "  source <(straggler completion bash)\n"
                                     "  straggler completion fish > ~/.config/fish/completions/straggler.fish\n",
                                 .run = execute_completion,
                                 .words = [] { return shells(); }};

}  // namespace straggler::cli
