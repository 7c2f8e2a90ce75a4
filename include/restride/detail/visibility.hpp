// Which symbols a shared restride exports: what public headers declare, and nothing else.
//
// Everything is compiled with hidden visibility; a public header opens `namespace restride RESTRIDE_PUBLIC`,
// which exports what it declares (exceptions need their type information exported to be caught outside).
#pragma once

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "restride needs C++20: compile with -std=c++20, or set(CMAKE_CXX_STANDARD 20); C programs include restride.h"
#endif

#if defined(__GNUC__)
#define RESTRIDE_PUBLIC __attribute__((visibility("default")))
#else
#define RESTRIDE_PUBLIC
#endif
