import HTTPGuard
import Jobs
import JobsAPI
import Logging
import MediaCore

/// What all routes and loops of one backend share. Any thread.
final class BackendCore: Sendable {
  let configuration: BackendConfiguration
  let authenticator: Authenticator
  let tickets: TicketOffice
  let metrics = MetricsRegistry()
  let connections = Connections()
  /// Links to files.
  let links: FileLinks
  /// How many files are sent at once.
  let downloads: DownloadSeats
  /// Who may hold a connection.
  let door: ConnectionDoor
  /// Rings when a job may have become free.
  let jobsBell = Bell()
  /// Rings when something happened to a job.
  let eventsBell = Bell()
  /// Rings when a recorder may have answered a command.
  let answersBell = Bell()
  /// Rings when there may be something to tell receivers.
  let webhooksBell = Bell()
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
    downloads = DownloadSeats(
      total: configuration.limits.downloads, perOwner: configuration.limits.downloadsPerOwner)
    authenticator = Authenticator(keys: keys, configuration: configuration)
    tickets = TicketOffice(
      service: configuration.roomService, publicURL: configuration.publicRoomURL,
      lifetime: configuration.ticketLifetime)
  }

  /// Says that a job was made or changed: held requests look again.
  func changed() {
    jobsBell.ring()
    eventsBell.ring()
    answersBell.ring()
    webhooksBell.ring()
  }
}
