// Which symbols a shared restride exports: what public headers declare, and nothing else.
//
// Everything is compiled with hidden visibility; a public header opens `namespace restride RESTRIDE_PUBLIC`,
// which exports what it declares (exceptions need their type information exported to be caught outside).
#pragma once

#if defined(__GNUC__)
#define RESTRIDE_PUBLIC __attribute__((visibility("default")))
#else
#define RESTRIDE_PUBLIC
#endif
