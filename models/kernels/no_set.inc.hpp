// In the place of set.inc.hpp and onednn/maps.inc.hpp: tables without a name, for a program that leaves the set out (select.cpp).
#include "models/kernels/kernels.hpp"
#include "models/kernels/onednn/maps.hpp"
#include "models/kernels/places.hpp"

namespace straggler::STRAGGLER_KERNELS {
extern const Kernels table;
const Kernels table{};
extern const PlaceKernels place_table;
const PlaceKernels place_table{};
}  // namespace straggler::STRAGGLER_KERNELS

namespace straggler::onednn::STRAGGLER_KERNELS {
extern const MapKernels table;
const MapKernels table{};
}  // namespace straggler::onednn::STRAGGLER_KERNELS
#undef STRAGGLER_KERNELS
