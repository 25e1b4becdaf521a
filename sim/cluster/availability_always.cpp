// Present at any time.
#include "sim/cluster/availability.hpp"

namespace straggler::cluster::availability_always {
namespace {

const Register<AvailabilityEntry> entry({"always", "present at any time", {}, [](const Parameters&) { return nullptr; }});

}  // namespace
}  // namespace straggler::cluster::availability_always
