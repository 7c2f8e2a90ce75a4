// What the command does when the machine or the user ends it: nothing half-made stays behind.
#pragma once

#include <string>

namespace restride::io {

/// From now on the signals that ask a program to end (SIGINT, SIGTERM, SIGQUIT, SIGXCPU and their like) remove the
/// temporary file and then end the process as they would have, with a core dump where that is theirs; SIGBUS (a mapped
/// file lost its pages) exits with 1 and a message, and SIGXFSZ becomes an error of write.
void install_signal_handlers();

/// The file that SIGBUS is about: the one that is mapped.
void name_mapped_file(const std::string& path);

/// The file that a signal must remove. At most one at a time.
void set_temporary(const std::string& path);
void clear_temporary() noexcept;

}  // namespace restride::io
