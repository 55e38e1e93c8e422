#include "CWebMParser.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <webm/callback.h>
#include <webm/reader.h>
#include <webm/status.h>
#include <webm/webm_parser.h>

namespace {

constexpr std::uint64_t kMaximumElement = 64u << 20;  // of elements that the parser holds in memory
constexpr std::uint64_t kMaximumFrame = 1u << 27;
constexpr std::uint64_t kFrameHead = 16;

webm::Status Ok() { return webm::Status(webm::Status::kOkCompleted); }

// Reads from memory, or from a descriptor through a window of its own.
class Input : public webm::Reader {
 public:
  Input(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size), window_(1 << 16) {}
  Input(const std::uint8_t *bytes, std::size_t count) : bytes_(bytes), size_(count) {}

  webm::Status Read(std::size_t count, std::uint8_t *buffer, std::uint64_t *done) override {
    *done = 0;
    while (*done < count && position_ < size_) {
      const std::uint8_t *source = nullptr;
      std::uint64_t available = 0;
      if (bytes_ != nullptr) {
        source = bytes_ + position_;
        available = size_ - position_;
      } else {
        if (position_ < window_start_ || position_ >= window_start_ + window_count_) {
          if (!Fill()) break;
        }
        source = window_.data() + (position_ - window_start_);
        available = window_start_ + window_count_ - position_;
      }
      const std::uint64_t part = available < count - *done ? available : count - *done;
      std::memcpy(buffer + *done, source, part);
      *done += part;
      position_ += part;
    }
    return Result(*done, count);
  }

  webm::Status Skip(std::uint64_t count, std::uint64_t *done) override {
    const std::uint64_t rest = size_ - position_;
    *done = count < rest ? count : rest;
    position_ += *done;
    return Result(*done, count);
  }

  std::uint64_t Position() const override { return position_; }
  std::uint64_t size() const { return size_; }
  int read_error() const { return read_error_; }

 private:
  static webm::Status Result(std::uint64_t done, std::uint64_t wanted) {
    if (done == wanted) return Ok();
    return webm::Status(done == 0 ? webm::Status::kEndOfFile : webm::Status::kOkPartial);
  }

  bool Fill() {
    ssize_t count = 0;
    do {
      count = pread(descriptor_, window_.data(), window_.size(), static_cast<off_t>(position_));
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
      if (count < 0) read_error_ = errno;
      size_ = position_;  // an error, or a file that became shorter: it ends here
      return false;
    }
    window_start_ = position_;
    window_count_ = static_cast<std::uint64_t>(count);
    return true;
  }

  int descriptor_ = -1;
  const std::uint8_t *bytes_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  std::vector<std::uint8_t> window_;
  std::uint64_t window_start_ = 0;
  std::uint64_t window_count_ = 0;
  int read_error_ = 0;
};

// Passes on what the parser finds.
class Events : public webm::Callback {
 public:
  Events(const cwebm_callbacks &callbacks, const Input &input, bool whole_frames)
      : callbacks_(callbacks), input_(input), whole_frames_(whole_frames) {}

  std::uint64_t element() const { return element_; }
  bool reached_truncation() const { return reached_truncation_; }
  bool stopped() const { return stopped_; }

  webm::Status OnElementBegin(const webm::ElementMetadata &metadata, webm::Action *action) override {
    *action = webm::Action::kRead;
    element_ = metadata.position;
    switch (metadata.id) {
      case webm::Id::kSegment:
      case webm::Id::kCluster:
      case webm::Id::kBlockGroup:
        return Ok();
      default:
        break;
    }
    // The parser makes room for what an element claims before it reads: let it not believe claims beyond the input.
    const std::uint64_t body = metadata.position + metadata.header_size;
    const std::uint64_t rest = input_.size() > body ? input_.size() - body : 0;
    const bool is_block = metadata.id == webm::Id::kSimpleBlock || metadata.id == webm::Id::kBlock;
    const bool is_void = metadata.id == webm::Id::kVoid;
    if (metadata.size == webm::kUnknownElementSize) return Ok();
    if (metadata.size > rest) {
      reached_truncation_ = true;
      *action = webm::Action::kSkip;
    } else if (!is_block && !is_void && metadata.size > kMaximumElement) {
      *action = webm::Action::kSkip;
    }
    return Ok();
  }

  webm::Status OnEbml(const webm::ElementMetadata &, const webm::Ebml &ebml) override {
    const cwebm_header header = {ebml.doc_type.value().c_str(), ebml.doc_type_version.value()};
    callbacks_.on_header(callbacks_.context, &header);
    return Ok();
  }

  webm::Status OnSegmentBegin(const webm::ElementMetadata &metadata, webm::Action *action) override {
    *action = webm::Action::kRead;
    callbacks_.on_segment(callbacks_.context, metadata.position + metadata.header_size, metadata.size);
    return Ok();
  }

  webm::Status OnInfo(const webm::ElementMetadata &, const webm::Info &info) override {
    cwebm_info result = {};
    result.timestamp_scale = info.timecode_scale.value();
    result.has_duration = info.duration.is_present();
    result.duration_ticks = info.duration.value();
    result.has_date = info.date_utc.is_present();
    result.date = info.date_utc.value();
    result.title = info.title.value().c_str();
    result.muxing_app = info.muxing_app.value().c_str();
    result.writing_app = info.writing_app.value().c_str();
    callbacks_.on_info(callbacks_.context, &result);
    return Ok();
  }

  webm::Status OnTrackEntry(const webm::ElementMetadata &, const webm::TrackEntry &entry) override {
    cwebm_track track = {};
    track.number = entry.track_number.value();
    track.type = static_cast<std::uint64_t>(entry.track_type.value());
    track.codec_id = entry.codec_id.value().c_str();
    track.codec_private = entry.codec_private.value().data();
    track.codec_private_size = entry.codec_private.value().size();
    track.default_duration = entry.default_duration.value();
    track.codec_delay = entry.codec_delay.value();
    if (entry.video.is_present()) {
      track.width = entry.video.value().pixel_width.value();
      track.height = entry.video.value().pixel_height.value();
      const webm::Colour &colour = entry.video.value().colour.value();
      track.primaries = static_cast<std::uint64_t>(colour.primaries.value());
      track.transfer = static_cast<std::uint64_t>(colour.transfer_characteristics.value());
      track.matrix = static_cast<std::uint64_t>(colour.matrix_coefficients.value());
    }
    if (entry.audio.is_present()) {
      track.sampling_frequency = entry.audio.value().sampling_frequency.value();
      track.channels = entry.audio.value().channels.value();
    }
    callbacks_.on_track(callbacks_.context, &track);
    return Ok();
  }

  webm::Status OnSeek(const webm::ElementMetadata &, const webm::Seek &seek) override {
    callbacks_.on_seek(
        callbacks_.context, static_cast<std::uint32_t>(seek.id.value()), seek.position.value());
    return Ok();
  }

  webm::Status OnClusterBegin(
      const webm::ElementMetadata &metadata, const webm::Cluster &cluster, webm::Action *action) override {
    *action = webm::Action::kRead;
    cluster_time_ = cluster.timecode.value();
    callbacks_.on_cluster(callbacks_.context, metadata.position, metadata.size, cluster_time_);
    return Ok();
  }

  webm::Status OnSimpleBlockBegin(
      const webm::ElementMetadata &, const webm::SimpleBlock &block, webm::Action *action) override {
    *action = webm::Action::kRead;
    BeginBlock(block);
    frame_.is_keyframe = block.is_key_frame;
    return Ok();
  }

  webm::Status OnBlockBegin(
      const webm::ElementMetadata &, const webm::Block &block, webm::Action *action) override {
    *action = webm::Action::kRead;
    BeginBlock(block);
    // Whether it is a keyframe shows only in the ReferenceBlock elements that follow; groups are reported as
    // keyframes, which holds for the sound that they are used for.
    frame_.is_keyframe = 1;
    return Ok();
  }

  webm::Status OnFrame(
      const webm::FrameMetadata &metadata, webm::Reader *reader, std::uint64_t *remaining) override {
    // Called again with the rest after a partial read; `payload_` then has the beginning.
    if (*remaining == metadata.size) payload_.clear();
    const std::uint64_t limit = whole_frames_ ? kMaximumFrame : kFrameHead;
    const std::uint64_t wanted = metadata.size < limit ? metadata.size : limit;
    while (payload_.size() < wanted) {
      const std::size_t have = payload_.size();
      payload_.resize(static_cast<std::size_t>(wanted));
      std::uint64_t done = 0;
      const webm::Status status =
          reader->Read(static_cast<std::size_t>(wanted) - have, payload_.data() + have, &done);
      payload_.resize(have + static_cast<std::size_t>(done));
      *remaining -= done;
      if (!status.ok()) return status;
    }
    if (*remaining > 0) {
      const webm::Status status = Skip(reader, remaining);
      if (!status.completed_ok()) return status;
    }
    frame_.position = metadata.position;
    frame_.size = metadata.size;
    frame_.bytes = payload_.data();
    frame_.available = payload_.size();
    stopped_ = callbacks_.on_frame(callbacks_.context, &frame_) != 0;
    frame_.in_lace = 1;
    // Any status that is not Ok ends the parser's work.
    return stopped_ ? webm::Status(webm::Status::kInvalidElementValue) : Ok();
  }

  webm::Status OnCuePoint(const webm::ElementMetadata &, const webm::CuePoint &point) override {
    for (const auto &positions : point.cue_track_positions) {
      callbacks_.on_cue(
          callbacks_.context, point.time.value(), positions.value().track.value(),
          positions.value().cluster_position.value());
    }
    return Ok();
  }

  webm::Status OnEditionEntry(const webm::ElementMetadata &, const webm::EditionEntry &edition) override {
    for (const auto &element : edition.atoms) {
      const webm::ChapterAtom &atom = element.value();
      const char *title = atom.displays.empty() ? "" : atom.displays.front().value().string.value().c_str();
      callbacks_.on_chapter(callbacks_.context, atom.time_start.value(), atom.time_end.value(), title);
    }
    return Ok();
  }

  webm::Status OnTag(const webm::ElementMetadata &, const webm::Tag &tag) override {
    for (const auto &simple : tag.tags) {
      callbacks_.on_tag(
          callbacks_.context, simple.value().name.value().c_str(), simple.value().string.value().c_str());
    }
    return Ok();
  }

 private:
  void BeginBlock(const webm::Block &block) {
    frame_ = {};
    frame_.track = block.track_number;
    // Wraps on absurd cluster times instead of overflowing.
    frame_.ticks = static_cast<std::int64_t>(
        cluster_time_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(block.timecode)));
  }

  const cwebm_callbacks &callbacks_;
  const Input &input_;
  const bool whole_frames_;
  std::uint64_t element_ = 0;
  std::uint64_t cluster_time_ = 0;
  bool reached_truncation_ = false;
  bool stopped_ = false;
  cwebm_frame frame_ = {};
  std::vector<std::uint8_t> payload_;
};

cwebm_result Parse(Input &input, bool whole_frames, const cwebm_callbacks *callbacks) {
  cwebm_result result = {};
  Events events(*callbacks, input, whole_frames);
  try {
    webm::WebmParser parser;
    webm::Status status = parser.Feed(&events, &input);
    // A partial read means: ask again.
    while (status.code == webm::Status::kOkPartial) status = parser.Feed(&events, &input);
    result.status = status.code;
    if (result.status == webm::Status::kOkCompleted && events.reached_truncation()) {
      result.status = webm::Status::kEndOfFile;
    }
  } catch (...) {
    result.status = webm::Status::kNotEnoughMemory;
  }
  result.stopped = events.stopped() ? 1 : 0;
  result.position = input.Position();
  result.element = events.element();
  result.size = input.size();
  result.read_error = input.read_error();
  return result;
}

}  // namespace

extern "C" cwebm_result cwebm_parse_descriptor(
    int descriptor, int whole_frames, const cwebm_callbacks *callbacks) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size < 0) {
    cwebm_result result = {};
    result.status = webm::Status::kEndOfFile;
    result.read_error = errno;
    return result;
  }
  try {
    Input input(descriptor, static_cast<std::uint64_t>(size));
    return Parse(input, whole_frames != 0, callbacks);
  } catch (...) {
    cwebm_result result = {};
    result.status = webm::Status::kNotEnoughMemory;
    result.read_error = ENOMEM;
    return result;
  }
}

extern "C" cwebm_result cwebm_parse_bytes(
    const uint8_t *bytes, size_t count, int whole_frames, const cwebm_callbacks *callbacks) {
  Input input(bytes, count);
  return Parse(input, whole_frames != 0, callbacks);
}
