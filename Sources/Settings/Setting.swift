/// A setting: what it is called, what it means, and how its text is read. Flags, environment, configuration file,
/// `config check`, `Config/recbot.yaml` and the flags' help come from it.
///
/// `Value` is an optional where nothing is in force when nothing is set.
public struct Setting<Value: Sendable>: Sendable {
  /// What is known of it whatever its values are.
  public let about: AnySetting
  /// Reads a text. The error never repeats a secret.
  public let parse: @Sendable (String) throws(ValueError) -> Value
  /// What is in force when it is set nowhere.
  public let unset: @Sendable () throws(ValueError) -> Value

  /// A setting with a default, which is written as in a file and read as any other text.
  ///
  /// `name` is section and key in the file, `help` one sentence without its dot, `flag` the option of the command line that
  /// sets it, and `placeholder` what stands for a value there. `variables` is only given where other variables set it than
  /// `RECBOT_` and the key (and the section, where many have such keys).
  public init(
    _ name: String, _ help: String, flag: String? = nil, placeholder: String? = nil, variables: [String]? = nil,
    default text: String, isSecret: Bool = false, parse: @escaping @Sendable (String) throws(ValueError) -> Value
  ) {
    about = AnySetting(
      name: name, help: help, flag: flag, placeholder: placeholder, variables: variables, fallback: text,
      otherwise: nil, example: text, isSecret: isSecret, check: { text throws(ValueError) in _ = try parse(text) })
    self.parse = parse
    unset = { () throws(ValueError) in try parse(text) }
  }

  /// A setting that is nil when it is set nowhere; `otherwise` says what happens then, and `example` shows a value.
  public init<Wrapped>(
    _ name: String, _ help: String, flag: String? = nil, placeholder: String? = nil, variables: [String]? = nil,
    otherwise: String = "none", example: String, isSecret: Bool = false,
    parse: @escaping @Sendable (String) throws(ValueError) -> Wrapped
  ) where Value == Wrapped? {
    about = AnySetting(
      name: name, help: help, flag: flag, placeholder: placeholder, variables: variables, fallback: nil,
      otherwise: otherwise, example: example, isSecret: isSecret,
      check: { text throws(ValueError) in _ = try parse(text) })
    self.parse = { text throws(ValueError) in try parse(text) }
    unset = { nil }
  }
}
