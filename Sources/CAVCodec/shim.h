// libavcodec as a decoder of the codecs that it is asked for by name, and of nothing else: no files, no network, no
// containers, one thread.
#ifndef RECBOT_CAVCODEC_SHIM_H
#define RECBOT_CAVCODEC_SHIM_H

#include <libavcodec/avcodec.h>
#include <libavutil/log.h>
#include <libavutil/pixdesc.h>
#include <string.h>

// A decoder of pictures, opened; NULL when there is none or no memory. Pictures of more pixels are refused before memory is
// taken for them.
static inline AVCodecContext *recbot_av_open_video(enum AVCodecID id, int64_t maximum_pixels) {
  av_log_set_level(AV_LOG_QUIET);
  const AVCodec *codec = avcodec_find_decoder(id);
  AVCodecContext *context = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!context) return NULL;
  context->thread_count = 1;
  context->max_pixels = maximum_pixels;
  context->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (avcodec_open2(context, codec, NULL) < 0) avcodec_free_context(&context);
  return context;
}

// A decoder of G.722, opened; NULL when there is none or no memory.
static inline AVCodecContext *recbot_av_open_g722(void) {
  av_log_set_level(AV_LOG_QUIET);
  const AVCodec *codec = avcodec_find_decoder_by_name("g722");
  AVCodecContext *context = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!context) return NULL;
  context->thread_count = 1;
  if (avcodec_open2(context, codec, NULL) < 0) avcodec_free_context(&context);
  return context;
}

// The samples of a frame of one channel; NULL when it is another kind of frame.
static inline const int16_t *recbot_av_mono(const AVFrame *frame) {
  int is_mono = frame->format == AV_SAMPLE_FMT_S16 && frame->ch_layout.nb_channels == 1;
  return is_mono ? (const int16_t *)frame->data[0] : NULL;
}

static inline void recbot_av_close(AVCodecContext *context) { avcodec_free_context(&context); }

static inline void recbot_av_free_frame(AVFrame *frame) { av_frame_free(&frame); }

// Decodes one access unit: 1 with a picture in `frame`, 0 without one, a negative number after an error.
static inline int recbot_av_decode(AVCodecContext *context, const void *bytes, int count, AVFrame *frame) {
  AVPacket *packet = av_packet_alloc();
  if (!packet) return AVERROR(ENOMEM);
  // A buffer of the library's own, for it wants zeros behind the end.
  int result = av_new_packet(packet, count);
  if (result == 0) {
    memcpy(packet->data, bytes, (size_t)count);
    result = avcodec_send_packet(context, packet);
  }
  av_packet_free(&packet);
  if (result < 0) return result;
  AVFrame *next = av_frame_alloc();
  if (!next) return AVERROR(ENOMEM);
  int found = 0;
  // The last one, should there be several: it is the newest.
  while ((result = avcodec_receive_frame(context, next)) == 0) {
    found = 1;
    av_frame_unref(frame);
    av_frame_move_ref(frame, next);
    if (frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT) break;
  }
  av_frame_free(&next);
  if (result == 0) return AVERROR_INVALIDDATA;
  return result == AVERROR(EAGAIN) || result == AVERROR_EOF ? found : result;
}

// The form of a picture: bits of a sample, and how many columns and rows share one sample of each colour; 0 when the planes
// are not Y, U and V, or lie in the memory of other devices.
struct recbot_av_form {
  int bits, across, down;
};

static inline struct recbot_av_form recbot_av_form_of(const AVFrame *frame) {
  struct recbot_av_form form = {0, 0, 0};
  const AVPixFmtDescriptor *known = av_pix_fmt_desc_get((enum AVPixelFormat)frame->format);
  if (!known) return form;
  form.bits = known->comp[0].depth;
  if (known->nb_components != 3 || !(known->flags & AV_PIX_FMT_FLAG_PLANAR)) return form;
  if (known->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_HWACCEL)) return form;
  form.across = 1 << known->log2_chroma_w;
  form.down = 1 << known->log2_chroma_h;
  return form;
}

static inline int recbot_av_is_out_of_memory(int result) { return result == AVERROR(ENOMEM); }

static inline void recbot_av_describe(int result, char *text, size_t capacity) { av_strerror(result, text, capacity); }

#endif
