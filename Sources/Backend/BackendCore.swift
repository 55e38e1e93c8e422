import HTTPGuard
import HTTPService
import Jobs
import JobsAPI
import Logging
import MediaCore

/// What all routes and loops of one backend share. Any thread.
final class BackendCore: Sendable {
  let configuration: BackendConfiguration
  let authenticator: Authenticator
  let credentials: CredentialIssuer
  let metrics = BackendMetrics()
  let connections = Connections()
  /// Links to files.
  let links: FileLinks
  /// How many files are sent at once.
  let downloads: DownloadLimiter
  /// Who may hold a connection.
  let door: ConnectionDoor
  /// What held requests and loops wait for.
  let changes = ChangeNotifiers()
  let logger: Logger

  init(configuration: BackendConfiguration, keys: KeyStore, logger: Logger) {
    self.configuration = configuration
    self.logger = logger
    var admission = AdmissionLimits()
    admission.perAddress = configuration.limits.perAddress
    admission.waiting = configuration.limits.waiting
    admission.entered = configuration.limits.connections
    door = ConnectionDoor(admission, logger: logger)
    links = FileLinks(secret: configuration.roomService.apiSecret)
    downloads = DownloadLimiter(
      total: configuration.limits.downloads, perOwner: configuration.limits.downloadsPerOwner)
    authenticator = Authenticator(keys: keys, configuration: configuration)
    credentials = CredentialIssuer(
      service: configuration.roomService, publicURL: configuration.publicRoomURL,
      lifetime: configuration.ticketLifetime)
  }
}
