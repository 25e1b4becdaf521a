// No jitter: every factor is 1. It needs no object, so a million workers pay nothing for it.
#include "sim/cluster/jitter_kind.hpp"

namespace straggler::cluster::jitter_none {
namespace {

const Register<JitterEntry> entry({"none", "no jitter: equal work takes equal time", {}, [](const Parameters&) -> std::unique_ptr<Jitter> {
                                     return nullptr;
                                   }});

}  // namespace
}  // namespace straggler::cluster::jitter_none
