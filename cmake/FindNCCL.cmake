# Finds NCCL: the imported target NCCL::NCCL, NCCL_FOUND and NCCL_VERSION.
# Looks in NCCL_ROOT (a variable or the environment's) and nowhere else if that is given; otherwise
# in the CUDA toolkit, then in the system.
set(root ${NCCL_ROOT} $ENV{NCCL_ROOT})
if(root)
  set(where PATHS ${root} NO_DEFAULT_PATH)
else()
  set(where HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT})
endif()
# What an earlier configuration found elsewhere does not count.
if(DEFINED NCCL_LOOKED_IN AND NOT "${NCCL_LOOKED_IN}" STREQUAL "${root}")
  unset(NCCL_INCLUDE_DIR CACHE)
  unset(NCCL_LIBRARY CACHE)
endif()
set(NCCL_LOOKED_IN "${root}" CACHE INTERNAL "")
find_path(NCCL_INCLUDE_DIR nccl.h ${where} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 ${where} PATH_SUFFIXES lib lib64)
if(root AND NOT (NCCL_INCLUDE_DIR AND NCCL_LIBRARY))
  message(WARNING "NCCL_ROOT=${root} does not hold NCCL (include/nccl.h and lib/libnccl.so)")
endif()
if(NCCL_INCLUDE_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h line REGEX "^#define NCCL_${part} ")
    string(REGEX REPLACE ".* ([0-9]+).*" "\\1" NCCL_${part} "${line}")
  endforeach()
  set(NCCL_VERSION ${NCCL_MAJOR}.${NCCL_MINOR}.${NCCL_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
                                       VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
