// What both C ABIs, ours and that of exchanges, do with a C caller's arguments: check them, make C++ of them, and turn
// what is thrown into a status and a message. A header alone, of public names, because the two are libraries of their
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <restride/restride.h>
#include <restride/restride.hpp>

namespace restride::api::c {

/// What a thread's last failing call had to say. A fixed buffer: reporting that memory ran out must not need memory.
class LastError {
 public:
  /// What a caller's text made too long loses its middle: it begins with what is wrong and ends with the remedy.
  restride_status set(restride_status status, const char* message) noexcept {
    constexpr std::size_t kEnd = 400;
    constexpr char kLeftOut[] = " [...] ";
    const std::size_t length = std::strlen(message);
    if (length < sizeof text_) {
      std::memcpy(text_, message, length + 1);
    } else {
      const std::size_t begin = sizeof text_ - (sizeof kLeftOut - 1) - kEnd - 1;
      std::memcpy(text_, message, begin);
      std::memcpy(text_ + begin, kLeftOut, sizeof kLeftOut - 1);
      std::memcpy(text_ + begin + (sizeof kLeftOut - 1), message + length - kEnd, kEnd + 1);
    }
    return status;
  }
  const char* text() const noexcept { return text_; }

  /// Runs `body`; whatever it throws becomes a status and a message.
  template <class Body>
  restride_status guard(const Body& body) noexcept {
    try {
      body();
      return RESTRIDE_OK;
    } catch (const Error& e) {
      return set(static_cast<restride_status>(e.code()), e.what());
    } catch (const std::bad_alloc&) {
      return set(RESTRIDE_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception& e) {
      return set(RESTRIDE_INTERNAL, e.what());
    } catch (...) {
      return set(RESTRIDE_INTERNAL, "an exception of unknown type");
    }
  }

 private:
  char text_[1024] = "";
};

inline void require(bool holds, const char* message) {
  if (!holds) throw ArgumentError(message);
}

/// `who` is what the caller calls the thing: dst, src or tensor. The message names it, and is made only when thrown.
inline void require(bool holds, const char* who, const char* message) {
  if (!holds) throw ArgumentError(std::string(who) + message);
}

/// `size` is what the caller's header says, `known` what this library was built with, `older` what headers said before
/// the structure grew; `initializer` is the macro that sets it.
inline void check_struct_size(std::size_t size, std::size_t known, const char* who, const char* initializer,
                              std::size_t older = 0) {
  if (size == known || (older != 0 && size == older)) return;
  const std::string sizes =
      std::string(who) + ".struct_size is " + std::to_string(size) + ", this library knows " + std::to_string(known);
  if (size > known)
    throw UnsupportedError(sizes + ": the program was built with a newer header of restride; update the library");
  throw ArgumentError(sizes + ": initialise the structure with " + initializer);
}

inline Element element_of(std::int32_t dtype, std::int64_t element_bytes, const char* who) {
  require(dtype >= 0 && dtype <= RESTRIDE_BYTES, who, ".dtype is no restride_dtype");
  const auto type = static_cast<DType>(dtype);
  if (type == DType::kBytes) {
    require(element_bytes >= 1, who, ".element_bytes must be at least 1 with RESTRIDE_BYTES");
    return Element::bytes(element_bytes);
  }
  require(element_bytes == 0 || element_bytes == size_bytes(type), who,
          ".element_bytes differs from the dtype's size: leave it 0, or use RESTRIDE_BYTES");
  return type;
}

/// Errors name `who`, whatever finds them.
inline Layout layout_of(const restride_tensor* t, const char* who) {
  require(t != nullptr, who, " is NULL");
  check_struct_size(t->struct_size, sizeof(restride_tensor), who, "RESTRIDE_TENSOR_INIT");
  require(t->rank >= 0 && t->rank <= kMaxRank, who, ".rank must be 0 to 64");
  require(t->rank == 0 || t->extents != nullptr, who, ".extents is NULL with a rank above 0");
  const Element element = element_of(t->dtype, t->element_bytes, who);
  const Extents extents(t->extents, static_cast<std::size_t>(t->rank));
  try {
    if (t->strides_bytes != nullptr || t->rank == 0)
      return strided(element, extents, Extents(t->strides_bytes, extents.size()), t->offset_bytes);
    Layout layout = contiguous(element, extents);
    layout.offset_bytes = t->offset_bytes;
    validate(layout);
    return layout;
  } catch (const Error& e) {
    throw Error(e.code(), std::string(who) + ": " + e.what());
  }
}

/// snprintf's contract for a text that is already there.
inline void write_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* length) {
  require(buffer != nullptr || capacity == 0, "buffer is NULL with a capacity above 0");
  if (length != nullptr) *length = text.size();
  if (capacity == 0) return;
  const std::size_t fits = text.size() < capacity ? text.size() : capacity - 1;
  std::memcpy(buffer, text.data(), fits);
  buffer[fits] = '\0';
}

}  // namespace restride::api::c
