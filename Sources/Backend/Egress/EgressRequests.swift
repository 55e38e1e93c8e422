import JobsAPI
import Signaling

/// What can't be written in any kind of request.
private func refuse(
  streams: Bool, segments: Bool, images: Bool
) throws(TwirpProblem) {
  if streams { throw .unimplemented("stream outputs (RTMP, SRT) are not implemented: give a file output") }
  if segments { throw .unimplemented("segment outputs (HLS) are not implemented: give a file output") }
  if images { throw .unimplemented("image outputs are not implemented: give a file output") }
}

/// The one file of a request that may name it in two ways.
private func single(
  _ old: Livekit_EncodedFileOutput?, _ files: [Livekit_EncodedFileOutput]
) throws(TwirpProblem) -> EgressFile {
  let all = (old.map { [$0] } ?? []) + files
  guard let file = all.first else { throw .invalid("request has missing or invalid field: output") }
  guard all.count == 1 else { throw .invalid("multiple file outputs: one is written") }
  return EgressFile(file)
}

extension Livekit_RoomCompositeEgressRequest: EgressRequest {
  static let kind = "room_composite"

  func look() throws(TwirpProblem) -> EgressLook {
    guard customBaseURL.isEmpty else {
      throw .unimplemented("custom_base_url: recbot has no browser; name one of its layouts")
    }
    guard audioMixing == .defaultMixing else {
      throw .unimplemented(
        "audio_mixing: dual-channel files are not written, only one mix of all; leave audio_mixing out (DEFAULT_MIXING)"
      )
    }
    guard !(audioOnly && videoOnly) else { throw .invalid("audio_only and video_only exclude each other") }
    var look = EgressLook(layout: layout.isEmpty ? "grid" : layout)
    if audioOnly {
      look.selection = JobSelection(media: .audio)
      if layout.isEmpty { look.layout = "audio-only" }
    }
    if videoOnly { look.selection = JobSelection(media: .video) }
    look.picture = try EgressEncoding(preset: hasPreset ? preset : nil, advanced: hasAdvanced ? advanced : nil)
      .picture()
    return look
  }

  func file() throws(TwirpProblem) -> EgressFile? {
    try refuse(
      streams: hasStream || !streamOutputs.isEmpty, segments: hasSegments || !segmentOutputs.isEmpty,
      images: !imageOutputs.isEmpty)
    return try single(hasFile ? file : nil, fileOutputs)
  }

  private var hasPreset: Bool { if case .preset = options { true } else { false } }
  private var hasAdvanced: Bool { if case .advanced = options { true } else { false } }
  private var hasFile: Bool { if case .file = output { true } else { false } }
  private var hasStream: Bool { if case .stream = output { true } else { false } }
  private var hasSegments: Bool { if case .segments = output { true } else { false } }
}

extension Livekit_ParticipantEgressRequest: EgressRequest {
  static let kind = "participant"

  func look() throws(TwirpProblem) -> EgressLook {
    guard !identity.isEmpty else { throw .invalid("request has missing or invalid field: identity") }
    var look = EgressLook(
      layout: "single-speaker", selection: JobSelection(participant: identity, screenShare: screenShare))
    look.places["publisher_identity"] = identity
    switch options {
    case .preset(let preset): look.picture = try EgressEncoding(preset: preset, advanced: nil).picture()
    case .advanced(let advanced): look.picture = try EgressEncoding(preset: nil, advanced: advanced).picture()
    case nil: break
    }
    return look
  }

  func file() throws(TwirpProblem) -> EgressFile? {
    try refuse(
      streams: !streamOutputs.isEmpty, segments: !segmentOutputs.isEmpty, images: !imageOutputs.isEmpty)
    return try single(nil, fileOutputs)
  }
}

extension Livekit_TrackCompositeEgressRequest: EgressRequest {
  static let kind = "track_composite"

  func look() throws(TwirpProblem) -> EgressLook {
    let tracks = [audioTrackID, videoTrackID].filter { !$0.isEmpty }
    guard !tracks.isEmpty else {
      throw .invalid("request has missing or invalid field: audio_track_id or video_track_id")
    }
    var look = EgressLook(layout: "single-speaker", selection: JobSelection(tracks: tracks))
    switch options {
    case .preset(let preset): look.picture = try EgressEncoding(preset: preset, advanced: nil).picture()
    case .advanced(let advanced): look.picture = try EgressEncoding(preset: nil, advanced: advanced).picture()
    case nil: break
    }
    return look
  }

  func file() throws(TwirpProblem) -> EgressFile? {
    var (old, hasStream, hasSegments): (Livekit_EncodedFileOutput?, Bool, Bool) = (nil, false, false)
    switch output {
    case .file(let file): old = file
    case .stream: hasStream = true
    case .segments: hasSegments = true
    case nil: break
    }
    try refuse(
      streams: hasStream || !streamOutputs.isEmpty, segments: hasSegments || !segmentOutputs.isEmpty,
      images: !imageOutputs.isEmpty)
    return try single(old, fileOutputs)
  }
}

extension Livekit_TrackEgressRequest: EgressRequest {
  static let kind = "track"

  func look() throws(TwirpProblem) -> EgressLook {
    guard !trackID.isEmpty else { throw .invalid("request has missing or invalid field: track_id") }
    return EgressLook(
      layout: "single-speaker", selection: JobSelection(tracks: [trackID]), places: ["track_id": trackID])
  }

  func file() throws(TwirpProblem) -> EgressFile? {
    switch output {
    case .file(let file): return EgressFile(file)
    case .websocketURL:
      if let problem = sink?.problems("websocket_url").first { throw .invalid(problem) }
      return nil
    case nil: throw .invalid("request has missing or invalid field: output")
    }
  }

  /// Of one track all the sound is that of the track: 16 bits, 48 kHz, stereo, as LiveKit sends it.
  var sink: JobSink? {
    if case .websocketURL(let url) = output { JobSink(audio: JobSink.mixed, url: url) } else { nil }
  }

  var told: Self {
    guard case .websocketURL(let url) = output else { return self }
    var told = self
    told.websocketURL = JobSink.shown(url)
    return told
  }
}
