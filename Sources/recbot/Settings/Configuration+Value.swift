import Settings

extension Configuration {
  /// Nothing set.
  init() { self.init(known: AnySetting.all) }

  /// Reads the file and the environment.
  static func load(path: String?, environment: [String: String]) throws(ConfigurationError) -> Configuration {
    try load(path: path, environment: environment, known: AnySetting.all)
  }

  /// Reads the file and the environment like `load`, but goes on after each problem.
  static func inspect(path: String?, environment: [String: String]) -> Inspection {
    inspect(path: path, environment: environment, known: AnySetting.all)
  }

  /// The value in force: the flag's, else the environment's or the file's, else the default. A bad value says where it stands.
  func value<Value>(_ setting: Setting<Value>, flag: String? = nil) throws -> Value {
    if let given = try given(setting, flag: flag) { return given }
    do { return try setting.unset() } catch { throw Failure(.usage, "\(setting.about.name): \(error)") }
  }

  /// The value that is set somewhere; nil: nowhere.
  func given<Value>(_ setting: Setting<Value>, flag: String? = nil) throws -> Value? {
    try given(setting, flag: flag, parse: setting.parse)
  }

  /// The value that is set somewhere, read by what knows more than the setting.
  func given<Value, Read>(
    _ setting: Setting<Value>, flag: String? = nil, parse: (String) throws(ValueError) -> Read
  ) throws -> Read? {
    let (flagName, set) = (setting.about.flag ?? setting.about.name, self[setting])
    guard let text = flag ?? set?.text else { return nil }
    do {
      return try parse(text)
    } catch {
      throw Failure(.usage, "\(flag == nil ? set?.origin ?? "" : flagName): \(error)")
    }
  }

  /// The text in force as it is: whoever takes it checks it.
  func text(_ setting: Setting<String?>, flag: String? = nil) -> String? { flag ?? self[setting]?.text }

  /// The same of one with a default.
  func text(_ setting: Setting<String>, flag: String? = nil) -> String {
    flag ?? self[setting]?.text ?? setting.about.fallback ?? ""
  }
}
