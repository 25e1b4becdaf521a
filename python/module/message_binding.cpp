// Messages, collectives and gatherings of a node in Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "python/module/node_binding.hpp"
#include "sim/training/gather.hpp"
#include "sim/training/neighbours.hpp"

namespace straggler::python {

namespace {

using Op = std::unique_ptr<OperationObject>;

/// Destination of a message: a rank, or the life that sent a payload.
struct Address {
  Peer to;
  bool of_life;
};

/// A number that no rank has stands for one that is too large.
Rank rank_of(py::handle index) {
  int overflow = 0;
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(index.ptr()));
  if (!number) throw py::error_already_set();
  const long rank = PyLong_AsLongAndOverflow(number.ptr(), &overflow);
  constexpr long most = std::numeric_limits<Rank>::max();
  return static_cast<Rank>(overflow != 0 ? most : std::clamp(rank, -most, most));
}

Address address_of(const NodeObject& node, py::handle to) {
  const bool answers = py::isinstance<Peer>(to);
  if (!answers && !PyIndex_Check(to.ptr()))
    throw py::type_error("a message goes to a rank, or to the sender of another one, not to " + shown(to));
  const Peer peer = answers ? to.cast<Peer>() : Peer(rank_of(to), Peer::any_life);
  if (rank_below(node, peer.rank, node.scope().ranks()) == node.node().self())
    throw std::invalid_argument(node.node().name() + " sends to itself, or waits for itself");
  return {peer, answers};
}

/// act(payload) for a Python payload.
template <class Act>
auto with_payload(const NodeObject& node, py::handle what, const Act& act) {
  const py::handle type = reinterpret_cast<PyObject*>(Py_TYPE(what.ptr()));
  if (type.is(payload_types().gradient)) return act(value_in(node, what.cast<const GradientObject&>()));
  if (type.is(payload_types().weights)) return act(value_in(node, what.cast<const WeightsObject&>()));
  if (type.is(payload_types().token)) return act(what.cast<const TokenObject&>().token);
  if (type.is(payload_types().samples)) return act(what.cast<const SamplesObject&>().samples());
  const char* const remedy = py::isinstance<OperationObject>(what) ? "; write `yield` before the call that made it" : "";
  throw py::type_error("a message carries Weights, a Gradient, a Token or Samples, not " + std::string(py::str(type.attr("__name__"))) +
                       remedy);
}

/// act(Chosen<T>()) for the class of payload that Python names.
template <class T>
struct Chosen {
  using type = T;
};
template <class Act>
Op with_type(py::handle type, const Act& act, bool notices = true) {
  const PayloadTypes& types = payload_types();
  if (type.is(types.gradient)) return act(Chosen<Gradient>());
  if (type.is(types.weights)) return act(Chosen<Weights>());
  if (type.is(types.token)) return act(Chosen<Token>());
  if (type.is(types.samples)) return act(Chosen<Samples>());
  if (notices && type.is(types.notice)) return act(Chosen<MembershipNotice>());
  throw py::type_error("name what is received: straggler.Weights, Gradient, Token, Samples or MembershipNotice");
}
/// The same for a contribution.
template <class Act>
Op with_contribution(py::handle type, const Act& act) {
  if (type.is(payload_types().gradient)) return act(Chosen<Gradient>());
  if (type.is(payload_types().weights)) return act(Chosen<Weights>());
  throw py::type_error("name what is gathered: straggler.Weights or straggler.Gradient");
}

RankGroup group_of(const std::optional<std::vector<Rank>>& ranks) {
  return ranks ? std::make_shared<const std::vector<Rank>>(*ranks) : RankGroup();
}

void define_exchanges(py::class_<NodeObject>& node) {
  node.def(
      "send",
      [](NodeObject& self, const py::object& to, const py::object& payload) {
        const Address address = address_of(self, to);
        return with_payload(self, payload, [&](const auto& what) {
          Node& mine = self.node();
          return operation(self, address.of_life ? mine.send(address.to, what) : mine.send(address.to.rank, what));
        });
      },
      py::arg("to"), py::arg("payload"), "On until the last byte has left. `to`: a rank, or the sender of what is answered.");
  node.def(
      "post",
      [](NodeObject& self, const py::object& to, const py::object& payload) {
        const Address address = address_of(self, to);
        with_payload(self, payload, [&](const auto& what) {
          address.of_life ? self.node().post(address.to, what) : self.node().post(address.to.rank, what);
        });
      },
      py::arg("to"), py::arg("payload"), "The same, and on at once. Not to be yielded.");
  node.def(
      "broadcast",
      [](NodeObject& self, const py::object& what, const std::optional<std::vector<Rank>>& ranks) {
        if (py::isinstance<SyncSignal>(what)) {
          if (ranks) throw std::invalid_argument("a signal goes to all workers; leave ranks out");
          require_worker(self, "sends a signal");
          return self.node().broadcast(what.cast<SyncSignal>());
        }
        if (ranks)
          for (const Rank rank : *ranks) worker_rank(self, rank);
        with_payload(self, what, [&](const auto& payload) {
          ranks ? self.node().broadcast(payload, std::span<const Rank>(*ranks)) : self.node().broadcast(payload);
        });
      },
      py::arg("payload"), py::arg("ranks") = py::none(),
      "Posts to every other member, in rank order, or to those of `ranks`. Not to be yielded.");
  node.def(
      "receive",
      [](NodeObject& self, const py::object& type, const py::object& from) {
        if (from.is_none())
          return with_type(
              type, [&](auto chosen) { return operation(self, self.node().template receive<typename decltype(chosen)::type>(), false); });
        const Rank rank = address_of(self, from).to.rank;
        return with_type(type,
                         [&](auto chosen) { return operation(self, self.node().template receive<typename decltype(chosen)::type>(rank)); });
      },
      py::arg("type"), py::arg("sender") = py::none(),
      "The next payload of that class, from a rank or from anyone; its .sender says from whom.");
  node.def(
      "arrival",
      [](NodeObject& self, const py::object& type) {
        return with_type(
            type, [&](auto chosen) { return operation(self, self.node().template arrival<typename decltype(chosen)::type>(), false); },
            false);
      },
      py::arg("type"), "The next one from anyone, or None if a change of members is told before.");
  node.def(
      "signal",
      [](NodeObject& self, std::uint64_t number) {
        require_worker(self, "waits for a signal");
        return operation(self, self.node().signal(number), false);
      },
      py::arg("number"), "Waits for a signal of that number or later, which may have come already.");
  node.def(
      "proceed", [](NodeObject& self) { return operation(self, self.node().proceed(), false); },
      "Completes at once: in a first_of that only asks whether something has come.");
  node.def(
      "timer", [](NodeObject& self, const py::object& span) { return operation(self, self.node().timer(time_of(span))); }, py::arg("span"),
      "Completes after that time: seconds, or a text such as '50ms'.");
  node.def(
      "begin",
      [](NodeObject& self, const py::object& what) {
        auto& begun = argument<OperationObject>(what, "operation", "an operation of this node");
        begun.awaited(self.life());
        begun.begin();
        return what;
      },
      py::arg("operation"), "It begins now, is in flight, and is awaited later by yielding it.");
  node.def(
      "all_reduce_mean",
      [](NodeObject& self, const py::object& mine, const std::optional<std::vector<Rank>>& group) -> Op {
        if (py::isinstance<GradientObject>(mine))
          return operation(self, self.node().all_reduce_mean(taken_in(self, mine.cast<const GradientObject&>()), group_of(group)));
        return operation(
            self, self.node().all_reduce_mean(value_in(self, argument<WeightsObject>(mine, "mine", "straggler.Weights or a Gradient")),
                                              group_of(group)));
      },
      py::arg("mine"), py::arg("group") = py::none(),
      "The mean over all workers, or over those of a group, known to all of them at the end.");
  node.def(
      "all_gather",
      [](NodeObject& self, const py::object& mine, const std::optional<std::vector<Rank>>& group) -> Op {
        if (py::isinstance<GradientObject>(mine))
          return operation(self, self.node().all_gather(value_in(self, mine.cast<const GradientObject&>()), group_of(group)));
        return operation(self,
                         self.node().all_gather(value_in(self, argument<WeightsObject>(mine, "mine", "straggler.Weights or a Gradient")),
                                                group_of(group)));
      },
      py::arg("mine"), py::arg("group") = py::none(), "What every worker brings, in rank order, known to all of them at the end.");
  node.def(
      "reduce_scatter",
      [](NodeObject& self, const GradientObject& mine, const std::optional<std::vector<Rank>>& group) {
        return operation(self, self.node().reduce_scatter(taken_in(self, mine), group_of(group)));
      },
      py::arg("mine"), py::arg("group") = py::none(),
      "One of p equal parts of the mean gradient over all p workers, or over those of a group: the first worker's is the first one.");
  node.def(
      "discard",
      [](NodeObject& self, const py::object& what) {
        bool* const before = py::isinstance<GradientObject>(what)  ? &what.cast<GradientObject&>().discarded
                             : py::isinstance<WeightsObject>(what) ? &what.cast<WeightsObject&>().discarded
                                                                   : nullptr;
        if (before && *before) throw std::invalid_argument("this contribution has been discarded before; discard each one once");
        with_payload(self, what, [&](const auto& payload) { self.node().discard(payload); });
        if (before) *before = true;
      },
      py::arg("contribution"), "It is dropped: what was spent on it is wasted.");
}

/// Calls Python at once for a late contribution.
template <class T>
Task<std::vector<From<T>>> first_of_version(Node& node, Life& life, std::uint64_t version, std::int64_t count, std::shared_ptr<Kept> late) {
  const auto told = [&](const From<T>& contribution) {
    const Gil gil;
    const py::object given = to_python(life.scope(), From<T>(contribution));
    const Scope::Turn turn(life.scope(), life);
    late->get()(given);
  };
  co_return co_await gather_first<T>(node, version, count, told);
}

void define_gathering(py::class_<NodeObject>& node) {
  node.def(
      "gather",
      [](NodeObject& self, const py::object& type, std::uint64_t version, std::optional<std::vector<Rank>> ranks) {
        if (ranks)
          for (const Rank rank : *ranks) rank_below(self, rank, self.scope().ranks());
        return with_contribution(type, [&](auto chosen) {
          return operation(self, gather<typename decltype(chosen)::type>(self.node(), version, std::move(ranks)));
        });
      },
      py::arg("type"), py::arg("version"), py::arg("ranks") = py::none(),
      "A list: one contribution to `version` from each member, or from those of `ranks` (aggregators, too), in rank order; at least one. "
      "Members may change meanwhile.");
  node.def(
      "gather_first",
      [](NodeObject& self, const py::object& type, std::int64_t count, const std::optional<std::uint64_t>& version,
         const py::object& late) {
        if (count < 1) throw std::invalid_argument("at least one contribution is gathered");
        if (version && late.is_none()) throw std::invalid_argument("say what becomes of those of other versions: late=function");
        return with_contribution(type, [&](auto chosen) -> Op {
          using T = typename decltype(chosen)::type;
          if (!version) return operation(self, gather_first<T>(self.node(), count));
          return operation(self, first_of_version<T>(self.node(), self.life(), *version, count, std::make_shared<Kept>(late)));
        });
      },
      py::arg("type"), py::arg("count"), py::arg("version") = py::none(), py::arg("late") = py::none(),
      "A list: the first `count` contributions of distinct workers, in rank order. With `version`, those to it; late(contribution) is "
      "called with each of the others, to drop and answer.");
  node.def(
      "arrival_or_change",
      [](NodeObject& self, const py::object& type) {
        return with_contribution(
            type, [&](auto chosen) { return operation(self, arrival_or_change<typename decltype(chosen)::type>(self.node())); });
      },
      py::arg("type"), "The next contribution from any worker, or None if members changed first.");
  node.def(
      "receive_version",
      [](NodeObject& self, Rank neighbour, std::uint64_t version) {
        return operation(self, receive_version(self.node(), worker_rank(self, neighbour), version));
      },
      py::arg("neighbour"), py::arg("version"), "Its weights of that version, or None if it does not take part in it.");
}

}  // namespace

void define_messages(py::class_<NodeObject>& node) {
  define_exchanges(node);
  define_gathering(node);
}

}  // namespace straggler::python
