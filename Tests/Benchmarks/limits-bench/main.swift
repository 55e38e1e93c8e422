import Foundation
import Glibc

// What `Tests/Benchmarks/limits.py` holds to limits that do not depend on the machine:
//
//   limits-bench packets NUMBER   sends so many frames over a connection, and prints how many packets that were and how often the
//                                 threads of both ends allocated memory meanwhile
//   limits-bench log FOLDER       writes a session log of nine people, for `recbot compose`

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  switch (arguments.first, arguments.count, arguments.last.flatMap { Int($0) }) {
  case ("packets", 2, let number?) where number > 0: print(try Packets.run(frames: number))
  case ("log", 2, _): try PeopleLog.write(to: arguments[1])
  default:
    print("usage: limits-bench packets NUMBER | log FOLDER")
    exit(64)
  }
} catch {
  FileHandle.standardError.write(Data("limits-bench: \(error)\n".utf8))
  exit(1)
}
