// libopus as Swift can call it: its controls are variadic functions taking macros.
#ifndef RECBOT_COPUS_SHIM_H
#define RECBOT_COPUS_SHIM_H

#include <opus/opus.h>

static inline int recbot_opus_encoder_set_bitrate(OpusEncoder *encoder, opus_int32 bitsPerSecond) {
  return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bitsPerSecond));
}

static inline int recbot_opus_encoder_set_complexity(OpusEncoder *encoder, opus_int32 complexity) {
  return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
}

static inline int recbot_opus_encoder_set_vbr(OpusEncoder *encoder, opus_int32 on) {
  return opus_encoder_ctl(encoder, OPUS_SET_VBR(on));
}

static inline int recbot_opus_encoder_set_fec(OpusEncoder *encoder, opus_int32 on) {
  return opus_encoder_ctl(encoder, OPUS_SET_INBAND_FEC(on));
}

static inline int recbot_opus_encoder_set_expected_loss(OpusEncoder *encoder, opus_int32 percent) {
  return opus_encoder_ctl(encoder, OPUS_SET_PACKET_LOSS_PERC(percent));
}

static inline int recbot_opus_encoder_set_dtx(OpusEncoder *encoder, opus_int32 on) {
  return opus_encoder_ctl(encoder, OPUS_SET_DTX(on));
}

static inline int recbot_opus_encoder_get_lookahead(OpusEncoder *encoder, opus_int32 *samples) {
  return opus_encoder_ctl(encoder, OPUS_GET_LOOKAHEAD(samples));
}

static inline int recbot_opus_decoder_reset(OpusDecoder *decoder) {
  return opus_decoder_ctl(decoder, OPUS_RESET_STATE);
}

#endif
