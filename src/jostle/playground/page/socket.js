// The connection to the simulation: reconnects by itself, and hands out what arrives.

export class Connection {
  constructor(handlers, onStatus) {
    this.handlers = handlers;
    this.onStatus = onStatus;
    this.wait = 500;
    this.open();
  }

  open() {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => { this.wait = 500; this.onStatus(true); };
    this.socket.onmessage = (event) => this.receive(event.data);
    this.socket.onclose = () => {
      this.onStatus(false);
      setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(this.wait * 1.6, 5000);
    };
  }

  receive(data) {
    if (typeof data !== "string") {
      const [kind, view] = new Uint8Array(data, 0, 2);
      this.handlers.image(kind, view, new Blob([new Uint8Array(data, 2)], { type: "image/jpeg" }));
      return;
    }
    const message = JSON.parse(data);
    this.handlers[message.type]?.(message);
  }

  send(type, fields = {}) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }
}

// At most one call per `milliseconds`; the last one is never lost.
export function throttled(milliseconds, call) {
  let last = 0, timer = null, pending = null;
  const fire = () => { timer = null; last = performance.now(); call(...pending); };
  const run = (...args) => {
    pending = args;
    if (timer !== null) return;
    timer = setTimeout(fire, Math.max(0, milliseconds - (performance.now() - last)));
  };
  run.cancel = () => { clearTimeout(timer); timer = null; };
  return run;
}
