/// A file to which batches of EBML elements are appended so that each is there wholly or not at all, also when the
/// process is killed in the middle of a call or the disk is full.
///
/// A plain append would not do: the kernel looks for a fatal signal between any two pages of a `write`, and on a slow
/// disk it sleeps there, so that a kill leaves half a block, which players report as damage. Instead the file always
/// ends in one Void element (RFC 8794 section 11.3.2), the reserve:
///
/// ```
/// |head page| batch | batch | Void ............ |
///                           ^ end               ^ limit (a multiple of the page size)
/// ```
///
/// 1. The reserve is extended page by page, each page a Void element of its own; then the first Void's size is
///    rewritten to cover them all.
/// 2. The batch without its first five bytes is written inside the Void, with the head of the next Void behind it.
/// 3. The batch's first five bytes overwrite the head of the Void: now it is committed.
///
/// Steps that take effect are single writes inside one page, which the kernel does not divide. Only step 1 takes new
/// space, so a full disk is met while nothing is half written; and as much of the reserve as was asked for is left then
/// to end the file properly. Confined to one thread.
struct AppendFile {
  /// The granule in which the kernel copies; larger pages are multiples of it.
  static let pageSize: Int64 = 4096
  /// Bytes by which the reserve grows at a time.
  static let extensionSize: Int64 = 65_536
  /// ID and a four-byte size: the head of the Void, and what is written last of a batch.
  static let headLength = 5
  /// Each batch begins so far from the end of its page that this many bytes lie in one page: the ID and the eight-byte
  /// size of a Cluster, which is written once more when the Cluster ends.
  static let alignedLength: Int64 = 12

  /// What the bytes are written to.
  let file: OutputFile
  /// Where the next batch begins: everything before is committed.
  private(set) var end: Int64
  /// Where the file ends.
  private var limit: Int64
  /// How far the Void at `end` reaches; `limit` unless the last change of it failed.
  private var covered: Int64
  private let emptyPage: [UInt8]
  /// Scratch for the head of the Void.
  private var head = EBMLBuffer(capacity: 16)

  /// Continues behind a head that fills whole pages.
  init(file: OutputFile, headSize: Int64) { self.init(file: file, end: headSize, limit: headSize) }

  /// Continues a file of any length that ends at `limit`, in Voids from `end` on or in none. The Voids are used as the
  /// reserve where they can be. Writes up to a page behind `limit`; when that fails the file is as it was.
  init(continuing file: OutputFile, end: Int64, limit: Int64) throws(WebMError) {
    var start = end
    var filled = limit
    func room(_ position: Int64) -> Int64 { Self.pageSize - position % Self.pageSize }
    do throws(WebMError) {
      // Their sizes have to fit into four bytes, and what is written last of a batch into one page.
      if limit - end < Int64(Self.headLength) || limit - end > 1 << 26 || room(end) < Self.alignedLength {
        start = limit
        if room(limit) < Self.alignedLength {
          start += max(2, room(limit))
          try Self.putVoid(file, limit, total: start - limit)
          filled = start
        }
      }
      let rest = filled % Self.pageSize == 0 ? 0 : room(filled)
      if rest > 0 {
        let total = rest < Int64(Self.headLength) ? rest + Self.pageSize : rest
        try Self.putVoid(file, filled, total: total)
        filled += total
      }
    } catch {
      try? file.truncate(to: limit)
      throw error
    }
    self.init(file: file, end: start, limit: filled)
    // The Voids there may have other heads than the ones that are written here.
    covered = start
  }

  private static func putVoid(_ file: OutputFile, _ position: Int64, total: Int64) throws(WebMError) {
    var void = EBMLBuffer(capacity: Int(pageSize) * 2)
    void.putVoid(total: Int(total))
    try file.write(void.bytes, at: position)
  }

  private init(file: OutputFile, end: Int64, limit: Int64) {
    self.file = file
    self.end = end
    self.limit = limit
    covered = limit
    var page = EBMLBuffer(capacity: Int(Self.pageSize))
    page.putID(ElementID.void)
    page.putSize(Int(Self.pageSize) - Self.headLength, length: 4)
    page.putZeros(Int(Self.pageSize) - Self.headLength)
    emptyPage = page.bytes
  }

  /// Appends a batch of whole elements, at least five bytes, if so many bytes are left behind it. The buffer is used as
  /// scratch; empty it afterwards.
  mutating func append(_ batch: inout EBMLBuffer, leaving rest: Int64 = 0) throws(WebMError) {
    guard batch.count >= Self.headLength else { return }
    var next = end + Int64(batch.count)
    let room = Self.pageSize - next % Self.pageSize
    if room < Self.alignedLength {
      // The next batch could not be committed by a write inside one page: skip to the next page.
      let filler = max(2, room)
      batch.putVoid(total: Int(filler))
      next += filler
    }
    try reserve(upTo: next + Int64(Self.headLength) + rest)
    batch.putID(ElementID.void)
    batch.putSize(Int(limit - next) - Self.headLength, length: 4)
    let start = end
    try file.write(batch.bytes, from: Self.headLength, at: start + Int64(Self.headLength))
    try file.write(batch.bytes, to: Self.headLength, at: start)
    end = next
    covered = limit
  }

  /// Overwrites committed bytes. They must lie in one page.
  func patch(_ bytes: EBMLBuffer, at offset: Int64) throws(WebMError) {
    try file.write(bytes.bytes, at: offset)
  }

  /// Takes the reserve away: the file then ends with its last batch.
  mutating func trim() throws(WebMError) {
    try file.truncate(to: end)
    limit = end
    covered = end
  }

  private mutating func reserve(upTo needed: Int64) throws(WebMError) {
    guard needed > limit else {
      if covered < limit { try coverReserve() }
      return
    }
    let missing = (needed - limit + Self.pageSize - 1) / Self.pageSize * Self.pageSize
    let target = limit + max(missing, Self.extensionSize)
    do throws(WebMError) {
      while limit < target {
        try file.write(emptyPage, at: limit)
        limit += Self.pageSize
      }
    } catch {
      // A failed write may have left part of a page behind the reserve.
      try? file.truncate(to: limit)
      guard limit >= needed else {
        try? coverReserve()
        throw error
      }
    }
    try coverReserve()
  }

  /// Makes the Void at `end` cover everything up to `limit`.
  private mutating func coverReserve() throws(WebMError) {
    guard limit - end >= Int64(Self.headLength) else { return }
    head.removeAll()
    head.putID(ElementID.void)
    head.putSize(Int(limit - end) - Self.headLength, length: 4)
    try patch(head, at: end)
    covered = limit
  }
}
