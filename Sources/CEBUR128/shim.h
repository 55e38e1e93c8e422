// libebur128 as Swift can call it.
#ifndef RECBOT_CEBUR128_SHIM_H
#define RECBOT_CEBUR128_SHIM_H

#include <ebur128.h>
#include <math.h>

// A meter of momentary loudness (400 ms) for stereo of 48 kHz. Takes no memory later.
static inline ebur128_state *recbot_ebur128_open(void) { return ebur128_init(2, 48000, EBUR128_MODE_M); }

static inline void recbot_ebur128_close(ebur128_state *state) { ebur128_destroy(&state); }

// LUFS; minus infinity for silence.
static inline double recbot_ebur128_momentary(ebur128_state *state) {
  double loudness = -HUGE_VAL;
  return ebur128_loudness_momentary(state, &loudness) == EBUR128_SUCCESS ? loudness : -HUGE_VAL;
}

static inline double recbot_power(double decibels) { return pow(10, decibels / 10); }

static inline double recbot_decibels(double power) { return 10 * log10(power); }

#endif
