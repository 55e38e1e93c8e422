import MediaCore
import Settings

/// The section `worker`.
extension Setting {
  static var workerSecret: Setting<String?> {
    .init(
      "worker.secret", "The same as the backend's, 32 bytes or more", example: "…", isSecret: true,
      parse: Values.secret(bytes: 32))
  }
  static var workerSecretFile: Setting<String?> {
    .init(
      "worker.secret-file", "A file with the worker secret, or /dev/fd/N", flag: "--secret-file", placeholder: "file",
      example: "/run/secret", parse: Values.text)
  }
  static var workerName: Setting<String?> {
    .init(
      "worker.name", "The worker's name, which no other has", flag: "--name", placeholder: "name",
      otherwise: "the host's and random text", example: "host-4711", parse: Values.text)
  }
  /// Nil: by what recordings cost.
  static var workerCapacity: Setting<Int?> {
    .init(
      "worker.capacity", "Recordings at once: a number, or auto: by what they cost", flag: "--capacity",
      placeholder: "n", default: "auto"
    ) { text throws(ValueError) in text == "auto" ? nil : try Values.whole(text, in: 1...1000) }
  }
  static var workerDrainTimeout: Setting<Duration> {
    .init(
      "worker.drain-timeout", "How long SIGTERM waits for running recordings before they are handed over",
      flag: "--drain-timeout", placeholder: "time", default: "1h", parse: Values.duration)
  }
  static var workerKeepParts: Setting<Duration> {
    .init(
      "worker.keep-parts", "Parts of jobs that others completed are deleted when they are so old", flag: "--keep-parts",
      placeholder: "time", default: "7d", parse: Values.duration)
  }
  static var workerBind: Setting<String?> {
    .init(
      "worker.bind", "Where /healthz and /metrics are, and files for the backend, such as 127.0.0.1:8081",
      flag: "--bind", placeholder: "address", otherwise: "nowhere", example: "127.0.0.1:8081", parse: Values.text)
  }
  static var workerFilesURL: Setting<String?> {
    .init(
      "worker.files-url",
      "The address of --bind as the backend reaches it, such as http://10.0.0.7:8081: there it fetches finished files",
      flag: "--files-url", placeholder: "url", otherwise: "that of --bind", example: "http://10.0.0.7:8081",
      parse: Values.url("http://", "https://"))
  }
  static var workerAfter: Setting<String?> {
    .init(
      "worker.after",
      "Run this by the shell after each file is finished; RECORDING_FILE and others are in its environment",
      flag: "--after", placeholder: "command", example: "/usr/local/bin/done", parse: Values.text)
  }
  static var workerAfterTimeout: Setting<Duration> {
    .init(
      "worker.after-timeout", "When the command after finishing runs longer, it is ended", flag: "--after-timeout",
      placeholder: "time", default: "10m", parse: Values.duration)
  }
}

extension SettingSection {
  static var worker: SettingSection {
    SettingSection(
      "worker", comment: "`recbot worker`.",
      [
        .of(.workerSecret), .of(.workerSecretFile), .of(.workerName), .of(.workerCapacity), .of(.workerDrainTimeout),
        .of(.workerKeepParts), .of(.workerBind), .of(.workerFilesURL), .of(.workerAfter), .of(.workerAfterTimeout),
      ])
  }
}
