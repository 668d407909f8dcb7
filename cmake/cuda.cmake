# Whether the GPU's part is built: sets ZERO_HAS_CUDA and ZERO_HAS_NCCL from ZERO_CUDA and ZERO_NCCL.
set(ZERO_HAS_CUDA OFF)
set(ZERO_HAS_NCCL OFF)

if(NOT ZERO_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  # nvcc is often where it was installed, and not on the search path.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ZERO_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
    mark_as_advanced(ZERO_NVCC)
    if(ZERO_NVCC)
      set(CMAKE_CUDA_COMPILER ${ZERO_NVCC})
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)  # A100, H100; newer ones translate the last
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc 12 and newer have C++20.
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit)
    if(CUDAToolkit_FOUND AND TARGET CUDA::cublas)
      set(ZERO_HAS_CUDA ON)
    endif()
  endif()
  if(ZERO_CUDA STREQUAL "ON" AND NOT ZERO_HAS_CUDA)
    message(FATAL_ERROR "ZERO_CUDA=ON needs the CUDA toolkit (nvcc 12 or newer, and cuBLAS), which "
                        "was not found: install it, or name its nvcc with "
                        "-DCMAKE_CUDA_COMPILER=.../bin/nvcc, or leave ZERO_CUDA at AUTO.")
  endif()
endif()

if(ZERO_HAS_CUDA AND NOT ZERO_NCCL STREQUAL "OFF")
  find_package(NCCL)
  set(ZERO_HAS_NCCL ${NCCL_FOUND})
endif()
if(ZERO_NCCL STREQUAL "ON" AND NOT ZERO_HAS_NCCL)
  message(FATAL_ERROR "ZERO_NCCL=ON needs CUDA and NCCL: install NCCL's development files, or name "
                      "their folder with -DNCCL_ROOT=..., or leave ZERO_NCCL at AUTO.")
endif()
message(STATUS "CUDA: ${ZERO_HAS_CUDA}, NCCL: ${ZERO_HAS_NCCL}")
