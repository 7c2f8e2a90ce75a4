// What checked arithmetic says when a size does not fit.
#include "src/base/checked.h"

#include <restride/error.hpp>

namespace restride {

void refuse_narrowing() {
  throw InternalError("a plan has a size that its kernel does not count to; please report it");
}

}  // namespace restride
