import Delivery
import JobsAPI
import MediaCore
import Settings

/// The sections `delivery` and `webhooks`.
extension Setting {
  static var upload: Setting<DeliverySettings.Upload> {
    .init(
      "delivery.upload",
      "Upload finished files to the store (delivery.s3-…): off, after, or live: while recording", flag: "--upload",
      placeholder: "when", default: "off", parse: Values.word("way to upload"))
  }
  static var s3Endpoint: Setting<String?> {
    .init(
      "delivery.s3-endpoint", "The store", otherwise: "Amazon's for the region", example: "https://…",
      parse: Values.url("http://", "https://"))
  }
  static var s3Region: Setting<String> {
    .init(
      "delivery.s3-region", "The store's region", variables: ["RECBOT_S3_REGION", "AWS_REGION"], default: "us-east-1",
      parse: Values.text)
  }
  static var s3Bucket: Setting<String?> {
    .init("delivery.s3-bucket", "The bucket", example: "recordings") { text throws(ValueError) in
      guard (3...63).contains(text.utf8.count), !text.contains("/") else {
        throw ValueError("'\(text)' is not a bucket's name: 3 to 63 bytes, no slash")
      }
      return text
    }
  }
  static var s3PathStyle: Setting<Bool?> {
    .init(
      "delivery.s3-path-style", "The bucket in the path instead of the host name",
      otherwise: "as the endpoint is: in the path when it is one's own", example: "false", parse: Values.boolean)
  }
  static var s3Prefix: Setting<String?> {
    .init("delivery.s3-prefix", "The folder that every key begins with", example: "talks", parse: Values.text)
  }
  static var s3AccessKey: Setting<String?> {
    .init(
      "delivery.s3-access-key-id", "The key of the store", variables: ["AWS_ACCESS_KEY_ID"], example: "…",
      parse: Values.text)
  }
  static var s3SecretKey: Setting<String?> {
    .init(
      "delivery.s3-secret-access-key", "Its secret", variables: ["AWS_SECRET_ACCESS_KEY"], example: "…",
      isSecret: true, parse: Values.text)
  }
  static var s3SessionToken: Setting<String?> {
    .init(
      "delivery.s3-session-token", "Its session token", variables: ["AWS_SESSION_TOKEN"], example: "…",
      isSecret: true, parse: Values.text)
  }
  static var keyTemplate: Setting<KeyTemplate> {
    .init(
      "delivery.key-template",
      "The name in the store, of {room} {job} {time} {date} {year} {month} {day} {attempt}",
      default: "{room}-{time}.webm"
    ) { text throws(ValueError) in
      if let problem = JobRequest.problem(withName: text) { throw ValueError("'\(text)': \(problem)") }
      do throws(FileNameError) { return try KeyTemplate(text) } catch { throw ValueError("\(error)") }
    }
  }
  static var backupDirectory: Setting<String?> {
    .init(
      "delivery.backup-dir", "Files that can't be uploaded wait here", otherwise: "the data folder",
      example: "/srv/backup", parse: Values.text)
  }

  static var webhookURLs: Setting<String?> {
    .init(
      "webhooks.urls", "Receivers, several with commas", variables: ["RECBOT_WEBHOOK_URLS"], example: "https://…",
      parse: Values.urls("http://", "https://"))
  }
  static var webhookSecret: Setting<String?> {
    .init(
      "webhooks.secret", "Signs Standard Webhooks: `whsec_` and base64", variables: ["RECBOT_WEBHOOK_SECRET"],
      example: "whsec_…", isSecret: true
    ) { text throws(ValueError) in
      let digits = text.dropFirst("whsec_".count).utf8
      let isBase64 = digits.allSatisfy {
        (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || [43, 47, 61].contains($0)
      }
      guard text.hasPrefix("whsec_"), isBase64, (32...88).contains(digits.count) else {
        throw ValueError("not a signing key: whsec_ and the base64 of 24 to 64 random bytes")
      }
      return text
    }
  }
  static var webhookForm: Setting<WebhookTarget.Form> {
    .init(
      "webhooks.form", "standard, or livekit (signed with the room service's key)",
      variables: ["RECBOT_WEBHOOK_FORM"], default: "standard", parse: Values.word(WebhookTarget.Form.what))
  }
  static var webhookGiveUpAfter: Setting<Duration> {
    .init(
      "webhooks.give-up-after", "So long a receiver may be away", variables: ["RECBOT_WEBHOOK_GIVE_UP_AFTER"],
      default: "3d", parse: Values.duration)
  }
}

extension SettingSection {
  static var delivery: SettingSection {
    SettingSection(
      "delivery", comment: "Where finished files go.",
      [
        .of(.upload), .of(.s3Endpoint), .of(.s3Region), .of(.s3Bucket), .of(.s3PathStyle), .of(.s3Prefix),
        .of(.s3AccessKey), .of(.s3SecretKey), .of(.s3SessionToken), .of(.keyTemplate), .of(.backupDirectory),
      ])
  }
  static var webhooks: SettingSection {
    SettingSection(
      "webhooks", comment: "Who receives the events of every job, besides the jobs' own receivers.",
      [.of(.webhookURLs), .of(.webhookSecret), .of(.webhookForm), .of(.webhookGiveUpAfter)])
  }
}
