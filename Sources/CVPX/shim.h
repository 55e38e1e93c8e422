// libvpx as Swift can call it: what its headers give only as macros or as variadic functions.
#ifndef RECBOT_CVPX_SHIM_H
#define RECBOT_CVPX_SHIM_H

#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

// vpx_codec_dec_init is a macro that adds the ABI version of the headers.
static inline vpx_codec_err_t recbot_vpx_vp9_decoder_init(vpx_codec_ctx_t *context,
                                                          unsigned int threads) {
  vpx_codec_dec_cfg_t configuration = {0};
  configuration.threads = threads;
  return vpx_codec_dec_init(context, vpx_codec_vp9_dx(), &configuration, 0);
}

static inline vpx_codec_err_t recbot_vpx_encoder_defaults(vpx_codec_iface_t *codec,
                                                          vpx_codec_enc_cfg_t *configuration) {
  return vpx_codec_enc_config_default(codec, configuration, 0);
}

// vpx_codec_enc_init is a macro as above.
static inline vpx_codec_err_t recbot_vpx_encoder_init(vpx_codec_ctx_t *context, vpx_codec_iface_t *codec,
                                                      const vpx_codec_enc_cfg_t *configuration) {
  return vpx_codec_enc_init(context, codec, configuration, 0);
}

// vpx_codec_control is variadic behind a macro. Unsigned and signed arguments are of the same size and are read by
// libvpx with the type that belongs to the identifier.
static inline vpx_codec_err_t recbot_vpx_control_set(vpx_codec_ctx_t *context, int identifier, int value) {
  return vpx_codec_control_(context, identifier, value);
}

static inline vpx_codec_err_t recbot_vpx_control_get(vpx_codec_ctx_t *context, int identifier, int *value) {
  return vpx_codec_control_(context, identifier, value);
}

// How the blocks of a kind (see `BlockMap`) are coded: with a quantizer that is lower by `lower` (0...63), and not at all when they differ
// from where they were by less than `threshold` (sum of squares over 16x16 pixels of brightness). libvpx copies the map.
typedef struct {
  int lower;
  unsigned int threshold;
} recbot_vpx_kind;

static inline vpx_codec_err_t recbot_vpx_vp8_set_map(vpx_codec_ctx_t *context, unsigned char *map, unsigned int rows,
                                                     unsigned int columns, recbot_vpx_kind moving,
                                                     recbot_vpx_kind still, recbot_vpx_kind refreshed) {
  const recbot_vpx_kind kinds[] = {moving, still, refreshed};
  vpx_roi_map_t roi = {0};
  roi.roi_map = map;
  roi.rows = rows;
  roi.cols = columns;
  for (int i = 0; i < 3; i++) {
    roi.delta_q[i] = -kinds[i].lower;
    roi.static_threshold[i] = kinds[i].threshold;
  }
  return vpx_codec_control_(context, VP8E_SET_ROI_MAP, &roi);
}

// The packet's payload is in a union.
static inline const void *recbot_vpx_frame_bytes(const vpx_codec_cx_pkt_t *packet) {
  return packet->data.frame.buf;
}

static inline size_t recbot_vpx_frame_size(const vpx_codec_cx_pkt_t *packet) {
  return packet->data.frame.sz;
}

static inline int recbot_vpx_frame_is_key(const vpx_codec_cx_pkt_t *packet) {
  return (packet->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
}

// Macros with casts, which Swift does not import.
static const vpx_enc_frame_flags_t recbot_vpx_force_keyframe = VPX_EFLAG_FORCE_KF;
// Frames neither refer to the golden and the alternate picture nor replace them.
static const vpx_enc_frame_flags_t recbot_vpx_last_only =
    VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF;
static const unsigned long recbot_vpx_deadline_realtime = VPX_DL_REALTIME;

#endif
