// The errors restride throws. Every message names what is wrong and the remedy.
#pragma once

#include <stdexcept>
#include <string>

#include <restride/detail/visibility.hpp>

namespace restride RESTRIDE_PUBLIC {

/// What went wrong, for callers that branch on it; the values are those of the C ABI's status codes.
enum class ErrorCode : int {
  kInvalidArgument = 1,  ///< a value that no call accepts (negative extent, rank above 64, null data ...)
  kShape = 2,            ///< shapes, axes or extents that do not fit each other
  kOverlap = 3,          ///< a destination that writes an element twice, or overlaps its source
  kCast = 4,             ///< a conversion that does not exist
  kParse = 5,            ///< text or a file that does not follow its format
  kRange = 6,            ///< sizes whose product does not fit 63 bits, or more than 2^60 bytes
  kDevice = 7,           ///< wrong device, no device, or a device and host mixture
  kOutOfMemory = 8,
  kIo = 9,            ///< a file that cannot be read or written
  kUnsupported = 10,  ///< valid, but not built into this library
  kInternal = 11,
  kAgreement = 12,  ///< ranks that called with different arguments
  kDeadline = 13,   ///< a rank that did not come in time
};

/// Base of every exception of the library.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

#define RESTRIDE_DEFINE_ERROR(Name, Code)                               \
  class Name : public Error {                                           \
   public:                                                              \
    explicit Name(const std::string& message) : Error(Code, message) {} \
  };
RESTRIDE_DEFINE_ERROR(ArgumentError, ErrorCode::kInvalidArgument)
RESTRIDE_DEFINE_ERROR(ShapeError, ErrorCode::kShape)
RESTRIDE_DEFINE_ERROR(OverlapError, ErrorCode::kOverlap)
RESTRIDE_DEFINE_ERROR(CastError, ErrorCode::kCast)
RESTRIDE_DEFINE_ERROR(ParseError, ErrorCode::kParse)
RESTRIDE_DEFINE_ERROR(RangeError, ErrorCode::kRange)
RESTRIDE_DEFINE_ERROR(DeviceError, ErrorCode::kDevice)
RESTRIDE_DEFINE_ERROR(MemoryError, ErrorCode::kOutOfMemory)
RESTRIDE_DEFINE_ERROR(IoError, ErrorCode::kIo)
RESTRIDE_DEFINE_ERROR(UnsupportedError, ErrorCode::kUnsupported)
RESTRIDE_DEFINE_ERROR(InternalError, ErrorCode::kInternal)
RESTRIDE_DEFINE_ERROR(AgreementError, ErrorCode::kAgreement)
RESTRIDE_DEFINE_ERROR(DeadlineError, ErrorCode::kDeadline)
#undef RESTRIDE_DEFINE_ERROR

}  // namespace restride
