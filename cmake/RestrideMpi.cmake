# Open MPI and MPICH: their ABIs differ, so each gets a module of its own, and both may be there (Debian: libopenmpi-dev,
# libmpich-dev). Sets RESTRIDE_MPIS to those found: openmpi, mpich.
set(RESTRIDE_MPIS "")
if(NOT RESTRIDE_MPI STREQUAL "OFF" AND NOT WIN32 AND NOT APPLE)
  find_path(RESTRIDE_OPENMPI_INCLUDE mpi.h PATH_SUFFIXES openmpi/include lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include
            PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib64 /usr/lib NO_DEFAULT_PATH)
  find_library(RESTRIDE_OPENMPI_LIBRARY mpi PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/lib /usr/lib64/openmpi/lib
               NO_DEFAULT_PATH)
  find_path(RESTRIDE_MPICH_INCLUDE mpi.h PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich /usr/include/mpich-x86_64
            /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/mpich/include NO_DEFAULT_PATH)
  find_library(RESTRIDE_MPICH_LIBRARY mpich PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib64/mpich/lib NO_DEFAULT_PATH)
  foreach(name OPENMPI MPICH)
    if(RESTRIDE_${name}_INCLUDE AND RESTRIDE_${name}_LIBRARY)
      string(TOLOWER ${name} lower)
      list(APPEND RESTRIDE_MPIS ${lower})
      add_library(restride_${lower} INTERFACE)
      target_include_directories(restride_${lower} SYSTEM INTERFACE ${RESTRIDE_${name}_INCLUDE})
      target_link_libraries(restride_${lower} INTERFACE ${RESTRIDE_${name}_LIBRARY})
      target_compile_definitions(restride_${lower} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    endif()
  endforeach()
  if(RESTRIDE_MPI STREQUAL "ON" AND NOT RESTRIDE_MPIS)
    message(FATAL_ERROR "RESTRIDE_MPI=ON needs Open MPI or MPICH (Debian, Ubuntu: apt-get install libopenmpi-dev "
                        "libmpich-dev), or RESTRIDE_OPENMPI_INCLUDE and RESTRIDE_OPENMPI_LIBRARY")
  endif()
endif()
message(STATUS "MPI modules: ${RESTRIDE_MPIS}")
