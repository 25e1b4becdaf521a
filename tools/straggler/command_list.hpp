// The commands of a program, for files that need no more of them than their names: quick to compile.
#pragma once
#include <string>
#include <vector>

namespace straggler::cli {

struct Command {
  const char* name;
  const char* arguments;  // "SCENARIO.yaml"
  const char* summary;    // one line
  const char* examples;   // lines, indented by two
  int (*run)(const std::vector<std::string>& arguments);
  const char* notes = "";                         // lines at the end of the help: assumptions
  std::string (*formats)() = nullptr;             // of the files that it reads, as such lines; null: none to say
  const char* program = "straggler";              // whose command it is; straggler-mpi has no --threads: each rank is one
  std::vector<std::string> (*words)() = nullptr;  // that its argument may be; null: it is a file
  std::string all_notes() const { return notes + (formats != nullptr ? formats() : std::string()); }
};

extern const Command run_command, sweep_command, race_command, compare_command, explain_command, advise_command, validate_command,
    calibrate_command, import_command, check_command, quantize_command, words_command, store_command, report_command, list_command,
    schema_command, init_command, allreduce_command, timeline_command, serve_command, playground_command, man_command, completion_command;
const std::vector<const Command*>& commands();
/// "run", "check", …: in the order of use.
std::vector<std::string> command_names();
/// The groups of `list`: "schemes", "jitter", …
std::vector<std::string> list_groups();

/// The commit that was built, with a + if files were changed since; "unknown" outside of a git repository.
std::string built_commit();
/// "Release, x86_64, Boost 1_74".
std::string build_details();

}  // namespace straggler::cli
