// The last 60 minutes of one GPU in its card: asked for when somebody stays on it, kept for a minute.
(function () {
  "use strict";
  var svg = window.fwMake.svg, kept = new Map(), timer = null, asked = null;

  function path(answer) {
    var text = "", pen = false;
    answer.values.forEach(function (value, at) {
      if (value === null) { pen = false; return; }
      text += (pen ? "L" : "M") + (at * 100 / Math.max(1, answer.values.length - 1)).toFixed(1) + " " + (39 - value * 38).toFixed(1);
      pen = true;
    });
    return text;
  }

  function picture(answer) {
    var known = answer.values.filter(function (value) { return value !== null; });
    var box = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": answer.label + ", last 60 minutes, 0 to 100 %" });
    if (known.length && known.every(function (value) { return value === 0; }) && answer.held) box.setAttribute("class", "fw-all-idle");
    svg("path", { d: path(answer) }, box);
    return box;
  }

  function draw(place, answer) {
    if (!place.isConnected) return;
    var known = answer.values && answer.values.some(function (value) { return value !== null; });
    place.querySelector(".fw-note").textContent = known ? answer.label + ", last 60 min, 0\u2013100 %" : answer.why || "The last 60 min were not measured.";
    if (known) place.append(picture(answer));
  }

  // `place` waits in the card; what came for another card is dropped with it.
  window.fwMapLine = function (place, data, i) {
    clearTimeout(timer);
    if (asked) asked.abort();
    var node = data.nodes.name[data.gpus.node[i]], state = data.states[data.gpus.state[i]];
    var key = [node, data.gpus.label[i], window.fwMoment(), Math.floor(Date.now() / 60000)].join("|");
    if (kept.has(key)) { draw(place, kept.get(key)); return; }
    timer = setTimeout(function () {
      var mine = asked = new AbortController();
      var query = "?node=" + encodeURIComponent(node) + "&gpu=" + encodeURIComponent(data.gpus.label[i]) + "&at=" + encodeURIComponent(window.fwMoment());
      fetch(window.fwPrefix() + "_gpu-line" + query, { signal: mine.signal, credentials: "same-origin" })
        .then(function (answer) { return answer.ok ? answer.json() : { values: [] }; })
        .then(function (answer) {
          answer.held = state === "idle" || state === "busy";
          if (kept.size > 200) kept.clear();
          kept.set(key, answer);
          draw(place, answer);
        })
        .catch(function () { return; });
    }, 250);
  };
})();
