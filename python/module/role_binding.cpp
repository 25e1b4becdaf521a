// Further roles: votes, invited clients, aggregators, one process that drives all, and push-sum.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "python/module/node_binding.hpp"
#include "python/module/rounds.hpp"
#include "sim/base/quantity.hpp"
#include "sim/schemes/vote.hpp"

namespace straggler::python {

namespace {

void define_votes(py::class_<NodeObject>& node) {
  const auto require_votes = [](const NodeObject& self) {
    if (!self.node().votes())
      throw std::invalid_argument("nothing is voted on here; ask node.votes first (compression: signsgd, and no faults)");
  };
  node.def_property_readonly(
      "votes", [](const NodeObject& self) { return self.node().votes(); },
      "A server may answer a vote over compressed gradients, as small as one of them, and workers step by themselves.");
  node.def(
      "vote",
      [require_votes](NodeObject& self, const py::sequence& parts) {
        require_votes(self);
        return to_python(self.scope(), self.node().algebra().vote(values_of<Gradient>(self, parts)));
      },
      py::arg("parts"), "Over gradients that were taken at the same weights; the server steps along it.");
  node.def(
      "leading_to",
      [require_votes](NodeObject& self, const GradientObject& vote, const WeightsObject& published) {
        require_votes(self);
        return to_python(self.scope(), leading_to(value_in(self, vote), value_in(self, published)));
      },
      py::arg("vote"), py::arg("published"), "The vote as its server sends it, which has made this version with it.");
  node.def(
      "of_version",
      [require_votes](NodeObject& self, const WeightsObject& stepped, const GradientObject& vote) {
        require_votes(self);
        return to_python(self.scope(), of_version(value_in(self, stepped), value_in(self, vote)));
      },
      py::arg("stepped"), py::arg("vote"), "A worker's weights, moved by such a vote, as the server's version.");
}

/// Workers that follow one another, or all.
Node::Pool pool_of(const NodeObject& node, const std::optional<std::vector<Rank>>& among) {
  if (!among) return {0, node.node().workers()};
  if (among->empty()) throw std::invalid_argument("`among` is empty; name at least one worker, as node.group does");
  for (std::size_t i = 0; i < among->size(); ++i)
    if (worker_rank(node, (*among)[i]) != among->front() + static_cast<Rank>(i))
      throw std::invalid_argument("`among` must be consecutive workers, as node.group is");
  return {among->front(), static_cast<Rank>(among->size())};
}

void define_clients(py::class_<NodeObject>& node) {
  node.def(
      "draw_clients",
      [](const NodeObject& self, std::int64_t count, std::uint64_t round, const py::object& may,
         const std::optional<std::vector<Rank>>& among) {
        if (count < 0) throw std::invalid_argument("a number of clients is not negative");
        std::function<bool(Rank)> allowed;
        if (!may.is_none()) allowed = [&may](Rank rank) { return py::bool_(may(rank)).operator bool(); };
        return self.node().draw_clients(pool_of(self, among), count, round, allowed);
      },
      py::arg("count"), py::arg("round"), py::arg("may") = py::none(), py::arg("among") = py::none(),
      "Distinct workers for which may(rank) is true, ascending, drawn as the scheme's `selection` says: by (seed, round).");
  node.def(
      "first_clients",
      [](const NodeObject& self, std::int64_t count, const std::optional<std::vector<Rank>>& among) {
        if (count < 1) throw std::invalid_argument("at least one worker is drawn");
        return *self.node().first_clients(pool_of(self, among), count);
      },
      py::arg("count"), py::arg("among") = py::none(),
      "The clients of round 0, drawn among the members at the beginning: the same on every node, at any time.");
  node.def(
      "present", [](const NodeObject& self, Rank worker) { return self.node().present(worker_rank(self, worker)); }, py::arg("worker"),
      "The worker's current or last life, as an address for send; .life is 0 if it never restarted.");
  node.def_property_readonly(
      "clients_come_and_go", [](const NodeObject& self) { return self.node().plan().clients_come_and_go; },
      "Workers have an availability: those that are absent now may return.");
  node.def(
      "await_comers", [](const NodeObject& self) { self.node().await_comers(); },
      "Where clients come and go: a MembershipNotice follows when the next absent worker is present again.");
  node.def(
      "as_held_by",
      [](NodeObject& self, Rank worker, const WeightsObject& sent) {
        return to_python(self.scope(), self.node().as_held_by(worker_rank(self, worker), value_in(self, sent)));
      },
      py::arg("worker"), py::arg("sent"), "Weights as the worker holds them that was sent them last: compressed, or rounded.");
}

void define_rounds(py::class_<NodeObject>& node) {
  node.def(
      "round",
      [](NodeObject& self, const WeightsObject& weights, const Rounds::Clients& clients) {
        if (self.node().is_worker()) throw std::invalid_argument(self.node().name() + " makes a round; only servers and aggregators do");
        return operation(self, self.life().rounds().round(value_in(self, weights), clients));
      },
      py::arg("weights"), py::arg("clients"),
      "A list of contributions, in rank order: clients are invited to train from these weights. `clients`: how many are drawn, or a list "
      "of "
      "ranks. Absences, crashes, deadline.time and over_select are handled as the scheme's parameters of these names say.");
  node.def(
      "invitation",
      [](NodeObject& self, const std::optional<std::int64_t>& clients) {
        require_worker(self, "is invited");
        if (self.node().plan().invited && !clients)
          throw std::invalid_argument(
              "the first clients begin by themselves, as invited=… in @straggler.scheme says; write "
              "node.invitation(clients), with the number that the server gives node.round");
        const bool first = std::exchange(self.invited, true) == false;
        return operation(self, invitation(self.node(), self.scope().rules(), clients, first));
      },
      py::arg("clients") = py::none(),
      "The weights from which this client trains next: what node.round sends. The first clients of a scheme with invited=… begin by "
      "themselves; `clients` is the number of clients in a round.");
  node.def(
      "train_locally",
      [](NodeObject& self, const WeightsObject& weights) {
        require_worker(self, "trains");
        return operation(self, self.scope().rules().train_locally(self.node(), value_in(self, weights)));
      },
      py::arg("weights"),
      "The weights after this client's local steps: local_steps batches, or local_epochs passes over its own data (default 1), or until "
      "deadline.time with deadline.late: partial, as the scheme's parameters of these names say.");
}

void define_groups(py::class_<NodeObject>& node) {
  node.def_property_readonly(
      "aggregator_ranks",
      [](const NodeObject& self) {
        std::vector<Rank> all;
        for (Rank k = 0; k < self.node().aggregators(); ++k) all.push_back(self.node().aggregator(k));
        return all;
      },
      "The ranks of all aggregators, ascending; empty if the scheme has none.");
  node.def(
      "next_round",
      [](NodeObject& self, const WeightsObject& mean, std::uint64_t samples) {
        Weights next = self.node().algebra().without_contributions(value_in(self, mean));
        next.edit().progress += std::max<std::uint64_t>(samples, 1);
        return to_python(self.scope(), std::move(next));
      },
      py::arg("mean"), py::arg("samples"),
      "The weights from which a group's clients start its next round: without contributions, `progress` advanced by the samples.");
  node.def(
      "contribution_of",
      [](NodeObject& self, const WeightsObject& start, const WeightsObject& weights, const py::sequence& means) {
        RoundsOfGroup rounds;
        if (py::len(means) > 0)
          for (const Weights& mean : values_of<Weights>(self, means)) rounds.add(mean);
        return to_python(self.scope(), rounds.contribution(value_in(self, start), value_in(self, weights)));
      },
      py::arg("start"), py::arg("weights"), py::arg("means"),
      "The weights as what a group contributes to the version of `start` in several rounds; `means`: one of each round.");
}

void define_one_process(py::module_& module, py::class_<NodeObject>& node) {
  py::class_<DrawingObject> drawing_type(module, "Drawing", "What one worker has drawn so far, by the process that draws for it.");
  def_constructor(drawing_type, [] { return DrawingObject(); });
  node.def(
      "next_batch_of",
      [](NodeObject& self, Rank worker, DrawingObject& drawing, std::int64_t samples) {
        require_worker(self, "draws samples");
        if (samples < 1) throw std::invalid_argument("a batch has at least one sample");
        worker_rank(self, worker);
        if (drawing.run == 0) drawing.run = self.scope().number();
        if (drawing.run != self.scope().number()) throw std::runtime_error("this Drawing belongs to another run than the node");
        return to_python(self.scope(), self.node().next_batch_of(worker, drawing.drawing, samples));
      },
      py::arg("worker"), py::arg("drawing"), py::arg("samples"),
      "The next samples of another worker's sequence, by the process that draws for it.");
  node.def(
      "load",
      [](NodeObject& self, const BatchObject& first, std::int64_t samples) {
        require_worker(self, "loads samples");
        if (samples < 1) throw std::invalid_argument("at least one sample is loaded");
        return operation(self, self.node().load(batch_in(self, first), samples), false);
      },
      py::arg("first"), py::arg("samples"),
      "Waits until the loader has prepared that number of samples, which includes `first` (one_process=True).");
  node.def(
      "host_work",
      [](NodeObject& self, const py::object& span, bool ahead, bool loader_stands) {
        require_worker(self, "works on its host");
        return operation(self, self.node().host_work({time_of(span), ahead, loader_stands}), false);
      },
      py::arg("span"), py::arg("ahead") = false, py::arg("loader_stands") = false,
      "The process that drives this worker is busy: seconds, or a text such as '5ms'. ahead: it began when the last such work was over. "
      "loader_stands: on the loader's core.");
  node.def_property_readonly(
      "input_bytes", [](const NodeObject& self) { return self.node().plan().input_bytes; }, "Of one sample's inputs.");
  node.def_property_readonly(
      "output_bytes", [](const NodeObject& self) { return self.node().plan().output_bytes; }, "Of what the model makes of one sample.");
}

void define_push_sum(py::module_& module, py::class_<NodeObject>& node) {
  py::class_<PushWeightObject>(module, "PushWeight", "A share of the weights of push-sum, which add up to the number of workers.")
      .def_property_readonly(
          "amount", [](const PushWeightObject& mine) { return mine.weight().amount(); }, "Of the number of workers.")
      .def(
          "half", [](PushWeightObject& mine) { return std::make_unique<PushWeightObject>(mine.life(), mine.weight().half()); },
          "Half of it leaves.")
      .def(
          "add",
          [](PushWeightObject& mine, PushWeightObject& other) {
            if (&mine.life().scope() != &other.life().scope()) throw std::runtime_error("these push-sum weights belong to two runs");
            mine.weight().add(other.weight());
          },
          py::arg("other"), "Takes all of the other one.");
  node.def(
      "push_weight",
      [](NodeObject& self, double most) {
        if (!(most >= 0)) throw std::invalid_argument("a push-sum weight is not negative");
        return std::make_unique<PushWeightObject>(self.life(), PushWeight(self.node().push_weights(), most));
      },
      py::arg("most"),
      "Up to `most` of the weight that no worker holds: at first one per worker, later what was lost with workers that left.");
  node.def(
      "with_push_weight",
      [](NodeObject& self, const WeightsObject& weights, PushWeightObject& share) {
        Weights with = value_in(self, weights);
        if (&share.life() != &self.life()) throw std::runtime_error("this push-sum weight belongs to another node");
        with.edit().more.edit().push_weight = std::make_shared<PushWeight>(std::move(share.weight()));
        return to_python(self.scope(), std::move(with));
      },
      py::arg("weights"), py::arg("share"),
      "The weights with all of that share, which travels with them. Give the result to node.post at once: what a variable still holds is "
      "not lost with a message.");
  node.def(
      "take_push_weight",
      [](NodeObject& self, const WeightsObject& weights) -> py::object {
        PushWeight* const share = value_in(self, weights)->push_weight();
        if (!share) return py::none();
        return py::cast(std::make_unique<PushWeightObject>(self.life(), std::move(*share)));
      },
      py::arg("weights"), "What has come with them, once; None: nothing travelled with them.");
}

}  // namespace

void define_roles(py::module_& module, py::class_<NodeObject>& node) {
  define_votes(node);
  define_clients(node);
  define_rounds(node);
  define_groups(node);
  define_one_process(module, node);
  define_push_sum(module, node);
}

}  // namespace straggler::python
