// What jobs leave behind: traces, logs and tables.
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/import/import_format.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

/// A job's step is a time, and its scenario can be read.
void import_as(const char* format, const std::string& bytes) {
  const std::string file = write_file("given", bytes);
  may_refuse<DataError>([&] {
    const Imported imported = import_files({.files = {file}, .format = format, .options = {}});
    std::map<std::string, std::string> files(imported.files.begin(), imported.files.end());
    const nlohmann::json facts = nlohmann::json::parse(files.at("import.json"));
    if (imported.next.empty()) return;
    if (!facts.at("step_s").is_number() || !(facts.at("step_s").get<double>() > 0)) throw Find("a step that takes no time");
    try {
      read_scenario(write_folder(files) / imported.next);
    } catch (const std::exception& error) {
      throw Find(std::string("a scenario that cannot be read: ") + error.what());
    }
  });
}

/// In front of what marks a trace, whatever follows.
void kineto(std::string_view input) { import_as("kineto", R"({"deviceProperties":[],"traceEvents":[{"ph":"i"})" + std::string(input)); }
const AddTarget add_kineto("kineto", "the rest of a trace of PyTorch's profiler", kineto);

void torch_cpu(std::string_view input) { import_as("torch_cpu", R"([{"ph":"i","pid":"CPU functions"})" + std::string(input)); }
const AddTarget add_torch_cpu("torch_cpu", "the rest of a trace of PyTorch's profiler without Kineto", torch_cpu);

void nccl_tests(std::string_view input) { import_as("nccl_tests", "# nThread 1\n" + std::string(input)); }
const AddTarget add_nccl_tests("nccl_tests", "output of nccl-tests", nccl_tests);

void osu(std::string_view input) { import_as("osu", "# OSU MPI " + std::string(input)); }
const AddTarget add_osu("osu", "output of an OSU micro-benchmark", osu);

void ranks(std::string_view input) { import_as("ranks", std::string(input)); }
const AddTarget add_ranks("ranks", "a table by rank", ranks);

void steplog(std::string_view input) { import_as("steplog", std::string(input)); }
const AddTarget add_steplog("steplog", "a log with step times", steplog);

}  // namespace
}  // namespace straggler::fuzz
