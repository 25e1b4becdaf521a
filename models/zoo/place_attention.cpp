// Attention: the projections are dense layers of all places; between them each sample and head is alone.
#include "models/layers/reference_attention.hpp"
#include "models/zoo/place_layer.hpp"
#include "sim/base/registry.hpp"

namespace straggler::zoo::place_attention {
namespace {

reference::Attention shape_of(const LayerSpec& layer) {
  const std::size_t heads = layer.count("heads");
  return {layer.in.channels, layer.in.height, heads, layer.parameters.has("key_value_heads") ? layer.count("key_value_heads") : heads,
          layer.parameters.flag("causal")};
}

/// Whether each sample begins a panel; else it is copied to one.
bool aligned(const LayerSpec& layer) { return layer.in.places() % panel_rows == 0; }

/// What stands between the projections, of a block: queries, keys and values of all heads, and the context.
template <class Float>
struct Between {
  Float *projected, *context;
  Between(const PlacePass& pass, Float* memory)
      : projected(memory), context(memory + panel_floats(pass.rows_in(), shape_of(pass.layer).projected())) {}
};
std::size_t between_floats(const LayerSpec& layer, std::size_t samples) {
  return panel_floats(samples * layer.in.places(), shape_of(layer).projected() + layer.in.channels);
}

/// Some features of one sample from a panel's first lane on: where they lie, or their copy.
template <class Float>
Float* enter(const PlacePass& pass, std::size_t sample, std::size_t features, Float* panels, float* room) {
  const std::size_t places = pass.layer.in.places(), row = sample * places;
  if (aligned(pass.layer)) return panels + row_offset(features, row);
  copy_rows(features, places, {panels, features, row}, {room, features, 0});
  return room;
}
void leave(const PlacePass& pass, std::size_t sample, std::size_t features, const float* room, float* panels) {
  const std::size_t places = pass.layer.in.places();
  if (!aligned(pass.layer)) copy_rows(features, places, {room, features, 0}, {panels, features, sample * places});
}

/// Room of a call: for a head, for the copies of a sample and, backward, of what is derived by them.
struct Room {
  std::size_t head, projected, context;  // floats
  explicit Room(const LayerSpec& layer)
      : head(AttentionHead::scratch_floats(layer.in.places())),
        projected(aligned(layer) ? 0 : panel_floats(layer.in.places(), shape_of(layer).projected())),
        context(aligned(layer) ? 0 : panel_floats(layer.in.places(), layer.in.channels)) {}
  std::size_t floats() const { return head + 2 * projected + context; }
};

AttentionHead head_of(const reference::Attention& shape, std::size_t head, const float* projected, float* scratch) {
  return {.places = shape.places,
          .width = shape.width(),
          .causal = shape.causal,
          .queries = projected + shape.query(head) * panel_rows,
          .keys = projected + shape.key(head) * panel_rows,
          .values = projected + shape.value(head) * panel_rows,
          .stride = shape.projected() * panel_rows,
          .context_stride = shape.channels * panel_rows,
          .scratch = scratch};
}

void forward(const PlacePass& pass) {
  const reference::Attention shape = shape_of(pass.layer);
  const std::size_t rows = pass.rows_in(), channels = shape.channels, projected = shape.projected();
  const Between<float> own(pass, pass.kept);
  const Room room(pass.layer);
  float *const table = pass.scratch, *const projected_copy = table + room.head, *const context_copy = projected_copy + room.projected;
  pass.kernels.dense_forward(rows, channels, projected, pass.x(), pass.tensor(0), pass.tensor(1), false, own.projected);
  for (std::size_t sample = 0; sample < pass.samples; ++sample) {
    const float* const from = enter<const float>(pass, sample, projected, own.projected, projected_copy);
    float* const to = aligned(pass.layer) ? own.context + row_offset(channels, sample * shape.places) : context_copy;
    for (std::size_t head = 0; head < shape.heads; ++head)
      pass.places.attention_forward(head_of(shape, head, from, table), to + shape.query(head) * panel_rows);
    leave(pass, sample, channels, to, own.context);
  }
  pass.kernels.dense_forward(rows, channels, channels, own.context, pass.tensor(2), pass.tensor(3), false, pass.y);
}

void backward(const PlacePass& pass) {
  const reference::Attention shape = shape_of(pass.layer);
  const std::size_t rows = pass.rows_in(), channels = shape.channels, projected = shape.projected();
  const Room room(pass.layer);
  float *const table = pass.scratch, *const projected_copy = table + room.head, *const context_copy = projected_copy + room.projected,
               *const by_copy = context_copy + room.context;
  const Between<float> own(pass, pass.kept), by(pass, pass.scratch + room.floats());
  DenseRows{pass.kernels, rows, channels, channels}.backward(own.context, pass.dy, pass.tensor(2), pass.gradient(2), pass.gradient(3),
                                                             by.context);
  std::fill_n(by.projected, panel_floats(rows, projected), 0.0f);
  for (std::size_t sample = 0; sample < pass.samples; ++sample) {
    const float* const from = enter<const float>(pass, sample, projected, own.projected, projected_copy);
    const float* const down = enter<const float>(pass, sample, channels, by.context, context_copy);
    float* const to = enter(pass, sample, projected, by.projected, by_copy);
    for (std::size_t head = 0; head < shape.heads; ++head)
      pass.places.attention_backward(head_of(shape, head, from, table), down + shape.query(head) * panel_rows,
                                     to + shape.query(head) * panel_rows, to + shape.key(head) * panel_rows,
                                     to + shape.value(head) * panel_rows);
    leave(pass, sample, projected, to, by.projected);
  }
  DenseRows{pass.kernels, rows, channels, projected}.backward(pass.x(), by.projected, pass.tensor(0), pass.gradient(0), pass.gradient(1),
                                                              pass.dx());
}

const Register<PlaceLayer> entry({
    .name = "attention",
    .kept = between_floats,
    .scratch = [](const LayerSpec& layer, std::size_t samples) { return Room(layer).floats() + between_floats(layer, samples); },
    .forward = forward,
    .backward = backward,
});

}  // namespace
}  // namespace straggler::zoo::place_attention
