// The other side of a two-party room: one seat in the mailbox, one peer connection, and what to do when either fails.
// The algorithm is that of recbot's own PeerFlow; the mailbox is described in recbot's documentation (TwoPartyRooms).

const EXCHANGE_TIME = 4000; // ms for the descriptions
const CONNECT_TIME = 15000; // ms from then until the connection stands
const SEAT_TIME = 10000; // ms that the other side has to come back to a mailbox that forgot everybody
const QUIET_TIME = 3000; // ms that a connection with a heartbeat may be silent
const RETRY_CAP = 2000;
const CHANNEL = "recbot";

/** A request that the mailbox did not grant; `kind` is the first word of its text. */
class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
    this.kind = text.split(":")[0];
  }
}

/**
 * Connects to whoever sits opposite, and again, until `leave`. `remote` is a MediaStream of what the other side sends;
 * `isCall` is true once it has sent anything. Fires `change` when `state`, `other`, `isRecorded` or `isOtherSeen` has
 * changed; `state` is "joining", "waiting", "connecting", "connected", "reconnecting", or finally "left",
 * "finished" (the other side said goodbye), "replaced" or "failed" (then `problem` says why).
 */
export class PeerFlow extends EventTarget {
  constructor({ room, token, name, stream }) {
    super();
    Object.assign(this, { room, token, name, stream });
    this.session = [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");
    this.base = new URL(`../mailbox/v1/${encodeURIComponent(room)}`, location.href).href;
    this.state = "joining";
    this.problem = "";
    this.isRecorded = false;
    this.remote = new MediaStream();
    this.isOtherCameraOn = true;
    this.isOver = false;
    this.role = this.own = this.other = this.local = this.exchange = this.pc = null;
    this.isSeated = this.hasConnected = this.isCall = this.isUp = this.isReachable = this.hasHeartbeat =
      this.mayChangeRole = false;
    this.revision = this.number = this.resets = this.failures = 0;
    this.busy = new Set();
    this.heardAt = 0;
    this.clock = setInterval(() => this.tick(), 500);
    this.drive();
  }

  // MARK: Outside

  /** Tells the other side whether camera and microphone are on. */
  say() {
    if (this.channel?.readyState !== "open") return;
    const isOn = (kind) => this.stream.getTracks().some((track) => track.kind === kind && track.enabled);
    this.channel.send(JSON.stringify({ name: this.name, camera: isOn("video"), microphone: isOn("audio") }));
  }

  /** Says goodbye. */
  leave() {
    if (this.isOver) return;
    // The word goes first, so that the other side doesn't take the end for a loss.
    const pc = this.pc;
    const close = () => pc?.close();
    this.pc = null;
    this.finish("left");
    if (!this.isSeated) return close();
    this.ask("DELETE", `/seat?session=${this.session}`, null, { keepalive: true }).catch(() => {}).finally(close);
    setTimeout(close, 1000);
  }

  /** The page goes away, perhaps to be loaded again: what it stored is worth nothing any more. */
  vanish() {
    if (this.isOver || !this.isSeated) return;
    this.isOver = true;
    this.ask("DELETE", `/description?session=${this.session}`, null, { keepalive: true }).catch(() => {});
    this.pc?.close();
  }

  /** Whether the other side sends pictures that are to be seen. */
  get isOtherSeen() {
    return this.isUp && this.isOtherCameraOn && this.remote.getVideoTracks().some((track) => !track.muted);
  }

  // MARK: Mailbox

  async ask(method, path, body, options = {}) {
    const response = await fetch(this.base + path, {
      method,
      cache: "no-store",
      headers: { Authorization: `Bearer ${this.token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      signal: options.keepalive ? undefined : AbortSignal.timeout(options.watches ? 30000 : 8000),
      keepalive: options.keepalive,
    });
    if (!response.ok) throw new Refusal(response.status, (await response.text()).trim());
    return response.json();
  }

  /** Makes one request of a kind at a time; a failure is tried again a little later. */
  async once(kind, work) {
    if (this.busy.has(kind) || this.isOver || Date.now() < (this.retryAt ?? 0)) return;
    this.busy.add(kind);
    try {
      const view = await work();
      this.busy.delete(kind);
      if (this.isOver) return;
      this.failures = 0;
      this.isReachable = true;
      this.take(view, kind === "seat");
    } catch (error) {
      this.busy.delete(kind);
      if (!this.isOver) this.failed(error);
    }
    this.drive();
  }

  failed(error) {
    switch (error.kind) {
      case "no seat": this.isSeated = false; this.own = null; return;
      case "stale": this.own = null; return;
      case "replaced": return this.finish("replaced");
      case "occupied":
        if (!this.role) return this.finish("failed", "Two others are in this room already.");
        this.isSeated = false;
        this.mayChangeRole = true;
    }
    if (error.status === 401 || error.status === 403) {
      if (this.isUp) { this.retryAt = Date.now() + 10000; return; }
      return this.finish("failed", `This link is not valid (any more): ${error.message}`);
    }
    this.isReachable = false;
    this.failures += 1;
    this.retryAt = Date.now() + Math.min(RETRY_CAP, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2);
    setTimeout(() => this.drive(), this.retryAt - Date.now() + 1);
  }

  take(view, isSeat) {
    if (isSeat) {
      this.isSeated = true;
      this.mayChangeRole = false;
      this.seatedAt = Date.now();
      this.hasSeenOther = false;
    } else if (!this.isSeated || view.revision < this.revision) return;
    this.revision = view.revision;
    this.own = view.own ?? null;
    this.iceServers = view.iceServers ?? [];
    if (view.role !== this.role) {
      if (this.exchange) this.reset("the roles have changed");
      this.role = view.role;
    }
    if (view.other?.left && this.partner === view.other.session) return this.finish("finished");
    this.other = view.other && !view.other.left ? view.other : null;
    if (this.other) {
      this.partner = this.other.session;
      this.hasSeenOther = true;
    }
  }

  /** Goes on as far as possible. */
  drive() {
    if (this.isOver) return;
    if (!this.isSeated) {
      // With a connection that stands, the role must stay what it is, however often the mailbox could not be reached.
      const as = this.exchange && !this.mayChangeRole ? this.role : undefined;
      this.once("seat", () =>
        this.ask("PUT", "/seat", { session: this.session, as, name: this.name, description: this.local ?? undefined }));
      return this.tell();
    }
    this.follow();
    const write = this.nextWrite();
    if (write) this.once("write", () => this.ask(...write));
    const change = `?session=${this.session}&after=${this.revision}`;
    this.once("watch", () => this.ask("GET", change, null, { watches: true }));
    this.tell();
  }

  /** The difference between what should be stored and what is. */
  nextWrite() {
    const session = `?session=${this.session}`;
    if (!this.local) return this.own ? ["DELETE", "/description" + session] : null;
    if (this.own?.id !== this.local.id) return ["PUT", "/description" + session, this.local];
    const more = this.local.candidates.slice(this.own.candidates);
    return more.length ? ["POST", "/candidates" + session, { id: this.local.id, candidates: more }] : null;
  }

  // MARK: Exchange

  follow() {
    const { other, role } = this;
    if (this.exchange && other && other.session !== this.exchange.session) this.reset("the other side began anew");
    if (other && role === "host") this.followAsHost(other);
    if (other && role === "guest") this.followAsGuest(other);
    const { exchange } = this;
    const description = this.other?.description;
    if (!exchange || exchange.stage !== "exchanged" || !description) return;
    if (description.id !== exchange.offer && description.answers !== exchange.offer) return;
    for (; exchange.candidates < description.candidates.length; exchange.candidates += 1) {
      const candidate = { candidate: description.candidates[exchange.candidates], sdpMLineIndex: 0 };
      this.pc.addIceCandidate(candidate).catch(() => {}); // of a kind that this browser doesn't use
    }
    if (this.own?.id === this.local?.id) exchange.exchangeBy = null;
  }

  followAsHost(other) {
    const { exchange } = this;
    if (!exchange) {
      if (Date.now() >= (this.offerAt ?? 0)) this.offer(other);
      return;
    }
    const answers = other.description?.answers;
    if (exchange.stage === "offered") {
      if (answers === exchange.offer) {
        exchange.stage = "applying";
        this.attempt(exchange, async (pc) => {
          await pc.setRemoteDescription({ type: "answer", sdp: other.description.sdp });
          if (this.exchange !== exchange) return;
          exchange.stage = "exchanged";
          if (!this.isUp) exchange.connectBy = Date.now() + CONNECT_TIME;
        });
      } else if (exchange.continues && answers !== exchange.continues) {
        this.reset("the other side has given up");
      }
    } else if (exchange.stage === "exchanged") {
      if (answers !== exchange.offer) this.reset("the other side has deleted its data");
      else if (!this.isUp && this.isLossNew) this.offer(other, exchange);
    }
  }

  /** A first offer, or one that restarts ICE. */
  offer(other, before = null) {
    const exchange = this.newExchange(other, `${this.session}-${this.number + 1}`, before);
    this.isLossNew = false;
    if (!before) {
      const pc = this.open();
      for (const track of this.stream.getTracks()) {
        pc.addTransceiver(track, { direction: "sendrecv", streams: [this.stream] });
      }
      // What this side does not send it may receive nevertheless.
      for (const kind of ["audio", "video"]) {
        if (!this.stream.getTracks().some((track) => track.kind === kind)) pc.addTransceiver(kind, { direction: "recvonly" });
      }
      this.use(pc.createDataChannel(CHANNEL));
    }
    this.attempt(exchange, async (pc) => {
      await pc.setLocalDescription(await pc.createOffer({ iceRestart: Boolean(before) }));
      if (this.exchange !== exchange) return;
      this.local = {
        id: exchange.offer, type: "offer", sdp: pc.localDescription.sdp, to: exchange.session,
        continues: before?.offer, candidates: [],
      };
      exchange.stage = "offered";
    });
  }

  followAsGuest(other) {
    const description = other.description;
    const { exchange } = this;
    if (exchange) {
      if (description?.type !== "offer") return this.reset("the other side has deleted its data");
      if (description.id === exchange.offer || exchange.stage === "describing") return;
      if (description.continues === exchange.offer) return this.answer(other, exchange);
      this.reset("the other side offers anew");
    }
    if (description?.type !== "offer" || description.id === this.spent) return;
    if (description.to && description.to !== this.session) return;
    if (description.continues) {
      this.spent = description.id; // of a connection that isn't there any more
      return;
    }
    this.answer(other);
  }

  answer(other, before = null) {
    const exchange = this.newExchange(other, other.description.id, before);
    const sdp = other.description.sdp;
    if (!before) this.open().ondatachannel = (event) => this.use(event.channel);
    this.attempt(exchange, async (pc) => {
      await pc.setRemoteDescription({ type: "offer", sdp });
      if (!before) for (const track of this.stream.getTracks()) pc.addTrack(track, this.stream);
      await pc.setLocalDescription(await pc.createAnswer());
      if (this.exchange !== exchange) return;
      this.local = {
        id: `${this.session}-${exchange.number}`, type: "answer", sdp: pc.localDescription.sdp,
        answers: exchange.offer, candidates: [],
      };
      exchange.stage = "exchanged";
      if (!this.isUp) exchange.connectBy = Date.now() + CONNECT_TIME;
    });
  }

  newExchange(other, offer, before) {
    this.number += 1;
    this.exchange = {
      number: this.number, offer, continues: before?.offer, session: other.session, stage: "describing", candidates: 0,
      exchangeBy: Date.now() + EXCHANGE_TIME, connectBy: before?.connectBy ?? null,
    };
    return this.exchange;
  }

  /** Works on the connection; what fails starts the flow over. */
  async attempt(exchange, work) {
    try {
      await work(this.pc);
    } catch (error) {
      if (this.exchange === exchange) this.reset(`connection failed: ${error.message}`);
    }
    this.drive();
  }

  // MARK: Connection

  open() {
    const pc = new RTCPeerConnection({ iceServers: this.iceServers, bundlePolicy: "max-bundle" });
    this.pc = pc;
    pc.onicecandidate = ({ candidate }) => {
      if (pc !== this.pc || !candidate?.candidate || !this.local) return;
      if (this.local.candidates.length < 60) this.local.candidates.push(candidate.candidate);
      this.drive();
    };
    pc.ontrack = ({ track }) => {
      if (pc !== this.pc) return;
      this.remote.addTrack(track);
      this.isCall = true;
      track.onmute = track.onunmute = () => this.tell();
      this.tell();
    };
    pc.onconnectionstatechange = () => {
      if (pc === this.pc) this.connectionChanged(pc.connectionState);
    };
    return pc;
  }

  connectionChanged(state) {
    if (state === "connected") {
      this.heardAt = Date.now();
      this.found();
    } else if (state === "disconnected") {
      this.lost();
    } else if (state === "failed" || state === "closed") {
      this.reset("connection failed");
    }
    this.drive();
  }

  /** The connection stands (again). */
  found() {
    this.isUp = this.hasConnected = true;
    this.isLossNew = false;
    this.resets = 0;
    if (this.exchange) this.exchange.connectBy = null;
  }

  /** Nothing comes any more; it may come back by itself. */
  lost() {
    if (!this.isUp) return;
    this.isUp = false;
    this.isLossNew = true;
    this.isRecorded = false;
    if (this.exchange) this.exchange.connectBy = Date.now() + CONNECT_TIME;
  }

  use(channel) {
    this.channel = channel;
    channel.onopen = () => this.say();
    channel.onmessage = ({ data }) => {
      if (channel !== this.channel || typeof data !== "string" || data.length > 4096) return;
      let message;
      try { message = JSON.parse(data); } catch { return; }
      this.heardAt = Date.now();
      this.hasHeartbeat = true;
      if (!this.isUp && this.pc.connectionState === "connected") this.found();
      this.isRecorded = message?.recording === true;
      this.isOtherCameraOn = message?.camera !== false;
      this.tell();
    };
  }

  /** Starts the whole flow over. */
  reset(why) {
    if (!this.exchange) return;
    console.info(`peer connection reset: ${why}`);
    this.lost();
    this.isLossNew = this.isRecorded = false;
    this.spent = this.exchange.offer;
    this.pc?.close();
    this.pc = this.channel = this.exchange = this.local = null;
    this.hasHeartbeat = false;
    this.isOtherCameraOn = true;
    for (const track of this.remote.getTracks()) this.remote.removeTrack(track);
    this.resets += 1;
    this.offerAt = Date.now() + (this.resets > 1 ? Math.min(RETRY_CAP, 125 * 2 ** this.resets) : 0);
  }

  /** Twice a second: heartbeat and deadlines. */
  tick() {
    if (this.isOver) return;
    const now = Date.now();
    if (now - (this.saidAt ?? 0) >= 1000) {
      this.saidAt = now;
      this.say();
    }
    if (now - this.heardAt > QUIET_TIME) {
      this.isRecorded = false;
      if (this.hasHeartbeat) this.lost();
    }
    const { exchange } = this;
    // Deadlines count only while the other side could do its part, and never against a connection that works.
    const counts = this.isReachable && this.isSeated && this.other && !this.isUp;
    if (exchange && counts) {
      if (exchange.exchangeBy && exchange.exchangeBy <= now) this.reset("no session description in time");
      else if (exchange.connectBy && exchange.connectBy <= now) this.reset("connection timeout");
    }
    const isGone = this.isSeated && this.isReachable && !this.other && !this.isUp;
    if (isGone && this.exchange && (this.hasSeenOther || now - this.seatedAt > SEAT_TIME)) {
      this.reset("the other side is gone");
    }
    this.drive();
  }

  // MARK: State

  tell() {
    let state = "waiting";
    if (!this.role) state = "joining";
    else if (this.isUp) state = "connected";
    else if (this.exchange || this.other) state = this.hasConnected ? "reconnecting" : "connecting";
    else if (!this.isReachable) state = "reconnecting";
    this.show(state);
  }

  show(state) {
    const shown = `${state} ${this.isRecorded} ${this.isOtherSeen} ${this.other?.name}`;
    if (shown === this.shown) return;
    this.shown = shown;
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  finish(state, problem = "") {
    this.isOver = true;
    this.problem = problem;
    this.isRecorded = false;
    clearInterval(this.clock);
    this.pc?.close();
    this.show(state);
  }
}
