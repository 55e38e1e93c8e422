import MediaCore

/// The first page of the file: EBML header, Segment head, room for the SeekHead, Info, Tracks and Tags. It is one page so
/// that writing it, and rewriting it when the recording ends, takes effect at once.
struct WebMHead {
  /// Bytes of the head; the first Cluster follows.
  static let size = Int(AppendFile.pageSize)

  /// What is known only at the end.
  struct Final {
    /// Length in milliseconds.
    var duration: Int64
    /// Bytes of the whole file.
    var fileSize: Int64
    /// Level 1 elements behind the Clusters and their absolute positions.
    var places: [(id: UInt32, position: Int64)]
  }

  /// Absolute position of the Segment's data, from which positions in SeekHead and Cues count
  /// (RFC 9559 section 16).
  static let segmentDataStart: Int64 = {
    var buffer = EBMLBuffer()
    putHeader(&buffer, isWebM: true)
    return Int64(buffer.count) + 4 + 8
  }()

  /// Bytes of a title that are kept.
  static let longestTitle = 512

  /// SeekHead with entries for Info, Tracks, Cues, Chapters and Tags.
  private static let seekHeadRoom = 160

  /// The tags that have room in the page, in their order: all of them unless they are absurdly long.
  static func fitting(
    _ tags: [WebMConfiguration.Tag], in configuration: WebMConfiguration
  ) -> [WebMConfiguration.Tag] {
    var head = EBMLBuffer()
    putHeader(&head, isWebM: configuration.isWebM)
    // The Segment's head; the room for a Duration is as long as one.
    head.putZeros(12 + seekHeadRoom)
    putInfo(&head, configuration, duration: nil)
    putTracks(&head, configuration)
    var fitting: [WebMConfiguration.Tag] = []
    for tag in tags {
      var bytes = EBMLBuffer()
      putTags(&bytes, fitting + [tag])
      // A Void takes the rest; it has two bytes at least.
      if head.count + bytes.count + 2 <= size { fitting.append(tag) }
    }
    return fitting
  }

  private static func putTags(_ page: inout EBMLBuffer, _ tags: [WebMConfiguration.Tag]) {
    page.putMaster(ElementID.tags) { WebMIndex.putTags(&$0, tags) }
  }

  /// The page's bytes; `tags` must fit. Without `final`: a live file, with a Segment of unknown size, no Duration and no SeekHead
  /// (RFC 9559 section 23).
  static func page(
    _ configuration: WebMConfiguration, tags: [WebMConfiguration.Tag] = [], final: Final? = nil
  ) -> EBMLBuffer {
    var page = EBMLBuffer(capacity: size)
    putHeader(&page, isWebM: configuration.isWebM)
    page.putID(ElementID.segment)
    if let final {
      page.putSize(Int(final.fileSize - segmentDataStart), length: 8)
    } else {
      page.putUnknownSize()
    }
    let seekHeadStart = page.count
    page.putVoid(total: seekHeadRoom)
    let infoStart = page.count
    putInfo(&page, configuration, duration: final?.duration)
    let tracksStart = page.count
    putTracks(&page, configuration)
    let tagsStart = page.count
    if !tags.isEmpty { putTags(&page, tags) }
    page.putVoid(total: size - page.count)
    if let final {
      var places = final.places
      places.insert((ElementID.info, Int64(infoStart)), at: 0)
      places.insert((ElementID.tracks, Int64(tracksStart)), at: 1)
      if !tags.isEmpty { places.append((ElementID.tags, Int64(tagsStart))) }
      var seekHead = EBMLBuffer(capacity: seekHeadRoom)
      putSeekHead(&seekHead, places)
      seekHead.putVoid(total: seekHeadRoom - seekHead.count)
      page.replace(at: seekHeadStart, with: seekHead.bytes)
    }
    return page
  }

  /// Takes the same bytes for both: Matroska's name is longer by as many as a field takes that has its default.
  private static func putHeader(_ page: inout EBMLBuffer, isWebM: Bool) {
    page.putMaster(ElementID.ebml) { header in
      header.putUnsigned(ElementID.ebmlVersion, 1)
      header.putUnsigned(ElementID.ebmlReadVersion, 1)
      if isWebM { header.putUnsigned(ElementID.ebmlMaxIDLength, 4) }
      header.putUnsigned(ElementID.ebmlMaxSizeLength, 8)
      header.putString(ElementID.docType, isWebM ? "webm" : "matroska")
      // Version 4 for CodecDelay, SeekPreRoll and Colour; readable by version 2 for SimpleBlock.
      header.putUnsigned(ElementID.docTypeVersion, 4)
      header.putUnsigned(ElementID.docTypeReadVersion, 2)
    }
  }

  /// A SeekHead; `places` are positions in the file, `start` is where the Segment's data begins (RFC 9559 section 5.1.1).
  static func putSeekHead(
    _ page: inout EBMLBuffer, _ places: [(id: UInt32, position: Int64)], from start: Int64 = segmentDataStart
  ) {
    page.putMaster(ElementID.seekHead) { seekHead in
      for place in places {
        seekHead.putMaster(ElementID.seek) { seek in
          var id = EBMLBuffer(capacity: 4)
          id.putID(place.id)
          seek.putBinary(ElementID.seekID, id.bytes)
          seek.putUnsigned(ElementID.seekPosition, UInt64(max(0, place.position - start)))
        }
      }
    }
  }

  private static func putInfo(_ page: inout EBMLBuffer, _ configuration: WebMConfiguration, duration: Int64?) {
    page.putMaster(ElementID.info) { info in
      info.putUnsigned(ElementID.timestampScale, 1_000_000)
      if let duration {
        info.putFloat(ElementID.duration, Double(duration))
      } else {
        info.putVoid(total: 11)
      }
      if let date = configuration.date {
        // Counted from 2001-01-01 UTC (RFC 8794 section 7.6).
        info.putSigned(ElementID.dateUTC, date &- 978_307_200_000_000_000)
      }
      let title = prefix(of: configuration.title, bytes: longestTitle)
      if !title.isEmpty { info.putString(ElementID.title, title) }
      let application = prefix(of: configuration.application, bytes: 64)
      info.putString(ElementID.muxingApp, application)
      info.putString(ElementID.writingApp, application)
    }
  }

  private static func putTracks(_ page: inout EBMLBuffer, _ configuration: WebMConfiguration) {
    page.putMaster(ElementID.tracks) { tracks in
      if let video = configuration.video {
        tracks.putMaster(ElementID.trackEntry) { putVideo(&$0, video) }
      }
      if let audio = configuration.audio {
        tracks.putMaster(ElementID.trackEntry) { putAudio(&$0, audio) }
      }
    }
  }

  private static func putVideo(_ entry: inout EBMLBuffer, _ video: WebMConfiguration.Video) {
    putCommon(
      &entry, number: TrackNumber.video, type: 1, codec: video.copied?.codecID ?? video.codec.matroskaCodecID)
    if let bytes = video.codecPrivate { entry.putBinary(ElementID.codecPrivate, bytes) }
    if video.copied != nil {
      // Its colours and its rate are in the stream.
      entry.putMaster(ElementID.video) { settings in
        settings.putUnsigned(ElementID.flagInterlaced, 2)
        settings.putUnsigned(ElementID.pixelWidth, UInt64(video.width))
        settings.putUnsigned(ElementID.pixelHeight, UInt64(video.height))
      }
      return
    }
    entry.putUnsigned(ElementID.defaultDuration, UInt64(video.frameDuration.nanoseconds))
    entry.putMaster(ElementID.video) { settings in
      settings.putUnsigned(ElementID.flagInterlaced, 2)
      settings.putUnsigned(ElementID.pixelWidth, UInt64(video.width))
      settings.putUnsigned(ElementID.pixelHeight, UInt64(video.height))
      settings.putMaster(ElementID.colour) { colour in
        // VP8 is BT.601 limited range (RFC 6386 section 9.2), and the encoders make VP9 and AV1 say the same of
        // themselves. What is painted and what cameras send is meant for
        // sRGB displays, so primaries and transfer are those of BT.709: no player then shifts the colours.
        colour.putUnsigned(ElementID.matrixCoefficients, 6)
        colour.putUnsigned(ElementID.range, 1)
        colour.putUnsigned(ElementID.transferCharacteristics, 1)
        colour.putUnsigned(ElementID.primaries, 1)
      }
    }
  }

  private static func putAudio(_ entry: inout EBMLBuffer, _ audio: WebMConfiguration.Audio) {
    if let copied = audio.copied, copied.codec != .opus {
      putCommon(&entry, number: TrackNumber.audio, type: 2, codec: copied.codecID)
      if let bytes = copied.codecPrivate { entry.putBinary(ElementID.codecPrivate, bytes) }
      entry.putMaster(ElementID.audio) { settings in
        settings.putFloat(ElementID.samplingFrequency, Double(copied.sampleRate))
        settings.putUnsigned(ElementID.channels, UInt64(audio.channels))
      }
      return
    }
    putCommon(&entry, number: TrackNumber.audio, type: 2, codec: "A_OPUS")
    entry.putUnsigned(ElementID.codecDelay, UInt64(audio.preSkip) * 1_000_000_000 / 48_000)
    // RFC 7845 section 4.6: decoders need 80 ms to converge after a seek.
    entry.putUnsigned(ElementID.seekPreRoll, 80_000_000)
    entry.putBinary(ElementID.codecPrivate, opusHead(audio))
    entry.putMaster(ElementID.audio) { settings in
      settings.putFloat(ElementID.samplingFrequency, 48_000)
      settings.putUnsigned(ElementID.channels, UInt64(audio.channels))
    }
  }

  private static func putCommon(_ entry: inout EBMLBuffer, number: UInt8, type: UInt64, codec: String) {
    entry.putUnsigned(ElementID.trackNumber, UInt64(number))
    entry.putUnsigned(ElementID.trackUID, UInt64(number))
    entry.putUnsigned(ElementID.trackType, type)
    entry.putUnsigned(ElementID.flagLacing, 0)
    entry.putString(ElementID.language, "und")
    entry.putString(ElementID.codecID, codec)
  }

  /// The identification header (RFC 7845 section 5.1), which is the track's CodecPrivate.
  private static func opusHead(_ audio: WebMConfiguration.Audio) -> [UInt8] {
    var head = Array("OpusHead".utf8)
    head.append(1)
    head.append(UInt8(truncatingIfNeeded: audio.channels))
    head.append(UInt8(truncatingIfNeeded: audio.preSkip))
    head.append(UInt8(truncatingIfNeeded: audio.preSkip >> 8))
    head += [0x80, 0xbb, 0, 0]  // 48000 Hz, little-endian
    head += [0, 0]  // no gain
    head.append(0)  // mapping family 0: mono or stereo
    return head
  }

  /// The longest beginning of a text that fits into so many bytes of UTF-8, without NULs, which end strings in EBML.
  static func prefix(of text: String, bytes: Int) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      let visible = PeerText.visible(scalar)
      count += UTF8.width(visible)
      if count > bytes { break }
      result.unicodeScalars.append(visible)
    }
    return result
  }
}

/// Track numbers in the files that are written.
enum TrackNumber {
  static let video: UInt8 = 1
  static let audio: UInt8 = 2
}
