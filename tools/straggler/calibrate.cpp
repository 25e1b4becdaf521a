#include <fmt/format.h>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/program.hpp"
#include "validation/calibrate/calibration.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

/// Replaces only the file of an earlier calibration, in an existing folder.
void refuse_to_replace(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path() && !fs::is_directory(file.parent_path(), error))
    throw ResultsError(
        fmt::format("{}: there is no folder {}; make it, or name another file with -o", file.string(), file.parent_path().string()));
  if (!fs::exists(file, error)) return;
  if (fs::is_directory(file, error) || !first_line(file).starts_with(calibration_mark))
    throw ResultsError(fmt::format("{}: is there, but not from straggler calibrate; name another file with -o", file.string()));
}

MessageTimes with_second(const Measurements& first, const fs::path& file) {
  const Measurements second = read_measured(file);
  const auto* const one = std::get_if<MessageTimes>(&first);
  const auto* const other = std::get_if<MessageTimes>(&second);
  return joined_times(one ? *one : MessageTimes(), other ? *other : MessageTimes(), file);
}

std::string formats() {
  return fmt::format(
      "MEASURED is one of these:\n  {}\nRATES is the output of osu_bw, for the bandwidth of a link whose latency MEASURED gives.\n",
      fmt::join(measured_formats(), "\n  "));
}

int execute_calibrate(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  own.add_options()("output,o", po::value<std::string>()->value_name("FILE"), "file of the entries (default: standard output)");
  Arguments arguments(calibrate_command, own);
  if (!arguments.parse(given, 1, 2)) return Exit::done;
  const fs::path file = arguments.positional().front();
  Measurements measured = read_measured(file);
  if (arguments.positional().size() == 2) measured = with_second(measured, arguments.positional().back());
  const Calibration calibration = std::holds_alternative<MessageTimes>(measured) ? calibrate(std::get<MessageTimes>(measured), file)
                                                                                 : calibrate(std::get<BatchTimes>(measured));
  for (const std::string& warning : calibration.warnings) print_text(stderr, "{}: warning: {}\n", file.string(), warning);
  const std::string yaml = calibration_yaml(calibration, file);
  if (!arguments.has("output")) {
    print_text("{}", yaml);
    return Exit::done;
  }
  const fs::path out = arguments.get<std::string>("output");
  if (!out.has_filename()) throw UsageError("-o is not the name of a file");
  refuse_to_replace(out);
  write_whole_files(out.parent_path(), {{out.filename().string(), yaml}});
  results_are_in(out);
  print_text("{}: {}\n\n{}", file.string(), calibration.found, calibration.table);
  return Exit::done;
}

}  // namespace

const Command calibrate_command{"calibrate",
                                "MEASURED [RATES]",
                                "turns times of messages into links, times of batches into devices",
                                "  straggler calibrate pingpong.csv\n"
                                "  straggler calibrate osu_latency.out osu_bw.out\n"
                                "  straggler calibrate step_times.csv -o devices.yaml\n",
                                execute_calibrate,
                                "\n"
                                "What it prints:\n"
                                "  +- is one standard error of a fitted value.\n\n",
                                formats};

}  // namespace straggler::cli
