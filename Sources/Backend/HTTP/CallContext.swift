import Hummingbird
import NIOCore

/// What Hummingbird keeps of a request: its connection besides the usual.
struct CallContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }
}
