// Lineage: keys, sharing of nodes, and who keeps what alive.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/lineage/lineage.hpp"

using namespace straggler;

namespace {

Batch batch(std::uint32_t stream, std::uint64_t position, std::uint32_t size) {
  Batch made;
  made.stream = stream;
  made.position = position;
  made.size = size;
  return made;
}

Handle apply(Lineage& lineage, const Rule& rule, std::vector<Handle> inputs, std::vector<double> scalars = {}) {
  return lineage.elementwise(rule, inputs, std::move(scalars));
}

/// Says that nodes have a value, and counts what it is told.
struct Owner final : ValueOwner {
  explicit Owner(Lineage& lineage) : lineage_(lineage) { lineage.set_owner(this); }
  void evaluate(const Handle& handle) { lineage_.evaluated(*handle.node()); }
  void release(LineageNode& node) noexcept override {
    CHECK(node.evaluated);
    released.push_back(node.key);
  }
  std::vector<Key> released;

 private:
  Lineage& lineage_;
};

}  // namespace

TEST_CASE("equal formulas of equal inputs are one node") {
  Lineage lineage(Math::lazy, Key{1, 2});
  const Handle a = lineage.initial(), b = lineage.initial();
  CHECK(a.node() == b.node());
  CHECK(a.node()->references == 2);
  CHECK(lineage.live() == 1);
  const Handle g = lineage.gradient(a, batch(0, 0, 32)), h = lineage.gradient(b, batch(0, 0, 32));
  CHECK(g.node() == h.node());
  CHECK(lineage.live() == 2);
  CHECK(lineage.pending() == 2);
  CHECK(a.node()->references == 3);  // two handles and one consumer, not two
  // One batch by itself and a mean over that one batch are the same value.
  CHECK(lineage.mean_gradient(a, {batch(0, 0, 32)}).key() == g.key());
}

TEST_CASE("the key contains everything that the value depends on") {
  Lineage lineage(Math::none, Key{1, 2}), other_root(Math::none, Key{1, 3});
  const Handle w = lineage.initial();
  const Batch one = batch(0, 0, 32), two = batch(1, 0, 32);
  const Handle g = lineage.gradient(w, one), h = lineage.gradient(w, two);
  const std::vector<Key> keys = {
      w.key(),
      other_root.initial().key(),
      g.key(),
      h.key(),
      lineage.gradient(w, batch(0, 32, 32)).key(),
      lineage.gradient(w, batch(0, 0, 31)).key(),
      lineage.gradient(g, one).key(),
      lineage.mean_gradient(w, {one, two}).key(),
      lineage.mean_gradient(w, {two, one}).key(),
      lineage.mean_gradient(w, {one, one}).key(),
      apply(lineage, rules::mean, {g, h}).key(),
      apply(lineage, rules::mean, {h, g}).key(),  // the order of a sum matters
      apply(lineage, rules::mean, {g}).key(),
      apply(lineage, rules::mean, {g, g}).key(),
      apply(lineage, rules::mean, {g, h, g}).key(),
      apply(lineage, rules::ring_mean, {g, h}).key(),
      apply(lineage, rules::add, {g, h}).key(),
      apply(lineage, rules::weighted_mean, {g, h}, {0.5, 0.5}).key(),
      apply(lineage, rules::weighted_mean, {g, h}, {0.25, 0.75}).key(),
      apply(lineage, rules::weighted_mean, {g, h}, {0.75, 0.25}).key(),
      apply(lineage, rules::weighted_mean, {g, h}, {0.75}).key(),
      lineage.make(Formula(), {}).key(),
  };
  CHECK(std::set<Key>(keys.begin(), keys.end()).size() == keys.size());
  CHECK(std::count(keys.begin(), keys.end(), Key{}) == 0);
}

TEST_CASE("keys do not depend on whether values are read") {
  Lineage keys(Math::none, Key{5, 6}), nodes(Math::lazy, Key{5, 6});
  std::vector<std::pair<Handle, Handle>> known = {{keys.initial(), nodes.initial()}};
  RandomStream random(1, "lineage");
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const auto& [a, b] = known[random.below(known.size())];
    const auto& [c, d] = known[random.below(known.size())];
    switch (random.below(3)) {
      case 0:
        known.emplace_back(keys.gradient(a, batch(i % 7, i, 8)), nodes.gradient(b, batch(i % 7, i, 8)));
        break;
      case 1:
        known.emplace_back(keys.mean_gradient(a, {batch(1, i, 8), batch(2, i, 8)}),
                           nodes.mean_gradient(b, {batch(1, i, 8), batch(2, i, 8)}));
        break;
      default:
        known.emplace_back(apply(keys, rules::weighted_mean, {a, c}, {0.1 * i, 1}),
                           apply(nodes, rules::weighted_mean, {b, d}, {0.1 * i, 1}));
    }
    CHECK(known.back().first.key() == known.back().second.key());
  }
  CHECK(keys.live() == 0);
  CHECK(keys.pending() == 0);
  for (const auto& [key, node] : known) CHECK(key.node() == nullptr);
}

TEST_CASE("two inputs that are named apart are the same formula as a list of them") {
  for (const Math math : {Math::none, Math::lazy}) {
    Lineage lineage(math, Key{5, 6});
    const Handle weights = lineage.initial(), gradient = lineage.gradient(weights, batch(0, 0, 8));
    for (const double rate : {0.5, -0.0, 0.0})
      CHECK(lineage.elementwise(rules::blend, weights, gradient, {rate, 1}).key() ==
            apply(lineage, rules::blend, {weights, gradient}, {rate, 1}).key());
    CHECK(lineage.elementwise(rules::blend, gradient, weights, {0.5, 1}).key() !=
          lineage.elementwise(rules::blend, weights, gradient, {0.5, 1}).key());
  }
}

TEST_CASE("no two of many similar keys collide, in any 32 bits of theirs more often than by chance") {
  Lineage lineage(Math::none, Key{1, 2});
  const Handle w = lineage.initial();
  std::set<Key> keys;
  std::set<std::uint32_t> low, high;
  constexpr std::uint32_t count = 20'000;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Key key = lineage.gradient(w, batch(i % 100, i / 100 * 32, 32)).key();
    keys.insert(key);
    low.insert(static_cast<std::uint32_t>(key.low));
    high.insert(static_cast<std::uint32_t>(key.high));
  }
  CHECK(keys.size() == count);
  // Among n random 32-bit words n² / 2^33 = 0.05 pairs are equal on average.
  CHECK(low.size() >= count - 3);
  CHECK(high.size() >= count - 3);
}

TEST_CASE("a node lives while a handle or an unevaluated consumer refers to it") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Handle w = lineage.initial();
  Handle g = lineage.gradient(w, batch(0, 0, 1));
  Handle next = apply(lineage, rules::add, {w, g});
  w = Handle();
  g = Handle();
  CHECK(lineage.live() == 3);
  CHECK(lineage.pending() == 3);
  const Handle copy = next;
  next = Handle();
  CHECK(lineage.live() == 3);
  const Handle& same = copy;
  Handle assigned = copy;
  assigned = same;
  assigned = std::move(assigned);
  CHECK(assigned.node() == copy.node());
  CHECK(copy.node()->references == 2);
}

TEST_CASE("dropping the last handle drops the whole history") {
  Lineage lineage(Math::lazy, Key{1, 2});
  {
    Handle w = lineage.initial();
    for (std::uint32_t i = 0; i < 10; ++i) w = apply(lineage, rules::add, {w, lineage.gradient(w, batch(0, i, 1))});
    CHECK(lineage.live() == 21);
  }
  CHECK(lineage.live() == 0);
  CHECK(lineage.pending() == 0);
}

TEST_CASE("a chain of a million updates is released without recursion, and its nodes are used again") {
  Lineage lineage(Math::lazy, Key{1, 2});
  const auto chain = [&lineage] {
    Handle w = lineage.initial();
    for (int i = 0; i < 500'000; ++i) w = apply(lineage, rules::add, {w, w});
    return w;
  };
  Handle end = chain();
  CHECK(lineage.live() == 500'001);
  const LineageNode* first = end.node();
  CHECK(lineage.slots() == 500'001);
  end = Handle();
  CHECK(lineage.live() == 0);
  end = chain();
  CHECK(lineage.live() == 500'001);
  bool used_again = false;
  for (const LineageNode* node = end.node();; node = node->inputs[0]) {
    used_again = used_again || node == first;
    if (node->inputs.empty()) break;
  }
  CHECK(used_again);
  CHECK(lineage.slots() == 500'001);
}

TEST_CASE("an evaluated node lets go of its inputs, and its value goes when it does") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Owner owner(lineage);
  Handle w = lineage.initial();
  Handle g = lineage.gradient(w, batch(0, 0, 1));
  Handle next = apply(lineage, rules::add, {w, g});
  owner.evaluate(w);
  owner.evaluate(g);
  CHECK(owner.released.empty());
  CHECK(lineage.pending() == 1);
  const Key w_key = w.key(), g_key = g.key(), next_key = next.key();
  g = Handle();  // still an input of `next`
  CHECK(owner.released.empty());
  CHECK(lineage.live() == 3);
  owner.evaluate(next);
  CHECK(owner.released == std::vector<Key>{g_key});
  CHECK(lineage.pending() == 0);
  CHECK(lineage.live() == 2);
  CHECK(next.node()->inputs.empty());
  CHECK(w.node()->references == 1);
  next = Handle();
  w = Handle();
  CHECK(owner.released == std::vector<Key>{g_key, next_key, w_key});
  CHECK(lineage.live() == 0);
}

TEST_CASE("a value that was released and is computed again is a new node") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Owner owner(lineage);
  const Handle w = lineage.initial();
  Handle g = lineage.gradient(w, batch(0, 0, 1));
  owner.evaluate(w);
  owner.evaluate(g);
  g = Handle();
  CHECK(owner.released.size() == 1);
  g = lineage.gradient(w, batch(0, 0, 1));
  CHECK(!g.node()->evaluated);
  CHECK(g.node()->inputs.size() == 1);
  CHECK(lineage.pending() == 1);
  // Asked for while it lives, it is the one with the value.
  CHECK(lineage.initial().node()->evaluated);
  CHECK(lineage.pending() == 1);
}

TEST_CASE("dropping an unevaluated consumer does not touch the values of its inputs that others hold") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Owner owner(lineage);
  const Handle w = lineage.initial();
  owner.evaluate(w);
  Handle g = lineage.gradient(w, batch(0, 0, 1));
  g = Handle();
  CHECK(owner.released.empty());
  CHECK(w.node()->references == 1);
  CHECK(w.node()->evaluated);
  CHECK(lineage.pending() == 0);
}

TEST_CASE("handles may outlive the owner of the values") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Handle w = lineage.initial();
  {
    Owner owner(lineage);
    owner.evaluate(w);
    lineage.set_owner(nullptr);
  }
  w = Handle();
  CHECK(lineage.live() == 0);
}

TEST_CASE("a name from elsewhere is the node of that name, or a leaf that waits for its value") {
  Lineage lineage(Math::lazy, Key{1, 2});
  Owner owner(lineage);
  const Handle w = lineage.initial();
  CHECK(lineage.leaf(w.key()).node() == w.node());
  const Key foreign{7, 9};
  Handle leaf = lineage.leaf(foreign);
  CHECK(leaf.key() == foreign);
  CHECK(leaf.node()->formula.kind == Formula::Kind::leaf);
  CHECK(lineage.leaf(foreign).node() == leaf.node());
  CHECK(lineage.pending() == 2);
  // What follows from it has the key that it has where the name was made.
  Lineage there(Math::none, Key{1, 2});
  CHECK(apply(lineage, rules::add, {w, leaf}).key() == apply(there, rules::add, {there.initial(), there.leaf(foreign)}).key());
  CHECK(there.leaf(foreign).node() == nullptr);
  CHECK_THROWS_AS(there.leaf(Key{7, 8}), std::logic_error);  // no key of a lineage
  owner.evaluate(leaf);
  leaf = Handle();
  CHECK(owner.released == std::vector<Key>{foreign});
  CHECK(lineage.live() == 1);
}

TEST_CASE("an empty handle is no input") {
  Lineage lineage(Math::lazy, Key{1, 2}), keys(Math::none, Key{1, 2});
  CHECK(Handle().empty());
  Handle w = lineage.initial();
  CHECK_FALSE(w.empty());
  CHECK_THROWS_AS(apply(lineage, rules::add, {w, Handle()}), std::logic_error);
  CHECK_THROWS_AS(lineage.gradient(keys.initial(), batch(0, 0, 1)), std::logic_error);
  CHECK(lineage.live() == 1);
  CHECK(w.node()->references == 1);
  const Handle moved = std::move(w);
  CHECK(w.empty());  // NOLINT: a handle that was moved from is an empty one
  CHECK(moved.node()->references == 1);
}

TEST_CASE("batches name their stream") {
  CHECK(batch(1, 2, 3) == batch(1, 2, 3));
  CHECK_FALSE(batch(1, 2, 3) == batch(shared_stream, 2, 3));
}

TEST_CASE("a name does not depend on what was named before it") {
  const auto named = [](Lineage& lineage, const Rule& rule, const std::vector<double>& scalars) {
    return apply(lineage, rule, {lineage.initial(), lineage.gradient(lineage.initial(), batch(1, 64, 32))}, scalars).key();
  };
  const std::vector<std::pair<const Rule*, std::vector<double>>> formulas = {{&rules::add, {}},         {&rules::add, {0.0}},
                                                                             {&rules::add, {-0.0}},     {&rules::blend, {0.0}},
                                                                             {&rules::blend, {0.5, 1}}, {&rules::blend, {0.5, 2}}};
  Lineage one_after_the_other(Math::none, Key{1, 2}), nodes(Math::lazy, Key{1, 2});
  std::set<Key> all;
  for (int round = 0; round < 2; ++round)
    for (const auto& [rule, scalars] : formulas) {
      Lineage fresh(Math::none, Key{1, 2});
      const Key key = named(fresh, *rule, scalars);
      CHECK(named(one_after_the_other, *rule, scalars) == key);
      CHECK(named(one_after_the_other, *rule, scalars) == key);
      CHECK(named(nodes, *rule, scalars) == key);  // with nodes: the name that timing alone has
      all.insert(key);
    }
  CHECK(all.size() == formulas.size());
}
