/* The C ABI: transpose a matrix whose rows are padded, then show what a mistake looks like. C99. */
#include <restride/restride.h>

#include <stdint.h>
#include <stdio.h>

#define ROWS 3
#define COLS 4
#define PITCH 6 /* floats from one row to the next */

static int failed(const char* what, restride_status status) {
  fprintf(stderr, "%s: %s: %s\n", what, restride_status_name(status), restride_last_error());
  return 1;
}

int main(void) {
  float in[ROWS * PITCH];
  float out[COLS * ROWS];
  for (int i = 0; i < ROWS * PITCH; ++i) in[i] = (float)i;

  /* The source, seen with its modes swapped: element (c, r) lies c floats and r rows from the start. */
  const int64_t extents[2] = {COLS, ROWS};
  const int64_t src_strides[2] = {sizeof(float), PITCH * sizeof(float)};
  restride_tensor src = RESTRIDE_TENSOR_INIT;
  src.data = in;
  src.dtype = RESTRIDE_F32;
  src.rank = 2;
  src.extents = extents;
  src.strides_bytes = src_strides;

  restride_tensor dst = src;
  dst.data = out;
  dst.strides_bytes = NULL; /* contiguous */

  restride_status status = restride_copy(&dst, &src, NULL);
  if (status != RESTRIDE_OK) return failed("copy", status);
  for (int c = 0; c < COLS; ++c)
    for (int r = 0; r < ROWS; ++r)
      if (out[c * ROWS + r] != in[r * PITCH + c]) return 1;

  /* The same as a plan, which can be run on other memory of these layouts. */
  restride_plan* plan = NULL;
  status = restride_plan_create(&plan, &dst, &src, NULL);
  if (status != RESTRIDE_OK) return failed("plan", status);
  char text[2048];
  restride_plan_explain(plan, text, sizeof text, NULL);
  printf("%s", text);
  status = restride_plan_run(plan, out, in, NULL);
  restride_plan_destroy(plan);
  if (status != RESTRIDE_OK) return failed("run", status);

  /* Views save the arithmetic: the padded rows are a slice, and the memory may be const. */
  const float* fixed = in;
  const int64_t padded[2] = {ROWS, PITCH}, swapped[2] = {1, 0};
  restride_view view = RESTRIDE_VIEW_INIT;
  status = restride_dense(&view, fixed, RESTRIDE_F32, 0, 2, padded, RESTRIDE_ROW_MAJOR);
  if (status == RESTRIDE_OK) status = restride_slice(&view, &view.tensor, ":,0:4");
  if (status == RESTRIDE_OK) status = restride_permute(&view, &view.tensor, swapped, 2);
  out[1] = -1;
  if (status == RESTRIDE_OK) status = restride_copy(&dst, &view.tensor, NULL);
  if (status != RESTRIDE_OK) return failed("views", status);
  if (out[1] != in[PITCH]) return 1;

  /* A destination that writes an element twice is refused before a byte is written. */
  const int64_t overlapping[2] = {sizeof(float), sizeof(float)};
  dst.strides_bytes = overlapping;
  status = restride_copy(&dst, &src, NULL);
  printf("as it should be: %s: %s\n", restride_status_name(status), restride_last_error());
  return status == RESTRIDE_OVERLAP ? 0 : 1;
}
