import RecbotKit

@main
struct Bot {
  static func main() async {
    say("Here is the bot.")
  }
}

/// Prints a line. Names are given by strangers: what could command a terminal is left out.
func say(_ text: String) {
  let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
  print(String(String.UnicodeScalarView(scalars)))
}
