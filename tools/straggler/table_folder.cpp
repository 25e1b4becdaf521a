#include "tools/straggler/table_folder.hpp"

#include <fmt/format.h>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/result_folder.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace fs = std::filesystem;

void refuse_foreign_folder(const fs::path& out, const std::string& command, const std::string& table, std::string_view mark, bool force) {
  if (out.empty()) throw UsageError("--out is empty; name a folder");
  std::error_code error;
  if (!fs::exists(out, error)) return;
  if (!fs::is_directory(out, error))
    throw ResultsError(fmt::format("{}: is a file, not a folder; choose another with --out", out.string()));
  if (force || fs::is_empty(out, error) || first_line(out / table).starts_with(mark)) return;
  const bool run = fs::exists(out / "summary.json", error) && fs::exists(out / "scenario.yaml", error);
  const std::string other = fs::exists(out / table, error) ? "" : run ? "holds the results of a run" : results_of_another_command(out);
  if (!other.empty()) throw ResultsError(fmt::format("{}: {}; use --out {}", out.string(), other, free_neighbour(out)));
  throw ResultsError(fmt::format("{}: is not empty and holds no results of straggler {}; use --out {}, or --force to write into it",
                                 out.string(), command, free_neighbour(out)));
}

}  // namespace straggler::cli
