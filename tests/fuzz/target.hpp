// Fuzz targets: each hands an input to one reader of the program, as the command line would. The reader may accept the input or refuse it
// with its own type of error. Everything else is a find: a crash, a sanitizer's report, another exception, too much time or memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "tests/support/folder.hpp"

namespace straggler::fuzz {

/// A reader did what none may do.
struct Find : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Target {
  std::string name, summary;
  void (*run)(std::string_view input);
};

/// By name. The sources of this folder add their targets.
std::map<std::string, Target>& targets();
struct AddTarget {
  AddTarget(const char* name, const char* summary, void (*run)(std::string_view)) { targets()[name] = {name, summary, run}; }
};

/// Runs one input through a target. Throws Find.
void run_target(const Target& target, std::string_view input);

/// The folder of this process; files of earlier inputs may lie there.
const test::TemporaryFolder& workplace();
/// Writes a file there and returns its path.
std::string write_file(const std::string& name, std::string_view bytes);

/// An input of several files: "--- NAME" starts each, `first` is the name of the text before the first such line. Only `names` count.
std::map<std::string, std::string> parts_of(std::string_view input, const std::string& first, const std::vector<std::string>& names);
/// Writes these files into an empty folder of the workplace and returns its path.
std::filesystem::path write_folder(const std::map<std::string, std::string>& files);

/// Throws Find unless a message of an error is a sentence (an error of the standard library has a word) of bounded length.
void check_message(const std::exception& error);

/// Runs `body`. An error of exactly type `Refusal`, or of a type derived from it that is not of the standard library, is a refusal.
/// Everything else propagates.
template <class Refusal, class Body>
void may_refuse(const Body& body) {
  try {
    body();
  } catch (const Refusal& error) {
    if (std::string_view(typeid(Refusal).name()).starts_with("St") && typeid(error) != typeid(Refusal)) throw;
    check_message(error);
  }
}

}  // namespace straggler::fuzz
