// A C face on libwebm's parser (class webm::WebmParser), which is C++. It reports what it finds, in file order, to
// callbacks; it keeps nothing. Total on any input: no exception leaves it, and an element that claims more bytes than
// there are is never allocated.
#ifndef CWEBMPARSER_H
#define CWEBMPARSER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Segment and Cluster sizes that the file does not say (RFC 8794 section 6.2).
#define CWEBM_UNKNOWN_SIZE UINT64_MAX

// EBML head. Texts are valid during the call only.
typedef struct {
  const char *doc_type;
  uint64_t doc_type_version;
} cwebm_header;

// Info element; times in nanoseconds where not said otherwise.
typedef struct {
  uint64_t timestamp_scale;  // nanoseconds per tick
  int has_duration;
  double duration_ticks;
  int has_date;
  int64_t date;  // nanoseconds since 2001-01-01 UTC
  const char *title;
  const char *muxing_app;
  const char *writing_app;
} cwebm_info;

// TrackEntry element; fields that do not apply are 0.
typedef struct {
  uint64_t number;
  uint64_t type;  // 1 video, 2 audio
  const char *codec_id;
  const uint8_t *codec_private;
  size_t codec_private_size;
  uint64_t default_duration;  // nanoseconds
  uint64_t codec_delay;       // nanoseconds
  uint64_t width, height;     // pixels
  uint64_t primaries, transfer, matrix;  // Colour, in the numbers of ITU-T H.273; 2: not specified
  double sampling_frequency;
  uint64_t channels;
} cwebm_track;

// One frame of a Block or SimpleBlock.
typedef struct {
  uint64_t track;
  int64_t ticks;     // time in ticks of timestamp_scale
  int is_keyframe;
  int in_lace;       // 1 for the second and later frames of a laced block, whose time is not known
  uint64_t position; // byte offset of the payload
  uint64_t size;     // bytes of the payload
  const uint8_t *bytes;  // the payload, or its beginning, `available` bytes; during the call only
  size_t available;
} cwebm_frame;

// What is found. All callbacks must be set. `on_frame` returns 0 to go on; anything else ends the parsing there.
typedef struct {
  void *context;
  void (*on_header)(void *context, const cwebm_header *header);
  void (*on_segment)(void *context, uint64_t data_position, uint64_t size);
  void (*on_info)(void *context, const cwebm_info *info);
  void (*on_track)(void *context, const cwebm_track *track);
  void (*on_seek)(void *context, uint32_t element_id, uint64_t position);
  void (*on_cluster)(void *context, uint64_t position, uint64_t size, uint64_t ticks);
  int (*on_frame)(void *context, const cwebm_frame *frame);
  void (*on_cue)(void *context, uint64_t ticks, uint64_t track, uint64_t cluster_position);
  void (*on_chapter)(void *context, uint64_t start, uint64_t end, const char *title);
  void (*on_tag)(void *context, const char *name, const char *value);
} cwebm_callbacks;

// How parsing ended.
typedef struct {
  int32_t status;       // 0: the whole input was understood; -3: it ended inside an element; other: libwebm's status
  uint64_t position;    // where it stopped
  uint64_t element;     // where the element in which it stopped begins, as far as known
  uint64_t size;        // bytes of the input
  int32_t read_error;   // errno of a failed read, or 0
  int32_t stopped;      // 1: `on_frame` wanted no more; the status is then of no importance
} cwebm_result;

// Parses a file from its beginning. `whole_frames` != 0 gives payloads whole (up to 2^27 bytes), else their first 16
// bytes at least, which is much faster. The descriptor's own position is not used.
cwebm_result cwebm_parse_descriptor(int descriptor, int whole_frames, const cwebm_callbacks *callbacks);

// The same with bytes in memory.
cwebm_result cwebm_parse_bytes(
    const uint8_t *bytes, size_t count, int whole_frames, const cwebm_callbacks *callbacks);

#ifdef __cplusplus
}
#endif

#endif
