// The products of cuBLAS against a plain loop in float64.
#include <cublas_v2.h>

#include <cmath>
#include <cstring>
#include <random>

#include "catch.h"
#include "device_data.h"

namespace zero {
namespace {

struct Shape {
  int m, n, k;
};

// Elements of one storage type as bytes, and as the numbers that they are.
template <class T>
struct Stored {
  std::vector<T> elements;
  std::vector<double> values;
};

float widen(float x) { return x; }
float widen(__half x) { return __half2float(x); }
float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
void narrow(float x, float& to) { to = x; }
void narrow(float x, __half& to) { to = __float2half_rn(x); }
void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16_rn(x); }

template <class T>
Stored<T> random_values(std::size_t n, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Stored<T> result;
  result.elements.resize(n);
  for (T& element : result.elements) {
    narrow(normal(random), element);
    result.values.push_back(static_cast<double>(widen(element)));
  }
  return result;
}

template <class T>
constexpr cudaDataType kType = CUDA_R_32F;
template <>
constexpr cudaDataType kType<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType kType<__nv_bfloat16> = CUDA_R_16BF;

// Half a unit in the last place of the result's type, and what fp32 sums may lose.
template <class T>
constexpr double kEpsilon = 1e-6;
template <>
constexpr double kEpsilon<__half> = 0x1p-11 + 1e-6;
template <>
constexpr double kEpsilon<__nv_bfloat16> = 0x1p-8 + 1e-6;

class Handle {
 public:
  Handle() { REQUIRE(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS); }
  ~Handle() { cublasDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator cublasHandle_t() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

// A batch of products with gaps between columns and between matrices; C's gaps must stay.
template <class In, class Out>
void check_product(const Shape& s, cublasOperation_t transa, cublasOperation_t transb, float beta) {
  constexpr int kBatch = 3;
  std::mt19937 random(static_cast<unsigned>(s.m * 10000 + s.n * 100 + s.k));
  const auto size = [](int x) { return static_cast<std::size_t>(x); };
  const bool ta = transa != CUBLAS_OP_N, tb = transb != CUBLAS_OP_N;
  const int lda = (ta ? s.k : s.m) + 1, ldb = (tb ? s.n : s.k) + 2, ldc = s.m + 3;
  const int stride_a = lda * (ta ? s.m : s.k) + 5, stride_b = ldb * (tb ? s.k : s.n) + 1;
  const int stride_c = ldc * s.n + 2;
  const auto a = random_values<In>(size(stride_a * kBatch), random);
  const auto b = random_values<In>(size(stride_b * kBatch), random);
  auto c = random_values<Out>(size(stride_c * kBatch), random);
  const float alpha = 0.75f;

  const DeviceData<In> on_a(a.elements), on_b(b.elements);
  const DeviceData<Out> on_c(c.elements);
  const Stream stream;
  const Handle handle;
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasGemmStridedBatchedEx(
              handle, transa, transb, s.m, s.n, s.k, &alpha, on_a.get(), kType<In>, lda, stride_a,
              on_b.get(), kType<In>, ldb, stride_b, &beta, on_c.get(), kType<Out>, ldc, stride_c,
              kBatch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  const std::vector<Out> result = on_c.read();

  std::vector<double> expected = c.values, bound(c.values.size(), 0);
  for (int batch = 0; batch < kBatch; ++batch) {
    for (int column = 0; column < s.n; ++column) {
      for (int row = 0; row < s.m; ++row) {
        double sum = 0, absolute = 0;
        for (int l = 0; l < s.k; ++l) {
          const int at_a = batch * stride_a + (ta ? l + row * lda : row + l * lda);
          const int at_b = batch * stride_b + (tb ? column + l * ldb : l + column * ldb);
          const double term = a.values[size(at_a)] * b.values[size(at_b)];
          sum += term;
          absolute += std::abs(term);
        }
        const std::size_t at_c = size(batch * stride_c + column * ldc + row);
        expected[at_c] = double(alpha) * sum + double(beta) * c.values[at_c];
        bound[at_c] = 1e-6 * (absolute + 1) + kEpsilon<Out> * std::abs(expected[at_c]);
      }
    }
  }
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(widen(result[i])) - expected[i]);
    if (!(difference <= bound[i])) ++wrong;
  }
  CHECK(wrong == 0);
}

template <class In, class Out>
void check_products() {
  for (const Shape& shape : {Shape{1, 1, 1}, {5, 7, 3}, {17, 4, 33}, {130, 9, 65}, {3, 131, 2}}) {
    for (const auto transa : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (const auto transb : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        for (const float beta : {0.0f, 1.0f, -0.5f}) {
          INFO(shape.m << " x " << shape.n << " x " << shape.k << ", " << transa << transb);
          check_product<In, Out>(shape, transa, transb, beta);
        }
      }
    }
  }
}

TEST_CASE("Products in fp32 are those of a loop in float64") { check_products<float, float>(); }
TEST_CASE("Products in fp16 are those of a loop in float64") {
  check_products<__half, __half>();
  check_products<__half, float>();
}
TEST_CASE("Products in bf16 are those of a loop in float64") {
  check_products<__nv_bfloat16, __nv_bfloat16>();
  check_products<__nv_bfloat16, float>();
}

// With integers every order of additions is exact; with other numbers, one element must not depend
// on how many there are beside it.
TEST_CASE("An element's bits do not depend on the size of the product") {
  constexpr int kK = 77, kLarge = 150;
  std::mt19937 random(3);
  const DeviceData<float> a(random_values<float>(kLarge * kK, random).elements);
  const DeviceData<float> b(random_values<float>(kLarge * kK, random).elements);
  const DeviceData<float> c(kLarge * kLarge);
  const Handle handle;
  const float one = 1, none = 0;
  const auto product = [&](int m, int n) {
    REQUIRE(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, kK, &one, a.get(), CUDA_R_32F, kK,
                         b.get(), CUDA_R_32F, kK, &none, c.get(), CUDA_R_32F, kLarge,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
    return c.read();
  };
  const std::vector<float> large = product(kLarge, kLarge);
  for (const auto& [m, n] : {std::pair{1, 1}, {7, 3}, {129, 5}}) {
    const std::vector<float> small = product(m, n);
    for (int column = 0; column < n; ++column) {
      const auto at = static_cast<std::ptrdiff_t>(column) * kLarge;
      CHECK(std::equal(small.begin() + at, small.begin() + at + m, large.begin() + at));
    }
  }
}

TEST_CASE("C is not read when beta is zero") {
  const DeviceData<float> one_element(std::vector<float>{2});
  const DeviceData<float> c(1);  // NaN
  const Handle handle;
  const float one = 1, none = 0;
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, one_element.get(),
                       CUDA_R_32F, 1, one_element.get(), CUDA_R_32F, 1, &none, c.get(), CUDA_R_32F,
                       1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  CHECK(c.read()[0] == 4.0f);
}

TEST_CASE("Arguments that do not fit are refused") {
  const DeviceData<float> x(100);
  const Handle handle;
  const float one = 1;
  const auto call = [&](int lda, int ldb, int ldc, cudaDataType b, cudaDataType c) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 4, 5, 6, &one, x.get(), CUDA_R_32F, lda,
                        x.get(), b, ldb, &one, x.get(), c, ldc, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT);
  };
  CHECK(call(4, 5, 4, CUDA_R_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(call(3, 5, 4, CUDA_R_32F, CUDA_R_32F) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(call(4, 4, 4, CUDA_R_32F, CUDA_R_32F) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(call(4, 5, 3, CUDA_R_32F, CUDA_R_32F) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(call(4, 5, 4, CUDA_R_16F, CUDA_R_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(call(4, 5, 4, CUDA_R_32F, CUDA_R_16F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSetWorkspace(handle, x.get(), 400) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetWorkspace(handle, x.get() + 1, 4) == CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace zero
