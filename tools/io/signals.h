// What the command does when the machine or the user ends it: nothing half-made stays behind.
#pragma once

#include <string>

namespace restride::io {

/// From now on the signals that ask a program to end (SIGINT, SIGTERM, SIGQUIT, SIGXCPU and their like) remove the
/// temporary files and then end the process as they would have, with a core dump where that is theirs; SIGBUS (a mapped
/// file lost its pages) exits with 1 and a message, and SIGXFSZ becomes an error of write.
void install_signal_handlers();

/// The file that SIGBUS is about: the one that is mapped.
void name_mapped_file(const std::string& path);

/// A name that a signal must remove from now on, a folder with all that is in it; of a claim only while the file is
/// empty, because somebody may have put another in its place. A few at a time. Errors: IoError.
void add_temporary(const std::string& path, bool claim);
/// Not any more.
void forget_temporary(const std::string& path) noexcept;
/// While true, the signals above wait (any thread's): a name is being taken that cannot be told before. With false the
/// last one that came ends the process.
void hold_signals(bool) noexcept;

}  // namespace restride::io
