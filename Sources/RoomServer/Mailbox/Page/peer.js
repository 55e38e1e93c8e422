// The page of a two-party room: choose, join, talk, finish.
import { PeerFlow } from "./peer-flow.js";

const $ = (id) => document.getElementById(id);
const room = decodeURIComponent(location.pathname.split("/").pop());
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const memory = `recbot-joined ${room}`; // a page that is loaded again goes on by itself

let stream = null;
let flow = null;
let recordedFor = 0; // ms
let recordedSince = 0;

/** What the token says of its owner. */
function claims() {
  try {
    const text = atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  } catch {
    return {};
  }
}

function stage(name) {
  document.body.dataset.stage = name;
}

// MARK: Devices

async function openDevices() {
  const chosen = (id) => localStorage.getItem(`recbot-${id}`) ?? undefined;
  const size = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
  const camera = { ...size, deviceId: chosen("cameras") };
  const microphone = { deviceId: chosen("microphones") };
  if (!navigator.mediaDevices) {
    return nothing("The browser gives no camera or microphone to pages that are not served over HTTPS.");
  }
  const choices = [{ video: camera, audio: microphone }, { audio: microphone }, { video: camera }];
  for (const constraints of choices) {
    try {
      stream = await navigator.mediaDevices.getUserMedia(constraints);
      break;
    } catch (error) {
      console.info(`no ${Object.keys(constraints).join(" and ")}: ${error.name}`);
    }
  }
  if (!stream) return nothing("No camera and no microphone. Allow this page to use them, then load it again.");
  $("preview").srcObject = stream;
  const has = (kind) => stream.getTracks().some((track) => track.kind === kind);
  if (!has("video")) nothing("Sound only: there is no camera.", false);
  $("camera").disabled = !has("video");
  $("microphone").disabled = !has("audio");
  $("join").disabled = false;
  await listDevices();
  meter();
}

function nothing(text, isFinal = true) {
  $("nothing").textContent = text;
  $("nothing").hidden = false;
  if (isFinal) $("join").disabled = true;
}

async function listDevices() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  for (const [id, kind, what] of [["cameras", "videoinput", "video"], ["microphones", "audioinput", "audio"]]) {
    const used = stream.getTracks().find((track) => track.kind === what)?.getSettings().deviceId;
    const options = devices.filter((device) => device.kind === kind);
    $(id).replaceChildren(...options.map((d, i) => new Option(d.label || `${what} ${i + 1}`, d.deviceId)));
    if (!options.length) $(id).append(new Option("none", ""));
    if (used) $(id).value = used;
    $(id).disabled = options.length < 2;
  }
}

async function change(id, what) {
  localStorage.setItem(`recbot-${id}`, $(id).value);
  const constraint = { deviceId: { exact: $(id).value } };
  const chosen = await navigator.mediaDevices.getUserMedia({ [what]: constraint });
  const track = chosen.getTracks()[0];
  const old = stream.getTracks().find((t) => t.kind === track.kind);
  if (old) {
    stream.removeTrack(old);
    old.stop();
  }
  stream.addTrack(track);
  meter();
}

let context = null;
let source = null;

/** Shows how loud the microphone is. */
function meter() {
  if (!stream?.getAudioTracks().length) return;
  context ??= new AudioContext();
  source?.disconnect();
  source = context.createMediaStreamSource(stream);
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  source.connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const mine = source;
  const draw = () => {
    if (mine !== source) return;
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, x) => sum + x * x, 0) / samples.length;
    const level = Math.max(0, 1 + Math.log10(power + 1e-6) / 6);
    document.querySelector("#meter i").style.transform = `scaleX(${level.toFixed(3)})`;
    setTimeout(draw, 80);
  };
  draw();
}

// MARK: Call

function join() {
  const name = $("name").value.trim();
  localStorage.setItem("recbot-name", name);
  sessionStorage.setItem(memory, "yes");
  context?.resume();
  stage("call");
  flow = new PeerFlow({ room, token, name, stream });
  flow.addEventListener("change", changed);
  $("other").srcObject = flow.remote;
  changed();
}

const texts = {
  joining: "Joining…", waiting: "Waiting for the other side…", connecting: "Connecting…", connected: "",
  reconnecting: "Reconnecting…",
};

function changed() {
  const now = Date.now();
  if (flow.isRecorded && !recordedSince) recordedSince = now;
  if (!flow.isRecorded && recordedSince) {
    recordedFor += now - recordedSince;
    recordedSince = 0;
  }
  document.body.dataset.recording = String(flow.isRecorded);
  document.body.dataset.state = flow.state;
  document.body.dataset.other = flow.isOtherSeen ? "seen" : "";
  $("name-tag").textContent = flow.isOtherSeen ? flow.other?.name || flow.other?.identity || "" : flow.name;
  $("status").textContent = texts[flow.state] ?? "";
  const wasRecorded = recordedFor + (recordedSince ? now - recordedSince : 0) > 0;
  switch (flow.state) {
    case "left":
    case "finished":
      if (flow.isCall && !wasRecorded) return end("Call ended", "Nothing was recorded. You can close this page.", "good");
      return end(wasRecorded ? "Message recorded" : "Nothing was recorded",
        wasRecorded ? "Thank you. You can close this page." : "", wasRecorded ? "good" : "error");
    case "replaced": return end("Opened elsewhere", "This link was opened in another window.", "error");
    case "failed": return end("That did not work", flow.problem, "error");
  }
}

function end(title, text, kind) {
  sessionStorage.removeItem(memory);
  stream?.getTracks().forEach((track) => track.stop());
  context?.close();
  $("end-title").textContent = title;
  $("end-text").textContent = text;
  document.body.dataset.end = kind;
  stage("end");
}

function toggle(id, kind) {
  const isOn = $(id).getAttribute("aria-pressed") !== "true";
  $(id).setAttribute("aria-pressed", String(isOn));
  for (const track of stream.getTracks()) if (track.kind === kind) track.enabled = isOn;
  if (kind === "video") {
    $("nothing").textContent = "Your camera is off.";
    $("nothing").hidden = isOn;
  }
  flow?.say();
}

setInterval(() => {
  if (!flow) return;
  const seconds = Math.floor((recordedFor + (recordedSince ? Date.now() - recordedSince : 0)) / 1000);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  $("light-text").textContent = flow.isRecorded ? `recording ${time}` : "not recording";
}, 250);

// MARK: Page

document.title = `${room} · recbot`;
$("room").textContent = room;
$("name").value = localStorage.getItem("recbot-name") || claims().name || "";
$("setup").addEventListener("submit", (event) => {
  event.preventDefault();
  join();
});
$("cameras").addEventListener("change", () => change("cameras", "video"));
$("microphones").addEventListener("change", () => change("microphones", "audio"));
$("microphone").addEventListener("click", () => toggle("microphone", "audio"));
$("camera").addEventListener("click", () => toggle("camera", "video"));
$("hang-up").addEventListener("click", () => flow?.leave());
$("again").addEventListener("click", () => location.reload());
addEventListener("pagehide", () => flow?.vanish());
addEventListener("pageshow", (event) => event.persisted && location.reload());

if (!token) {
  end("This link is not complete", "It must end in #token= and a token for this room.", "error");
} else {
  await openDevices();
  if (stream && sessionStorage.getItem(memory) && $("name").value) join();
}
