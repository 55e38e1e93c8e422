import Backend
import Delivery

// What the backend does with finished files, the targets that bring them to their places can do.

extension KeptFiles: RecordingFolder {}
extension KeptFile: OpenRecording {}
extension StoredFiles: RecordingBucket {}
