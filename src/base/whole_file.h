// A file that appears whole or not at all: its bytes lie without a name, or under one of their own beside the target,
// until they get the target's name in one step.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "src/base/fd.h"

namespace restride::base {

/// What naming files takes. File systems know some of the calls and not others (errno tells), so tests take them away.
struct NamingCalls {
  int (*open_nameless)(const char* directory, mode_t mode);  ///< O_TMPFILE
  int (*link)(const char* from, const char* to);             ///< `from` may be /proc/self/fd/N
  int (*rename_new)(const char* from, const char* to);       ///< RENAME_NOREPLACE
  /// Hears of a name that must go when the process ends early. A claim is an empty file: one that is not empty any more
  /// is somebody else's.
  void (*name_made)(const std::string& path, bool claim);
  void (*name_gone)(const std::string& path) noexcept;
  /// While true, nothing may end the process: a name is being taken that is not announced before, since until then it
  /// may be somebody else's.
  void (*taking_name)(bool) noexcept;
};

/// The kernel's; nobody hears of the names.
const NamingCalls& system_naming();

/// Errors: IoError when there is a directory, a pipe or a device at `path`.
void require_regular(const std::string& path);

/// Bytes go to a nameless file in the target's directory. Where the file system has none, or cannot name one later,
/// they go to a file beside the target; where such a file can replace but not take a free name, an empty file claims
/// the target's name meanwhile. All this is found out before the first byte. Without `commit` nothing remains, whatever
/// ends the process, a crash and SIGKILL where files have names aside.
class WholeFile {
 public:
  /// Symbolic links are followed, one whose file does not exist only with `replace`.
  /// Errors: IoError: the target is no regular file, cannot be written, or lies behind a link that is not followed.
  WholeFile(const std::string& path, bool replace, const NamingCalls& naming = system_naming());
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;

  /// Asks the file system for the room, so that a full disk is found before the work. Errors: IoError.
  void reserve(std::uint64_t bytes);
  /// Errors: IoError.
  void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    write_fully(fd_.get(), offset, bytes, path_);
  }
  /// Writes the bytes to the device unless `sync` is false, then names the file. False when somebody else has the name
  /// and `replace` was false. Errors: IoError.
  [[nodiscard]] bool commit(bool sync);

 private:
  /// A name in the directory that goes with this object.
  class OwnName {
   public:
    OwnName() = default;
    OwnName(std::string path, bool claim, const NamingCalls& naming);
    OwnName(OwnName&& o) noexcept { *this = std::move(o); }
    OwnName& operator=(OwnName&& o) noexcept;
    ~OwnName();
    const std::string& path() const noexcept { return path_; }
    explicit operator bool() const noexcept { return !path_.empty(); }
    /// True unless it is a claim in whose place somebody put a file.
    bool is_ours() const;
    /// It stays from now on.
    void let_go() noexcept;

   private:
    std::string path_;
    bool claim_ = false;
    const NamingCalls* naming_ = nullptr;
  };
  /// How the file gets the target's name.
  enum class Way { kLink, kRenameNew, kRenameOver };

  bool open_nameless(mode_t mode);
  void open_beside(mode_t mode);
  void find_way_to_a_free_name();
  /// A new name beside the target, short whatever the target's is, that `take` has taken (else it is false, and errno
  /// EEXIST asks for another). Nothing, and errno, when there is none to be had.
  std::optional<OwnName> take_name(const std::function<bool(const char*)>& take);
  bool publish();

  const NamingCalls& naming_;
  std::string path_;    // as the user wrote it, for messages
  std::string target_;  // with symbolic links followed
  std::string directory_;
  bool replace_ = false;
  Way way_ = Way::kLink;
  Fd fd_;
  OwnName beside_;  // empty while the file has no name
  OwnName claim_;   // the target's, where it had to be claimed
};

}  // namespace restride::base
