// Asks the server and reads its events: as a stream where it can hold one open, else in short requests.
(function () {
  "use strict";
  var POLL_MS = 300;

  function address(name) { return window.fwPrefix() + "_chat/" + name; }

  // What went wrong, as an Error with `hint`, in the words of the server where it gave any.
  function failed(answer, body) {
    var told = body && body.error, error = new Error(told ? told.message : answer.status === 401 ? "You are not signed in any more." : "The server answered " + answer.status + ".");
    error.hint = told ? told.hint : "Reload the page, or try again later.";
    return error;
  }
  function json(answer) {
    return answer.json().catch(function () { return null; }).then(function (body) {
      if (!answer.ok || body === null) throw failed(answer, body);
      return body;
    });
  }
  function get(name, values) {
    return fetch(address(name) + "?" + new URLSearchParams(values || {}), { credentials: "same-origin" }).then(json);
  }
  function send(name, body, signal) {
    var headers = { "Content-Type": "application/json", "X-Requested-With": "fullwarp" };
    return fetch(address(name), { method: "POST", credentials: "same-origin", headers: headers, body: JSON.stringify(body), signal: signal });
  }
  function post(name, body) { return send(name, body).then(json); }

  // Each event of a stream; a line that begins with a colon only keeps the line open.
  function stream(answer, tell) {
    var reader = answer.body.getReader(), decoder = new TextDecoder(), rest = "";
    function more(read) {
      rest += decoder.decode(read.value || new Uint8Array(), { stream: !read.done });
      var blocks = rest.split("\n\n");
      rest = blocks.pop();
      blocks.forEach(function (block) { if (block.indexOf("data: ") === 0) tell(JSON.parse(block.slice(6))); });
      return read.done ? undefined : reader.read().then(more);
    }
    return reader.read().then(more);
  }

  // Nothing is asked while nobody looks: the answer goes on without us, and is read when the tab is looked at again.
  function looked() {
    if (!document.hidden) return;
    return new Promise(function (resolve) { document.addEventListener("visibilitychange", resolve, { once: true }); }).then(looked);
  }
  function wait() { return new Promise(function (resolve) { setTimeout(resolve, POLL_MS); }).then(looked); }

  function poll(begun, tell, signal) {
    var seen = 0, isStopping = false;
    signal.addEventListener("abort", function () { isStopping = true; post("stop", { turn: begun.turn }).catch(function () { return; }); });
    function next() {
      return get("events", { turn: begun.turn, seen: seen }).then(function (found) {
        seen += found.events.length;
        found.events.forEach(tell);
        return found.over ? undefined : wait().then(next);
      });
    }
    return next().then(function () { return isStopping; });
  }

  // Ask; resolves when the answer is over. An aborted stream rejects with an AbortError.
  function ask(body, tell, signal) {
    return send("ask", body, signal).then(function (answer) {
      if (answer.ok && (answer.headers.get("Content-Type") || "").indexOf("text/event-stream") === 0) return stream(answer, tell);
      return json(answer).then(function (begun) { return poll(begun, tell, signal); });
    });
  }

  window.fwChatRead = { ask: ask, get: get, post: post };
})();
