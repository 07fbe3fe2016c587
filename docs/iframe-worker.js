// Signs of the search's own language are none in a pasted message: `No such option: --workloads` is four words.
const post = Worker.prototype.postMessage;
const pasted = message =>
  typeof message.data === "string" ? { ...message, data: message.data.replace(/[:^~*]|(^|\s)-+/g, " ") } : message;
Worker.prototype.postMessage = function (message) { post.call(this, pasted(message)); };

// Search where the site is opened from a disk: no browser starts a worker there, so its script runs in a hidden frame.
// The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      // What the script posts goes to this page, and what this page posts goes to the script alone.
      const posts = "postMessage = message => parent.postMessage({fromSearch: message}, '*')";
      const path = new URL(url, location.href).href.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
      frame.srcdoc = `<script>${posts}<\/script><script src="${path}"><\/script>`;
      this.ready = new Promise(loaded => frame.addEventListener("load", loaded));
      this.frame = frame;
      document.documentElement.append(frame);
      window.addEventListener("message", event => {
        if (event.source === frame.contentWindow)
          this.dispatchEvent(new MessageEvent("message", { data: event.data.fromSearch }));
      });
    }

    postMessage(message) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: pasted(message) })));
    }
  };
  window.Worker = window.IFrameWorker;
}
