#include "tools/straggler/program.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "scenarios/schema/errors.hpp"
#include "sim/base/problem_text.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/meant_words.hpp"

namespace straggler::cli {
namespace {

void print_overview(std::FILE* to) {
  print_text(to,
             "straggler: which way of training finishes first on this cluster, and why?\n"
             "It computes the real gradients of distributed SGD in simulated time, on a\n"
             "cluster described in YAML.\n\n"
             "Usage: straggler COMMAND ...\n\n");
  for (const Command* command : commands()) print_text(to, "  {:<10}  {}\n", command->name, command->summary);
  print_text(to,
             "\n"
             "straggler COMMAND --help shows arguments, options and examples of a command;\n"
             "straggler --version the version, commit and build.\n\n"
             "Examples:\n"
             "  straggler check scenario.yaml\n"
             "  straggler run scenario.yaml --out results/first\n"
             "  straggler compare results/first results/second\n\n"
             "Results go to standard output, progress and messages to standard error. Exit\n"
             "codes: 0 done, 1 a bound was exceeded, 2 bad usage or bad input, 3 it could not\n"
             "continue (failed points, a full disk), 130 interrupted (what was finished is\n"
             "written).\n");
}

std::string written_results;  // their path; empty: not written yet

std::string output_problem(const std::string& why) {
  return fmt::format("standard output cannot be written: {}{}", why,
                     written_results.empty() ? std::string() : "; the results are in " + written_results);
}

const Command& command_called(const std::string& name) {
  for (const Command* command : commands())
    if (name == command->name) return *command;
  const std::vector<std::string> groups = list_groups();
  if (std::ranges::find(groups, name) != groups.end())
    throw UsageError(fmt::format("unknown command {}; did you mean 'list {}'?", in_quotes(name), name));
  throw UsageError(unknown_word(WordKind::command, name, command_names()));
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    print_overview(stderr);
    return Exit::bad_input;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    if (arguments.size() > 1) return command_called(arguments[1]).run({"--help"});
    print_overview(stdout);
    return Exit::done;
  }
  if (first == "--version") {
    print_text("{}", version_text());
    return Exit::done;
  }
  if (first.starts_with('-')) throw UsageError(unknown_name("option", first, {"--help", "--version"}));
  return command_called(first).run({arguments.begin() + 1, arguments.end()});
}

}  // namespace

void results_are_in(const std::filesystem::path& place) { written_results = place.string(); }

int guarded(const std::vector<std::string>& arguments, const std::function<int()>& body) {
  constexpr std::size_t most = 4000, most_of_a_path = 200;  // bytes of a message, whatever a file holds
  const auto say = [](const std::string& text) { print_text(stderr, "straggler: {}\n", shortened(text, most)); };
  try {
    return body();
  } catch (const UsageError& error) {
    const auto is_command = [&](const Command* command) { return !arguments.empty() && arguments.front() == command->name; };
    const bool known = std::any_of(commands().begin(), commands().end(), is_command);
    say(fmt::format("{} (see straggler {}--help)", error.what(), known ? arguments.front() + " " : ""));
    return Exit::bad_input;
  } catch (const ScenarioErrors& errors) {
    for (const std::string& line : errors.lines()) print_text(stderr, "{}\n", shortened(line, most));
    return Exit::bad_input;
  } catch (const Refusal& refusal) {
    say(refusal.what());
    return refusal.exit;
  } catch (const std::bad_alloc&) {
    say(memory_exhausted);
  } catch (const std::filesystem::filesystem_error& error) {  // a path that cannot be: too long, below a file, without permission
    say(fmt::format("{}: {}", shortened(error.path1().string(), most_of_a_path), error.code().message()));
    return error.code() == std::errc::no_space_on_device || error.code() == std::errc::io_error ? Exit::cannot_go_on : Exit::bad_input;
  } catch (const std::system_error& error) {
    say(std::ferror(stdout) ? output_problem(error.code().message()) : fmt::format("internal error: {}", error.what()));
  } catch (const std::exception& error) {
    say(fmt::format("internal error: {}", error.what()));
  }
  return Exit::cannot_go_on;
}

void prepare_process() {
  // A write beyond a file size limit must be an error, like a full disk, and not kill the process.
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 22);  // large arrays always go back to the system when freed
  mallopt(M_TRIM_THRESHOLD, 1 << 23);  // smaller ones stay: each page that comes back is a page fault
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

int run_program(const std::vector<std::string>& arguments) {
  const int code = guarded(arguments, [&] { return dispatch(arguments); });
  errno = 0;
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && code == 0) {
    print_text(stderr, "straggler: {}\n", output_problem(std::strerror(errno ? errno : EIO)));
    return Exit::cannot_go_on;
  }
  return code;
}

}  // namespace straggler::cli
