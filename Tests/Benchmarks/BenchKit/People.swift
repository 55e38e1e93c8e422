import Foundation

/// How long the files of people are, seconds.
package let fileLength = 20

/// Makes the pictures and the sound of somebody as a browser sends them: of nine, five have a camera, with a face that moves before a
/// room that is still, four show a pattern; all with the noise of a camera; speech or silence. In 640x360 as VP8 of 500 kbit/s, and as
/// `smaller`, if there is a path, in 320x180 of 150 kbit/s.
package func makePerson(_ number: Int, _ path: String, smaller: String? = nil) {
  /// A part of the set that is full of detail, as a picture that stands still.
  func still(_ size: String, _ scale: Double) -> String {
    "mandelbrot=size=\(size):rate=30:start_scale=\(scale):start_x=-0.7436438870371587:start_y=-0.1318259042053119:maxiter=300,"
      + "trim=end_frame=1,loop=-1:1:0,setpts=N/30/TB"
  }
  let source: String
  switch number % 9 {
  case 1, 7:
    source =
      "testsrc2=size=960x540:rate=30,crop=640:360:x='(in_w-out_w)*(0.5+0.5*sin(t*0.7+\(number)))':y='(in_h-out_h)*(0.5+0.5*cos(t*0.5))'"
  case 3:
    source =
      "mandelbrot=size=640x360:rate=30:start_scale=2.8:end_scale=0.02:end_pts=1500:maxiter=400:start_x=-0.7436438870371587"
      + ":start_y=-0.1318259042053119"
  case 5:
    source =
      "gradients=size=640x360:rate=30:seed=5:nb_colors=6:speed=0.02,format=yuv420p[g];testsrc2=size=240x240:rate=30[f];"
      + "[g][f]overlay=x='(W-w)*(0.5+0.5*sin(t*0.6))':y='(H-h)*(0.5+0.5*cos(t*0.8))'"
  default:
    source =
      "\(still("640x360", 0.3 + Double(number) / 20)),boxblur=2:1,eq=saturation=0.4:contrast=0.6[room];"
      + "\(still("330x390", 0.02 + Double(number) / 300)),gblur=3,crop=220:260:x='(in_w-out_w)*(0.5+0.4*sin(t*2.1+\(number)))'"
      + ":y='(in_h-out_h)*(0.5+0.4*sin(t*3.3))',format=yuv420p[skin];color=black:size=220x260:rate=30,trim=end_frame=1,format=gray,"
      + "geq=lum='255*clip(8*(1-hypot((X-W/2)/(W/2),(Y-H/2)/(H/2))),0,1)',loop=-1:1:0,setpts=N/30/TB[oval];"
      + "[skin][oval]alphamerge[face];[room][face]overlay=x='(W-w)/2+53*sin(t*0.9+\(number))':y='H-h+10*sin(t*2.3)':shortest=0"
  }
  func output(_ picture: String, _ rate: String, _ path: String) -> [String] {
    [
      "-map", "[\(picture)]", "-map", "[a\(picture)]", "-t", "\(fileLength)", "-c:v", "libvpx", "-deadline", "realtime",
      "-cpu-used", "-6", "-b:v", rate, "-g", "3000", "-qmin", "2", "-qmax", "56", "-threads", "1", "-c:a", "libopus",
      "-b:a", "32k", "-ac", "1", "-y", path,
    ]
  }
  let sound =
    "anoisesrc=r=48000:color=pink:seed=\(number),volume='if(lt(mod(t+\(number),4),1.5),0.2,0)':eval=frame,asetnsamples=960"
  let picture = "\(source),noise=alls=5:allf=t:all_seed=\(number),format=yuv420p"
  let graph =
    smaller == nil
    ? "\(picture)[v];\(sound)[av]"
    : "\(picture),split[v][x];[x]scale=320:180:flags=area[w];\(sound),asplit[av][aw]"
  run(
    ["ffmpeg", "-v", "error", "-nostdin", "-filter_complex", graph] + output("v", "500k", path)
      + (smaller.map { output("w", "150k", $0) } ?? []))
}

/// ffmpeg's command that puts files side by side in 1280x720, mixes their sound, and writes VP8 of 2500 kbit/s with the settings that
/// the best hand-made recorder takes, on one thread: about what decoding, scaling and encoding with these libraries takes at least. `paced`: the
/// files come at the pace of a clock, as people do.
package func mixing(_ files: [String], columns: Int, seconds: Int, to path: String, paced: Bool = false) -> [String] {
  let (width, height) = (1280 / columns & ~1, 720 / columns & ~1)
  var words = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-filter_complex_threads", "1"]
  var (scaled, pictures, sounds, places) = ("", "", "", [String]())
  for (number, file) in files.enumerated() {
    words += (paced ? ["-re"] : []) + ["-threads", "1", "-i", file]
    scaled += "[\(number):v]scale=\(width):\(height):flags=bilinear,setsar=1[s\(number)];"
    pictures += "[s\(number)]"
    sounds += "[\(number):a]"
    places.append("\(number % columns * width)_\(number / columns * height)")
  }
  let graph =
    "\(scaled)\(pictures)xstack=inputs=\(files.count):layout=\(places.joined(separator: "|")):fill=black,pad=1280:720[v];"
    + "\(sounds)amix=inputs=\(files.count):normalize=0,aformat=channel_layouts=stereo[a]"
  return words + [
    "-filter_complex", graph, "-map", "[v]", "-map", "[a]", "-t", "\(seconds)", "-r", "30", "-c:v", "libvpx",
    "-deadline", "realtime", "-cpu-used", "-8", "-b:v", "2500k", "-minrate", "2500k", "-maxrate", "2500k", "-bufsize",
    "2500k", "-qmin", "2", "-qmax", "56", "-undershoot-pct", "100", "-overshoot-pct", "15", "-lag-in-frames", "0", "-g",
    "150", "-static-thresh", "1", "-max-intra-rate", "900", "-auto-alt-ref", "0", "-threads", "1", "-c:a", "libopus",
    "-b:a", "96k", path,
  ]
}
