import Digests
import MediaCore

/// Decrypts what people send in a room, finds out which of their keys it takes, and encrypts what the bot sends. Without input and
/// output, time comes in; what takes long comes out as work. Confined to one thread.
public struct FrameCryptor {
  /// What came of a frame.
  public enum Outcome {
    /// It is decrypted.
    case opened(MediaBuffer)
    /// The server made it, to fill a gap; it means nothing.
    case injected
    /// It cannot be decrypted.
    case refused(Refusal)
  }

  /// Why something cannot be decrypted.
  public enum Refusal: Hashable, Sendable {
    /// It does not have the form of an encrypted frame.
    case malformed
    /// There is no key of this index.
    case noKey(index: Int)
    /// Frames of this codec are not decrypted.
    case codec(Codec)
    /// The key is being derived.
    case pending
    /// It was encrypted with another key than that of this index.
    case wrongKey(index: Int)
  }

  /// Where somebody stands in the chain of a key.
  private struct Place {
    var step = 0
    /// Later keys are not tried before.
    var nextSearch = Instant.distantPast
  }

  private struct PlaceName: Hashable {
    var participant: String
    var index: UInt8
  }

  private let keys: FrameKeys
  /// The key that the bot sends with; nil: none.
  private var sending: KeyChain.Name?
  private var nonces: NonceSequence
  private var chains: [KeyChain.Name: KeyChain] = [:]
  private var places: [PlaceName: Place] = [:]
  private var queue: [KeyChain.Name] = []
  private var working: KeyChain.Name?
  private var pool = FrameBufferPool(limit: 512)
  /// Of H.264, what follows the clear bytes, unescaped.
  private var unescaped = MediaBuffer(capacity: 0)

  /// What ends the frames that the server makes itself (`sif_trailer` of its join response); empty: it makes none.
  public var serverTrailer: [UInt8] = []

  /// A sender that is ahead is looked for no more often: whoever sends rubbish must not cost much.
  static let searchInterval = Duration.milliseconds(20)
  /// The most places that are remembered.
  private static let mostPlaces = 16_384

  /// Begins with keys of which none is derived yet. `nonceSeed` is another for each run of each bot, by chance: what is sent with one key
  /// must never have the same nonce twice.
  public init(keys: FrameKeys, nonceSeed: UInt64) {
    self.keys = keys
    nonces = NonceSequence(seed: nonceSeed)
    for (index, material) in keys.shared { chains[.init(participant: nil, index: index)] = KeyChain(material) }
    for (participant, own) in keys.own {
      for (index, material) in own { chains[.init(participant: participant, index: index)] = KeyChain(material) }
    }
    queue = chains.keys.sorted { ($0.participant ?? "", $0.index) < ($1.participant ?? "", $1.index) }
  }

  /// True when frames of a codec are decrypted: clients of LiveKit agree on no form for the others.
  public static func opens(_ codec: Codec) -> Bool {
    switch codec {
    case .opus, .g722, .pcmu, .pcma, .vp8, .vp9, .h264: true
    case .av1, .h265: false
    }
  }

  /// Decrypts one frame that `participant` sent, which came whole, at `now`. With more than one of `layers`
  /// the bytes are a superframe of VP9 with so many frames, each of which is encrypted by itself.
  public mutating func open(
    _ bytes: UnsafeRawBufferPointer, codec: Codec, layers: Int = 1, from participant: String, at now: Instant
  ) -> Outcome {
    if !serverTrailer.isEmpty, bytes.count >= serverTrailer.count,
      bytes.suffix(serverTrailer.count).elementsEqual(serverTrailer)
    {
      return .injected
    }
    guard Self.opens(codec) else { return .refused(.codec(codec)) }
    // Plain bytes, and their index, are fewer than encrypted ones.
    let buffer = pool.take(minimum: bytes.count)
    guard layers > 1 else {
      if let refusal = open(bytes, codec: codec, from: participant, at: now, into: buffer) { return .refused(refusal) }
      return .opened(buffer)
    }
    guard let frames = VP9Superframe.frames(bytes), frames.count == layers else { return .refused(.malformed) }
    var sizes: [Int] = []
    for frame in frames {
      let before = buffer.count
      if let refusal = open(frame, codec: codec, from: participant, at: now, into: buffer) { return .refused(refusal) }
      sizes.append(buffer.count - before)
    }
    VP9Superframe.index(sizes).withUnsafeBytes { _ = buffer.append($0) }
    return .opened(buffer)
  }

  /// Puts the plain bytes of one frame behind those of `buffer`, which has room for them. Nil when it went well.
  private mutating func open(
    _ bytes: UnsafeRawBufferPointer, codec: Codec, from participant: String, at now: Instant, into buffer: MediaBuffer
  ) -> Refusal? {
    guard let clearLength = EncryptedFrame.clearLength(bytes, codec: codec) else { return .malformed }
    let clear = UnsafeRawBufferPointer(rebasing: bytes[..<clearLength])
    var rest = UnsafeRawBufferPointer(rebasing: bytes[clearLength...])
    if codec == .h264 {
      if unescaped.capacity < rest.count { unescaped = MediaBuffer(capacity: 2 * rest.count) }
      unescaped.setCount(rest.count)
      unescaped.setCount(EncryptedFrame.unescape(rest, into: unescaped.mutableBytes))
      rest = unescaped.bytes
    }
    guard let frame = EncryptedFrame(clear: clear, rest: rest) else { return .malformed }
    buffer.append(clear)
    let refusal = unseal(frame, from: participant, at: now, into: buffer.base + buffer.count)
    if refusal == nil { buffer.setCount(buffer.count + frame.sealed.count - AESGCM.tagLength) }
    return refusal
  }

  /// Decrypts a message of a data channel: `sealed` is its ciphertext with the tag. Nil when it cannot be decrypted (yet).
  public mutating func open(
    message sealed: [UInt8], nonce: [UInt8], keyIndex: UInt32, from participant: String, at now: Instant
  ) -> [UInt8]? {
    guard sealed.count >= AESGCM.tagLength, nonce.count == AESGCM.nonceLength, let index = UInt8(exactly: keyIndex)
    else { return nil }
    var isOpened = false
    let opened = [UInt8](unsafeUninitializedCapacity: sealed.count) { buffer, count in
      sealed.withUnsafeBytes { sealed in
        nonce.withUnsafeBytes { nonce in
          guard let start = buffer.baseAddress else { return }
          let message = EncryptedFrame(sealed: sealed, nonce: nonce, keyIndex: index)
          isOpened = unseal(message, from: participant, at: now, into: UnsafeMutableRawPointer(start)) == nil
        }
      }
      count = isOpened ? sealed.count - AESGCM.tagLength : 0
    }
    return isOpened ? opened : nil
  }

  // MARK: What the bot sends

  /// The bot sends as this participant, from now on.
  public mutating func send(as participant: String) {
    sending = keys.sending(as: participant)
    if let sending { want(1, of: sending) }
  }

  /// Whether what the bot sends can be encrypted: it has a key, and that is derived.
  public var canSeal: Bool { cipher != nil }

  private var cipher: AESGCM? { sending.flatMap { chains[$0]?.ciphers.first } }

  /// Encrypts one frame of the bot's own. Nil when it cannot be, and must not be sent.
  public mutating func seal(_ bytes: UnsafeRawBufferPointer, codec: Codec) -> MediaBuffer? {
    guard codec == .opus || codec == .vp8 || codec == .vp9, let cipher, let sending,
      let clearLength = EncryptedFrame.clearLength(bytes, codec: codec)
    else { return nil }
    let size = bytes.count + EncryptedFrame.overhead
    let buffer = pool.take(minimum: size)
    let clear = UnsafeRawBufferPointer(rebasing: bytes[..<clearLength])
    let plain = UnsafeRawBufferPointer(rebasing: bytes[clearLength...])
    buffer.append(clear)
    buffer.setCount(size)
    let tail = UnsafeMutableRawBufferPointer(rebasing: buffer.mutableBytes[(bytes.count + AESGCM.tagLength)...])
    nonces.next(into: tail)
    (tail[AESGCM.nonceLength], tail[AESGCM.nonceLength + 1]) = (UInt8(AESGCM.nonceLength), sending.index)
    let nonce = UnsafeRawBufferPointer(rebasing: tail[..<AESGCM.nonceLength])
    return cipher.seal(plain, nonce: nonce, clear: clear, into: buffer.base + clearLength) ? buffer : nil
  }

  /// Encrypts a message for a data channel: ciphertext with tag, nonce, and the key's index. Nil when it cannot be, and must not be sent.
  public mutating func seal(message plain: [UInt8]) -> (sealed: [UInt8], nonce: [UInt8], keyIndex: UInt8)? {
    guard let cipher, let sending else { return nil }
    let nonce = nonces.next()
    var isSealed = false
    let size = plain.count + AESGCM.tagLength
    let sealed = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      isSealed = plain.withUnsafeBytes { plain in
        nonce.withUnsafeBytes { nonce in
          cipher.seal(plain, nonce: nonce, clear: UnsafeRawBufferPointer(start: nil, count: 0), into: start)
        }
      }
      count = isSealed ? size : 0
    }
    return isSealed ? (sealed, nonce, sending.index) : nil
  }

  // MARK: Keys

  /// What is to be derived next, nothing while that is under way. `finish` must follow.
  public mutating func nextWork() -> KeyWork? {
    guard working == nil else { return nil }
    while let name = queue.first {
      guard let chain = chains[name], chain.wanted > chain.ciphers.count else {
        queue.removeFirst()
        continue
      }
      working = name
      return KeyWork(name: name, keys: keys, material: chain.material)
    }
    return nil
  }

  /// Takes what was derived.
  public mutating func finish(_ result: KeyWork.Result) {
    working = nil
    if let cipher = result.cipher { chains[result.name]?.append(cipher, material: result.material) }
  }

  /// Puts a chain before the others until it has so many keys.
  private mutating func want(_ count: Int, of name: KeyChain.Name) {
    guard let chain = chains[name], chain.ciphers.count < count else { return }
    chains[name]?.wanted = max(chain.wanted, count)
    guard queue.first != name else { return }
    queue.removeAll { $0 == name }
    queue.insert(name, at: 0)
  }

  /// Nil when it went well.
  private mutating func unseal(
    _ frame: EncryptedFrame, from participant: String, at now: Instant, into output: UnsafeMutableRawPointer
  ) -> Refusal? {
    let owner = keys.own[participant] == nil ? nil : participant
    let name = KeyChain.Name(participant: owner, index: frame.keyIndex)
    guard let chain = chains[name] else { return .noKey(index: Int(frame.keyIndex)) }
    guard !chain.ciphers.isEmpty else {
      want(1, of: name)
      return .pending
    }
    func opens(_ step: Int) -> Bool {
      chain.ciphers[step].open(frame.sealed, nonce: frame.nonce, clear: frame.clear, into: output)
    }
    let placeName = PlaceName(participant: participant, index: frame.keyIndex)
    var place = places[placeName] ?? Place()
    if opens(place.step) { return nil }
    // The sender may be some steps ahead.
    guard keys.ratchetWindow > 0, now >= place.nextSearch else { return .wrongKey(index: Int(frame.keyIndex)) }
    let last = place.step + keys.ratchetWindow
    want(last + 1, of: name)
    place.nextSearch = now + Self.searchInterval
    let found = (place.step + 1..<max(place.step + 1, min(last + 1, chain.ciphers.count))).first(where: opens)
    if let found { place = Place(step: found) }
    if places.count >= Self.mostPlaces, places[placeName] == nil { places.removeAll() }
    places[placeName] = place
    return found == nil ? .wrongKey(index: Int(frame.keyIndex)) : nil
  }
}
