import Compositor
import Glibc
import Layouts
import MediaCore

// compositor-bench                    prints what composing costs, on one core
// compositor-bench --pictures FOLDER  writes pictures of typical rooms instead

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[1] == "--pictures" {
  do {
    try Gallery(folder: arguments[2]).write()
  } catch {
    print(error)
    exit(1)
  }
} else if arguments.count == 1 {
  Bench.run()
} else {
  print("usage: compositor-bench [--pictures FOLDER]")
  exit(2)
}
