// Browsers start no worker from file://. There the search runs in a hidden frame instead, which offers what a worker does:
// messages both ways, and importScripts.
if (location.protocol === "file:" && !window.IFrameWorker) {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      frame.srcdoc = `<!doctype html><title>search</title><script>
        var importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = src; script.onload = done; script.onerror = failed;
          document.body.append(script);
        })), Promise.resolve());
        var postMessage = data => parent.dispatchEvent(new CustomEvent("iframe-worker", {detail: data}));
      <\/script><body><script src="${new URL(url, document.baseURI)}"><\/script>`;
      window.addEventListener("iframe-worker", event => {
        const message = new MessageEvent("message", {data: event.detail});
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      frame.onload = () => {
        this.frame = frame;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      };
      const start = () => document.body.append(frame);
      if (document.body) start(); else window.addEventListener("DOMContentLoaded", start);
    }
    postMessage(data) {
      if (!this.frame) return void this.waiting.push(data);
      this.frame.contentWindow.dispatchEvent(new this.frame.contentWindow.MessageEvent("message", {data}));
    }
    terminate() { if (this.frame) this.frame.remove(); }
  }
  window.IFrameWorker = window.Worker = IFrameWorker;
}
