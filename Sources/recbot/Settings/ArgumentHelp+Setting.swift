import ArgumentParser
import Settings

extension ArgumentHelp {
  /// The help of the flag that sets a setting: what it is, its default, and the variable when `namesVariable`; of a secret
  /// always, because processes can read each other's command lines.
  static func setting<Value>(_ setting: Setting<Value>, namesVariable: Bool = false) -> ArgumentHelp {
    let about = setting.about
    let variable = about.variables.last ?? ""
    var notes: [String] = []
    if about.isSecret {
      notes.append("better in \(variable) than here")
    } else if namesVariable {
      notes.append(variable)
    }
    if let fallback = about.fallback, fallback != "false" { notes.append("default: \(fallback)") }
    if let otherwise = about.otherwise, otherwise != "none" { notes.append("default: \(otherwise)") }
    let text = about.help + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))") + "."
    return ArgumentHelp("\(text)", valueName: about.placeholder)
  }
}
