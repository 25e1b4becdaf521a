#include <fmt/format.h>

#include <cstdio>

#include "scenarios/serve/http_server.hpp"
#include "sim/base/token.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"

namespace straggler::cli {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

int given_port(const Arguments& arguments) {
  constexpr std::uint64_t most = 65'535;
  const std::uint64_t port = arguments.count("port", 0);
  if (port > most) throw UsageError(fmt::format("--port is {}; it must be at most {}, or 0 for a free one", port, most));
  return static_cast<int>(port);
}

fs::path given_folder(const Arguments& arguments) {
  const fs::path folder = arguments.positional().empty() ? "results" : arguments.positional().front();
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UsageError(fmt::format("{}: is not a folder; name one that holds results or scenarios", folder.string()));
  return fs::canonical(folder);
}

int execute_serve(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  own.add_options()("port", po::value<std::string>()->value_name("N")->default_value("0"), "port of 127.0.0.1; 0: a free one");
  Arguments arguments(serve_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  const fs::path folder = given_folder(arguments);
  const int wanted = given_port(arguments);
  catch_interrupts();
  try {
    HttpServer server(wanted);
    const std::string token = new_token();
    Desk desk(folder, Gate(server.port(), token), arguments.common().threads);
    print_text("http://127.0.0.1:{}/?token={}\n", server.port(), token);
    std::fflush(stdout);
    if (!arguments.common().quiet)
      print_text(stderr, "serving {}; open the address in a browser on this machine, stop with Ctrl-C\n", folder.string());
    server.run(desk, interrupt_requested);
  } catch (const PortTaken& problem) {
    throw UsageError(fmt::format("--port: {}; choose another, or 0 for a free one", problem.what()));
  }
  return Exit::interrupted;
}

}  // namespace

const Command serve_command{"serve",
                            "[DIR]",
                            "a local page of results, which answers what-if questions at once",
                            "  straggler serve\n"
                            "  straggler serve results --port 8080\n"
                            "  straggler serve scenarios        # what-if alone, before anything was run\n",
                            execute_serve,
                            "\nThe page is at 127.0.0.1 and needs the token in the printed address; without DIR it shows results/.\n"};

}  // namespace straggler::cli
