// Names with quotes, ampersands and angle brackets came out as they were, and broke the file.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "sim/cluster/fabric.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using test::has;

namespace {

/// Two hosts on a cable.
class NamedPair final : public Topology {
 public:
  NamedPair(std::string a, std::string b) : names_{std::move(a), std::move(b)} {}
  std::size_t endpoints() const override { return 2; }
  std::size_t links() const override { return 2; }
  LinkDescription link(LinkId id) const override {
    return {id == 0 ? "cable:up" : "cable:down", names_[id], names_[1 - id], bytes_per_second(id), Time::from_seconds(1e-6)};
  }
  double bytes_per_second(LinkId) const override { return 1e9; }
  std::string name(std::uint32_t endpoint) const override { return names_[endpoint]; }
  std::vector<LinkId> own_links(std::uint32_t endpoint) const override { return {endpoint}; }
  void route(std::uint32_t from, std::uint32_t, Route& out) const override { out = {{from}, Time::from_seconds(1e-6)}; }
  TopologyFacts facts() const override { return {}; }

 private:
  std::string names_[2];
};

std::string written(const std::string& ending) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / ("net" + ending)).string();
  write_graph(NamedPair("the \"old\" rack", "A&B <c> \\"), path);
  std::stringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

}  // namespace

TEST_CASE("a graph whose names have quotes and brackets is still a graph") {
  const std::string xml = written(".graphml");
  CHECK(has(xml, ">the &quot;old&quot; rack<"));
  CHECK(has(xml, ">A&amp;B &lt;c&gt; \\<"));
  const std::string dot = written(".dot");
  CHECK(has(dot, "\"the \\\"old\\\" rack\" [kind=host, rank=0]"));
  CHECK(has(dot, "\"the \\\"old\\\" rack\" -- \"A&B <c> \\\\\" [name=\"cable\""));
}
