// Shortest ways on random graphs against Floyd & Warshall, and the memory that their trees may take.
#include <thread>

#include "sim/base/random.hpp"
#include "sim/cluster/graph_routes.hpp"
#include "tests/cluster/topology_cases.hpp"

namespace straggler {
namespace {

struct RandomGraph {
  std::size_t nodes;
  std::vector<GraphRoutes::Edge> edges;
};

/// Connected: a random tree with chords. Few different latencies, zero among them, so that many ways are equal.
RandomGraph random_graph(std::uint64_t seed) {
  RandomStream draws(seed, "graph");
  RandomGraph graph{2 + draws.below(20), {}};
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      graph.edges.push_back(
          {from, to, Time::from_ticks(static_cast<std::int64_t>(draws.below(3))), static_cast<LinkId>(graph.edges.size())});
  };
  for (std::uint32_t n = 1; n < graph.nodes; ++n) add(n, static_cast<std::uint32_t>(draws.below(n)));
  for (std::size_t chords = draws.below(30); chords > 0; --chords) {
    const auto a = static_cast<std::uint32_t>(draws.below(graph.nodes)), b = static_cast<std::uint32_t>(draws.below(graph.nodes));
    if (a != b) add(a, b);
  }
  return graph;
}

TEST_CASE("graph routes: shortest by latency, then hops, then preference, on random graphs") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const RandomGraph graph = random_graph(seed);
    std::vector<std::vector<Reach>> best(graph.nodes, std::vector<Reach>(graph.nodes, unreachable));
    for (std::size_t n = 0; n < graph.nodes; ++n) best[n][n] = {};
    for (const auto& edge : graph.edges) best[edge.from][edge.to] = std::min(best[edge.from][edge.to], Reach{edge.latency.ticks(), 1});
    for (std::size_t k = 0; k < graph.nodes; ++k)
      for (std::size_t i = 0; i < graph.nodes; ++i)
        for (std::size_t j = 0; j < graph.nodes; ++j) best[i][j] = std::min(best[i][j], best[i][k] + best[k][j]);
    const GraphRoutes single(graph.nodes, graph.edges, {}), spread(graph.nodes, graph.edges, {.multipath = true});
    for (std::uint32_t to = 0; to < graph.nodes; ++to) {
      const auto distances = single.distances_to(to);
      for (std::uint32_t from = 0; from < graph.nodes; ++from) {
        CHECK(distances[from].ticks == best[from][to].ticks);
        CHECK(distances[from].hops == best[from][to].hops);
        for (const bool multipath : {false, true}) {
          Route route;
          (multipath ? spread : single).append(from, to, seed, route);
          CHECK(route.latency.ticks() == best[from][to].ticks);
          REQUIRE(static_cast<std::int64_t>(route.links.size()) == best[from][to].hops);
          std::uint32_t at = from;
          for (const LinkId link : route.links) {
            CHECK(graph.edges[link].from == at);
            if (!multipath) {
              // No earlier edge out of this node begins a way as short.
              for (LinkId earlier = 0; earlier < link; ++earlier) {
                const auto& edge = graph.edges[earlier];
                if (edge.from == at) CHECK(best[edge.to][to] + Reach{edge.latency.ticks(), 1} != best[at][to]);
              }
            }
            at = graph.edges[link].to;
          }
          CHECK(at == to);
        }
      }
    }
  }
}

TEST_CASE("graph routes: over no node that is no way, and by cost instead of latency, on random graphs") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    RandomGraph graph = random_graph(seed);
    RandomStream draws(seed, "rules");
    std::vector<bool> no_way;
    for (std::size_t n = 0; n < graph.nodes; ++n) no_way.push_back(draws.below(3) == 0);
    for (GraphRoutes::Edge& edge : graph.edges) edge.cost = static_cast<std::int64_t>(draws.below(3));
    for (const bool costs : {false, true}) {
      std::vector<std::vector<Reach>> best(graph.nodes, std::vector<Reach>(graph.nodes, unreachable));
      for (const auto& edge : graph.edges)
        best[edge.from][edge.to] = std::min(best[edge.from][edge.to], Reach{costs ? edge.cost : edge.latency.ticks(), 1});
      for (std::size_t k = 0; k < graph.nodes; ++k)
        for (std::size_t i = 0; i < graph.nodes && !no_way[k]; ++i)
          for (std::size_t j = 0; j < graph.nodes; ++j) best[i][j] = std::min(best[i][j], best[i][k] + best[k][j]);
      const GraphRoutes routes(graph.nodes, graph.edges, {.costs = costs, .no_way = no_way});
      for (std::uint32_t to = 0; to < graph.nodes; ++to) {
        const auto longest = routes.longest_to(to);
        for (std::uint32_t from = 0; from < graph.nodes; ++from) {
          if (from == to || best[from][to] >= unreachable) continue;
          Route route;
          routes.append(from, to, 0, route);
          Reach length;
          for (const LinkId link : route.links) {
            const GraphRoutes::Edge& edge = graph.edges[link];
            length = length + Reach{costs ? edge.cost : edge.latency.ticks(), 1};
            CHECK((edge.to == to || !no_way[edge.to]));
          }
          CHECK(length == best[from][to]);
          CHECK(longest[from].ticks == route.latency.ticks());
          CHECK(longest[from].hops == route.links.size());
        }
      }
    }
  }
}

TEST_CASE("graph routes: multipath takes every one of the equal ways for some choice") {
  // Two layers of three between the ends: nine ways.
  std::vector<GraphRoutes::Edge> edges;
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    edges.push_back({a, b, microseconds(1), static_cast<LinkId>(edges.size())});
    edges.push_back({b, a, microseconds(1), static_cast<LinkId>(edges.size())});
  };
  for (std::uint32_t i = 0; i < 3; ++i) {
    add(0, 1 + i);
    for (std::uint32_t j = 0; j < 3; ++j) add(1 + i, 4 + j);
    add(4 + i, 7);
  }
  const GraphRoutes routes(8, edges, {.multipath = true});
  std::map<std::vector<LinkId>, int> ways;
  for (std::uint64_t choice = 0; choice < 900; ++choice) {
    Route route;
    routes.append(0, 7, choice, route);
    ++ways[route.links];
  }
  CHECK(ways.size() == 9);
  for (const auto& way : ways) CHECK(std::abs(way.second - 100) < 50);  // standard deviation 9.4
}

TEST_CASE("graph routes: trees are kept while they fit, and routes do not depend on it") {
  const RandomGraph graph = random_graph(7);
  REQUIRE(graph.nodes > 4);
  const std::size_t tree = sizeof(std::uint32_t) * graph.nodes;
  const GraphRoutes large(graph.nodes, graph.edges, {}), small(graph.nodes, graph.edges, {}, 2 * tree),
      least(graph.nodes, graph.edges, {}, 0);
  CHECK(large.trees() == 0);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t to = 0; to < graph.nodes; ++to) {
      for (std::uint32_t from = 0; from < graph.nodes; ++from) {
        Route a, b, c;
        large.append(from, to, 0, a);
        small.append(from, to, 0, b);
        least.append(from, (to * 5 + from) % static_cast<std::uint32_t>(graph.nodes), 0, c);
        CHECK(a.links == b.links);
      }
    }
  }
  CHECK(large.trees() == graph.nodes);
  CHECK(small.trees() == 2);
  CHECK(least.trees() == 1);
}

TEST_CASE("graph routes: several threads may ask at once") {
  const RandomGraph graph = random_graph(11);
  const GraphRoutes shared(graph.nodes, graph.edges, {.multipath = true}, 3 * 4 * (graph.nodes + 1 + graph.edges.size())),
      alone(graph.nodes, graph.edges, {.multipath = true});
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 2000; ++i) {
        const auto from = static_cast<std::uint32_t>((i * 7 + t) % graph.nodes),
                   to = static_cast<std::uint32_t>((i * 3 + t * 5) % graph.nodes);
        Route a, b;
        shared.append(from, to, i, a);
        alone.append(from, to, i, b);
        wrong[t] += a.links != b.links;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

}  // namespace
}  // namespace straggler
