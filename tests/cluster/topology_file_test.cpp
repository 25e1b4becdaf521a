// Networks from files: what is understood, what is refused, shortest ways, and that what is written is read back.
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/graph_file.hpp"
#include "tests/cluster/topology_cases.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/text.hpp"

namespace straggler {
namespace {

using test::has;

std::unique_ptr<Topology> read(const std::string& path, std::size_t hosts, bool multipath = false) {
  return make_topology("file", {{"path", path}, {"multipath", multipath}}, request_of(equal_nics(hosts), hosts));
}

/// What is said of a file that is refused.
std::string refusal(const std::string& path, std::size_t hosts = 2) {
  try {
    read(path, hosts);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

const std::string good_dot =
    "graph {\n"
    "  node [kind=host];\n"
    "  s [kind=switch]; node10; node9;  // natural order, not that of the file\n"
    "  node10 -- s [bandwidth=\"1Gbps\", latency=\"50us\", name=ten];\n"
    "  s -- node9 [bandwidth=\"1e6\", latency=0.001];\n"
    "}\n";

const std::string xml_head =
    "<?xml version='1.0'?>\n<graphml>\n"
    "<key id='k' for='node' attr.name='kind' attr.type='string'><default>host</default></key>\n"
    "<key id='r' for='node' attr.name='rank' attr.type='int'/>\n"
    "<key id='n' for='node' attr.name='name' attr.type='string'/>\n"
    "<key id='b' for='edge' attr.name='bandwidth' attr.type='double'/>\n"
    "<key id='l' for='edge' attr.name='latency' attr.type='string'><default>5us</default></key>\n";
const std::string good_graphml = xml_head +
                                 "<graph edgedefault='directed'>\n"
                                 "<node id='a'><data key='r'>1</data></node>\n"
                                 "<node id='b'><data key='r'>0</data><data key='n'>Bee &amp; &#233;</data></node>\n"
                                 "<node id='s'><data key='k'>switch</data></node>\n"
                                 "<edge source='a' target='s'><data key='b'>1000</data></edge>\n"
                                 "<edge source='s' target='b'><data key='b'>3000</data><data key='l'>7us</data></edge>\n"
                                 "<edge source='s' target='a'><data key='b'>2000</data></edge>\n"
                                 "<edge source='b' target='s'><data key='b'>4000</data></edge>\n"
                                 "</graph></graphml>\n";

TEST_CASE("file: DOT, undirected, with quantities and plain numbers") {
  const Folder folder;
  const auto topology = read(folder.write("net.dot", good_dot), 2);
  CHECK(topology->endpoints() == 2);
  CHECK(topology->name(0) == "node9");
  CHECK(topology->name(1) == "node10");
  REQUIRE(topology->links() == 4);
  const LinkDescription up = topology->link(0), down = topology->link(1), plain = topology->link(2);
  CHECK(up.name == "ten:up");
  CHECK(up.from == "node10");
  CHECK(up.to == "s");
  CHECK(up.bytes_per_second == 125e6);
  CHECK(up.latency == microseconds(50));
  CHECK(down.name == "ten:down");
  CHECK(down.from == "s");
  CHECK(plain.name == "s--node9:up");
  CHECK(plain.bytes_per_second == 1e6);
  CHECK(plain.latency == microseconds(1000));
  Route route;
  topology->route(0, 1, route);
  CHECK(route.links == std::vector<LinkId>{3, 1});
  CHECK(route.latency == microseconds(1050));
  CHECK(topology->own_links(1) == std::vector<LinkId>{0, 1});
}

TEST_CASE("file: GraphML, directed pairs that differ, ids as names, ranks, defaults") {
  const Folder folder;
  const auto topology = read(folder.write("net.graphml", good_graphml), 2);
  CHECK(topology->name(0) == "Bee & \xc3\xa9");
  CHECK(topology->name(1) == "a");
  REQUIRE(topology->links() == 4);
  CHECK(topology->link(0).name == "a->s");
  CHECK(topology->link(0).bytes_per_second == 1000);
  CHECK(topology->link(1).name == "s->a");
  CHECK(topology->link(1).bytes_per_second == 2000);
  CHECK(topology->link(2).from == "s");
  CHECK(topology->link(2).latency == microseconds(7));
  CHECK(topology->link(3).bytes_per_second == 4000);
  CHECK(topology->link(3).latency == microseconds(5));
  const TopologyFacts facts = topology->facts();
  CHECK(facts.switches == 1);
  CHECK(facts.cables == 2);
  CHECK(facts.diameter_hops == 2);
  CHECK(facts.diameter_latency == microseconds(5 + 7));
  CHECK(facts.bisection_bytes_per_second == doctest::Approx(1000));  // a -> s
  CHECK(facts.bisection_is_bound);
}

TEST_CASE("file: cables side by side, hosts that forward, a host alone") {
  const Folder folder;
  const auto ring = read(folder.write("ring.dot",
                                      "graph { node [kind=host, forwards=true]; edge [bandwidth=\"1GB/s\", latency=\"1us\"];"
                                      " h0 -- h1; h0 -- h1; h1 -- h2; h2 -- h3; h3 -- h0; }"),
                         4);
  CHECK(ring->link(2).name == "h0--h1/1:up");
  CHECK(ring->facts().diameter_hops == 2);
  CHECK(ring->own_links(0) == std::vector<LinkId>{0, 1, 2, 3, 9, 8});
  Route route;
  ring->route(0, 2, route);
  CHECK(route.links == std::vector<LinkId>{2, 4});  // over h1, whose name is before h3, by the cable whose name is first: '/' before ':'
  // Least latency, not fewest hops; but over no host that does not forward.
  for (const std::string forwards : {"", "false", "true"}) {
    CAPTURE(forwards);
    const auto detour =
        read(folder.write("detour.dot", "graph { node [kind=host]; a; b; c" + (forwards.empty() ? "" : " [forwards=" + forwards + "]") +
                                            "; a -- b [bandwidth=1, latency=9]; a -- c [bandwidth=1, latency=4];"
                                            " c -- b [bandwidth=1, latency=4.5]; }"),
             3);
    detour->route(0, 1, route);
    CHECK(route.links == (forwards == "true" ? std::vector<LinkId>{2, 4} : std::vector<LinkId>{0}));
    CHECK(detour->facts().diameter_hops == (forwards == "true" ? 2 : 1));
    CHECK(detour->facts().diameter_latency == Time::from_seconds(forwards == "true" ? 8.5 : 9));
    for (std::uint32_t e = 0; e < 3; ++e) CHECK(detour->forwards(e) == (forwards == "true" && e == 2));
  }
  CHECK(read(folder.write("one.dot", "graph { alone [kind=host] }"), 1)->facts().diameter_hops == 0);
}

TEST_CASE("file: multipath spreads over equal ways, by sender and receiver, and keeps to each") {
  const Folder folder;
  const auto written = make_topology("fat_tree", {{"k", std::int64_t{4}}}, request_of(equal_nics(16), 16));
  write_graph(*written, folder / "tree.dot");
  const auto spread = read(folder / "tree.dot", 16, true), again = read(folder / "tree.dot", 16, true),
             first = read(folder / "tree.dot", 16);
  std::map<std::string, int> cores, core_of_first;
  for (std::uint32_t from = 0; from < 16; ++from) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      if (from / 4 == to / 4) continue;
      Route a, b, c;
      spread->route(from, to, a);
      again->route(from, to, b);
      first->route(from, to, c);
      CHECK(a.links == b.links);
      CHECK(a.links.size() == 6);
      ++cores[spread->link(a.links[2]).to];
      ++core_of_first[first->link(c.links[2]).to];
    }
  }
  // 192 routes over 4 cores: 48 each, with a standard deviation of 6.
  CHECK(cores.size() == 4);
  for (const auto& core : cores) CHECK(std::abs(core.second - 48) < 24);
  for (const auto& core : core_of_first) CHECK(core.second == 48);  // D-mod-k
}

TEST_CASE("file: costs, orders and spreads decide between routes") {
  const Folder folder;
  Route route;
  // Two ways from a to b and c, over x or y: y has less latency, x costs less.
  const std::string ways =
      "graph { node [kind=switch]; a [kind=host]; b [kind=host]; c [kind=host]; p; q; x; y; edge [bandwidth=1, latency=1];"
      " a -- p; q -- b; q -- c; p -- x [route_cost=1]; x -- q [route_cost=1]; p -- y [latency=0.1, route_cost=2]; y -- q [latency=0.1]; }";
  const auto cheap = read(folder.write("cost.dot", ways), 3);
  cheap->route(0, 1, route);
  CHECK(route.links == std::vector<LinkId>{0, 6, 8, 2});  // 2 and 2, as y -- q costs nothing: then by name
  CHECK(route.latency == Time::from_seconds(4));
  CHECK(cheap->facts().diameter_latency == Time::from_seconds(4));
  // The order is stronger than names, and :up comes before :down.
  const auto ordered = [&](const std::string& x, const std::string& y) {
    return read(folder.write("order.dot",
                             "graph { node [kind=switch]; a [kind=host]; b [kind=host]; p; q; x; y; edge [bandwidth=1, latency=1];"
                             " a -- p; q -- b; " +
                                 x + y + " x -- q; y -- q; }"),
                2);
  };
  const auto over = [&](const Topology& topology) {
    topology.route(0, 1, route);
    return topology.link(route.links[1]).to;
  };
  CHECK(over(*ordered("p -- x;", "p -- y;")) == "x");
  CHECK(over(*ordered("p -- x;", "p -- y [route_order=7];")) == "y");
  CHECK(over(*ordered("p -- x [route_order=8];", "p -- y [route_order=7];")) == "y");
  CHECK(over(*ordered("x -- p [route_order=7];", "p -- y [route_order=7];")) == "y");
  CHECK(over(*ordered("p -- x [route_order=7];", "y -- p [route_order=7];")) == "x");
  // The destination's number decides.
  const auto spread =
      read(folder.write("spread.dot",
                        "graph { node [kind=switch]; a [kind=host]; b [kind=host]; c [kind=host]; d [kind=host]; e [kind=host];"
                        " p; q; x; y; edge [bandwidth=1, latency=1]; a -- p; q -- b; q -- c; q -- d; q -- e;"
                        " edge [route_spread=2]; p -- x; p -- y; x -- q; y -- q; }"),
           5);
  for (std::uint32_t to = 1; to < 5; ++to) {
    spread->route(0, to, route);
    CHECK(spread->link(route.links[1]).to == (to / 2 % 2 == 0 ? "x" : "y"));
  }
}

TEST_CASE("file: a written topology is read back, in both formats, from every kind") {
  const Folder folder;
  std::vector<TopologyCase> cases = topology_cases();
  cases.insert(cases.end(), larger_topology_cases().begin(), larger_topology_cases().end());
  for (const TopologyCase& c : test::one_in(test::sanitized ? 6 : 1, cases)) {
    for (const bool unequal : {false, true}) {
      const auto original = make_case(c, unequal);
      for (const char* name : {"net.dot", "net.graphml"}) {
        CAPTURE(c.kind);
        CAPTURE(c.endpoints);
        CAPTURE(unequal);
        CAPTURE(name);
        write_graph(*original, folder / name);
        const auto copy = read(folder / name, c.endpoints);
        REQUIRE(copy->links() == original->links());
        for (LinkId id = 0; id < original->links(); ++id) {
          const LinkDescription a = original->link(id), b = copy->link(id);
          CHECK(a.name == b.name);
          CHECK(a.from == b.from);
          CHECK(a.to == b.to);
          CHECK(a.bytes_per_second == b.bytes_per_second);
          CHECK(a.latency == b.latency);
        }
        Route a, b;
        for (std::uint32_t from = 0; from < c.endpoints; ++from) {
          CHECK(copy->name(from) == original->name(from));
          for (std::uint32_t to = 0; to < c.endpoints; ++to) {
            if (from == to) continue;
            original->route(from, to, a);
            copy->route(from, to, b);
            CHECK(a.links == b.links);
            CHECK(a.latency == b.latency);
          }
        }
        CHECK(copy->facts().diameter_hops == original->facts().diameter_hops);
        CHECK(copy->facts().diameter_latency == original->facts().diameter_latency);
        // And once more: the copy writes the same file.
        const std::string again = folder / (std::string("again_") + name);
        write_graph(*copy, again);
        std::ifstream one(folder / name), two(again);
        const std::string text_one((std::istreambuf_iterator<char>(one)), {}), text_two((std::istreambuf_iterator<char>(two)), {});
        CHECK((text_one == text_two));
      }
    }
  }
}

TEST_CASE("file: other endings and unwritable places are refused when writing") {
  const Folder folder;
  const auto topology = make_topology("star", {}, request_of(equal_nics(2), 2));
  CHECK_THROWS_AS(write_graph(*topology, folder / "net.xml"), std::invalid_argument);
  CHECK_THROWS_AS(write_graph(*topology, folder / "nowhere/net.dot"), std::runtime_error);
}

TEST_CASE("file: a network that is wrong is refused by name and remedy") {
  const Folder folder;
  const std::string edge = " [bandwidth=\"1Gbps\", latency=\"50us\"];";
  const auto dot = [&](const std::string& body, std::size_t hosts = 2) {
    const std::string path = folder.write("net.dot", "graph {" + body + "}");
    const std::string said = refusal(path, hosts);
    CHECK(said.starts_with(path + ": "));
    return said.substr(std::min(said.size(), path.size() + 2));
  };
  const std::string hosts = "a [kind=host]; b [kind=host];";
  CHECK(dot(hosts + "a -- b" + edge, 3) ==
        "has 2 hosts, but the scenario has 3 (workers that share none, and servers, each take one); make them as many");
  CHECK(dot("") == "has no nodes; a network needs at least one host");
  CHECK(dot("a [kind=host, forward=true]; b [kind=host]; a -- b" + edge) ==
        "unknown attribute 'forward'; did you mean 'forwards'? known: forwards, rank, name and 6 more");
  CHECK(dot("a [kind=host]; b [kind=host]; a -- b [bandwith=\"1Gbps\", latency=\"1us\"]")
            .starts_with("unknown attribute 'bandwith'; did you mean 'bandwidth'?"));
  // What other programs have is left to them.
  for (const char* other : {"shape=box", "color=red", "label=x", "penwidth=2", "weight=3", "len=2", "pos=\"1,2\"", "style=bold", "group=g",
                            "image=i", "margin=1", "ordering=out", "width=2", "root=a", "layer=l", "class=c"})
    CHECK(refusal(folder.write("other.dot", std::string("graph {a [kind=host, ") + other +
                                                "]; b [kind=host]; a -- b [bandwidth=\"1Gbps\", latency=\"1us\", " + other + "]}")) ==
          "accepted");
  CHECK(dot("a [kind=host]; b; a -- b" + edge) == "node 'b' has no kind; give it kind host or switch");
  CHECK(dot("a [kind=host]; b [kind=hub]; a -- b" + edge) == "node 'b' is of kind 'hub'; give it kind host or switch");
  CHECK(dot(hosts + "s [kind=switch]; a -- s" + edge) == "there is no way from node 'a' to node 'b'; all nodes must be connected");
  CHECK(dot(hosts + "a -- b [latency=\"1us\"]") == "edge 'a--b' has no bandwidth; write one such as 1Gbps");
  CHECK(dot(hosts + "a -- b [bandwidth=\"1Gbps\"]") == "edge 'a--b' has no latency; write one such as 50us");
  CHECK(dot(hosts + "a -- b [bandwidth=0, latency=0]") == "edge 'a--b': bandwidth: '0' is not above 0; write a rate such as 1Gbps");
  CHECK(dot(hosts + "a -- b [bandwidth=\"0bps\", latency=0]") ==
        "edge 'a--b': bandwidth: '0bps' is not above 0; write a rate such as 1Gbps");
  CHECK(dot(hosts + "a -- b [bandwidth=-1, latency=0]") == "edge 'a--b': bandwidth: '-1' is negative; it must be at least 0");
  CHECK(dot(hosts + "a -- b [bandwidth=1, latency=\"-1\"]") == "edge 'a--b': latency: '-1' is negative; it must be at least 0");
  CHECK(has(dot(hosts + "a -- b [bandwidth=1, latency=\"-1us\"]"), "edge 'a--b': latency: "));
  CHECK(has(dot(hosts + "a -- b [bandwidth=nan, latency=0]"), "edge 'a--b': bandwidth: "));
  CHECK(has(dot(hosts + "a -- b [bandwidth=inf, latency=0]"), "edge 'a--b': bandwidth: "));
  CHECK(has(dot(hosts + "a -- b [bandwidth=\"1e999\", latency=0]"), "edge 'a--b': bandwidth: "));
  CHECK(has(dot(hosts + "a -- b [bandwidth=\"1Gbsp\", latency=0]"),
            "edge 'a--b': bandwidth: '1Gbsp' has an unknown unit 'Gbsp'; units of a rate: B/s"));
  CHECK(has(dot(hosts + "a -- b [bandwidth=1, latency=\"5 apples\"]"), "edge 'a--b': latency: "));
  CHECK(dot(hosts + "a -- b [bandwidth=1, latency=\"1e30\"]") ==
        "edge 'a--b': latency: '1e30' is longer than 100 days; write a time such as 50us");
  CHECK(has(dot(hosts + "a -- b [bandwidth=1, latency=8000000]; a -- b [bandwidth=1, latency=8000000]"), "sum up to more than 100 days"));
  CHECK(has(dot(hosts + "a -- a" + edge + "a -- b" + edge), "edge 'a--a' leads back to where it begins"));
  CHECK(dot("a [kind=host, rank=1]; b [kind=host, rank=1]; a -- b" + edge) == "hosts 'a' and 'b' both have rank 1; ranks must differ");
  CHECK(has(dot("a [kind=host, rank=1]; b [kind=host]; a -- b" + edge), "host 'b' has no rank, but others have"));
  CHECK(has(dot("a [kind=host, rank=x]; b [kind=host, rank=0]; a -- b" + edge), "node 'a': rank: 'x' is not a number"));
  CHECK(has(dot(hosts + "s [kind=switch, rank=2]; a -- s" + edge + "b -- s" + edge), "node 's' is a switch with a rank"));
  CHECK(dot("a [kind=host, forwards=yes]; b [kind=host]; a -- b" + edge) ==
        "node 'a': forwards: 'yes' is neither true nor false; write true or false");
  CHECK(has(dot(hosts + "s [kind=switch, forwards=true]; a -- s" + edge + "b -- s" + edge), "node 's' is a switch with `forwards`"));
  CHECK(dot("a [kind=host]; b [kind=host]; c [kind=host]; a -- b" + edge + "b -- c" + edge, 3) ==
        "every way from host 'a' to host 'c' leads over another host; give the hosts that pass on messages of others `forwards: true`, or "
        "join them by a switch");
  // All pairs by different means: a host that forwards; a switch, a second one, and a cable.
  for (const std::string& body : {"a [kind=host]; b [kind=host, forwards=true]; c [kind=host]; a -- b" + edge + "b -- c" + edge,
                                  "a [kind=host]; b [kind=host]; c [kind=host]; s [kind=switch]; t [kind=switch]; b -- s" + edge +
                                      "s -- a" + edge + "c -- t" + edge + "t -- b" + edge + "c -- a" + edge})
    CHECK(refusal(folder.write("ways.dot", "graph {" + body + "}"), 3) == "accepted");
  CHECK(dot(hosts + "a -- b [bandwidth=1, latency=0, route_cost=-1]") ==
        "edge 'a--b': route_cost: '-1' is out of range; write 0 to 1000000000");
  CHECK(has(dot(hosts + "a -- b [bandwidth=1, latency=0, route_order=first]"), "edge 'a--b': route_order: 'first' is not a"));
  CHECK(dot(hosts + "a -- b [bandwidth=1, latency=0, route_spread=0]") ==
        "edge 'a--b': route_spread: '0' is out of range; write 1 to 1000000000");
  CHECK(has(dot("a [kind=host, name=x]; b [kind=host, name=x]; a -- b" + edge), "two nodes are called 'x'; names must be unique"));
  CHECK(
      has(dot(hosts + "a -- b [bandwidth=1, latency=0, name=x]; a -- b [bandwidth=1, latency=0, name=x];"), "two links are called 'x:up'"));
  CHECK(has(dot("\"a\\\"b\" [kind=host]; b [kind=host]; b -- \"a\\\"b\"" + edge), "no quotes, backslashes or control characters"));
  CHECK(has(dot("\"\" [kind=host]; b [kind=host]; b -- \"\"" + edge), "a node is called ''"));

  const std::string path = folder.write("net.dot", "digraph { a [kind=host]; b [kind=host]; a -> b" + edge + "}");
  CHECK(refusal(path) == path + ": edge 'a->b' has no edge back; a cable is a pair of directed edges, or write an undirected graph");
}

TEST_CASE("file: GraphML that is wrong is refused by name and remedy") {
  const Folder folder;
  const auto graphml = [&](const std::string& text) {
    const std::string path = folder.write("net.graphml", text);
    std::string said = refusal(path);
    CHECK(said.starts_with(path + ": "));
    return said;
  };
  const auto graph = [&](const std::string& body, const std::string& attributes = "edgedefault='undirected'") {
    return graphml(xml_head + "<graph " + attributes + ">" + body + "</graph></graphml>");
  };
  const std::string edge = "<edge source='a' target='b'><data key='b'>5</data></edge>";
  CHECK(has(graph("<node id='a'/><node id='a'/>" + edge), "has two nodes with id 'a'"));
  CHECK(has(
      graphml(
          "<?xml version='1.0'?>\n<graphml><key id='k' for='node' attr.name='forward' attr.type='string'/><graph edgedefault='undirected'>"
          "<node id='a'><data key='k'>true</data></node></graph></graphml>"),
      "unknown attribute 'forward'; did you mean 'forwards'? known: name, kind, rank, forwards"));
  CHECK(has(graph("<node id='a'/>" + edge), "has an edge to node 'b', which is not declared"));
  CHECK(
      has(graph("<node id='a'/><node id='b'/>" + edge + "<edge source='a' target='b' directed='true'/>"), "both directed and undirected"));
  CHECK(has(graph("<node id='a'/><node id='b'/>" + edge, ""), "is not GraphML that can be read"));
  CHECK(has(graph("<node/><node id='b'/>" + edge), "is not GraphML that can be read"));
  CHECK(
      has(graph("<node id='a'/><node id='b'><graph edgedefault='undirected'><node id='c'/></graph></node>" + edge), "has a graph inside"));
  CHECK(has(graph("<node id='a'/><node id='b'/>" + edge + "</graph><graph edgedefault='undirected'>"), "has several graphs"));
  CHECK(has(graph("<node id='a'><data key='k'>router</data></node>"), "is of kind 'router'"));
  CHECK(has(graphml("<graphml></graphml>"), "has no <graph>; truncated?"));
  CHECK(has(graphml("<!DOCTYPE graphml [<!ENTITY x 'y'>]>" + good_graphml), "declares a document type"));
  CHECK(has(graphml(good_dot), "is not GraphML that can be read"));
  CHECK(has(graphml(""), "is not GraphML that can be read"));
}

TEST_CASE("file: other files are refused") {
  const Folder folder;
  CHECK(has(refusal(folder / "missing.dot"), "missing.dot: cannot be opened"));
  CHECK(has(refusal(folder.write("net.txt", good_dot)), "is neither .graphml nor .dot"));
  std::filesystem::create_directory(folder / "folder.dot");
  CHECK(has(refusal(folder / "folder.dot"), "folder.dot: "));
  CHECK(has(refusal(folder.write("net.dot", good_graphml)), "net.dot: "));
}

TEST_CASE("file: truncated and damaged files are refused, never worse") {
  const Folder folder;
  for (const bool graphml : {false, true}) {
    const std::string& whole = graphml ? good_graphml : good_dot;
    const std::string name = graphml ? "net.graphml" : "net.dot";
    CHECK(refusal(folder.write(name, whole)) == "accepted");
    // Without its last line's end it is still whole.
    for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
      CAPTURE(length);
      CHECK(refusal(folder.write(name, whole.substr(0, length))) != "accepted");
    }
    // Any byte replaced: accepted or refused, but nothing else.
    for (std::size_t at = 0; at < whole.size(); at += test::sanitized ? 12 : test::check_long ? 1 : 3) {
      for (const char damage : {'\0', '<', '"', '{', '}', '\xff', '\\', '-'}) {
        std::string damaged = whole;
        damaged[at] = damage;
        const std::string said = refusal(folder.write(name, damaged));
        CHECK((said == "accepted" || has(said, name + ": ")));
      }
    }
  }
}

TEST_CASE("file: nesting without end and edges between groups are refused before they are read") {
  const Folder folder;
  const auto repeated = [](const std::string& piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
  };
  const std::string levels = "is nested more than 64 levels deep";
  CHECK(has(refusal(folder.write("deep.graphml", repeated("<graphml>", 1'000'000))), levels));
  CHECK(has(refusal(folder.write("deep.graphml", repeated("<a b='/>'><!-- </a> -->", 1'000'000))), levels));
  CHECK(has(refusal(folder.write("deep.dot", "graph " + repeated("{", 1'000'000))), levels));
  CHECK(has(refusal(folder.write("deep.dot", "graph {" + repeated("subgraph {", 1'000'000))), levels));
  CHECK(has(refusal(folder.write("deep.dot", "graph {" + repeated("subgraph /* } */ {", 1'000'000))), levels));
  const std::string groups = "has an edge between groups of nodes";
  for (const char* body : {"subgraph x {a b} -- c", "c -- subgraph {a b}", "c -- SubGraph x", "subgraph x -- c", "c -- {a b}",
                           "subgraph {a b} /* */ -- c", "c -- // x\n {a}", "subgraph\nx -- c"}) {
    CAPTURE(body);
    CHECK(has(refusal(folder.write("groups.dot", std::string("graph {") + body + "}")), groups));
  }
  CHECK(has(refusal(folder.write("html.dot", "graph { a [label=<b>] }")), "has an HTML-like label"));
  // Boost.Graph, like Graphviz, would read two words, the first of them a number.
  for (const char* value : {"1e6", "1Gbps", "0.5Gbps", "-1e3", ".5us", "1 Gbps", "2.5 /* */ GB/s"}) {
    CAPTURE(value);
    const std::string said = refusal(
        folder.write("word.dot", std::string("graph { a [kind=host]; b [kind=host]; a -- b [latency=0, bandwidth=") + value + "] }"));
    CHECK(has(said, "runs on into letters"));
  }
  // What only looks like it is fine.
  CHECK(refusal(folder.write(
            "fine.dot",
            "graph { subgraph cluster_x { a [kind=host, label=\"{ -- subgraph <\"]; subgraph_2 [kind=host, x=-3.25, y=.5, z=3 s = 4]; }\n"
            "a -- subgraph_2 [bandwidth=1, latency=0]; }\n# {{{ \n")) == "accepted");
}

TEST_CASE("natural order: runs of digits are numbers") {
  const std::vector<std::string> sorted = {"",   "1",   "01", "2",  "10",  "a",     "a1b2",   "a1b10",
                                           "a2", "a10", "b",  "b0", "b00", "node2", "node10", "node10a"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      CAPTURE(sorted[i]);
      CAPTURE(sorted[j]);
      CHECK((natural_less(sorted[i], sorted[j]) || natural_less(sorted[j], sorted[i])) == (i != j));
    }
  }
  CHECK(natural_less("node2", "node10"));
  CHECK(natural_less("a1b2", "a1b10"));
  CHECK(natural_less("a", "a1"));
  CHECK(natural_less("99999999999999999999", "100000000000000000000"));
}

}  // namespace
}  // namespace straggler
