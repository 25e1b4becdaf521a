#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "sim/base/machine.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* page_name = "straggler.html";

/// As installed, or as tools/page/build leaves it beside a build.
fs::path page_file() {
  const fs::path own = program_folder();
  std::error_code ignored;
  for (const char* const folder : {"../share/straggler", "../../page"})
    if (const fs::path file = (own / folder / page_name).lexically_normal(); fs::is_regular_file(file, ignored)) return fs::canonical(file);
  throw Refusal(fmt::format("{}: the page is not here; tools/page/build makes it before a package or an archive is built",
                            (own / "../share/straggler" / page_name).lexically_normal().string()));
}

/// False: there is no such program, or it failed.
bool opens(const char* program, const std::string& file) {
  std::array<char*, 3> arguments{const_cast<char*>(program), const_cast<char*>(file.c_str()), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&quiet, output, "/dev/null", 1 /* O_WRONLY */, 0);
  pid_t child = 0;
  const bool started = ::posix_spawnp(&child, program, &quiet, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  return started && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int execute_playground(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", help_width);
  own.add_options()("path", "prints where the page is, and opens nothing");
  Arguments arguments(playground_command, own);
  if (!arguments.parse(given, 0, 0)) return Exit::done;
  const fs::path file = page_file();
  print_text("{}\n", file.string());
  std::fflush(stdout);
  if (arguments.flag("path")) return Exit::done;
  for (const char* const program : {"xdg-open", "open"})
    if (opens(program, file.string())) return Exit::done;
  if (!arguments.common().quiet) print_text(stderr, "no browser could be started; open this file in one\n");
  return Exit::done;
}

}  // namespace

const Command playground_command{"playground",
                                 "",
                                 "opens the page that holds the simulator, in a browser",
                                 "  straggler playground\n"
                                 "  cp \"$(straggler playground --path)\" lecture.html    # a file to mail\n",
                                 execute_playground,
                                 "\nThe page runs in any browser, from disk or a web server (docs/playground.md).\n"};

}  // namespace straggler::cli
