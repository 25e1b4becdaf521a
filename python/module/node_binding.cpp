// The Node surface in Python (sim/training/node.hpp): it checks ranks, and everything that the C++ compiler checks in C++ schemes.
#include "python/module/node_binding.hpp"

#include <pybind11/stl.h>

#include <stdexcept>
#include <string>

#include "sim/base/quantity.hpp"
#include "sim/base/random.hpp"

namespace straggler::python {

Rank rank_below(const NodeObject& node, Rank rank, Rank limit) {
  if (rank < 0 || rank >= limit)
    throw std::invalid_argument("there is no rank " + std::to_string(rank) + " here; ranks are 0 to " + std::to_string(limit - 1) +
                                (node.node().is_worker() ? "" : ", the server's the one after the workers'"));
  return rank;
}

Rank worker_rank(const NodeObject& node, Rank rank) { return rank_below(node, rank, node.node().workers()); }

void require_worker(const NodeObject& node, const char* does) {
  if (!node.node().is_worker()) throw std::invalid_argument(node.node().name() + " " + does + "; only workers do");
}

Time time_of(py::handle time) {
  const double seconds =
      py::isinstance<py::str>(time) ? parse_quantity(text_argument(time, "a time"), Dimension::time) : number_argument(time, "a time");
  if (!(seconds >= 0)) throw std::invalid_argument("a time is not negative; write seconds, or a text such as '50ms'");
  return Time::from_seconds(seconds);
}

namespace {

std::int64_t samples_of(const NodeObject& node, std::int64_t samples) {
  require_worker(node, "draws samples");
  if (samples < 1) throw std::invalid_argument("a batch has at least one sample");
  return samples;
}

void define_identity(py::class_<NodeObject>& node) {
  const auto fact = [&](const char* name, auto get, const char* doc) {
    node.def_property_readonly(
        name, [get](const NodeObject& self) { return get(self.node()); }, doc);
  };
  fact(
      "rank", [](const Node& n) { return n.self(); }, "Of this node: workers are 0 to workers - 1, the server comes next.");
  fact(
      "self", [](const Node& n) { return n.self(); }, "The same as rank.");
  fact(
      "name", [](const Node& n) { return n.name(); }, "As messages call it: \"worker 3\", \"server 0\".");
  fact(
      "workers", [](const Node& n) { return n.workers(); }, "How many there are, members or not.");
  node.def_property_readonly(
      "server",
      [](const NodeObject& self) {
        if (!self.scope().has_server())
          throw std::invalid_argument("this scheme has no server; write needs_server=True in @straggler.scheme(...)");
        return self.node().server();
      },
      "The server's rank. Raises ValueError in a scheme without a server.");
  fact(
      "is_worker", [](const Node& n) { return n.is_worker(); }, "It computes.");
  fact(
      "is_server", [](const Node& n) { return n.is_server(); }, "It runs the method `server`.");
  fact(
      "is_aggregator", [](const Node& n) { return n.is_aggregator(); }, "It runs the method `aggregator`.");
  fact(
      "aggregators", [](const Node& n) { return n.aggregators(); }, "How many there are beside the server.");
  node.def_property_readonly(
      "aggregator",
      [](const NodeObject& self) {
        if (self.node().aggregators() == 0 || !self.node().is_worker())
          throw std::invalid_argument("only workers of a scheme with aggregators have one");
        return self.node().aggregator();
      },
      "The rank of this worker's aggregator.");
  node.def_property_readonly(
      "group",
      [](const NodeObject& self) {
        const Node& mine = self.node();
        if (mine.aggregators() == 0 || mine.is_server()) throw std::invalid_argument("only an aggregator and its workers have a group");
        return mine.group();
      },
      "The workers of this aggregator, or of this worker's, ascending.");
  fact(
      "batch_size", [](const Node& n) { return n.is_worker() ? n.batch_size() : n.batch_size(0); }, "Samples of this worker's batch.");
  node.def(
      "batch_size_of", [](const NodeObject& self, Rank worker) { return self.node().batch_size(worker_rank(self, worker)); },
      py::arg("worker"), "Samples of that worker's batch.");
  node.def_property_readonly(
      "minibatch_size",
      [](const NodeObject& self) { return self.node().plan().minibatch_of(self.node().is_worker() ? self.node().self() : 0); },
      "Samples of the pieces in which this worker takes its batch, where the scheme names a `minibatch`.");
  node.def_property_readonly(
      "part_samples",
      [](const NodeObject& self) {
        require_worker(self, "asks for its part of the data");
        return self.node().part_samples(self.node().self());
      },
      "Samples of this worker's part of the data.");
  node.def_property_readonly(
      "pass_samples",
      [](const NodeObject& self) {
        require_worker(self, "asks for its part of the data");
        return self.node().plan().drawn_of(self.node().self(), self.node().part_samples(self.node().self()));
      },
      "Samples that a pass over this worker's part draws.");
  node.def(
      "samples_of", [](const NodeObject& self, Rank worker) { return self.node().part_samples(worker_rank(self, worker)); },
      py::arg("worker"), "Samples of a worker's part of the data, n_k.");
  node.def(
      "sample_workers",
      [](const NodeObject& self, std::int64_t count, std::uint64_t round) {
        if (count < 1) throw std::invalid_argument("at least one worker is drawn");
        return *self.node().sample_workers(count, round);
      },
      py::arg("count"), py::arg("round"),
      "Distinct workers, ascending, drawn by (seed, round): the same on every node, without a message.");
}

void define_random(py::module_& module, py::class_<NodeObject>& node) {
  py::class_<RandomStream>(module, "Random", "A stream of random numbers that follows from the run's seed.")
      .def("uniform", &RandomStream::uniform, "In [0, 1).")
      .def(
          "below",
          [](RandomStream& draws, std::uint64_t bound) {
            if (bound < 1) throw std::invalid_argument("a bound is at least 1");
            return draws.below(bound);
          },
          py::arg("bound"), "A whole number from 0 to bound - 1.");
  node.def(
      "random",
      [](const NodeObject& self, const std::string& name, std::uint64_t index) {
        return RandomStream(self.node().plan().seed, name, index);
      },
      py::arg("name"), py::arg("index") = 0, "The stream of that name, at item `index`: the same on every node and in every replay.");
}

void define_computing(py::class_<NodeObject>& node) {
  node.def(
      "initial_weights", [](NodeObject& self) { return to_python(self.scope(), self.node().initial_weights()); },
      "What training starts from here; in a later life the latest version.");
  node.def(
      "next_batch",
      [](NodeObject& self, std::int64_t samples) {
        self.drew = true;
        return to_python(self.scope(), self.node().next_batch(samples_of(self, samples)));
      },
      py::arg("samples"), "The next samples of this worker's sequence; fewer at the end of a pass.");
  node.def(
      "more_of_batch",
      [](NodeObject& self, std::int64_t samples) {
        if (!self.drew) throw std::invalid_argument("no batch has begun; write next_batch first");
        return to_python(self.scope(), self.node().more_of_batch(samples_of(self, samples)));
      },
      py::arg("samples"), "The same as another part of the batch that was begun last: it shares that batch's jitter.");
  node.def(
      "gradient",
      [](NodeObject& self, const WeightsObject& weights, const BatchObject& batch) {
        require_worker(self, "computes a gradient");
        return operation(self, self.node().gradient(value_in(self, weights), batch_in(self, batch)));
      },
      py::arg("weights"), py::arg("batch"), "The mean gradient of the batch's loss. Takes the worker's time.");
  node.def(
      "averaged_gradient",
      [](NodeObject& self, const WeightsObject& weights, const BatchObject& batch) {
        require_worker(self, "computes a gradient");
        return operation(self, self.node().averaged_gradient(value_in(self, weights), batch_in(self, batch)), false);
      },
      py::arg("weights"), py::arg("batch"), "The mean over all workers of their gradients, bucket by bucket if the cluster overlaps them.");
  node.def(
      "work",
      [](NodeObject& self, const WeightsObject& weights, const BatchObject& batch) {
        require_worker(self, "computes a batch");
        Node& mine = self.node();
        return std::make_unique<WorkObject>(
            self.scope(), AnyWork{std::make_shared<Work>(mine, mine.slot(), value_in(self, weights), batch_in(self, batch)), &self});
      },
      py::keep_alive<0, 1>(), py::arg("weights"), py::arg("batch"),
      "The batch in progress, whose forward and backward are computed bucket by bucket: for a scheme that moves buckets itself.");
  node.def(
      "step",
      [](NodeObject& self, const WeightsObject& weights, const GradientObject& gradient, const py::object& optimizer) {
        Node& mine = self.node();
        if (self.scope().steps_for_nothing() &&
            PyErr_WarnEx(PyExc_RuntimeWarning,
                         "10,000 steps and no update: a run counts updates by `weights = yield node.publish(weights)`, and stops by them",
                         1))
          throw py::error_already_set();
        if (optimizer.is_none()) return operation(self, mine.step(value_in(self, weights), taken_in(self, gradient)), false);
        const AnyOptimizer& chosen = value_in(self, argument<OptimizerObject>(optimizer, "optimizer", "a straggler.Optimizer"));
        return operation_with(self, chosen.made, mine.step(chosen.get(), value_in(self, weights), taken_in(self, gradient)));
      },
      py::arg("weights"), py::arg("gradient"), py::arg("optimizer") = py::none(), "One step of this node's optimizer, or of another one.");
  node.def(
      "read_cell", [](NodeObject& self) { return operation(self, self.node().read_cell(), false); },
      "The weights that workers share in their host's memory, read without a lock.");
  node.def(
      "step_cell",
      [](NodeObject& self, const GradientObject& gradient) {
        return operation(self, self.node().step_cell(taken_in(self, gradient)), false);
      },
      py::arg("gradient"), "A step on the shared weights, added chunk by chunk; publish its result.");
  node.def_property_readonly(
      "optimizer",
      [](NodeObject& self) {
        return std::make_unique<OptimizerObject>(self.scope(), AnyOptimizer{nullptr, &self.node()});
      },
      "This node's own.");
  const auto made = [](NodeObject& self, Optimizer optimizer) {
    return std::make_unique<OptimizerObject>(self.scope(), AnyOptimizer{std::make_shared<Optimizer>(std::move(optimizer)), nullptr});
  };
  node.def(
      "new_optimizer", [made](NodeObject& self) { return made(self, Optimizer(*self.node().plan().optimizer)); },
      "Another one of the run's kind, with a state of its own.");
  node.def(
      "outer_optimizer",
      [made](NodeObject& self) {
        if (!self.node().plan().outer_optimizer)
          throw std::invalid_argument("this scheme has no outer optimizer; write outer_optimizer={...} in @straggler.scheme(...)");
        return made(self, self.node().outer_optimizer());
      },
      "A new one of the kind that the scheme names as its outer_optimizer.");
  node.def(
      "reset_optimizer", [](NodeObject& self) { self.node().optimizer().reset(); },  // a step may refer to it
      "This node's optimizer is as before its first step.");
  node.def(
      "attach_optimizer",
      [](NodeObject& self, const WeightsObject& weights) {
        Weights with = value_in(self, weights);
        self.node().attach_optimizer(with);
        return to_python(self.scope(), std::move(with));
      },
      py::arg("weights"), "The weights with this node's optimizer state, which travels with them and is averaged with them.");
  node.def(
      "adopt_optimizer", [](NodeObject& self, const WeightsObject& weights) { self.node().adopt_optimizer(value_in(self, weights)); },
      py::arg("weights"), "Takes over the state that travelled with them.");
  node.def(
      "learning_rate",
      [](NodeObject& self, const WeightsObject& weights) {
        return self.node().plan().optimizer->learning_rate(self.node().epochs_at(value_in(self, weights)), 1);
      },
      py::arg("weights"), "Of this node's optimizer for a step at these weights, as the schedule has it.");
  node.def(
      "epochs_at", [](NodeObject& self, const WeightsObject& weights) { return self.node().epochs_at(value_in(self, weights)); },
      py::arg("weights"), "Passes over the training set, as schedules count them.");
  node.def(
      "publish",
      [](NodeObject& self, const WeightsObject& weights) {
        self.scope().published();
        return operation(self, self.node().publish(value_in(self, weights)), false);
      },
      py::arg("weights"), "Counts one update and returns the weights as the new version. At the stop it never returns.");
}

void define_membership(py::class_<NodeObject>& node) {
  node.def_property_readonly(
      "members_change", [](const NodeObject& self) { return self.node().members_change(); },
      "Workers may fail, leave or join in this run.");
  node.def(
      "is_member", [](const NodeObject& self, Rank worker) { return self.node().is_member(worker_rank(self, worker)); }, py::arg("worker"),
      "It is a member: it has joined, is up, and has not left.");
  node.def(
      "is_enrolled", [](const NodeObject& self, Rank worker) { return self.node().is_enrolled(worker_rank(self, worker)); },
      py::arg("worker"), "It has joined and has not left, whether it is up or not.");
  node.def(
      "awaits",
      [](const NodeObject& self, Rank worker, const std::optional<std::uint64_t>& version) {
        worker_rank(self, worker);
        return version ? self.node().awaits(worker, *version) : self.node().awaits(worker);
      },
      py::arg("worker"), py::arg("version") = py::none(), "It is a member, or it is down and the others wait for its return.");
  node.def(
      "takes_part",
      [](const NodeObject& self, Rank worker, std::uint64_t version) { return self.node().takes_part(worker_rank(self, worker), version); },
      py::arg("worker"), py::arg("version"), "Where workers publish weights of their own: it began no later than with that version.");
  node.def(
      "is_in",
      [](const NodeObject& self, Rank worker, std::uint64_t version) { return self.node().is_in(worker_rank(self, worker), version); },
      py::arg("worker"), py::arg("version"),
      "Where workers publish weights of their own: it is in at that version; all who begin the version agree on that.");
  node.def(
      "averaged_with",
      [](NodeObject& self, const WeightsObject& theirs, const WeightsObject& mixed) {
        if (theirs.sender.rank == anyone) throw std::invalid_argument("these weights were not received");
        self.node().averaged_with(From<Weights>(value_in(self, theirs), theirs.sender), value_in(self, mixed));
      },
      py::arg("theirs"), py::arg("mixed"), "Where workers run free: this one has averaged with weights that it was sent.");
  node.def(
      "averaged_at",
      [](NodeObject& self, Rank at, const WeightsObject& mine, const WeightsObject& mixed) {
        self.node().averaged_at(worker_rank(self, at), value_in(self, mine), value_in(self, mixed));
      },
      py::arg("at"), py::arg("mine"), py::arg("mixed"),
      "Where workers run free: the worker `at` has averaged with these, and has answered.");
}

void define_work(py::module_& module) {
  py::class_<WorkObject>(module, "Work", "A batch in progress (node.work): it takes as long as the computing of node.averaged_gradient.")
      .def_property_readonly(
          "buckets", [](const WorkObject& self) { return self.value().made->buckets(); }, "How many the cluster cuts the network into.")
      .def_property_readonly(
          "micro_batches", [](const WorkObject& self) { return self.value().made->micro_batches(); },
          "In which the batch is computed; each has its forward and its backward.")
      .def(
          "forward",
          [](WorkObject& self, std::size_t bucket) {
            AnyWork& work = self.value();
            return operation_with(*work.of, work.made, work.made->forward(bucket));
          },
          py::arg("bucket"), "Computes forward until it is through that bucket; they are passed from 0 up.")
      .def(
          "backward",
          [](WorkObject& self, std::size_t bucket) {
            AnyWork& work = self.value();
            return operation_with(*work.of, work.made, work.made->backward(bucket));
          },
          py::arg("bucket"), "The same of backward, from the last bucket down to 0.")
      .def(
          "gradient",
          [](WorkObject& self) {
            AnyWork& work = self.value();
            return to_python(work.of->scope(), work.made->gradient());
          },
          "Of the whole batch, once backward is through bucket 0.");
}

}  // namespace

void define_node(py::module_& module) {
  define_work(module);
  py::class_<NodeObject> node(module, "Node", "All that a scheme sees of the world (docs/add-a-scheme.md).");
  define_identity(node);
  define_random(module, node);
  define_computing(node);
  define_messages(node);
  define_membership(node);
  define_algebra(node);
  define_roles(module, node);
  node.def("__repr__", &NodeObject::text);
}

}  // namespace straggler::python
