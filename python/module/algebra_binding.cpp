#include <pybind11/stl.h>

#include <stdexcept>

#include "python/module/node_binding.hpp"
#include "python/module/rules.hpp"

namespace straggler::python {

namespace {

/// One alone may be of no step.
std::vector<Gradient> taken_values(const NodeObject& node, const py::sequence& parts) {
  std::vector<Gradient> values = values_of<Gradient>(node, parts);
  for (const Gradient& each : values)
    if (values.size() > 1 && each->value().empty())
      throw std::invalid_argument("a part belongs to no step and has no value (node.no_gradient); leave it out, or take node.weighted_sum");
  return values;
}

bool are_gradients(const py::sequence& parts) {
  if (parts.empty()) throw std::invalid_argument("the list is empty; at least one is needed");
  const py::object first = parts[0];
  return py::isinstance<GradientObject>(first);
}

template <class T>
std::vector<T> shared_values(const NodeObject& node, const py::sequence& parts, const std::vector<double>& shares) {
  std::vector<T> values = values_of<T>(node, parts);
  if (shares.size() != values.size())
    throw std::invalid_argument("there are " + std::to_string(values.size()) + " parts and " + std::to_string(shares.size()) + " shares");
  return values;
}

/// A vector of its own, or the value of weights or a gradient.
Handle vector_of(const NodeObject& node, py::handle what) {
  if (what.is_none()) return Handle();
  if (py::isinstance<VectorObject>(what)) return value_in(node, what.cast<const VectorObject&>());
  if (py::isinstance<WeightsObject>(what)) return value_in(node, what.cast<const WeightsObject&>())->value;
  return value_in(node, argument<GradientObject>(what, "a vector", "a straggler.Vector, Weights, a Gradient or None"))->value();
}

Handle some_vector(const NodeObject& node, py::handle what) {
  Handle vector = vector_of(node, what);
  if (vector.empty()) throw std::invalid_argument("None stands for a vector of zeros, which cannot be used here");
  return vector;
}

std::vector<Term> terms_of(const NodeObject& node, const py::sequence& terms) {
  std::vector<Term> all;
  for (const py::object each : terms) {
    if (!PySequence_Check(each.ptr()) || py::len(each) != 2) refuse_argument("a term", each, "a pair (vector, factor)");
    const py::tuple pair(py::reinterpret_borrow<py::object>(each));
    if (pair.size() != 2) refuse_argument("a term", each, "a pair (vector, factor)");
    all.push_back({vector_of(node, pair[0]), number_argument(pair[1], "a factor")});
  }
  return all;
}

void define_means(py::class_<NodeObject>& node) {
  node.def(
      "mean",
      [](NodeObject& self, const py::sequence& parts) {
        if (are_gradients(parts)) return to_python(self.scope(), self.node().mean(taken_values(self, parts)));
        return to_python(self.scope(), self.node().mean(values_of<Weights>(self, parts)));
      },
      py::arg("parts"), "Of weights or gradients, summed in the order given. Joins their contributions; the version is the first one's.");
  node.def(
      "weighted_mean",
      [](NodeObject& self, const py::sequence& parts, const std::vector<double>& shares) {
        return to_python(self.scope(), self.node().weighted_mean(shared_values<Weights>(self, parts, shares), shares));
      },
      py::arg("parts"), py::arg("shares"), "Of weights: the sum of shares[i] parts[i].");
  node.def(
      "weighted_sum",
      [](NodeObject& self, const py::sequence& parts, const std::vector<double>& shares) {
        return to_python(self.scope(), self.node().algebra().weighted_sum(shared_values<Gradient>(self, parts, shares), shares));
      },
      py::arg("parts"), py::arg("shares"), "Of gradients: the sum of shares[i] parts[i].");
  node.def(
      "add",
      [](NodeObject& self, const GradientObject& sum, const GradientObject& next) {
        return to_python(self.scope(), self.node().algebra().add(value_in(self, sum), taken_in(self, next)));
      },
      py::arg("sum"), py::arg("next"), "Of two gradients.");
  node.def(
      "blend",
      [](NodeObject& self, const WeightsObject& mine, const py::sequence& parts, const std::vector<double>& shares) {
        return to_python(self.scope(), self.node().blend(value_in(self, mine), shared_values<Weights>(self, parts, shares), shares));
      },
      py::arg("mine"), py::arg("parts"), py::arg("shares"),
      "The sum of shares[i] parts[i] as the value of `mine`: its version and contributions stay.");
  node.def(
      "blend",
      [](NodeObject& self, const WeightsObject& mine, const WeightsObject& other, double share, const Fragment& fragment) {
        return to_python(self.scope(), self.node().algebra().blend(value_in(self, mine), value_in(self, other), share, fragment));
      },
      py::arg("mine"), py::arg("other"), py::arg("share"), py::arg("fragment") = Fragment(),
      "(1 - share) mine + share other in that fragment; the version is the other's, the contributions are mine.");
}

void define_gradients(py::class_<NodeObject>& node) {
  node.def(
      "no_gradient",
      [](NodeObject& self, const WeightsObject& weights) {
        return to_python(self.scope(), self.node().no_gradient(value_in(self, weights)));
      },
      py::arg("weights"), "The contribution of a worker that took no step: no value, zero steps.");
  node.def(
      "scaled",
      [](NodeObject& self, const GradientObject& gradient, double factor) {
        return to_python(self.scope(), self.node().algebra().scaled(taken_in(self, gradient), factor));
      },
      py::arg("gradient"), py::arg("factor"), "factor · gradient, counted as before.");
  node.def(
      "corrected",
      [](NodeObject& self, const GradientObject& gradient, const py::sequence& terms) {
        return to_python(self.scope(), self.node().algebra().corrected(taken_in(self, gradient), terms_of(self, terms)));
      },
      py::arg("gradient"), py::arg("terms"), "gradient + the sum of factor · vector, terms being (vector, factor).");
  node.def(
      "replaced",
      [](NodeObject& self, const GradientObject& gradient, const py::object& value) {
        return to_python(self.scope(), self.node().algebra().replaced(value_in(self, gradient), some_vector(self, value)));
      },
      py::arg("gradient"), py::arg("value"), "The gradient with another value: same weights, samples and contributions.");
  node.def(
      "counted_as",
      [](NodeObject& self, const GradientObject& gradient, std::int32_t workers) {
        if (workers < 1) throw std::invalid_argument("a mean is over at least one worker");
        return to_python(self.scope(), self.node().algebra().counted_as(value_in(self, gradient), workers));
      },
      py::arg("gradient"), py::arg("workers"), "The gradient, counted as a mean over that number by rules that scale the learning rate.");
  node.def(
      "difference",
      [](NodeObject& self, const WeightsObject& from, const WeightsObject& to, const Fragment& fragment) {
        return to_python(self.scope(), self.node().algebra().difference(value_in(self, from), value_in(self, to), fragment));
      },
      py::arg("start"), py::arg("end"), py::arg("fragment") = Fragment(),
      "start - end: along it a step of rate 1 leads from start to end.");
  node.def(
      "part",
      [](NodeObject& self, const GradientObject& gradient, const Fragment& fragment) {
        return to_python(self.scope(), self.node().algebra().part(taken_in(self, gradient), fragment));
      },
      py::arg("gradient"), py::arg("fragment"), "The gradient in that fragment, and 0 elsewhere.");
  node.def(
      "joined",
      [](NodeObject& self, const py::sequence& fragments) {
        are_gradients(fragments);
        return to_python(self.scope(), self.node().algebra().joined(taken_values(self, fragments)));
      },
      py::arg("fragments"), "The gradient whose fragments these are, in order: the parts that reduce_scatter gave to all.");
  node.def(
      "staleness",
      [](NodeObject& self, const WeightsObject& weights, const GradientObject& gradient) {
        return Node::staleness(value_in(self, weights), value_in(self, gradient));
      },
      py::arg("weights"), py::arg("gradient"), "Updates from the weights that the gradient was taken at to these.");
}

void define_vectors(py::class_<NodeObject>& node) {
  node.def(
      "combination",
      [](NodeObject& self, const py::sequence& terms) {
        return to_python(self.scope(), self.node().algebra().combination(terms_of(self, terms)));
      },
      py::arg("terms"), "The sum of factor · vector, terms being (vector, factor); None if all of them are.");
  node.def(
      "product",
      [](NodeObject& self, const py::sequence& vectors) {
        std::vector<Handle> all;
        for (const py::object each : vectors) all.push_back(some_vector(self, each));
        if (all.empty()) throw std::invalid_argument("the list is empty; at least one is needed");
        return to_python(self.scope(), self.node().algebra().product(all));
      },
      py::arg("vectors"), "Number by number.");
  node.def(
      "move",
      [](NodeObject& self, const py::object& from, const py::object& to) {
        return to_python(self.scope(), self.node().algebra().move(some_vector(self, from), some_vector(self, to)));
      },
      py::arg("start"), py::arg("end"), "end - start: how weights have moved.");
  node.def(
      "moved",
      [](NodeObject& self, const py::object& from, const py::object& move) {
        return to_python(self.scope(), self.node().algebra().moved(some_vector(self, from), some_vector(self, move)));
      },
      py::arg("start"), py::arg("move"), "The same move from there.");
  node.def(
      "apply",
      [](NodeObject& self, const NumpyRule& rule, const py::sequence& vectors, const std::vector<double>& scalars) {
        std::vector<Handle> all;
        for (const py::object each : vectors) all.push_back(some_vector(self, each));
        if (all.empty()) throw std::invalid_argument("the list is empty; at least one is needed");
        return to_python(self.scope(), self.node().lineage().elementwise(*rule.rule, all, rule.scalars(0, scalars)));
      },
      py::arg("rule"), py::arg("vectors"), py::arg("scalars") = std::vector<double>(),
      "What a straggler.rule makes of them. Running statistics are those of the first one.");
}

void define_weights(py::class_<NodeObject>& node) {
  node.def(
      "without_contributions",
      [](NodeObject& self, const WeightsObject& weights) {
        return to_python(self.scope(), self.node().algebra().without_contributions(value_in(self, weights)));
      },
      py::arg("weights"), "Contributions leave, weights stay: for who sends weights and goes on from them.");
  node.def(
      "with_statistics",
      [](NodeObject& self, const WeightsObject& stepped, const GradientObject& from) {
        return to_python(self.scope(), self.node().algebra().with_statistics(value_in(self, stepped), taken_in(self, from)));
      },
      py::arg("stepped"), py::arg("gradient"),
      "The weights, with the running statistics of the gradient: for steps along a mean, whose statistics are a mean already.");
  node.def(
      "with_participants",
      [](NodeObject& self, const WeightsObject& weights, std::int32_t workers) {
        if (workers < 1) throw std::invalid_argument("at least one worker takes part");
        Weights with = value_in(self, weights);
        with.edit().participants = workers;
        return to_python(self.scope(), std::move(with));
      },
      py::arg("weights"), py::arg("workers"), "The weights, for schedules that assume that this number of workers takes such steps.");
  node.def(
      "attach",
      [](NodeObject& self, const WeightsObject& weights, const std::string& name, const py::object& vector) {
        return to_python(self.scope(), self.node().algebra().attach(value_in(self, weights), name, some_vector(self, vector)));
      },
      py::arg("weights"), py::arg("name"), py::arg("vector"), "A vector that travels with the weights.");
  node.def(
      "attached",
      [](NodeObject& self, const WeightsObject& weights, const std::string& name) {
        return to_python(self.scope(), find_attached(value_in(self, weights)->attached(), name));
      },
      py::arg("weights"), py::arg("name"), "The vector of that name, or None.");
  node.def(
      "without_attached",
      [](NodeObject& self, const WeightsObject& weights) {
        return to_python(self.scope(), self.node().algebra().without_attached(value_in(self, weights)));
      },
      py::arg("weights"), "The weights alone, without what travels with them.");
  node.def(
      "estimate",
      [](NodeObject& self, const WeightsObject& weights) {
        if (!self.node().plan().compression)
          throw std::invalid_argument("nothing is compressed in this run, so that nobody holds estimates");
        return to_python(self.scope(), self.node().estimate(value_in(self, weights)));
      },
      py::arg("weights"), "Where the run compresses: what neighbours know of this worker's weights once it is sent.");
  node.def_property(
      "kept", [](NodeObject& self) { return to_python(self.scope(), Handle(self.node().kept())); },
      [](NodeObject& self, const py::object& vector) { self.node().kept() = vector_of(self, vector); },
      "A vector that a client keeps from one invitation to the next, also over absences and crashes; None at first.");
  node.def(
      "keep_if_counted",
      [](NodeObject& self, const py::object& vector, const WeightsObject& start) {
        self.node().keep_if_counted(vector_of(self, vector), value_in(self, start)->version);
      },
      py::arg("vector"), py::arg("start"),
      "What `kept` becomes if the contribution that is sent next counts, which began from these weights: the next invitation says so.");
  node.def(
      "settle",
      [](NodeObject& self, const WeightsObject& invitation) {
        Weights read = value_in(self, invitation);
        self.node().settle(read);
        return to_python(self.scope(), std::move(read));
      },
      py::arg("invitation"), "Reads what the invitation says about this client's last contribution; the invitation without it.");
  node.def(
      "with_counted",
      [](NodeObject& self, const WeightsObject& weights, const std::optional<std::uint64_t>& version) {
        Weights invitation = value_in(self, weights);
        invitation.edit().more.edit().about_kept.edit().counted = version.value_or(KeptVector::never);
        return to_python(self.scope(), std::move(invitation));
      },
      py::arg("weights"), py::arg("version"),
      "As an invitation to a client whose last contribution that counted began from that version; None: none has counted.");
  node.def(
      "left_by",
      [](NodeObject& self, const WeightsObject& message, const std::optional<std::uint64_t>& version) {
        const KeptVector* const kept = value_in(self, message)->kept();
        if (!kept) throw std::invalid_argument("this message is not of a client that leaves; ask weights.leaves first");
        return to_python(self.scope(), Handle(kept->after(version.value_or(KeptVector::never))));
      },
      py::arg("message"), py::arg("version"),
      "What a client kept that has left, whose last contribution that counted began from that version; None: none has counted.");
  node.def_property_readonly(
      "enrolled", [](const NodeObject& self) { return self.node().backend().enrolled(); },
      "Workers that have joined and have not left, whether they are up or not.");
}

}  // namespace

void define_algebra(py::class_<NodeObject>& node) {
  define_means(node);
  define_gradients(node);
  define_vectors(node);
  define_weights(node);
}

}  // namespace straggler::python
