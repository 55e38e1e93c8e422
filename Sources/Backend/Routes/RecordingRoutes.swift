import Hummingbird
import Jobs

/// Finished files.
struct RecordingRoutes: RouteGroup {
  func add(to routes: Routes) {
    routes.caller(.get, "/v1/recordings", .recordingsRead) { call, caller in
      let filter = JobStore.Filter(owner: caller.visibleOwner, room: try call.query("room"), rooms: caller.rooms)
      return .json(
        try await call.core.store.recordings(filter, after: try call.query("after"), limit: try call.pageSize()))
    }
  }
}
