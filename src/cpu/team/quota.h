// What a container's CPU quota leaves of a machine's cores.
#pragma once

namespace restride::cpu {

/// Cores whose time the control groups of this process, and those above them, grant it: cpu.max of version 2, or
/// cpu.cfs_quota_us of version 1, rounded up. 0 where none limits it, or the system does not say. `root` is where /proc
/// and /sys are, "" but for tests.
int cores_by_quota(const char* root = "") noexcept;

}  // namespace restride::cpu
