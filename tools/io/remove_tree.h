// Removing a folder with all that is in it, also from a signal's handler.
#pragma once

namespace restride::io {

/// Removes the file or folder at `path`, as far as that can be done; links in it are not followed. Calls the kernel
/// alone, so a handler may.
void remove_tree(const char* path) noexcept;

}  // namespace restride::io
