// cuBLAS for matrices in emulated device memory: the checks, and sums in fp32 in the order of k.
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emulator.h"
#include "matmul.h"

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};

namespace {

using namespace zero::emulator;

std::size_t bytes_of(cudaDataType type) { return type == CUDA_R_32F ? 4 : 2; }
bool is_known(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

float widen(float x) { return x; }
float widen(__half x) { return __half2float(x); }
float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
void narrow(float x, float& to) { to = x; }
void narrow(float x, __half& to) { to = __float2half_rn(x); }
void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16_rn(x); }

// Calls f with a null pointer to the type of the elements.
template <class F>
void with_type(cudaDataType type, F&& f) {
  if (type == CUDA_R_32F) f(static_cast<float*>(nullptr));
  if (type == CUDA_R_16F) f(static_cast<__half*>(nullptr));
  if (type == CUDA_R_16BF) f(static_cast<__nv_bfloat16*>(nullptr));
}

// A matrix as it lies in memory: element (row, column) of op(X) is at row * down + column * right.
struct Matrix {
  const void* data;
  cudaDataType type;
  std::size_t down, right;
};

struct Product {
  std::size_t m, n, k;
  float alpha, beta;
  Matrix a, b;  // op(A) (m, k), op(B) (k, n)
  void* c;      // (m, n), column-major
  cudaDataType c_type;
  std::size_t ldc;
};

// to[l][i] = x(first + i, l) for i < width, zeros where x has no such row: (k, width).
void pack(const Matrix& x, std::size_t first, std::size_t rows, std::size_t k, std::size_t width,
          float* to) {
  with_type(x.type, [&](auto* type) {
    const auto* data = static_cast<const std::remove_pointer_t<decltype(type)>*>(x.data);
    const std::size_t there = std::min(width, rows - first);
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t i = 0; i < there; ++i) {
        to[l * width + i] = widen(data[(first + i) * x.down + l * x.right]);
      }
      for (std::size_t i = there; i < width; ++i) to[l * width + i] = 0;
    }
  });
}

// Writes one tile of C.
void store(const Product& of, std::size_t row, std::size_t column, std::size_t width,
           const float* sums) {  // (kTileColumns, width)
  with_type(of.c_type, [&](auto* type) {
    auto* c = static_cast<decltype(type)>(of.c);
    const std::size_t rows = std::min(kTileRows, of.m - row);
    const std::size_t columns = std::min(kTileColumns, of.n - column);
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        auto& element = c[(column + j) * of.ldc + row + i];
        float result = of.alpha * sums[j * width + i];
        if (of.beta != 0) result += of.beta * widen(element);  // else C is not read: it may be NaN
        narrow(result, element);
      }
    }
  });
}

void multiply(const Product& of) {
  const Matrix b_transposed = {of.b.data, of.b.type, of.b.right, of.b.down};
  const std::size_t strips = (of.n + kTileColumns - 1) / kTileColumns;
  std::vector<float> b(strips * kTileColumns * of.k), a(of.k * kTileRows);
  for (std::size_t s = 0; s < strips; ++s) {
    pack(b_transposed, s * kTileColumns, of.n, of.k, kTileColumns,
         b.data() + s * kTileColumns * of.k);
  }
  float sums[kTileColumns * kTileRows];
  for (std::size_t row = 0; row < of.m; row += kTileRows) {
    const std::size_t rows = std::min(kTileRows, of.m - row);
    const std::size_t width = (rows + kStrip - 1) / kStrip * kStrip;
    pack(of.a, row, of.m, of.k, width, a.data());
    for (std::size_t s = 0; s < strips; ++s) {
      multiply_tile(of.k, width, a.data(), b.data() + s * kTileColumns * of.k, sums);
      store(of, row, s * kTileColumns, width, sums);
    }
  }
}

// Ends the program unless each matrix of the batch lies in one allocation of the current device.
void check_range(const char* name, const void* data, int leading, int rows, int columns,
                 long long stride, int batch, cudaDataType type) {
  if (rows == 0 || columns == 0) return;
  const std::size_t elements =
      static_cast<std::size_t>(leading) * static_cast<std::size_t>(columns - 1) +
      static_cast<std::size_t>(rows);
  for (int i = 0; i < batch; ++i) {
    const auto* start =
        static_cast<const char*>(data) + stride * i * static_cast<long long>(bytes_of(type));
    if (is_device_memory(start, elements * bytes_of(type))) continue;
    fail(std::string("cublasGemm: ") + name + " (" + std::to_string(rows) + " x " +
         std::to_string(columns) + ", leading dimension " + std::to_string(leading) + ", number " +
         std::to_string(i) + " of the batch) is not within device memory");
  }
}

}  // namespace

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
    cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
    int ldc, long long strideC, int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int a_rows = transa == CUBLAS_OP_N ? m : k, a_columns = transa == CUBLAS_OP_N ? k : m;
  const int b_rows = transb == CUBLAS_OP_N ? k : n, b_columns = transb == CUBLAS_OP_N ? n : k;
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < std::max(1, a_rows) ||
      ldb < std::max(1, b_rows) || ldc < std::max(1, m) || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool types = is_known(Atype) && Btype == Atype && (Ctype == Atype || Ctype == CUDA_R_32F);
  const bool computes = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  if (!types || !computes) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (handle->device != current_device()) {
    fail("cublasGemm: the handle is of device " + std::to_string(handle->device) +
         ", the current device is " + std::to_string(current_device()));
  }
  check_range("A", A, lda, a_rows, a_columns, strideA, batch, Atype);
  check_range("B", B, ldb, b_rows, b_columns, strideB, batch, Btype);
  check_range("C", C, ldc, m, n, strideC, batch, Ctype);

  const auto size = [](auto x) { return static_cast<std::size_t>(x); };
  const auto matrix = [&](const void* data, cudaDataType type, cublasOperation_t op, int leading) {
    return op == CUBLAS_OP_N ? Matrix{data, type, 1, size(leading)}
                             : Matrix{data, type, size(leading), 1};
  };
  Product product = {size(m),
                     size(n),
                     size(k),
                     0,
                     0,
                     matrix(A, Atype, transa, lda),
                     matrix(B, Btype, transb, ldb),
                     C,
                     Ctype,
                     size(ldc)};
  std::memcpy(&product.alpha, alpha, sizeof product.alpha);
  std::memcpy(&product.beta, beta, sizeof product.beta);
  enqueue(handle->stream, [product, A, B, C, strideA, strideB, strideC, batch] {
    const DeviceAccess access;
    const auto moved = [](const void* data, long long stride, int i, cudaDataType type) {
      return static_cast<const char*>(data) + stride * i * static_cast<long long>(bytes_of(type));
    };
    Product one = product;
    for (int i = 0; i < batch; ++i) {
      one.a.data = moved(A, strideA, i, product.a.type);
      one.b.data = moved(B, strideB, i, product.b.type);
      one.c = const_cast<char*>(moved(C, strideC, i, product.c_type));
      multiply(one);
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B,
                            cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B,
                                    Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1, compute, algorithm);
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (check_device(current_device()) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  (*handle)->device = current_device();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = 130000;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_stream(stream)) return CUBLAS_STATUS_INVALID_VALUE;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

// The workspace is not used, but it must be one that a GPU could use.
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
  if (!aligned) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes > 0 && !is_device_memory(workspace, bytes)) {
    fail("cublasSetWorkspace: " + std::to_string(bytes) + " bytes that are not device memory");
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown status";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return cublasGetStatusName(status);
  }
}
