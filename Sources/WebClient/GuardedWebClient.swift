import FoundationEssentials
import NIOCore
import NIOHTTP1
import Platform

/// Fetches small things from addresses that others named. An address is looked up first and checked; then exactly what
/// was checked is asked, so that a name cannot lead elsewhere in the meantime. Redirects are followed by hand and checked
/// in the same way. No cookies, no credentials, no proxies.
public struct GuardedWebClient: Sendable {
  /// How many redirects are followed.
  static let maximumRedirects = 4
  /// For one fetch in all, redirects included; a third of it for each connection, two for each silence.
  let timeLimit: Duration
  let policy: PrivateAddresses
  let isAllowed: @Sendable (IPAddress) -> Bool
  private let names: NameLookup

  /// Makes a client; see the properties.
  public init(privateAddresses policy: PrivateAddresses) {
    self.init(policy: policy) { policy == .allow || $0.isPublic }
  }

  /// Asks only addresses for which `isAllowed` is true.
  init(
    policy: PrivateAddresses, timeLimit: Duration = .seconds(15), names: NameLookup = .system,
    isAllowed: @escaping @Sendable (IPAddress) -> Bool
  ) {
    self.names = names
    self.timeLimit = timeLimit
    self.policy = policy
    self.isAllowed = isAllowed
  }

  /// The body that is found at an address.
  ///
  /// - Parameters:
  ///   - accept: the kinds of content that are wanted, as the header says it.
  ///   - maximumBytes: a larger body is an error, and not read to its end.
  public func get(_ url: String, accept: String, maximumBytes: Int) async throws(WebClientError) -> [UInt8] {
    let deadline = NIODeadline.now() + TimeAmount(timeLimit)
    var address = try OutgoingAddress(url, policy: policy)
    for _ in 0...GuardedWebClient.maximumRedirects {
      let allowed = try await allowedAddress(of: address)
      switch try await ask(address, at: allowed, accept: accept, maximumBytes: maximumBytes, deadline: deadline) {
      case .body(let bytes): return bytes
      case .redirect(let location): address = try OutgoingAddress(location, relativeTo: address, policy: policy)
      }
    }
    throw WebClientError("redirects more than \(GuardedWebClient.maximumRedirects) times")
  }

  private enum Answer {
    case body([UInt8])
    case redirect(String)
  }

  /// Where an address leads, when that is allowed.
  func allowedAddress(of address: OutgoingAddress) async throws(WebClientError) -> IPAddress {
    let found = try await address.resolve(by: names)
    guard let allowed = found.first(where: isAllowed) else {
      throw WebClientError("leads to the private address \(found.first?.description ?? "")")
    }
    return allowed
  }

  private func ask(
    _ address: OutgoingAddress, at ip: IPAddress, accept: String, maximumBytes: Int, deadline: NIODeadline
  ) async throws(WebClientError) -> Answer {
    let request = address.request(.GET, headers: ["accept": accept, "user-agent": "recbot"])
    return try await exchange(request, at: ip, deadline: deadline) { response in
      try await read(response, maximumBytes: maximumBytes)
    }
  }

  /// One request to exactly this IP address. The deadline is for its answer's body, too.
  func exchange<Value: Sendable>(
    _ request: WebRequest, at ip: IPAddress, deadline: NIODeadline,
    _ read: @escaping @Sendable (WebResponse) async throws -> Value
  ) async throws(WebClientError) -> Value {
    let client = WebConnections(.init(connectTimeout: timeLimit / 3, silence: timeLimit / 3 * 2))
    do {
      return try await TimeLimit.run(.nanoseconds((deadline - .now()).nanoseconds)) {
        try await read(try await client.answer(to: request, at: ip.description))
      }
    } catch let error as WebClientError {
      throw error
    } catch let error as WebFault where error != .late {
      throw WebClientError("cannot be reached: \(error)")
    } catch {
      throw .late
    }
  }

  private func read(_ response: WebResponse, maximumBytes: Int) async throws -> Answer {
    switch response.status.code {
    case 200: break
    case 301, 302, 303, 307, 308:
      guard let location = response.headers.first(name: "location") else {
        throw WebClientError("redirects to nowhere")
      }
      return .redirect(location)
    default: throw WebClientError("the server answers \(response.status.code)")
    }
    let tooLarge = WebClientError("is larger than \(maximumBytes >> 10) KiB")
    if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), length > maximumBytes {
      throw tooLarge
    }
    var bytes: [UInt8] = []
    for try await part in response.body {
      bytes.append(contentsOf: part.readableBytesView)
      if bytes.count > maximumBytes { throw tooLarge }
    }
    return .body(bytes)
  }
}
