// libdav1d as Swift can call it.
#ifndef RECBOT_CDAV1D_SHIM_H
#define RECBOT_CDAV1D_SHIM_H

#include <dav1d/dav1d.h>
#include <errno.h>
#include <string.h>

// A decoder on one thread, without delay, whose last picture of a temporal unit is that of the highest layer there is.
// Larger pictures are refused before memory is taken for them.
static inline Dav1dContext *recbot_dav1d_open(unsigned maximum_pixels) {
  Dav1dSettings settings;
  dav1d_default_settings(&settings);
  settings.n_threads = 1;
  settings.max_frame_delay = 1;
  settings.all_layers = 0;
  // None of the stream's: layers that the server left away are not waited for.
  settings.operating_point = 31;
  settings.frame_size_limit = maximum_pixels;
  settings.logger.callback = NULL;
  Dav1dContext *context = NULL;
  return dav1d_open(&context, &settings) == 0 ? context : NULL;
}

static inline void recbot_dav1d_close(Dav1dContext *context) { dav1d_close(&context); }

// Decodes one temporal unit: 1 with its last picture in `picture` (to be let go), 0 without one, a negative number after
// an error.
static inline int recbot_dav1d_decode(Dav1dContext *context, const void *bytes, size_t count, Dav1dPicture *picture) {
  Dav1dData data = {0};
  uint8_t *copy = dav1d_data_create(&data, count);
  if (!copy) return DAV1D_ERR(ENOMEM);
  memcpy(copy, bytes, count);
  int found = 0;
  for (;;) {
    int result = 0;
    if (data.sz > 0) {
      result = dav1d_send_data(context, &data);
      if (result < 0 && result != DAV1D_ERR(EAGAIN)) {
        dav1d_data_unref(&data);
        return result;
      }
    }
    Dav1dPicture next = {0};
    int got = dav1d_get_picture(context, &next);
    if (got == 0) {
      if (found) dav1d_picture_unref(picture);
      *picture = next;
      found = 1;
      continue;
    }
    if (got == DAV1D_ERR(EAGAIN) && data.sz > 0 && result == 0) continue;
    if (data.sz > 0) dav1d_data_unref(&data);
    if (got == DAV1D_ERR(EAGAIN)) return found;
    if (found) dav1d_picture_unref(picture);
    return got;
  }
}

static inline int recbot_dav1d_is_out_of_memory(int result) { return result == DAV1D_ERR(ENOMEM); }

#endif
