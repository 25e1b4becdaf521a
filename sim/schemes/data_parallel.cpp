// One process drives all devices of a host, as PyTorch's DataParallel does: in every iteration it loads the whole batch onto device 0,
// dispatches the work for each of the p devices, scatters the inputs from device 0, broadcasts the weights, lets every device compute the
// gradient of its piece, gathers outputs and gradients on device 0, and steps there on the gradient of the whole batch,
//   w ← w - lr Σ_i (b_i / B) g_i(w).
// Only the devices' computations overlap. With `launches: ahead` the host dispatches an iteration while the devices still compute the one
// before, as in a training loop that does not read the loss. Workers are the devices; worker 0 is device 0, and its process is the host's.
// Outputs are gathered after backward, before the gradients. Bytes and time equal those of a gathering between forward and backward, unless
// the slowest device in forward is not the slowest in backward. Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel
// Training, VLDB 2020, section 2.2.
#include <algorithm>
#include <cmath>

#include "sim/training/node.hpp"

namespace straggler::schemes::data_parallel {
namespace {

enum class Launches { in_turn, ahead };
constexpr ChoiceTable<Launches> launches_choice("launches", {{Launches::in_turn, "in_turn"}, {Launches::ahead, "ahead"}});

enum class Loading { beside, between };
constexpr ChoiceTable<Loading> loading_choice("loading", {{Loading::beside, "beside"}, {Loading::between, "between"}});

Samples piece(const DrawnBatch& batch, double bytes_per_sample) {
  Samples out;
  out.edit().batch = batch;
  out.edit().bytes = static_cast<std::uint64_t>(std::llround(batch.size * bytes_per_sample));
  return out;
}

class DataParallel final : public Scheme {
 public:
  explicit DataParallel(const Parameters& parameters)
      : overhead_(Time::from_seconds(parameters.number("overhead"))),
        dispatch_(Time::from_seconds(parameters.number("dispatch"))),
        ahead_(launches_choice.of(parameters) == Launches::ahead),
        loads_between_(loading_choice.of(parameters) == Loading::between) {}

 private:
  Process worker(Node& node) const override { return node.self() == 0 ? host(node) : device(node); }

  /// Drives all, and computes on device 0.
  Process host(Node& node) const {
    std::vector<Drawing> drawings(static_cast<std::size_t>(node.workers()));
    Weights weights = node.initial_weights();
    const HostWork launches = {Time::from_ticks(overhead_.ticks() + dispatch_.ticks() * node.workers()), ahead_, loads_between_};
    for (;;) {
      std::vector<DrawnBatch> pieces;
      std::int64_t samples = 0;
      for (Rank rank = 0; rank < node.workers(); ++rank) {
        pieces.push_back(node.next_batch_of(rank, drawings[index_of(rank)], node.batch_size(rank)));
        samples += pieces.back().size;
      }
      co_await node.load(pieces.front(), samples);
      co_await node.host_work(launches);
      for (Pending<SendOperation>& each : sends(node, [&](Rank rank) { return piece(pieces[index_of(rank)], node.plan().input_bytes); }))
        co_await each;
      for (Pending<SendOperation>& each : sends(node, [&](Rank) { return weights; })) co_await each;
      const Gradient own = co_await node.gradient(weights, pieces.front());
      std::vector<Gradient> gradients = {own};
      for (Rank rank = 1; rank < node.workers(); ++rank) co_await node.receive<Samples>(rank);
      for (Rank rank = 1; rank < node.workers(); ++rank) {
        const From<Gradient> theirs = co_await node.receive<Gradient>(rank);
        gradients.push_back(theirs);
      }
      const Gradient whole = of_whole_batch(node, gradients);
      weights = co_await node.step(weights, whole);
      weights = co_await node.publish(weights);
    }
  }

  Process device(Node& node) const {
    for (;;) {
      const Samples mine = co_await node.receive<Samples>(0);
      const Weights weights = co_await node.receive<Weights>(0);
      const Gradient gradient = co_await node.gradient(weights, mine->batch);
      const Samples outputs = piece(mine->batch, node.plan().output_bytes);
      co_await node.send(0, outputs);
      co_await node.send(0, gradient);
    }
  }

  /// Messages begin to leave to all other devices at once, so that they share device 0's way out.
  template <class Message>
  static std::vector<Pending<SendOperation>> sends(Node& node, Message message) {
    std::vector<Pending<SendOperation>> leaving;
    for (Rank rank = 1; rank < node.workers(); ++rank) leaving.push_back(node.begin(node.send(rank, message(rank))));
    return leaving;
  }

  static Gradient of_whole_batch(Node& node, const std::vector<Gradient>& gradients) {
    const std::uint64_t first = gradients.front()->samples();
    if (std::all_of(gradients.begin(), gradients.end(), [&](const Gradient& gradient) { return gradient->samples() == first; }))
      return node.mean(gradients);
    std::vector<double> counts;
    for (const Gradient& gradient : gradients) counts.push_back(static_cast<double>(gradient->samples()));
    return node.algebra().weighted_sum(gradients, Average::shares(counts));
  }

  Time overhead_, dispatch_;
  bool ahead_, loads_between_;
};

const Register<SchemeEntry> entry({
    .name = "data_parallel",
    .summary = "one process drives all devices of a host: scatter, broadcast, compute, gather, step on device 0",
    .reference = "Li et al. 2020, section 2.2",
    .other_names = {"dp"},
    .exchange = Exchange::peers,
    .rule = "w ← w - lr (1/p) Σ g_i(w)",
    .paragraph =
        "What PyTorch's DataParallel does: one process sends every device its inputs and the weights, and collects outputs and "
        "gradients on device 0. The links of device 0 and the dispatching serve one device after the other, which limits how far it "
        "scales.",
    .waits = "the process for the slowest device",
    .batch_is = "one device's piece of one step",
    .traffic = {.text = "2 (p - 1) d, and the inputs and outputs",
                .bytes = [](const Parameters&, const TrainingPlan& plan) { return UpdateBytes{2.0 * (plan.workers - 1)}; }},
    .parameters = {{.name = "dispatch",
                    .type = ValueType::time,
                    .fallback = "0s",
                    .meaning = "host's time to dispatch an iteration to one device; devices are served one after another",
                    .range = Range::at_least(0)},
                   {.name = "overhead",
                    .type = ValueType::time,
                    .fallback = "0s",
                    .meaning = "host's time for an iteration, for any number of devices",
                    .range = Range::at_least(0)},
                   launches_choice.parameter(
                       Launches::in_turn,
                       "in_turn: the host dispatches when the previous iteration is done; ahead: while the devices still compute it"),
                   loading_choice.parameter(
                       Loading::beside,
                       "beside: the loader has cores of its own; between: it shares the host's only core and stops while that dispatches"),
                   on_failure({OnFailure::abort}, "end")},
    .make = made<DataParallel>,
    .one_process = true,
    .worker_bytes = 3'000,  // measured: all messages of device 0 are in flight together
});

}  // namespace
}  // namespace straggler::schemes::data_parallel
