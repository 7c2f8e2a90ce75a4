# Debian's libraries instead of Conan Center's: conan create packaging/conan -pr packaging/conan/system.profile
include(default)

[settings]
compiler.cppstd=20

[platform_requires]
highway/1.0.3
fmt/9.1.0
cli11/2.3.2
nlohmann_json/3.11.2
zlib/1.2.13
