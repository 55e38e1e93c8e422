import Compositor
import Glibc
import Layouts
import MediaCore

// compositor-bench                    prints what composing costs, on one core; exit code 1 when a limit is exceeded
// compositor-bench --pictures FOLDER  writes pictures of everything that is drawn instead, to be looked at

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[1] == "--pictures" {
  do {
    try Gallery(folder: arguments[2]).write()
  } catch {
    print(error)
    exit(1)
  }
} else if arguments.count == 1 {
  exit(Bench().run() ? 0 : 1)
} else {
  print("usage: compositor-bench [--pictures FOLDER]")
  exit(["-h", "--help", "help"].contains(arguments[1]) ? 0 : 64)
}
