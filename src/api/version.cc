#include <restride/copy.hpp>

namespace restride {

std::string_view version() noexcept { return RESTRIDE_VERSION; }

}  // namespace restride
