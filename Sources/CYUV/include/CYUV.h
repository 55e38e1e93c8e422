// libyuv: scaling, rotation, blending and conversion of planar pictures (it has no pkg-config file); and one kernel of
// our own for what libyuv does slowly.
#ifndef RECBOT_CYUV_H
#define RECBOT_CYUV_H

#include <libyuv/convert_argb.h>
#include <libyuv/planar_functions.h>
#include <libyuv/rotate.h>
#include <libyuv/scale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Which source columns make eight neighbouring columns of the result.
typedef struct {
  // Pairs of offsets from `base`: the left and the right source column of each of the eight.
  uint8_t offsets[16];
  // Pairs of weights, of 128.
  uint8_t weights[16];
  // The first of 16 source columns that are read; all 16 are inside the row.
  int32_t base;
} RecbotColumns;

// True when this processor has what `recbot_scale_bilinear` needs.
bool recbot_has_bilinear(void);

// Scales one plane by interpolation between the four nearest pixels (centres aligned, edges repeated). `columns` holds
// one entry for each eight columns of the result, the last one possibly incomplete. Allocates nothing.
void recbot_scale_bilinear(
    const uint8_t *source, ptrdiff_t source_stride, int32_t source_height, uint8_t *target, ptrdiff_t target_stride,
    int32_t target_width, int32_t target_height, const RecbotColumns *columns);

#endif
