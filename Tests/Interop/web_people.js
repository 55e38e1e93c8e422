// People in one page of a browser: each a canvas of one colour that is white for 100 ms from each whole second (of what is
// drawn for 30 ms not every frame is captured), with a beep, published by an RTCPeerConnection of its own. Signalling is done
// by who commands the page.
"use strict";

const people = {};

/** Somebody whose picture can be made narrower. `encodings`: as for `addTransceiver`; `mimeType`: the codec to send. */
function appear(name, { colour, pitch, width, height, fps, mimeType, encodings }) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  document.body.append(canvas);
  const context = canvas.getContext("2d");
  setInterval(() => {
    const isFlash = (Date.now() / 1000) % 1 < 0.1;
    context.fillStyle = isFlash ? "#ffffff" : `#${colour}`;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }, 1000 / fps);
  const [picture] = canvas.captureStream(fps).getVideoTracks();

  const sound = new AudioContext();
  const [oscillator, gain, out] = [sound.createOscillator(), sound.createGain(), sound.createMediaStreamDestination()];
  oscillator.frequency.value = pitch;
  gain.gain.value = 0;
  oscillator.connect(gain).connect(out);
  oscillator.start();
  let next = Math.ceil(Date.now() / 1000) + 1;
  setInterval(() => {
    while (next - Date.now() / 1000 < 0.5) {
      const at = sound.currentTime + next - Date.now() / 1000;
      gain.gain.setValueAtTime(0.5, at);
      gain.gain.setValueAtTime(0, at + 0.06);
      next += 1;
    }
  }, 100);

  const connection = new RTCPeerConnection();
  const { codecs } = RTCRtpSender.getCapabilities("video");
  const video = connection.addTransceiver(picture, { direction: "sendonly", sendEncodings: encodings });
  const isChosen = (codec) => codec.mimeType === mimeType;
  video.setCodecPreferences([...codecs.filter(isChosen), ...codecs.filter((codec) => !isChosen(codec))]);
  connection.addTransceiver(out.stream.getAudioTracks()[0], { direction: "sendonly" });
  people[name] = { canvas, connection, early: [] };
  return { video: picture.id, audio: out.stream.getAudioTracks()[0].id };
}

/** The offer, with all of its own addresses. */
async function offer(name) {
  const { connection } = people[name];
  await connection.setLocalDescription(await connection.createOffer());
  while (connection.iceGatheringState !== "complete") await new Promise((wake) => setTimeout(wake, 10));
  return connection.localDescription.sdp;
}

async function take(name, sdp) {
  const person = people[name];
  await person.connection.setRemoteDescription({ type: "answer", sdp });
  for (const candidate of person.early.splice(0)) await person.connection.addIceCandidate(candidate);
}

/** An address of the server, which may come before its answer. */
async function reach(name, candidate) {
  const person = people[name];
  if (!person.connection.remoteDescription) person.early.push(candidate);
  else if (candidate.candidate) await person.connection.addIceCandidate(candidate);
}

/** The picture has another size from now on; gives the wall-clock time in ms. */
function resize(name, width, height) {
  Object.assign(people[name].canvas, { width, height });
  return Date.now();
}

/** What is sent of the pictures: for each layer its codec, size, frames and what else says which way it is coded. */
async function sent(name) {
  const reports = [...(await people[name].connection.getStats()).values()];
  const codec = (id) => reports.find((report) => report.id === id)?.mimeType;
  return reports.filter((report) => report.type === "outbound-rtp" && report.kind === "video").map((report) => ({
    codec: codec(report.codecId), rid: report.rid ?? "", width: report.frameWidth ?? 0, height: report.frameHeight ?? 0,
    frames: report.framesEncoded ?? 0, mode: report.scalabilityMode ?? "", encoder: report.encoderImplementation ?? "",
  }));
}
