import Compositor
import WebClient

/// Brings people's images from the web for the compositor's `ImageStore`.
struct WebImageFetcher: ImageFetcher {
  private let client: GuardedWebClient

  /// Makes a fetcher that asks by `client`.
  init(_ client: GuardedWebClient) { self.client = client }

  /// Fetches an image within the client's rules (addresses, redirects, time); calls `completion` once, on any thread.
  func fetch(
    _ url: String, maximumBytes: Int, completion: @escaping @Sendable (Result<[UInt8], ImageFetchFailure>) -> Void
  ) {
    let client = client
    Task {
      do throws(WebClientError) {
        completion(.success(try await client.get(url, accept: "image/png, image/jpeg", maximumBytes: maximumBytes)))
      } catch {
        completion(.failure(ImageFetchFailure(error.description)))
      }
    }
  }
}
