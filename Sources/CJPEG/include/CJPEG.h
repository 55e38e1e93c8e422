// JPEG to pixels with libjpeg-turbo. libjpeg reports errors by calling back, and the callback must not return, which
// only C can do (setjmp): so the whole of a decoding stands here.
#ifndef RECBOT_CJPEG_H
#define RECBOT_CJPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads the header. False when `bytes` is no JPEG that can be decoded.
bool recbot_jpeg_size(const uint8_t *bytes, size_t count, int32_t *width, int32_t *height);

// Decodes at 1/`divisor` (1, 2, 4 or 8) of the size into rows of `stride` bytes: blue, green, red, 255. The result has
// ceil(width / divisor) columns and ceil(height / divisor) rows; `columns` and `rows` say how many the memory has, and
// nothing is written when that is another number. False when the data are damaged beyond use; data that end early
// leave the rest grey.
bool recbot_jpeg_decode(
    const uint8_t *bytes, size_t count, int32_t divisor, uint8_t *pixels, ptrdiff_t stride, int32_t columns,
    int32_t rows);

#endif
