// restride: copy a strided N-d tensor into any other layout at the speed of a plain copy.
#pragma once

#include <restride/copy.hpp>
#include <restride/device.hpp>
#include <restride/dtype.hpp>
#include <restride/error.hpp>
#include <restride/layout.hpp>
#include <restride/log.hpp>
#include <restride/mdspan.hpp>
#include <restride/measurements.hpp>
#include <restride/typed.hpp>
