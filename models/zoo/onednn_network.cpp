// The engine `onednn`: convolutional networks on oneDNN (github.com/oneapi-src/oneDNN), with our own passes between its operators.
#include <algorithm>
#include <list>
#include <mutex>
#include <new>
#include <stdexcept>

#include "models/zoo/block_rows.hpp"
#include "models/zoo/onednn_plan.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::onednn_network {
namespace {

using onednn::Call;
using onednn::Plan;

/// Cached plans: one per number of rows in a call.
constexpr std::size_t most_plans = 32;

struct Scratch final : Workspace {
  struct Delete {
    void operator()(char* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Delete> arena;
  std::size_t bytes = 0;

  void grow(std::size_t wanted) {
    if (wanted <= bytes) return;
    arena.reset();
    bytes = 0;
    arena.reset(static_cast<char*>(::operator new (wanted, std::align_val_t{64})));
    bytes = wanted;
  }
};

class OneDnnNetwork final : public Model {
 public:
  OneDnnNetwork(Architecture architecture, const ModelSetting& setting, const onednn::MapKernels& maps)
      : architecture_(std::move(architecture)), layout_(architecture_), setting_(setting), maps_(maps) {
    couples_ = layout_.statistic_floats > 0;
  }

  std::size_t parameters() const override { return layout_.parameters; }
  std::vector<TensorInfo> tensors() const override { return tensors_of(architecture_); }
  std::size_t statistics() const override { return layout_.statistic_floats; }
  std::vector<TensorInfo> buffers() const override { return buffers_of(architecture_); }
  std::vector<LayerCost> cost() const override { return cost_of(architecture_); }
  std::string_view engine() const override { return "onednn"; }
  const Architecture* architecture() const override { return &architecture_; }
  void initialize(std::uint64_t seed, float* weights) const override { straggler::initialize(architecture_, seed, weights); }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<Scratch>(); }
  bool couples_samples() const override { return couples_; }

  std::size_t workspace_bytes(std::size_t rows) const override {
    if (rows == 0) return 0;
    const std::size_t block = std::min(rows, block_rows);
    return std::max(plan(couples_ ? rows : block, true)->arena_bytes(), plan(block, false)->arena_bytes());
  }

  double gradient(const float* weights, const Rows& rows, bool accumulate, float* gradient, Workspace& workspace) const override {
    if (rows.count == 0 && !accumulate) std::fill_n(gradient, length(), 0.0f);
    double loss = 0;
    const std::size_t block = couples_ ? rows.count : block_rows;
    for (std::size_t at = 0; at < rows.count && !workspace.called_off(); at += block, accumulate = true) {
      Call call{weights, part(rows, at, std::min(block, rows.count - at)), gradient, accumulate, 0, nullptr};
      for (std::size_t i = 0; i < call.rows.count; ++i) call.total_scale += static_cast<double>(call.rows.scale[i]);
      run(*plan(call.rows.count, true), call, workspace);
      loss += call.loss;
    }
    return loss;
  }

  double evaluate(const float* weights, const Rows& rows, std::uint64_t& correct, Workspace& workspace) const override {
    double loss = 0;
    for (std::size_t at = 0; at < rows.count && !workspace.called_off(); at += block_rows) {
      Call call{weights, part(rows, at, std::min(block_rows, rows.count - at)), nullptr, false, 0, nullptr};
      run(*plan(call.rows.count, false), call, workspace);
      loss += call.loss;
      correct += call.correct;
    }
    return loss;
  }

 private:
  Rows part(const Rows& rows, std::size_t at, std::size_t count) const {
    const std::size_t places = architecture_.layers.back().out.places();
    return {count, rows.inputs + at * architecture_.input.size(), rows.labels + at * places, rows.scale ? rows.scale + at : nullptr,
            nullptr};
  }

  void run(const Plan& plan, Call& call, Workspace& workspace) const {
    Scratch& scratch = static_cast<Scratch&>(workspace);
    scratch.grow(plan.arena_bytes());
    call.arena = scratch.arena.get();
    for (const Plan::Step& step : plan.steps()) {
      if (workspace.called_off()) return;
      step(plan, call);
    }
  }

  std::shared_ptr<const Plan> plan(std::size_t rows, bool training) const {
    const std::lock_guard lock(mutex_);
    for (auto known = plans_.begin(); known != plans_.end(); ++known)
      if (known->rows == rows && known->training == training) {
        plans_.splice(plans_.begin(), plans_, known);
        return known->plan;
      }
    const onednn::PlanSetting setting{architecture_,        layout_, setting_.kernels, maps_, setting_.precision,
                                      setting_.convolution, rows,    training};
    try {
      plans_.push_front({rows, training, std::make_shared<const Plan>(make_plan(setting))});
    } catch (const std::exception& failed) {
      throw std::runtime_error(std::string("oneDNN has no operator for this network (") + failed.what() +
                               "); choose another engine: workload.model.engine");
    }
    if (plans_.size() > most_plans) plans_.pop_back();
    return plans_.front().plan;
  }

  struct Known {
    std::size_t rows;
    bool training;
    std::shared_ptr<const Plan> plan;
  };

  Architecture architecture_;
  NetworkLayout layout_;
  ModelSetting setting_;
  const onednn::MapKernels& maps_;
  bool couples_ = false;
  mutable std::mutex mutex_;
  mutable std::list<Known> plans_;  // most recently used first
};

const Register<NetworkEngine> engine({
    .name = "onednn",
    .summary = "convolutional networks on oneDNN, batch norms and what follows them in one pass",
    .computes = [](const Architecture& architecture,
                   const ModelSetting& setting) { return onednn::plannable(architecture) && onednn::map_kernels(setting.kernels.name); },
    .usable = [](const ModelSetting& setting) { return onednn::confine(setting.kernels.name); },
    .make = [](Architecture architecture, const ModelSetting& setting) -> std::unique_ptr<Model> {
      const onednn::MapKernels* const maps = onednn::map_kernels(setting.kernels.name);
      if (!maps || !onednn::plannable(architecture) || !onednn::confine(setting.kernels.name))
        throw std::invalid_argument("the engine 'onednn' does not compute this network with the kernels '" +
                                    std::string(setting.kernels.name) +
                                    "', or this process has set up oneDNN for others (as PyTorch does); use engine auto");
      return std::make_unique<OneDnnNetwork>(std::move(architecture), setting, *maps);
    },
});

}  // namespace
}  // namespace straggler::zoo::onednn_network
