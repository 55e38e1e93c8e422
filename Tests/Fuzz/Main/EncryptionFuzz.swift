import FrameEncryption
import MediaCore

/// Feeds a row of frames and messages of several senders to what decrypts them: each begins with a byte that says who sends
/// it and as what, and one of its length. A frame is also taken for one of H.264 behind a slice's header, and for layers of
/// VP9. Keys are derived as they are asked for.
func fuzzEncryption(_ bytes: UnsafeRawBufferPointer) {
  var keys = FrameKeys()
  keys.shared = [0: [1], 1: [2]]
  keys.own = ["ann": [0: [3]]]
  // The other derivation takes 30 ms a key.
  keys.derivation = .hkdf
  keys.ratchetWindow = 2
  var decryption = FrameCryptor(keys: keys, nonceSeed: 1)
  decryption.serverTrailer = [7, 7, 7]
  var rest = bytes[...]
  var now = Instant(nanoseconds: 0)
  var derived = 0
  while rest.count >= 2 {
    let (flags, length) = (rest[rest.startIndex], Int(rest[rest.startIndex + 1]))
    let frame = Array(rest.dropFirst(2).prefix(length))
    rest = rest.dropFirst(2 + length)
    now += .milliseconds(Int(flags >> 4) * 10)
    let sender = flags & 1 != 0 ? "ann" : "ben"
    if flags & 8 != 0 {
      let opened = decryption.open(
        message: Array(frame.dropFirst(12)), nonce: Array(frame.prefix(12)), keyIndex: UInt32(flags & 3), from: sender,
        at: now)
      precondition(opened == nil, "rubbish was decrypted")
    } else {
      let cut = frame.count / 2
      let layers = frame + VP9Superframe.index([cut, frame.count - cut])
      var rows = Codec.allCases.map { ($0, frame, 1) }
      rows += [(.h264, NALUnit.startCode + [0x65, 0x88] + frame, 1), (.vp9, layers, 2)]
      for (codec, bytes, count) in rows {
        let outcome = bytes.withUnsafeBytes {
          decryption.open($0, codec: codec, layers: count, from: sender, at: now)
        }
        if case .opened = outcome { preconditionFailure("rubbish was decrypted") }
      }
    }
    while let work = decryption.nextWork() {
      decryption.finish(work.perform())
      derived += 1
    }
    // Three keys, and as many steps ahead of each as the window has.
    precondition(derived <= 3 * (1 + keys.ratchetWindow), "keys are derived again and again")
  }
}
