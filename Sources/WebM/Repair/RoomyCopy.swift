/// A repaired copy of a file whose head has no room: the head is put together anew, with room, the media is copied byte
/// for byte, and then the copy is repaired in place. Confined to one thread.
struct RoomyCopy {
  /// Room for a SeekHead.
  private static let seekHeadRoom = 160
  /// Bytes copied at a time.
  private static let step = 1 << 20
  /// Longest head that is believed.
  private static let longestHead: Int64 = 16 << 20

  private let scan: RepairScan
  private let source: ByteSource

  init(_ scan: RepairScan, _ source: ByteSource) {
    self.scan = scan
    self.source = source
  }

  /// Writes it. Throws `.exists`, `.open`, `.read`, `.write`, `.full`, `.sync`; then there is no copy.
  func write(to path: String, chapters: [WebMRepair.Chapter]) throws(WebMError) {
    let output = try FinishedFile(path: path)
    let file = OutputFile(continuing: try output.makeDescriptor(), path: path)
    let head = try makeHead()
    try file.write(head.bytes, at: 0)
    try copy(from: scan.firstCluster ?? scan.end, to: file, at: Int64(head.count))
    try WebMRepair.repair(copy: file, chapters: chapters)
    try output.publish()
  }

  /// EBML head, Segment without a size, room, Info with room, and what else stood before the media.
  private func makeHead() throws(WebMError) -> EBMLBuffer {
    var head = EBMLBuffer(capacity: 8192)
    head.put(try bytes(0, to: scan.segment.position))
    head.putID(ElementID.segment)
    head.putUnknownSize()
    head.putVoid(total: Self.seekHeadRoom)
    if scan.info.head == nil {
      head.putMaster(ElementID.info) { info in
        info.putUnsigned(ElementID.timestampScale, 1_000_000)
        info.putVoid(total: 11)
        info.putString(ElementID.muxingApp, "recbot")
        info.putString(ElementID.writingApp, "recbot")
      }
    }
    for element in scan.beginning {
      guard let end = element.end else { continue }
      switch element.id {
      // Positions in Cues are others in the copy.
      case ElementID.void, ElementID.seekHead, ElementID.crc32, ElementID.cues: break
      case ElementID.info where element.position == scan.info.head?.position:
        var content = try bytes(element.dataStart, to: end)
        if let checksum = scan.info.checksum { content[Int(checksum - element.dataStart)] = UInt8(ElementID.void) }
        head.putID(ElementID.info)
        head.putSize(content.count + 11)
        head.put(content)
        head.putVoid(total: 11)
      default: head.put(try bytes(element.position, to: end))
      }
    }
    let page = Int(AppendFile.pageSize)
    let rest = page - head.count % page
    head.putVoid(total: rest < 10 ? rest + page : rest)
    return head
  }

  private func bytes(_ start: Int64, to end: Int64) throws(WebMError) -> [UInt8] {
    guard end >= start, end - start <= Self.longestHead else {
      throw WebMError(code: .invalid, operation: "its head is too long, at byte \(start)", path: source.path)
    }
    var bytes = [UInt8](repeating: 0, count: Int(end - start))
    _ = try source.read(into: &bytes, at: start)
    return bytes
  }

  private func copy(from start: Int64, to file: OutputFile, at offset: Int64) throws(WebMError) {
    var from = start
    var to = offset
    var buffer = [UInt8](repeating: 0, count: Self.step)
    while from < scan.end {
      let count = min(Int64(try source.read(into: &buffer, at: from)), scan.end - from)
      guard count > 0 else { break }
      try file.write(buffer, to: Int(count), at: to)
      from += count
      to += count
    }
  }
}
