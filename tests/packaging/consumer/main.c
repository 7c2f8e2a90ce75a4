#include <restride/restride.h>

int main(void) {
  const float in[6] = {0, 1, 2, 3, 4, 5};
  float out[6] = {0};
  const int64_t extents[2] = {3, 2}, strides[2] = {4, 12};
  restride_tensor dst = RESTRIDE_TENSOR_INIT;
  restride_tensor src;
  dst.data = out;
  dst.rank = 2;
  dst.extents = extents;
  src = dst;
  src.data = (void*)in;
  src.strides_bytes = strides;
  if (restride_copy(&dst, &src, NULL) != RESTRIDE_OK) return 1;
  return out[1] == 3.0f && out[4] == 2.0f ? 0 : 2;
}
