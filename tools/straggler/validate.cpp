#include <fmt/format.h>

#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/source_text.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/table_folder.hpp"
#include "validation/compare/claim_results.hpp"
#include "validation/compare/validate.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

/// Reads and checks every claim before the first one runs: all problems are reported at once, and nothing is written.
std::vector<Claim> read_claims(const std::vector<std::string>& files) {
  std::vector<Claim> claims;
  std::vector<Problem> problems;
  for (const std::string& file : files) {
    try {
      claims.push_back(read_claim(input_file(file)));
      check_claim(claims.back());
    } catch (const ScenarioErrors& errors) {
      problems.insert(problems.end(), errors.problems.begin(), errors.problems.end());
    }
  }
  if (!problems.empty()) throw ScenarioErrors(std::move(problems));
  return claims;
}

void print_lines(const std::vector<ClaimResult>& results) {
  for (const ClaimResult& result : results) {
    print_text("{}\n", claim_line(result));
    for (const std::string& warning : claim_warnings(result)) print_text("        warning: {}\n", warning);
  }
}

int execute_validate(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of validation.csv and report.html (default: results/validation)");
  add("force", "writes into the folder even if it holds something else");
  add("json", "prints the tables as one JSON object, errors as shares, fitted values in SI units");
  Arguments arguments(validate_command, own);
  constexpr std::size_t most = 10'000;
  if (!arguments.parse(given, 1, most)) return Exit::done;
  const fs::path out = arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / "validation";
  // Of any version: later ones append columns.
  refuse_foreign_folder(out, "validate", "validation.csv", "claim,row,set,measured,predicted,error,", arguments.flag("force"));
  const std::vector<Claim> claims = read_claims(arguments.positional());
  for (const Claim& claim : claims)
    if (const std::string doubt = unit_doubt(claim.compare); !doubt.empty())
      print_text(stderr, "{}: warning: {}\n", claim.file.string(), doubt);
  catch_interrupts();
  PredictOptions options;
  options.threads = arguments.common().threads;
  options.interrupted = interrupt_requested;
  const bool tell = arguments.common().progress != ProgressStyle::none;
  const bool json = arguments.flag("json");
  std::vector<ClaimResult> results;
  bool interrupted = false;
  for (const Claim& claim : claims) {
    if (tell) print_text(stderr, "claim {} of {}: {}\n", results.size() + 1, claims.size(), claim.title);
    try {
      results.push_back(validate(claim, options));
    } catch (const Interrupted&) {
      interrupted = true;
      break;
    }
    if (json) continue;
    print_text("{}\n", claim_table(results.back()));
    std::fflush(stdout);
  }
  if (!json) print_lines(results);
  if (!results.empty()) write_whole_files(out, {{"validation.csv", validation_csv(results)}, {"report.html", validation_html(results)}});
  const std::size_t not_tried = claims.size() - results.size();
  if (json)
    print_text("{}", validation_json(results, not_tried));
  else
    print_text("{}{}\n", claims_summary(results), interrupted ? fmt::format("; {} not tried: interrupted", not_tried) : "");
  if (!json && !results.empty()) print_page(out / "report.html");
  if (interrupted) return Exit::interrupted;
  for (const ClaimResult& result : results)
    if (!result.holds()) return Exit::exceeded;
  return Exit::done;
}

}  // namespace

const Command validate_command{"validate",
                               "CLAIM.yaml...",
                               "compares predictions with measurements; fails if a bound is missed",
                               "  straggler validate validation/claims/*.yaml\n"
                               "  straggler validate claim.yaml --out results/claim\n"
                               "  straggler validate claim.yaml --json\n",
                               execute_validate,
                               "\n"
                               "What it prints:\n"
                               "  +- is one standard error of a fitted value.\n"};

}  // namespace straggler::cli
