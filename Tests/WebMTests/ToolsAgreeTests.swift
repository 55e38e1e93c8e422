import MediaCore
import Testing

@testable import WebM

/// Other people's programs find nothing to complain about, and see what we see.
@Suite(.enabled(if: Tool.judgesAreThere)) struct ToolsAgreeTests {
  let directory = TemporaryDirectory()

  private func write(finishes: Bool) throws -> String {
    let path = directory.path("recording.webm")
    let writer = try WebMWriter(path: path, configuration: Clip.configuration)
    writer.addChapter(start: .zero, title: "start")
    writer.setTag("ROOM", "standup")
    for frame in Clip.shared.frames { try writer.add(frame) }
    if finishes { _ = try writer.finish() } else { writer.abandon() }
    return path
  }

  private func ffprobe(_ path: String, _ arguments: [String]) -> String {
    let result = Tool.run(["ffprobe", "-v", "error", "-of", "csv=p=0"] + arguments + [path], in: directory)
    #expect(result.errors == "" && result.status == 0)
    return result.output
  }

  @Test(arguments: [true, false]) func ffmpegDecodesEveryFrameWithoutAWord(finished: Bool) throws {
    let path = try write(finishes: finished)
    #expect(Tool.decode(path, in: directory) == "")
    let frames = ffprobe(path, ["-count_frames", "-show_entries", "stream=codec_name,nb_read_frames"])
    let sounds = Clip.shared.frames.count { !$0.isVideo }
    // Unfinished, the last ones still wait for what may come between them.
    #expect(frames == "vp8,120\nopus,\(sounds)\n" || !finished && frames.hasPrefix("vp8,1"))
  }

  @Test func ffprobeSeesWhatWeWrote() throws {
    let path = try write(finishes: true)
    let report = try WebMProbe.probe(path)
    #expect(ffprobe(path, ["-show_entries", "format=duration"]) == "\(report.duration.inSeconds)000\n")
    let entries = "stream=codec_name,width,height,r_frame_rate,color_range,color_space,color_primaries"
    let video = ffprobe(path, ["-select_streams", "v", "-show_entries", entries])
    #expect(video == "vp8,320,180,tv,smpte170m,bt709,30/1\n")
    let audio = ffprobe(path, ["-select_streams", "a", "-show_entries", "stream=codec_name,sample_rate,channels"])
    #expect(audio == "opus,48000,2\n")
    #expect(ffprobe(path, ["-show_entries", "format_tags=ROOM"]) == "standup\n")
    #expect(
      ffprobe(path, ["-show_chapters", "-show_entries", "chapter=start_time:chapter_tags=title"]).contains("start"))
  }

  @Test func seekingGoesToTheKeyframeBefore() throws {
    let path = try write(finishes: true)
    let packet = ffprobe(
      path, ["-select_streams", "v", "-read_intervals", "2%+#1", "-show_entries", "packet=pts_time,flags"])
    #expect(packet.hasPrefix("1.500000,K"))
    let result = Tool.run(
      [
        "ffmpeg", "-v", "error", "-xerror", "-nostdin", "-ss", "3.2", "-i", path, "-frames:v", "1", "-f", "null", "-",
      ], in: directory)
    #expect(result.errors == "" && result.status == 0)
  }

  @Test(arguments: [true, false]) func mkvmergeTakesIt(finished: Bool) throws {
    let path = try write(finishes: finished)
    let merged = Tool.run(["mkvmerge", "-o", directory.path("merged.mkv"), path], in: directory)
    #expect(merged.status == 0)
    #expect(!merged.output.contains("Warning") && !merged.output.contains("Error"))
    let info = Tool.run(["mkvinfo", path], in: directory)
    #expect(info.status == 0 && info.errors == "")
  }

  @Test func webmInfoTakesIt() throws {
    let path = try write(finishes: true)
    let info = Tool.run(["webm_info", "-i", path, "-all"], in: directory)
    #expect(info.status == 0 && info.errors == "")
    #expect(info.output.contains("Cue Point:3 type:V track:1 secs:3"))
  }

  @Test func soundAndPicturesKeepTheirDistance() throws {
    // ffmpeg takes the encoder's delay off the sound's timestamps: input sample 0 is heard at 0.
    let path = try write(finishes: true)
    #expect(ffprobe(path, ["-select_streams", "a", "-show_entries", "stream=start_time"]) == "-0.007000\n")
    #expect(ffprobe(path, ["-select_streams", "v", "-show_entries", "stream=start_time"]) == "0.000000\n")
  }
}
