// libspeexdsp's preprocessor as Swift can call it.
#ifndef RECBOT_CSPEEXDSP_SHIM_H
#define RECBOT_CSPEEXDSP_SHIM_H

#include <speex/speex_preprocess.h>

// A suppressor of noise for one channel of 48 kHz, in blocks of `samples`; NULL when there is no memory. `decibels`: by how much
// noise is turned down at most, negative. Takes no memory later.
static inline SpeexPreprocessState *recbot_denoiser_open(int samples, spx_int32_t decibels) {
  SpeexPreprocessState *state = speex_preprocess_state_init(samples, 48000);
  if (state) speex_preprocess_ctl(state, SPEEX_PREPROCESS_SET_NOISE_SUPPRESS, &decibels);
  return state;
}

#endif
