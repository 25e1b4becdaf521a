// The help of all commands in other forms: man pages, and completion for shells. All are made from the commands' tables of options.
#pragma once
#include <boost/program_options.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/straggler/command.hpp"

namespace straggler::cli {

/// A man page of section 1 (man-pages(7)).
struct ManPage {
  std::string name;                                             // "straggler-run"
  std::string summary;                                          // one line
  std::vector<std::string> synopsis;                            // "straggler run SCENARIO.yaml [OPTION]..."
  std::vector<std::string> paragraphs{};                        // of the description
  std::vector<std::pair<std::string, std::string>> commands{};  // what they are called, what they do
  std::vector<const boost::program_options::options_description*> options{};
  std::string examples{};               // lines, indented by two
  std::vector<std::string> see_also{};  // names of pages of section 1
};
std::string roff(const ManPage& page);

/// (file name, text) of the page of the program and of one for each command.
std::vector<std::pair<std::string, std::string>> man_pages();
/// The page of one command; of the program if it is empty.
std::string man_page_of(const std::string& command);

/// The shells that completions exist for, and the script for one of them.
const std::vector<std::string>& shells();
std::string completion_for(const std::string& shell);

}  // namespace straggler::cli
