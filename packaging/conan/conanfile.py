"""Conan 2: `conan create packaging/conan` builds the library of this checkout, `-o restride/*:shared=True` the shared one."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, CMakeDeps, cmake_layout
from conan.tools.files import copy, load


class RestrideConan(ConanFile):
    name = "restride"
    license = "Apache-2.0"
    description = "Strided N-d tensor copies at the speed of a plain copy"
    topics = ("tensor", "strides", "transpose", "simd", "cuda")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "cli": [True, False], "cuda": ["AUTO", "ON", "OFF"]}
    default_options = {"shared": False, "fPIC": True, "cli": False, "cuda": "OFF"}
    implements = ["auto_shared_fpic"]

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        cmake = load(self, os.path.join(self._checkout, "CMakeLists.txt"))
        self.version = re.search(r"project\(restride VERSION ([0-9.]+)", cmake).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "*.md", "cmake/*", "docs/*", "examples/*", "include/*", "src/*", "lab/*",
                        "tools/*", "bench/*"):
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def requirements(self):
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("fmt/[>=9 <12]")
        if self.options.cli:  # the command's alone: users of the library see none of them
            self.requires("cli11/[>=2.3 <3]", visible=False)
            self.requires("nlohmann_json/[>=3.11 <4]", visible=False)
            self.requires("zlib/[>=1.2.11 <2]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["RESTRIDE_CLI"] = bool(self.options.cli)
        toolchain.cache_variables["RESTRIDE_CUDA"] = str(self.options.cuda)
        toolchain.cache_variables["RESTRIDE_INSTALL"] = True
        toolchain.generate()
        deps = CMakeDeps(self)
        deps.set_property("highway", "cmake_file_name", "hwy")
        deps.set_property("highway", "cmake_target_name", "hwy::hwy")
        deps.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def _linked(self, *names):
        """Those that are Conan's packages; system.profile takes the distribution's, which no component can name."""
        known = {package.ref.name for package in self.dependencies.direct_host.values()}
        return [f"{name}::{name}" for name in names if name in known]

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "restride")
        self.cpp_info.set_property("pkg_config_name", "restride")
        core, distributed = self.cpp_info.components["core"], self.cpp_info.components["distributed"]
        core.libs = ["restride"]
        core.set_property("cmake_target_name", "restride::restride")
        core.requires = self._linked("highway", "fmt")
        distributed.libs = ["restride_distributed"]
        distributed.set_property("cmake_target_name", "restride::distributed")
        distributed.requires = ["core"] + self._linked("fmt")
        if not self.options.shared:
            core.system_libs = ["pthread", "m"]
            distributed.system_libs = ["pthread", "dl"]
