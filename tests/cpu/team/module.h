// A library that is loaded, copies and is unloaded.
#pragma once

/// Transposes on that many threads; 0 when the result is right.
extern "C" __attribute__((visibility("default"))) int restride_test_copies_on(int threads);
