// The GPU map's data: columns as the server sends them -> groups, cell looks and sentences. No DOM in here.
(function () {
  "use strict";
  var LOOK = { busy: "busy", idle: "idle", unmeasured: "unmeasured", unknown: "unmeasured", free: "free", drained: "drained", down: "down" };
  var WORDS = { busy: "Busy", idle: "Held, idle", unmeasured: "Not measured", unknown: "Not known", free: "Free", drained: "Drained", down: "Down" };
  var VERDICTS = { low: "low", unknown: "unknown", calculating: "calculating", exempt: "exempt", ok: "OK" };
  var WORST = ["down", "idle", "unmeasured", "unknown", "drained", "free", "busy"];

  function ratio(data, i) {
    var used = data.values.gpu_memory_used_bytes[i], total = data.values.gpu_memory_total_bytes[i];
    return used === null || !total ? null : used / total;
  }

  // UTIL minus SM: large where a GPU looks busy and is mostly empty.
  function gap(data, i) {
    var util = data.values.gpu_utilization[i], sm = data.values.sm_activity[i];
    return util === null || sm === null ? null : (util - sm) / 1000;
  }

  // The value that colors cell i, in the metric's own unit; null = not measured.
  function value(data, i, key) {
    if (key === "allocation" || key === "policy") return null;
    if (key === "gpu_memory_used_bytes") return ratio(data, i);
    if (key === "utilization_gap") return gap(data, i);
    var raw = (data.values[key] || [])[i];
    return raw === null || raw === undefined ? null : raw * data.metrics[key].scale;
  }

  // Step 1 to 9 of the ramp: a step can be named, a gradient cannot.
  function step(number, metric) {
    var share = (number - metric.low) / (metric.high - metric.low);
    return Math.max(1, Math.min(9, Math.floor(share * 9) + 1));
  }

  function isHeld(data, i) { return ["busy", "idle", "unmeasured"].indexOf(data.states[data.gpus.state[i]]) >= 0; }
  // The verdict on the job of a device; "none" where none is known.
  function verdict(data, i) { return data.verdicts[data.gpus.verdict[i]] || "none"; }

  function look(data, i, key) {
    var state = data.states[data.gpus.state[i]];
    var classes = "fw-cell" + (data.gpus.out[i] ? " fw-out" : "");
    if (key === "allocation" && isHeld(data, i)) return classes + " fw-s7";
    if (key === "policy" && isHeld(data, i)) return classes + " fw-v-" + verdict(data, i);
    if (state !== "busy") return classes + " fw-" + LOOK[state];
    var number = value(data, i, key);
    return classes + (number === null ? " fw-unmeasured" : " fw-s" + step(number, data.metrics[key]));
  }

  // One cell for a whole node: its worst state, colored by the lowest value of its busy GPUs.
  function nodeLook(data, gpus, key) {
    var out = gpus.every(function (i) { return data.gpus.out[i]; });
    var states = gpus.map(function (i) { return data.states[data.gpus.state[i]]; });
    if (key === "policy") {
      var rank = function (i) { var at = data.gpus.verdict[i]; return at < 0 ? data.verdicts.length : at; };
      var held = gpus.filter(function (i) { return isHeld(data, i); }).sort(function (a, b) { return rank(a) - rank(b); });
      if (held.length) return look(data, held[0], key).replace(" fw-out", "") + (out ? " fw-out" : "");
    }
    var worst = WORST.find(function (state) { return states.indexOf(state) >= 0 && (state !== "free" || states.indexOf("busy") < 0); });
    var busy = gpus.filter(function (i) { return data.states[data.gpus.state[i]] === "busy"; });
    if (worst !== "busy" || !busy.length) return "fw-cell" + (out ? " fw-out" : "") + (worst ? " fw-" + LOOK[worst] : "");
    var amount = function (i) { var v = value(data, i, key); return v === null ? -1 : v; };
    var lowest = busy.reduce(function (a, b) { return amount(b) < amount(a) ? b : a; });
    return look(data, lowest, key).replace(" fw-out", "") + (out ? " fw-out" : "");
  }

  // Who holds a device, as far as the viewer may know.
  function holder(data, i) {
    var state = data.states[data.gpus.state[i]];
    return data.gpus.user[i] || (state === "busy" || state === "idle" || state === "unmeasured" ? "Other users" : "Nobody");
  }

  // Each user's GPUs, the most first; a node stands in the group of each user on it.
  function byUser(data) {
    var found = new Map(), last = { "Other users": 1, Nobody: 2 };
    data.gpus.node.forEach(function (n, i) {
      var name = holder(data, i);
      if (!found.has(name)) found.set(name, { name: name, size: 0, nodes: [], at: new Map() });
      var group = found.get(name);
      if (!group.at.has(n)) { group.at.set(n, { n: n, gpus: [] }); group.nodes.push(group.at.get(n)); }
      group.at.get(n).gpus.push(i);
      group.size += 1;
    });
    return Array.from(found.values()).sort(function (a, b) {
      return (last[a.name] || 0) - (last[b.name] || 0) || b.size - a.size || (a.name < b.name ? -1 : 1);
    });
  }

  // Changes when cells come, go or move.
  function shape(data, by) {
    return data.shape + (by === "user" ? data.gpus.node.map(function (_, i) { return holder(data, i); }).join() : "");
  }

  // [{name, nodes: [{n, gpus: [{slices: [i, ...]} or {i}]}]}] in the order of the server.
  function groups(data, by) {
    if (by === "user") return byUser(data);
    var byNode = data.nodes.name.map(function () { return []; });
    data.gpus.node.forEach(function (n, i) { byNode[n].push(i); });
    var order = [], seen = new Map();
    data.nodes.name.forEach(function (_, n) {
      if (!byNode[n].length) return;
      var name = by === "node" ? "" : data.nodes[by][n];
      if (!seen.has(name)) { seen.set(name, { name: name, nodes: [] }); order.push(seen.get(name)); }
      seen.get(name).nodes.push({ n: n, gpus: byNode[n] });
    });
    return order;
  }

  function number(text, digits) { return text.toLocaleString("en-US", { maximumFractionDigits: digits }).replace(/,/g, "\u2009"); }

  function shown(data, i, key) {
    if (key === "gpu_memory_used_bytes") {
      var used = data.values[key][i], total = data.values.gpu_memory_total_bytes[i];
      if (used === null) return "not measured";
      return number(used / 10, 1) + (total ? " of " + number(total / 10, 0) : "") + " GiB";
    }
    var v = value(data, i, key);
    if (v === null) return "not measured";
    if (data.metrics[key].unit === "points") return (v > 0 ? "+" : v < 0 ? "\u2212" : "") + number(Math.abs(v) * 100, 0) + " points";
    if (data.metrics[key].unit === "%") return number(v * 100, v > 0 && v < 0.0995 ? 1 : 0) + " %";
    return number(v, 0) + " " + data.metrics[key].unit;
  }

  function name(data, i) {
    var node = data.nodes.name[data.gpus.node[i]];
    return node + " GPU " + data.gpus.label[i];
  }

  function sentence(data, i) {
    var parts = [name(data, i).replace(" GPU", ", GPU"), data.models[data.gpus.model[i]]];
    if (data.gpus.slice[i]) parts.push("slice " + data.gpus.slice[i]);
    parts.push(WORDS[data.states[data.gpus.state[i]]].toLowerCase().replace(", ", " and "));
    parts.push("UTIL " + shown(data, i, "gpu_utilization"));
    if (data.gpus.job[i]) parts.push("job " + data.gpus.job[i]);
    if (data.gpus.verdict[i] >= 0) parts.push("verdict " + VERDICTS[verdict(data, i)]);
    return parts.filter(Boolean).join(", ");
  }

  // [[word, how many], ...] of the states on a node, the worst first.
  function nodeCounts(data, gpus) {
    return WORST.map(function (state) {
      return [WORDS[state], gpus.filter(function (i) { return data.states[data.gpus.state[i]] === state; }).length];
    }).filter(function (pair) { return pair[1]; });
  }

  // The index of the device with the lowest UTIL that was measured; undefined where none was.
  function lowest(data, gpus) {
    return gpus.filter(function (i) { return value(data, i, "gpu_utilization") !== null; })
      .sort(function (a, b) { return value(data, a, "gpu_utilization") - value(data, b, "gpu_utilization"); })[0];
  }

  function nodeSentence(data, gpus) {
    var counts = nodeCounts(data, gpus).map(function (pair) { return pair[1] + " " + pair[0].toLowerCase().replace(", ", " and "); });
    return [data.nodes.name[data.gpus.node[gpus[0]]]].concat(counts).join(", ");
  }

  function cellSentence(data, cell) { return cell.fwGpus ? nodeSentence(data, cell.fwGpus) : sentence(data, cell.fwIndex); }

  window.fwMap = { value: value, look: look, nodeLook: nodeLook, groups: groups, shape: shape, shown: shown, name: name, cellSentence: cellSentence, nodeCounts: nodeCounts, lowest: lowest, verdict: verdict, WORDS: WORDS, VERDICTS: VERDICTS };
})();
