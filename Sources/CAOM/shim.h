// libaom's encoder as Swift can call it: what its headers give only as macros or as variadic functions.
#ifndef RECBOT_CAOM_SHIM_H
#define RECBOT_CAOM_SHIM_H

#include <aom/aom_encoder.h>
#include <aom/aomcx.h>

static inline aom_codec_err_t recbot_aom_encoder_defaults(aom_codec_enc_cfg_t *configuration) {
  return aom_codec_enc_config_default(aom_codec_av1_cx(), configuration, AOM_USAGE_REALTIME);
}

// aom_codec_enc_init is a macro that adds the ABI version of the headers.
static inline aom_codec_err_t recbot_aom_encoder_init(aom_codec_ctx_t *context, const aom_codec_enc_cfg_t *configuration) {
  return aom_codec_enc_init(context, aom_codec_av1_cx(), configuration, 0);
}

// aom_codec_control is variadic. Unsigned and signed arguments are of the same size and are read by libaom with the type that
// belongs to the identifier.
static inline aom_codec_err_t recbot_aom_control_set(aom_codec_ctx_t *context, int identifier, int value) {
  return aom_codec_control(context, identifier, value);
}

// The packet's payload is in a union.
static inline const void *recbot_aom_frame_bytes(const aom_codec_cx_pkt_t *packet) { return packet->data.frame.buf; }

static inline size_t recbot_aom_frame_size(const aom_codec_cx_pkt_t *packet) { return packet->data.frame.sz; }

static inline int recbot_aom_frame_is_key(const aom_codec_cx_pkt_t *packet) {
  return (packet->data.frame.flags & AOM_FRAME_IS_KEY) != 0;
}

// A macro with a cast, which Swift does not import.
static const aom_enc_frame_flags_t recbot_aom_force_keyframe = AOM_EFLAG_FORCE_KF;

#endif
