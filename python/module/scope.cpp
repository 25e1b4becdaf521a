#include "python/module/scope.hpp"

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "python/module/calls.hpp"
#include "python/module/rounds.hpp"

namespace straggler::python {

HeldBase::HeldBase(Scope& scope, Drop drop) : scope_(&scope), drop_(drop) { link(scope.objects_); }

Scope& HeldBase::scope() const {
  if (!scope_) throw std::runtime_error("this belongs to a run, or to a part of one, that is over; keep numbers, not weights or gradients");
  if (!scope_->is_here()) throw std::runtime_error("this belongs to a run on another thread; use it in the run's own generators only");
  return *scope_;
}

namespace {
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}
}  // namespace

Scope::Scope(py::object instance, Rank limit, bool has_server, const Parameters& parameters)
    : number_(next_number()), instance_(std::move(instance)), ranks_(limit), has_server_(has_server), parameters_(parameters) {}

const FederatedRounds& Scope::rules() {
  if (!rules_) rules_ = std::make_unique<const FederatedRounds>(round_rules(parameters_));
  return *rules_;
}

Scope::~Scope() {
  const Gil gil;
  while (Linked* const next = objects_.next()) {
    auto& held = static_cast<HeldBase&>(*next);
    held.unlink();
    held.drop_(held);
    held.scope_ = nullptr;
  }
  clean_up();
}

PayloadTypes& payload_types() {
  static PayloadTypes types;
  return types;
}

py::object to_python(Scope& scope, Weights weights) { return py::cast(std::make_unique<WeightsObject>(scope, std::move(weights))); }
py::object to_python(Scope& scope, Gradient gradient) { return py::cast(std::make_unique<GradientObject>(scope, std::move(gradient))); }
py::object to_python(Scope& scope, Handle vector) {
  if (vector.empty()) return py::none();
  return py::cast(std::make_unique<VectorObject>(scope, std::move(vector)));
}
py::object to_python(Scope&, Token token) { return py::cast(TokenObject{token}); }
py::object to_python(Scope& scope, From<Weights> weights) {
  const Peer sender = weights.sender;
  return py::cast(std::make_unique<WeightsObject>(scope, std::move(static_cast<Weights&>(weights)), sender));
}
py::object to_python(Scope& scope, From<Gradient> gradient) {
  const Peer sender = gradient.sender;
  return py::cast(std::make_unique<GradientObject>(scope, std::move(static_cast<Gradient&>(gradient)), sender));
}
py::object to_python(Scope&, From<Token> token) { return py::cast(TokenObject{token, token.sender}); }
py::object to_python(Scope& scope, const DrawnBatch& batch) { return py::cast(BatchObject{batch, scope.number()}); }
py::object to_python(Scope& scope, From<Samples> samples) {
  return py::cast(SamplesObject{{samples->batch, scope.number()}, samples->bytes, samples.sender});
}
py::object to_python(Scope&, From<MembershipNotice>) { return py::cast(MembershipNotice()); }
py::object to_python(Scope&, SyncSignal signal) { return py::cast(signal); }

namespace {

std::string sender_name(Peer peer) { return peer.rank == anyone ? std::string("anyone") : "rank " + std::to_string(peer.rank); }

py::object sender_of(Peer peer) { return peer.rank == anyone ? py::object(py::none()) : py::cast(peer); }

py::list contributions(const Contributions& made) {
  py::list all;
  for (const Contribution& each : made) all.append(each);
  return all;
}

void define_messages(py::module_& module) {
  py::class_<Peer>(module, "Peer", "A node, and which of its lives: an answer to a life that is over is dropped. Compares as its rank.")
      .def_readonly("rank", &Peer::rank, "Of the node.")
      .def_property_readonly(
          "life", [](const Peer& peer) { return peer.life == Peer::any_life ? py::object(py::none()) : py::int_(peer.life); },
          "How often it has restarted; None: whichever life is in.")
      .def("__index__", [](const Peer& peer) { return peer.rank; })
      .def("__int__", [](const Peer& peer) { return peer.rank; })
      .def("__hash__", [](const Peer& peer) { return py::hash(py::int_(peer.rank)); })
      .def("__eq__", [](const Peer& peer, const Peer& other) { return peer.rank == other.rank; })
      .def("__eq__", [](const Peer& peer, Rank rank) { return peer.rank == rank; })
      .def("__lt__", [](const Peer& peer, const Peer& other) { return peer.rank < other.rank; })
      .def("__repr__", [](const Peer& peer) { return "<straggler.Peer " + sender_name(peer) + ">"; });
  py::class_<SyncSignal> signal(module, "Signal",
                                "A numbered control word without bytes: of those that have come only the highest is kept.");
  def_constructor(
      signal, [](std::uint64_t number) { return SyncSignal(number); }, py::arg("number"));
  signal.def_readonly("number", &SyncSignal::number, "Of the signal; a later one stands for all before it.");
  payload_types().notice = py::class_<MembershipNotice>(module, "MembershipNotice", "Who is in has changed.").release();
  py::class_<TokenObject> token_type(module, "Token", "A control word from one node to another, with bytes: a message like others.");
  def_constructor(
      token_type,
      [](std::uint32_t number, std::uint32_t bytes) {
        return TokenObject{{number, bytes}};
      },
      py::arg("number") = 0, py::arg("bytes") = 8);
  token_type
      .def_property_readonly(
          "number", [](const TokenObject& token) { return token.token.number; }, "What it says: the scheme's own.")
      .def_property_readonly(
          "bytes", [](const TokenObject& token) { return token.token.bytes; }, "On the wire.")
      .def_property_readonly(
          "sender", [](const TokenObject& token) { return sender_of(token.sender); }, "Who sent it.");
  payload_types().token = token_type.release();
  py::class_<SamplesObject> samples_type(module, "Samples",
                                         "A batch that one process draws for another: its inputs, or what the model made of them.");
  def_constructor(
      samples_type,
      [](const BatchObject& batch, double bytes_per_sample) {
        const double bytes = batch.batch.size * bytes_per_sample;
        if (!(bytes >= 0 && bytes < 1e18)) throw std::invalid_argument("bytes of all samples are from 0 to below 10^18");
        return SamplesObject{batch, static_cast<std::uint64_t>(std::llround(bytes))};
      },
      py::arg("batch"), py::arg("bytes_per_sample"));
  samples_type.def_readonly("batch", &SamplesObject::batch, "What they are.")
      .def_readonly("bytes", &SamplesObject::bytes, "On the wire.")
      .def_property_readonly(
          "sender", [](const SamplesObject& samples) { return sender_of(samples.sender); }, "Who sent them.");
  payload_types().samples = samples_type.release();
  py::class_<Fragment> fragment(module, "Fragment", "One of `count` equal pieces of a vector.");
  def_constructor(
      fragment,
      [](std::uint32_t index, std::uint32_t count) {
        if (index >= count) throw std::invalid_argument("a fragment's index is below its count");
        return Fragment{index, count};
      },
      py::arg("index"), py::arg("count"));
  fragment.def_readonly("index", &Fragment::index, "From 0 to count - 1.")
      .def_readonly("count", &Fragment::count, "How many pieces there are.");
  py::class_<Contribution>(module, "Contribution", "What a worker put into weights or a gradient since it last read a version.")
      .def_readonly("worker", &Contribution::worker, "Its rank.")
      .def_readonly("steps", &Contribution::steps, "Gradients that went into it.")
      .def_readonly("samples", &Contribution::samples, "That those gradients were taken of.")
      .def_readonly("read_version", &Contribution::read_version, "The version that they began from.")
      .def_property_readonly(
          "spent", [](const Contribution& made) { return made.spent.seconds(); }, "Seconds of simulated time that they took.");
  py::class_<BatchObject>(module, "Batch", "A batch, or a piece of one: `size` samples from `position` of their stream.")
      .def_property_readonly(
          "size", [](const BatchObject& batch) { return batch.batch.size; }, "Samples.")
      .def_property_readonly(
          "position", [](const BatchObject& batch) { return batch.batch.position; }, "Of its first sample in the worker's stream.")
      .def_property_readonly(
          "number", [](const BatchObject& batch) { return batch.batch.number; }, "Of the worker's batches, from 0.");
}

void define_vectors(py::module_& module) {
  payload_types().weights =
      py::class_<WeightsObject>(module, "Weights", "Model parameters: a name of what is to be computed, not the numbers.")
          .def_property_readonly(
              "version", [](const WeightsObject& weights) { return weights.value()->version; },
              "The published version that they derive from.")
          .def_property_readonly(
              "progress", [](const WeightsObject& weights) { return weights.value()->progress; },
              "Samples counted in that version; schedules read it.")
          .def_property_readonly(
              "local_samples", [](const WeightsObject& weights) { return weights.value()->local_samples; },
              "Of steps taken since that version, not yet published.")
          .def_property_readonly(
              "contributions", [](const WeightsObject& weights) { return contributions(weights.value()->made()); },
              "What has gone into them since that version and is not published.")
          .def_property_readonly(
              "value", [](const WeightsObject& weights) { return to_python(weights.scope(), Handle(weights.value()->value)); },
              "The same as a vector of no version.")
          .def_property_readonly(
              "key", [](const WeightsObject& weights) { return weights.value()->value.key().text(); },
              "128 bits that name the value: equal keys are equal numbers.")
          .def_property_readonly(
              "leaves", [](const WeightsObject& weights) { return weights.value()->kept() != nullptr; },
              "They are not weights, but the vector that a client kept, which has left (clients_keep_vectors).")
          .def_property_readonly(
              "sender", [](const WeightsObject& weights) { return sender_of(weights.sender); },
              "Who sent them; None if they were not received.")
          .def("__repr__",
               [](const WeightsObject& weights) {
                 if (!weights.alive()) return std::string("<straggler.Weights of a run that is over>");
                 return "<straggler.Weights of version " + std::to_string(weights.value()->version) + ">";
               })
          .release();
  payload_types().gradient =
      py::class_<GradientObject>(module, "Gradient", "A gradient, or the mean or sum of several: a name, not the numbers.")
          .def_property_readonly(
              "version", [](const GradientObject& gradient) { return gradient.value()->version(); }, "Of the weights that it was taken at.")
          .def_property_readonly(
              "samples", [](const GradientObject& gradient) { return gradient.value()->samples(); }, "That were looked at, by all.")
          .def_property_readonly(
              "contributions", [](const GradientObject& gradient) { return contributions(gradient.value()->made()); },
              "Who put what into it.")
          .def_property_readonly(
              "weights", [](const GradientObject& gradient) { return to_python(gradient.scope(), Weights(gradient.value()->at)); },
              "The weights that it was taken at.")
          .def_property_readonly(
              "value", [](const GradientObject& gradient) { return to_python(gradient.scope(), Handle(gradient.value()->value())); },
              "The same as a vector.")
          .def_property_readonly(
              "key", [](const GradientObject& gradient) { return gradient.value()->value().key().text(); },
              "128 bits that name the value: equal keys are equal numbers.")
          .def_property_readonly(
              "sender", [](const GradientObject& gradient) { return sender_of(gradient.sender); },
              "Who sent it; None if it was not received.")
          .def("__repr__",
               [](const GradientObject& gradient) {
                 if (!gradient.alive()) return std::string("<straggler.Gradient of a run that is over>");
                 return "<straggler.Gradient at version " + std::to_string(gradient.value()->version()) + ">";
               })
          .release();
  py::class_<VectorObject>(module, "Vector", "A vector as long as the weights that is no payload of its own: a control variate.")
      .def_property_readonly(
          "key", [](const VectorObject& vector) { return vector.value().key().text(); },
          "128 bits that name the value: equal keys are equal numbers.");
  py::class_<OptimizerObject>(module, "Optimizer", "An optimizer with its state, for node.step.")
      .def(
          "reset", [](OptimizerObject& optimizer) { optimizer.value().get().reset(); }, "Its state is as before the first step.");
}

}  // namespace

void define_values(py::module_& module) {
  define_messages(module);
  define_vectors(module);
}

}  // namespace straggler::python
