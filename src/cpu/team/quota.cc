#include "src/cpu/team/quota.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/checked.h"

namespace restride::cpu {
namespace {

constexpr int kNoLimit = INT_MAX;

/// What a file of the kernel's holds, cut where it does not fit; empty where it is not there.
template <std::size_t N>
void read_file(const char* path, char (&text)[N]) noexcept {
  text[0] = '\0';
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  text[std::max<ssize_t>(::read(fd, text, N - 1), 0)] = '\0';
  ::close(fd);
}

/// The file `name` of a group.
template <std::size_t N>
void read_file(const char* group, const char* name, char (&text)[N]) noexcept {
  char path[PATH_MAX];
  text[0] = '\0';
  if (std::snprintf(path, sizeof path, "%s/%s", group, name) < PATH_MAX) read_file(path, text);
}

/// Cores that one group grants, by "150000 100000" in microseconds; "max", -1 or nothing is no limit.
int cores_of_group(const char* group, bool version_2) noexcept {
  char quota[64], period[64];
  read_file(group, version_2 ? "cpu.max" : "cpu.cfs_quota_us", quota);
  char* behind = nullptr;
  const std::int64_t granted = std::strtoll(quota, &behind, 10);
  if (!version_2) read_file(group, "cpu.cfs_period_us", period);
  const std::int64_t of = std::strtoll(version_2 ? behind : period, nullptr, 10);
  return granted <= 0 || of <= 0 ? kNoLimit : static_cast<int>(std::min<std::int64_t>(ceil_div(granted, of), kNoLimit));
}

/// The least that a group and those above it grant. Where only a container's own groups are to be seen, the group's
/// path does not exist, and the top is the container's.
int least_upwards(const char* root, const char* hierarchy, const char* group, bool version_2) noexcept {
  char path[PATH_MAX];
  const int top = std::snprintf(path, sizeof path, "%s/sys/fs/cgroup%s", root, hierarchy);
  if (top >= PATH_MAX || std::snprintf(path + top, sizeof path - top, "%s", group) >= PATH_MAX - top) return kNoLimit;
  int least = kNoLimit;
  for (;;) {
    least = std::min(least, cores_of_group(path, version_2));
    char* const slash = std::strrchr(path + top, '/');
    if (slash == nullptr) return least;
    *slash = '\0';
  }
}

/// True when "cpu" is one of the names between commas.
bool has_cpu(const char* controllers) noexcept {
  for (const char* at = controllers; at != nullptr; at = std::strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (std::strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0')) return true;
  }
  return false;
}

}  // namespace

int cores_by_quota(const char* root) noexcept {
  char groups[4096];  // a line a hierarchy: "0::/user.slice" of version 2, "4:cpu,cpuacct:/docker/1f" of version 1
  read_file(root, "proc/self/cgroup", groups);
  int least = kNoLimit;
  for (char* line = groups; *line != '\0';) {
    char* const end = line + std::strcspn(line, "\n");
    char* const next = *end == '\0' ? end : end + 1;
    *end = '\0';
    char* const controllers = std::strchr(line, ':');
    char* const group = controllers == nullptr ? nullptr : std::strchr(controllers + 1, ':');
    line = next;
    if (group == nullptr) continue;
    *group = '\0';
    if (controllers[1] == '\0') {
      least = std::min(least, least_upwards(root, "", group + 1, true));
    } else if (has_cpu(controllers + 1)) {
      *controllers = '/';  // the hierarchy is mounted under the names of its controllers, or as cpu
      least = std::min(
          {least, least_upwards(root, controllers, group + 1, false), least_upwards(root, "/cpu", group + 1, false)});
    }
  }
  return least == kNoLimit ? 0 : least;
}

}  // namespace restride::cpu
