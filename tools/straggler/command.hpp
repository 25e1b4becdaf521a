// Shared by every subcommand of `straggler`: options, help, exit codes.
#pragma once
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/executor/checkpoint.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/refusal.hpp"
#include "sim/base/shown_text.hpp"
#include "tools/straggler/command_list.hpp"

namespace straggler::cli {

/// Columns of the help.
constexpr unsigned help_width = 80;

/// Wrong arguments. The line ends with the help to see.
struct UsageError : Refusal {
  using Refusal::Refusal;
};

/// fmt::print for everything that the program says: whatever names and files hold, no control character reaches a terminal.
template <class... Values>
void print_text(std::FILE* to, fmt::format_string<Values...> format, Values&&... values) {
  fmt::print(to, "{}", shown_text(fmt::format(format, std::forward<Values>(values)...)));
}
template <class... Values>
void print_text(fmt::format_string<Values...> format, Values&&... values) {
  print_text(stdout, format, std::forward<Values>(values)...);
}

/// The common options.
struct Common {
  unsigned threads = 0;         // 0: all cores
  bool choose_threads = false;  // of these as many as are fastest
  bool quiet = false;
  ProgressStyle progress = ProgressStyle::automatic;  // none if quiet
};

/// Parses one subcommand's arguments. The options of every command (--threads, --quiet, --progress, --help, --version) are
/// added to its own.
class Arguments {
 public:
  Arguments(const Command& command, boost::program_options::options_description own);
  /// False: help or version was requested and printed. Throws UsageError on an unknown option (naming the nearest), a missing or wrong
  /// value, or a number of positional arguments outside [least, most].
  bool parse(const std::vector<std::string>& arguments, std::size_t least, std::size_t most);

  const std::vector<std::string>& positional() const { return positional_; }
  const Common& common() const { return common_; }
  bool flag(const char* name) const { return values_.count(name) > 0; }
  bool has(const char* name) const { return values_.count(name) > 0; }
  template <class Value>
  const Value& get(const char* name) const {
    return values_[name].as<Value>();
  }
  /// A whole number of at least `least`. Throws UsageError, which says what `otherwise` may be given.
  std::uint64_t count(const char* name, std::uint64_t least, const char* otherwise = "") const;
  /// The name of a file that can be created in an existing folder. Throws UsageError.
  std::filesystem::path file(const char* name) const;
  /// Of wall-clock time or updates, above 0. Throws UsageError.
  CheckpointInterval checkpoint_interval(const char* name) const;

 private:
  void read_common();
  ProgressStyle progress_style() const;
  [[noreturn]] void unknown_option(const std::string& given) const;
  void print_help() const;

  const Command& command_;
  boost::program_options::options_description own_, shared_, all_;
  boost::program_options::variables_map values_;
  std::vector<std::string> positional_;
  Common common_;
};

/// What the help of a command says, as its tables of options.
struct CommandHelp {
  const Command* command;
  boost::program_options::options_description own, shared;
};
CommandHelp help_of(const Command& command);
std::vector<CommandHelp> help_of_all_commands();

/// What `--version` prints: version and compiler on the first line, then commit, build, kernel set and formats.
std::string version_text(std::string_view program = "straggler");

/// "page: DIR/report.html": the last line of a command that wrote one.
void print_page(const std::filesystem::path& page);

/// Prints a result; its lines that begin with "warning: " go to standard error, or nowhere if it is to be quiet.
void print_result(const std::string& text, bool quiet);

/// The bytes of a size in an option, "25MiB"; a number without a unit counts bytes. Throws std::invalid_argument.
double size_of(const std::string& text);
/// A list option such as "a,b"; empty items are dropped.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace straggler::cli
