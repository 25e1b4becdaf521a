// The commands of the program.
#include "tools/straggler/command.hpp"

namespace straggler::cli {

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> all{
      &run_command,   &check_command,    &explain_command, &advise_command,     &compare_command,   &sweep_command,
      &race_command,  &report_command,   &serve_command,   &playground_command, &init_command,      &import_command,
      &list_command,  &timeline_command, &schema_command,  &validate_command,   &calibrate_command, &allreduce_command,
      &words_command, &quantize_command, &store_command,   &man_command,        &completion_command};
  return all;
}

}  // namespace straggler::cli
