import Glibc
import Platform

@testable import Control

/// What the control socket of a recording reads: requests and answers line by line, and the same bytes through a real
/// connection in pieces. The first byte says how large these are, and whether the bytes come several times, so that
/// lines get too long.
public func fuzzControl(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first else { return }
  let repeats = first & 0x80 != 0 ? 4 : 1
  let text = Array(repeatElement(Array(bytes.dropFirst()), count: repeats).joined())
  let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  for line in lines.prefix(64) { read(line) }
  connect(text, lines.dropLast(), piece: 1 + Int(first & 0x7F) * 32)
}

/// Reads a line as both sides do; what they say of it is one line.
private func read(_ line: [UInt8]) {
  do throws(ControlError) {
    let request = try ControlRequest(line: line)
    precondition((request.title?.utf8.count ?? 0) <= ControlRequest.longestText, "a title is too long")
    let answer = ControlAnswer(ok: false, error: request.participant)
    let read = ControlAnswer(line: Array(answer.line.dropLast()))
    precondition(read?.error == request.participant, "a text does not come back")
  } catch {
    precondition(!error.description.contains("\n"), "an error has several lines")
  }
  guard let answer = ControlAnswer(line: line) else { return }
  let again = answer.line
  precondition(again.last == UInt8(ascii: "\n") && !again.dropLast().contains(UInt8(ascii: "\n")), "not one line")
  precondition(ControlAnswer(line: Array(again.dropLast())) == answer, "an answer does not come back")
}

/// Sends the bytes over a socket: what comes out are the lines, in order, until one is too long.
private func connect(_ text: [UInt8], _ lines: ArraySlice<[UInt8]>, piece: Int) {
  guard let (reader, writer) = UnixSocket.pair() else { return }
  defer { close(writer) }
  var connection = ControlConnection(descriptor: reader, now: .distantPast)
  var expected = lines
  var sent = 0
  var isOpen = true
  while isOpen, sent < text.count, !connection.isClosing {
    let count = text.withUnsafeBytes {
      send(writer, $0.baseAddress?.advanced(by: sent), min(piece, text.count - sent), Int32(MSG_NOSIGNAL))
    }
    guard count > 0 else { break }
    sent += count
    var left = count
    while left > 0, isOpen, connection.wantsToRead {
      isOpen = connection.receive()
      left -= 4096
      while let line = connection.nextLine(at: .distantPast) {
        precondition(line == expected.popFirst(), "another line than was sent")
        connection.put(ControlAnswer.refused("no").line)
      }
    }
    isOpen = isOpen && connection.flush()
    var answers = [UInt8](repeating: 0, count: 65_536)
    while recv(writer, &answers, answers.count, Int32(MSG_DONTWAIT)) > 0 {}
  }
  if !connection.isClosing, sent == text.count { precondition(expected.isEmpty, "a line was not delivered") }
}
