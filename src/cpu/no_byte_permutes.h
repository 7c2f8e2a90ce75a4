// For kernels that permute no bytes of two vectors, which is all that Highway's AVX3_DL adds to AVX3: the code for both
// was the same, so that they are compiled for AVX3 alone. Included before anything of Highway.
#pragma once

#ifndef RESTRIDE_AVX3_DL_ALONE  // builds under sanitizers leave AVX3 out instead
#undef HWY_WANT_AVX3_DL
#endif
