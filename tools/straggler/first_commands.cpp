// The commands of the first program of tools/quickstart.
#include "tools/straggler/command_list.hpp"

namespace straggler::cli {

const std::vector<const Command*>& commands() {
  static const std::vector<const Command*> first{&run_command, &compare_command};
  return first;
}

std::vector<std::string> list_groups() { return {}; }  // there is no `list`

}  // namespace straggler::cli
