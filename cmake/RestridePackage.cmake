# `cpack` makes a .deb and a .tar.gz of what is installed: the shared library, headers, command, man page, completion,
# docs and examples, in one package. Preset `package`; scripts/check_package.sh uses both in a bare Debian.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR restride)
set(CPACK_PACKAGE_CONTACT "the authors of restride <restride@localhost>")  # a .deb has to name somebody
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A library for C++20 and C, and a command for files of NumPy and safetensors. Copies
tensors into any other layout (permuted, sliced, flipped, reshaped, converted) at close to a plain copy's speed.")
# The libraries' packages are found by dpkg-shlibdeps (of dpkg-dev), but for those of the modules for MPI, and programs
# of others find ours by shlibs.
configure_file(${CMAKE_CURRENT_LIST_DIR}/RestridePackageConfig.cmake.in restride_cpack.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_BINARY_DIR}/restride_cpack.cmake)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(RESTRIDE_MPIS)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, mpich")
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
