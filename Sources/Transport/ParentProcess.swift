import CNice
import Glibc

/// The process that started this one.
public enum ParentProcess {
  /// From now on this process gets SIGTERM when the thread that started it ends: a worker's for its whole life.
  public static func follow() { cnice_follow_parent(SIGTERM) }
}
