import Control
import Layouts
import MediaCore
import Recording
import Session
import Settings

/// The section `recording`: what is made, and how.
extension Setting {
  static var identity: Setting<String?> {
    .init(
      "recording.identity", "The bot's identity in the room", flag: "--identity", placeholder: "text",
      otherwise: "recbot- and a random text", example: "recbot-x7k2m9pq", parse: Values.text)
  }
  static var name: Setting<String> {
    .init(
      "recording.name", "The bot's display name", flag: "--name", placeholder: "text", default: "recbot",
      parse: Values.text)
  }
  static var transcript: Setting<String?> {
    .init(
      "recording.transcript", "Also write chat and captions into a file: .jsonl, .srt or .vtt", flag: "--transcript",
      placeholder: "file", example: "talk.vtt", parse: Values.text)
  }
  static var muteIcons: Setting<Bool?> {
    .init(
      "recording.mute-icons", "Tiles show who is muted", otherwise: "as the layout says", example: "true",
      parse: Values.boolean)
  }
  static var marks: Setting<Bool?> {
    .init(
      "recording.marks", "Tiles show pins and low bandwidth", otherwise: "as the layout says", example: "true",
      parse: Values.boolean)
  }
  /// Is read by a `LayoutStore`, which knows the folder, the theme and the size.
  static var layout: Setting<String> {
    .init(
      "recording.layout", "Layout: a name (see recbot layouts list), a file, or twilio:FILE", flag: "--layout",
      placeholder: "layout", default: "grid", parse: Values.text)
  }
  static var layoutsDir: Setting<String?> {
    .init(
      "recording.layouts-dir", "Folder whose layouts go before the built-in ones", flag: "--layouts-dir",
      placeholder: "folder", otherwise: "layouts, when there is one", example: "layouts", parse: Values.text)
  }
  static var theme: Setting<ThemeName?> {
    .init(
      "recording.theme", "Colours: dark or light", flag: "--theme", placeholder: "theme",
      otherwise: "the layout's own", example: "dark", parse: Values.word("theme"))
  }
  static var size: Setting<CanvasSize> {
    .init(
      "recording.size", "Size of the picture, even numbers", flag: "--size", placeholder: "WxH", default: "1280x720",
      parse: Values.size)
  }
  static var preset: Setting<RecordingPreset?> {
    .init(
      "recording.preset",
      "What the recording is for: meeting, slides (10 pictures a second, AV1, 250k) or archive (AV1, 500k); a value that is set "
        + "itself counts more", flag: "--preset", placeholder: "name", otherwise: "meeting", example: "archive",
      parse: Values.word(RecordingPreset.what))
  }
  static var framesPerSecond: Setting<Int> {
    .init(
      "recording.fps", "Pictures a second, 1 to 60", flag: "--fps", placeholder: "n", default: "30",
      parse: Values.framesPerSecond)
  }
  static var codec: Setting<RecordingCodec> {
    .init(
      "recording.codec", "What the picture is written in: vp8, vp9 or av1", flag: "--codec", placeholder: "codec",
      default: "vp8", parse: Values.codec)
  }
  static var videoBitrate: Setting<Int?> {
    .init(
      "recording.video-bitrate", "Bits a second of the picture, such as 2500k or 4M", flag: "--video-bitrate",
      placeholder: "rate", otherwise: "2500k; 1500k with vp9, 1000k with av1", example: "2500k", parse: Values.bitrate)
  }
  static var audioBitrate: Setting<Int> {
    .init("recording.audio-bitrate", "Bits a second of the sound", default: "96k", parse: Values.bitrate)
  }
  static var loudness: Setting<Bool> {
    .init(
      "recording.loudness", "Bring each speaker to the same loudness, -16 LUFS, before mixing", flag: "--loudness",
      default: "false", parse: Values.boolean)
  }
  static var cpuBudget: Setting<Double?> {
    .init(
      "recording.cpu-budget",
      "What of a core a recording may take, such as 0.25; what would take more is done without, step by step",
      flag: "--cpu-budget", placeholder: "cores", otherwise: "whatever there is", example: "0.25", parse: Values.cores)
  }
  static var processors: Setting<[ProcessorRule]?> {
    .init(
      "recording.processors",
      "What is done to whose pictures (pixelate, blur, grayscale, mask) and sound (voice-mask, silence, loudness, denoise), or none; "
        + "PERSON is an identity, a name, attribute:KEY=VALUE or *; several with semicolons", flag: "--processor",
      placeholder: "person=what", example: "Ann Lee=pixelate,voice-mask", parse: ProcessorText.rules)
  }
  static var chapters: Setting<ChapterDetail> {
    .init(
      "recording.chapters",
      "What begins a chapter: none, marks (markers, pauses, outages), people (also who comes, goes and shares a screen) or talkers "
        + "(also who talks for half a minute)", flag: "--chapters", placeholder: "level", default: "marks",
      parse: Values.word(ChapterDetail.what))
  }
  static var maxDuration: Setting<Duration?> {
    .init(
      "recording.max-duration", "End at this length, such as 2h", flag: "--max-duration", placeholder: "time",
      example: "2h", parse: Values.duration)
  }
  static var stopWhenEmpty: Setting<Duration?> {
    .init(
      "recording.stop-when-empty",
      "End when no people have been in the room for so long, such as 30s; agents and recorders don't count",
      flag: "--stop-when-empty", placeholder: "time", otherwise: "never", example: "30s", parse: Values.duration)
  }
  static var avatars: Setting<AvatarRules.Origin> {
    .init(
      "recording.avatars", "People's own images on their cards: off, files or urls", flag: "--avatars",
      placeholder: "from", default: "off", parse: Values.word("source of avatars"))
  }
  static var avatarFolder: Setting<String?> {
    .init(
      "recording.avatar-folder", "Folder of such images; no file outside of it is read", flag: "--avatar-folder",
      placeholder: "folder", example: "/srv/avatars", parse: Values.text)
  }
  static var progress: Setting<ProgressMode> {
    .init(
      "recording.progress", "How progress is shown: auto, plain, json or none", flag: "--progress", placeholder: "mode",
      default: "auto", parse: Values.word("progress mode"))
  }
  static var job: Setting<String?> {
    .init(
      "recording.job", "Name for `recbot control`", flag: "--job", placeholder: "name",
      otherwise: "that of the output file", example: "standup"
    ) { text throws(ValueError) in
      guard RunDirectory.isName(text) else {
        throw ValueError("'\(text)' is no job's name: letters, digits, dot, dash and underscore, at most 64")
      }
      return text
    }
  }
  static var timeline: Setting<String?> {
    .init(
      "recording.timeline", "Also write what happens when: a JSON object a line", flag: "--timeline",
      placeholder: "file", example: "talk.jsonl", parse: Values.text)
  }
  static var log: Setting<String?> {
    .init(
      "recording.log", "Also write the session log into this folder: all that the room sends, for `recbot compose`",
      flag: "--log", placeholder: "folder", example: "talk.log", parse: Values.text)
  }
  static var logKeep: Setting<Duration?> {
    .init(
      "recording.log-keep", "How long the log is kept by `recbot log prune`, such as 7d", flag: "--log-keep",
      placeholder: "time", otherwise: "for ever; of jobs 7d", example: "7d", parse: Values.duration)
  }
  static var segments: Setting<Duration?> {
    .init(
      "recording.segments",
      "Also write the recording in segments of so long, such as 60s, closed while it goes on, and their index",
      flag: "--segments", placeholder: "time", otherwise: "none", example: "60s"
    ) { text throws(ValueError) in
      let length = try Values.duration(text)
      guard length >= .seconds(2), length <= .seconds(3600) else {
        throw ValueError("a segment has 2s to 1h, not \(text)")
      }
      return length
    }
  }
  static var pausePolicy: Setting<PausePolicy> {
    .init(
      "recording.pause-policy", "What `recbot control JOB pause` does: cut, slate or redact", default: "cut",
      parse: Values.word("pause policy"))
  }
  static var control: Setting<Bool> {
    .init("recording.control", "There is a control socket", default: "true", parse: Values.boolean)
  }
  static var runDirectory: Setting<String?> {
    .init(
      "recording.run-dir", "The folder of the control sockets",
      otherwise: "recbot in XDG_RUNTIME_DIR, or /tmp/recbot-UID", example: "/run/user/1000/recbot", parse: Values.text)
  }
}

extension SettingSection {
  static var recording: SettingSection {
    SettingSection(
      "recording",
      [
        .of(.identity), .of(.name), .of(.transcript), .of(.muteIcons), .of(.marks), .of(.layout), .of(.layoutsDir),
        .of(.theme), .of(.size), .of(.preset), .of(.framesPerSecond), .of(.codec), .of(.videoBitrate),
        .of(.audioBitrate), .of(.loudness), .of(.cpuBudget), .of(.processors), .of(.chapters), .of(.maxDuration),
        .of(.stopWhenEmpty),
        .of(.avatars), .of(.avatarFolder),
        .of(.progress), .of(.job), .of(.timeline), .of(.log), .of(.logKeep), .of(.segments), .of(.pausePolicy),
        .of(.control), .of(.runDirectory),
      ])
  }
}
