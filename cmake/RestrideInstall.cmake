# Install, export, find_package(restride), pkg-config, and the pages; tools/CMakeLists.txt installs what is the command's.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(restride_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/restride)
install(TARGETS restride restride_distributed EXPORT restride_targets)
foreach(name IN LISTS RESTRIDE_MPIS)
  install(TARGETS restride_mpi_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/restride)
endforeach()
if(RESTRIDE_HAS_NCCL AND RESTRIDE_HAS_CUDA)  # without CUDA it serves tests alone
  install(TARGETS restride_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/restride)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/restride DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT restride_targets FILE restrideTargets.cmake NAMESPACE restride:: DESTINATION ${restride_config_dir})

# A static library's users link what it links; restrideConfig.cmake finds that for them.
get_target_property(restride_type restride TYPE)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/restrideConfig.cmake.in restrideConfig.cmake
                              INSTALL_DESTINATION ${restride_config_dir})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(restrideConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/restrideConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/restrideConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/RestrideHighway.cmake
        DESTINATION ${restride_config_dir})

# A static library's dependencies are its users' own; a shared one hides them.
set(restride_pc_libs "-L\${libdir} -lrestride")
if(restride_type STREQUAL "STATIC_LIBRARY")
  set(restride_pc_requires "fmt libhwy")
  string(APPEND restride_pc_libs " -lstdc++ -lm -lpthread")
  if(RESTRIDE_HAS_CUDA)
    string(APPEND restride_pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
  endif()
endif()
file(RELATIVE_PATH restride_pc_include /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/restride.pc.in restride.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/restride.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The pages and the examples lie to each other as they do in the sources, so that links between them hold.
set(restride_docs ${CMAKE_INSTALL_DATAROOTDIR}/doc/restride)
foreach(page README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${restride_docs})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${restride_docs} FILES_MATCHING PATTERN *.md)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${restride_docs})
