#include "models/zoo/given_models.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::given_models {
namespace {

struct Table {
  std::mutex mutex;
  std::vector<std::shared_ptr<const GivenModel>> all;  // the latest last
};

Table& table() {
  static Table given;
  return given;
}

std::string named(const std::string& name, const std::string& version) { return "'" + name + "', version " + version; }

const Register<ModelEntry> entry({
    .name = "python",
    .summary = "a model of yours in Python (PyTorch, JAX, NumPy): straggler.run(scenario, model=…) in Python names it",
    .parameters = {{.name = "name", .type = ValueType::text, .required = true, .meaning = "of @straggler.model"},
                   {.name = "version",
                    .type = ValueType::count,
                    .required = true,
                    .meaning = "of @straggler.model",
                    .range = Range::between(0, 1e9)}},
    .make = [](const Parameters& parameters, const DataInfo& data, const ModelSetting& setting) -> std::unique_ptr<Model> {
      const std::shared_ptr<const GivenModel> given = given_model(parameters);
      if (setting.precision != Precision::fp32)
        throw std::invalid_argument("the model " + named(given->name, given->version) + ", is in Python, and computes in fp32 alone; " +
                                    "leave the precision out");
      return given->make(data, setting);
    },
    .symbols = true,
    .content = [](const Parameters& parameters, std::uint64_t seed) { return given_model(parameters)->content(seed); },
});

}  // namespace
}  // namespace straggler::zoo::given_models

namespace straggler {

GivenModelInUse::GivenModelInUse(GivenModel model) : model_(std::make_shared<const GivenModel>(std::move(model))) {
  auto& given = zoo::given_models::table();
  const std::string named = zoo::given_models::named(model_->name, model_->version);
  const std::lock_guard lock(given.mutex);
  for (const std::shared_ptr<const GivenModel>& other : given.all) {
    if (other->thread != model_->thread && other->object == model_->object)
      throw std::runtime_error("another thread uses this object as its model, " + named +
                               "; wait for its end, or make an object for each thread");
    if (other->for_all && model_->for_all && other->name == model_->name && other->version == model_->version)
      throw std::runtime_error("runs with a model " + named +
                               ", are under way on several threads; wait for their end, or give this model another name");
  }
  given.all.push_back(model_);
}

GivenModelInUse::~GivenModelInUse() {
  auto& given = zoo::given_models::table();
  const std::lock_guard lock(given.mutex);
  std::erase(given.all, model_);
}

std::shared_ptr<const GivenModel> given_model(const Parameters& parameters) {
  const std::string name = parameters.text("name"), version = std::to_string(parameters.count("version"));
  auto& given = zoo::given_models::table();
  const std::lock_guard lock(given.mutex);
  std::shared_ptr<const GivenModel> found;
  for (const std::shared_ptr<const GivenModel>& each : given.all) {
    if (each->name != name || each->version != version) continue;
    const bool own = each->thread == std::this_thread::get_id();
    if (own || (each->for_all && !(found && found->thread == std::this_thread::get_id()))) found = each;
  }
  if (!found)
    throw std::invalid_argument("the model " + zoo::given_models::named(name, version) +
                                ", is in Python and runs only there, on simulated ranks; write " +
                                "straggler.run(scenario, model=…) in Python, or likewise sweep, race, check or explain");
  return found;
}

}  // namespace straggler
