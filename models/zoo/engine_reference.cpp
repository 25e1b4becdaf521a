// The engine "reference": every trainable layer, on any processor, plainly and slowly.
#include <stdexcept>

#include "models/zoo/reference_network.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::engine_reference {
namespace {

class ReferenceModel final : public Model {
 public:
  ReferenceModel(Architecture architecture, Precision precision) : network_(std::move(architecture), precision) {}

  std::size_t parameters() const override { return network_.layout().parameters; }
  std::vector<TensorInfo> tensors() const override { return tensors_of(network_.architecture()); }
  std::size_t statistics() const override { return network_.layout().statistic_floats; }
  std::vector<TensorInfo> buffers() const override { return buffers_of(network_.architecture()); }
  bool draws() const override { return network_.draws(); }
  std::vector<LayerCost> cost() const override { return cost_of(network_.architecture()); }
  std::string_view engine() const override { return "reference"; }
  const Architecture* architecture() const override { return &network_.architecture(); }
  std::size_t workspace_bytes(std::size_t rows) const override { return network_.memory_bytes(rows); }
  void initialize(std::uint64_t seed, float* weights) const override { straggler::initialize(network_.architecture(), seed, weights); }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Scratch>(network_.memory()); }
  bool couples_samples() const override { return network_.couples_samples(); }

  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    return network_.gradient(weights, batch(rows), accumulate, gradient, memory(workspace));
  }
  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override {
    return network_.evaluate(weights, batch(rows), correct, memory(workspace));
  }

 private:
  using Network = ReferenceNetwork<float>;
  struct Scratch final : Workspace {
    explicit Scratch(Network::Memory with) : memory(std::move(with)) {}
    Network::Memory memory;
  };
  static Network::Batch batch(const Rows& rows) { return {rows.count, rows.inputs, rows.labels, rows.scale, rows.draws}; }
  static Network::Memory& memory(Workspace& workspace) {
    Scratch& scratch = static_cast<Scratch&>(workspace);
    scratch.memory.cancelled = workspace.cancelled;
    return scratch.memory;
  }

  Network network_;
};

const Register<NetworkEngine> entry({
    .name = "reference",
    .summary = "every layer in plain code, convolutions as matrix products; slow",
    .computes = [](const Architecture& architecture, const ModelSetting&) { return ReferenceNetwork<float>::lacks(architecture).empty(); },
    .make = [](Architecture architecture, const ModelSetting& setting) -> std::unique_ptr<Model> {
      return std::make_unique<ReferenceModel>(std::move(architecture), setting.precision);
    },
    .plain = true,
});

}  // namespace
}  // namespace straggler::zoo::engine_reference
