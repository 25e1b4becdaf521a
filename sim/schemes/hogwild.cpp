// Hogwild!: the workers of one host step on weights in its memory, without locks,
//   w_k ← w_k - lr g(ŵ)_k   in each chunk k, at once.
// A read takes time, so that the chunks of ŵ may be of several versions. Additions may overlap; none is lost.
// Niu, Recht, Ré, Wright, Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient Descent, 2011.
// Optimizers with state (momentum, moments) keep it in the same memory: an addition changes both.
#include "sim/training/node.hpp"

namespace straggler::schemes::hogwild {
namespace {

class Hogwild final : public Scheme {
  Process worker(Node& node) const override {
    for (;;) {
      const Weights read = co_await node.read_cell();
      const Gradient gradient = co_await node.gradient(read, node.batch_size());
      const Weights stepped = co_await node.step_cell(gradient);
      co_await node.publish(stepped);
    }
  }
};

const Register<SchemeEntry> entry({
    .name = "hogwild",
    .summary = "workers of one host step on weights in its memory, without locks",
    .reference = "Niu et al. 2011",
    .other_names = {"hogwild!"},
    .family = Family::asynchronous,
    .exchange = Exchange::none,
    .rule = "w ← w - lr g(w_read), chunk by chunk, without locks",
    .paragraph =
        "The workers of one host read and change the same weights in its memory, without locks. A read takes time, so its chunks may be "
        "of different versions. Additions never get lost.",
    .traffic = {.text = "none between hosts", .bytes = UpdateBytes()},
    .parameters = {count_or("chunks", "16", "equal pieces of the weights; each is read, and added to, at once", Range::between(1, 1e6)),
                   on_failure({OnFailure::drop, OnFailure::abort}, "continue, as nobody waits for it, or end")},
    .examples = {{{"chunks", "1"}}},
    .make = made<Hogwild>,
    .plain_sgd_alone = {{}, {{"chunks", "1"}}},
    .cell_chunks = [](const Parameters& parameters) { return parameters.count("chunks"); },
    .rolls_back = RollsBack::never,
});

}  // namespace
}  // namespace straggler::schemes::hogwild
