// The part of XLA's foreign function interface that a handler of one copy needs: how jax.ffi calls C. Declared here, so
// that the package is built without jaxlib; tests/test_jax.py compares it with the headers that jaxlib brings.
//
// Every structure begins with its own size and a list of extensions, and grows at the end, so reading the members below
// is right for every later minor version. A handler answers a call without stage EXECUTE and one that asks for its
// metadata, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace restride::python::xla {

struct Extension {
  std::size_t struct_size;
  std::int32_t type;
  Extension* next;
};
inline constexpr std::int32_t kMetadataExtension = 1;

struct ApiVersion {
  std::size_t struct_size;
  Extension* extensions;
  int major, minor;
};

struct Metadata {
  std::size_t struct_size;
  ApiVersion api_version;
  std::uint32_t traits;
};
inline constexpr std::uint32_t kCommandBufferCompatible = 1;  ///< trait: only launches on the stream; may be captured

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Error;  // XLA's own
enum ErrorCode : std::int32_t { kInvalidArgument = 3, kInternal = 13 };

struct ErrorCreate {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};

struct Context;  // XLA's own
struct StreamGet {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  void* stream;  ///< out: a cudaStream_t
};

struct Api {
  std::size_t struct_size;
  Extension* extensions;
  ApiVersion api_version;
  void* internal;
  Error* (*error_create)(ErrorCreate*);
  void* error_get_message;
  void* error_destroy;
  void* handler_register;
  Error* (*stream_get)(StreamGet*);
};

struct Buffer {
  std::size_t struct_size;
  Extension* extensions;
  std::int32_t dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* extents;
};

/// Arguments and results alike. A type of 1 is a Buffer.
struct Values {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* types;
  void** values;
};

struct Name {
  const char* data;
  std::size_t size;
};

enum AttributeType : std::int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
struct Array {
  std::int32_t dtype;
  std::size_t size;
  void* data;
};
struct Scalar {
  std::int32_t dtype;
  void* value;
};

struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* types;
  Name** names;
  void** values;
};

enum Stage : std::int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct Call {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  Stage stage;
  Values arguments;
  Values results;
  Attributes attributes;
};

}  // namespace restride::python::xla
