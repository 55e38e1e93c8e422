import ArgumentParser
import Recording
import Settings
import WebClient

/// The flags about people's images.
struct ImageOptions: ParsableArguments {
  @Option(help: ArgumentHelp("People's images on their cards: off, files or urls (default: off).", valueName: "origin"))
  var avatars: String?

  @Option(help: ArgumentHelp("Folder of people's images; nothing outside of it is read.", valueName: "folder"))
  var avatarFolder: String?

  /// What may be read and fetched.
  func settings(_ configuration: Configuration) throws -> ImageSettings {
    let origin = try configuration.value(flag: avatars, "--avatars", .avatars, default: .off) {
      text throws(ValueError) in
      guard let origin = AvatarRules.Origin(rawValue: text) else {
        throw ValueError("avatars come from off, files or urls, not from '\(text)'")
      }
      return origin
    }
    let privateAddresses = try configuration.value(
      flag: nil, "private-addresses", .privateAddresses, default: .refuse
    ) { text throws(ValueError) in
      guard let policy = PrivateAddresses(rawValue: text) else {
        throw ValueError("private-addresses is refuse or allow, not '\(text)'")
      }
      return policy
    }
    let folder = configuration.text(flag: avatarFolder, .avatarFolder)
    if origin == .files, folder == nil {
      throw ValidationError("avatars from files need --avatar-folder (RECBOT_AVATAR_FOLDER)")
    }
    return ImageSettings(
      avatars: AvatarRules(origin: origin, folder: folder),
      fetcher: origin == .urls ? WebImageFetcher(WebClient(privateAddresses: privateAddresses)) : nil)
  }
}
