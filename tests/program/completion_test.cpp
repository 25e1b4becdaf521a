// Completion in shells, made from the declarations.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/program/workplace.hpp"

namespace completion_test {

using straggler::test::Workplace;
using Words = std::set<std::string>;

/// Calls the function as readline does, where = splits words; a line of words for each line of input.
const char* const driver = R"(source completion
while IFS= read -r COMP_LINE; do
  COMP_POINT=${#COMP_LINE}
  read -ra COMP_WORDS <<<"${COMP_LINE//=/ = }"
  [[ $COMP_LINE == *" " || $COMP_LINE == *= ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _straggler
  printf '%s|' "${COMPREPLY[@]}"
  echo
done
)";

class Bash {
 public:
  Bash() {
    place.write("driver", driver);
    REQUIRE(place.shell("straggler completion bash >completion").code == 0);
  }
  std::vector<Words> completed(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    place.write("lines", text);
    const auto done = place.shell("bash driver <lines");
    CHECK(done.err.empty());
    std::vector<Words> all;
    std::istringstream out(done.out);
    for (std::string line; std::getline(out, line);) {
      all.emplace_back();
      std::istringstream words(line);
      for (std::string word; std::getline(words, word, '|');) all.back().insert(word);
    }
    REQUIRE(all.size() == lines.size());
    return all;
  }
  Words completed(const std::string& line) const { return completed(std::vector<std::string>{line}).front(); }

  Workplace place;
};

TEST_CASE("bash completes schemes, keys, kinds and groups from the declarations, and files elsewhere") {
  const Bash bash;
  const auto listed = nlohmann::json::parse(bash.place.shell("straggler list --json").out);
  Words groups{"keys"}, schemes, beginning;
  for (const auto& [group, entries] : listed.items()) groups.insert(group);
  for (const auto& entry : listed["schemes"]) {
    const std::string name = entry["name"];
    schemes.insert(name);
    if (name.starts_with("fed")) beginning.insert(name);
  }
  CHECK(bash.completed("straggler list ") == groups);
  CHECK(bash.completed("straggler ex") == Words{"explain"});
  CHECK(bash.completed("straggler schema ") == Words{"scenario", "sweep", "claim"});
  CHECK(bash.completed("straggler run a.yaml --timing") == Words{"--timing-only"});
  for (const char* const command : {"run", "check", "sweep", "race", "explain"}) {
    CAPTURE(command);
    CHECK(bash.completed(std::string("straggler ") + command + " a.yaml --set training.scheme.kind=") == schemes);
  }
  CHECK(bash.completed("straggler run a.yaml --set=training.scheme.kind=fed") == beginning);
  CHECK(bash.completed("straggler run a.yaml --set training.schem") == Words{"training.scheme=", "training.scheme."});
  CHECK(bash.completed("straggler run a.yaml --set ").contains("training."));
  CHECK(bash.completed("straggler race a.yaml --schemes ") == schemes);
  CHECK(bash.completed("straggler race a.yaml --schemes ssgd,fedav") == Words{"ssgd,fedavg"});
  const std::pair<const char*, const char*> kinds[] = {{"cluster.network.topology", "topologies"},
                                                       {"training.optimizer", "optimizers"},
                                                       {"training.compression", "compression"},
                                                       {"workload.data.partition", "partitions"},
                                                       {"cluster.network.sharing", "sharing"}};
  for (const auto& [path, group] : kinds) {
    CAPTURE(path);
    Words names;
    for (const auto& entry : listed[group]) names.insert(entry["name"]);
    CHECK(bash.completed(std::string("straggler run a.yaml --set ") + path + ".kind=") == names);
  }
  Words formats;
  for (const auto& entry : listed["imports"]) formats.insert(entry["name"]);
  CHECK(bash.completed("straggler import a.json --as ") == formats);
  CHECK(bash.completed("straggler import a.json --seq") == Words{"--sequence"});
  bash.place.write("a file.yaml", "");
  CHECK(bash.completed("straggler run a") == Words{"a file.yaml"});
  CHECK(bash.completed("straggler run a.yaml --out dri") == Words{"driver"});
}

TEST_CASE("bash completes every key that `list keys` lists") {
  const Bash bash;
  std::vector<std::string> lines, paths;
  for (const std::string part : {"cluster", "cluster.network", "workload", "training"})
    for (const auto& row : nlohmann::json::parse(bash.place.shell("straggler list keys " + part + " --json").out)) {
      std::string path = part + "." + row["key"].get<std::string>();
      for (std::size_t at; (at = path.find("[i]")) != std::string::npos;) path.replace(at, 3, "[0]");
      paths.push_back(path);
      lines.push_back("straggler run a.yaml --set " + path);
    }
  REQUIRE(paths.size() > 90);
  const std::vector<Words> completed = bash.completed(lines);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CAPTURE(paths[i]);
    const bool either = completed[i].contains(paths[i] + "=") || completed[i].contains(paths[i] + ".");  // a map has keys alone
    CHECK(either);
  }
}

TEST_CASE("the scripts for zsh and fish are scripts, where these shells are installed") {
  const Workplace place;
  CHECK(place.shell("straggler completion zsh >_straggler; ! command -v zsh || zsh -n _straggler").code == 0);
  CHECK(place.shell("straggler completion fish >straggler.fish; ! command -v fish || fish --no-execute straggler.fish").code == 0);
  const std::string fish = place.read("straggler.fish"), zsh = place.read("_straggler");
  for (const std::string* const script : {&fish, &zsh}) {
    CHECK(script->find("training.scheme.kind=") != std::string::npos);
    CHECK(script->find("fedavg") != std::string::npos);
  }
}

}  // namespace completion_test
