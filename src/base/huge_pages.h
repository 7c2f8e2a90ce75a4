// Whether the system gives huge pages to anybody.
#pragma once

namespace restride::base {

/// Where Linux says to whom it gives huge pages, and where root changes it.
inline constexpr const char* kHugePagesSetting = "/sys/kernel/mm/transparent_hugepage/enabled";

/// True where the setting is "never": then madvise says yes, and nothing comes of it. It allocates nothing.
bool huge_pages_are_off(const char* setting = kHugePagesSetting) noexcept;

}  // namespace restride::base
