#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

// A picture made to cost time has thousands of scans; real ones have about ten.
enum { maximum_scans = 100 };

typedef struct {
  struct jpeg_error_mgr base;
  jmp_buf escape;
} Failure;

static void fail(j_common_ptr info) { longjmp(((Failure *)info->err)->escape, 1); }

static void say_nothing(j_common_ptr info) { (void)info; }

static void count_scans(j_common_ptr info) {
  if (((j_decompress_ptr)info)->input_scan_number > maximum_scans) fail(info);
}

static void prepare(struct jpeg_decompress_struct *info, Failure *failure) {
  info->err = jpeg_std_error(&failure->base);
  failure->base.error_exit = fail;
  failure->base.output_message = say_nothing;
}

bool recbot_jpeg_size(const uint8_t *bytes, size_t count, int32_t *width, int32_t *height) {
  struct jpeg_decompress_struct info;
  Failure failure;
  prepare(&info, &failure);
  if (setjmp(failure.escape)) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, count);
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) fail((j_common_ptr)&info);
  *width = (int32_t)info.image_width;
  *height = (int32_t)info.image_height;
  jpeg_destroy_decompress(&info);
  return true;
}

bool recbot_jpeg_decode(
    const uint8_t *bytes, size_t count, int32_t divisor, uint8_t *pixels, ptrdiff_t stride, int32_t columns,
    int32_t rows) {
  struct jpeg_decompress_struct info;
  struct jpeg_progress_mgr progress = {0};
  Failure failure;
  prepare(&info, &failure);
  if (setjmp(failure.escape)) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  progress.progress_monitor = count_scans;
  info.progress = &progress;
  jpeg_mem_src(&info, bytes, count);
  if (jpeg_read_header(&info, TRUE) != JPEG_HEADER_OK) fail((j_common_ptr)&info);
  info.out_color_space = JCS_EXT_BGRA;
  info.scale_num = 1;
  info.scale_denom = (unsigned)divisor;
  jpeg_start_decompress(&info);
  if (info.output_width != (JDIMENSION)columns || info.output_height != (JDIMENSION)rows) fail((j_common_ptr)&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + (ptrdiff_t)info.output_scanline * stride;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}
