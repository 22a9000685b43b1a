// The panel: a conversation with its field, its acts, and what it remembers. One per tab; its element belongs to the
// frame, so that it stays while pages come and go.
(function () {
  "use strict";
  var KEPT = "fw-chat-conversation", MOST_PAST = 6, draw = window.fwChatDraw, read = window.fwChatRead;
  var panel = null, coming = null, where = "", drawnFor = null, conversation = "", past = [], busy = null, editing = "";

  function keep(id) { try { if (id) sessionStorage.setItem(KEPT, id); else sessionStorage.removeItem(KEPT); } catch (e) { return; } }
  function kept() { try { return sessionStorage.getItem(KEPT) || ""; } catch (e) { return ""; } }
  function place(name) { return panel.querySelector("[data-part=" + name + "]"); }
  function field() { return panel.querySelector(".fw-chat-field"); }
  function onScreen() { return "/" + location.pathname.slice(window.fwPrefix().length) + location.search; }
  function isPhone() { return matchMedia("(max-width: 767.98px)").matches; }
  function turnOf(element) { return element.closest("[data-turn]"); }
  function questionOf(turn) { return turn.querySelector("[data-question]").textContent; }

  // What changes the log happens in `act`; who reads its end goes on to read its end.
  function follow(act) {
    var log = place("log"), isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    act();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }
  function said(text) { if (text.trim()) place("said").textContent = text; }

  function refuse(error) {
    var line = place("refused");
    line.textContent = error ? error.message + (error.hint ? " " + error.hint : "") : "";
    line.hidden = !error;
  }

  // ---- asking ----
  function turnsFrom(id) {
    var all = Array.from(place("turns").children), at = all.findIndex(function (one) { return one.getAttribute("data-turn") === id; });
    return at < 0 ? [] : all.slice(at);
  }

  function tooLong(text) {
    var most = Number(field().getAttribute("data-most-bytes")), size = new TextEncoder().encode(text).length;
    if (size <= most) return null;
    var error = new Error("The question has " + size.toLocaleString("en-US") + " bytes; at most " + most.toLocaleString("en-US") + " are taken (chat.question_bytes).");
    error.hint = "Ask with fewer words: name a job instead of pasting its output.";
    return error;
  }

  function ask(text, replaces) {
    if (busy || !text.trim()) return;
    var wrong = tooLong(text);
    refuse(wrong);
    if (wrong) return;
    var mine = { control: new AbortController(), text: text, replaces: replaces, began: Date.now() };
    function live(act) { return function (one, two) { if (busy === mine) act(one, two); }; }  // a conversation that was left is told no more
    mine.turn = window.fwChatTurn({ follow: live(follow), said: live(said), begun: live(function (event, box) { begun(mine, event, box); }), ended: live(ended) });
    busy = mine;
    showBusy();
    var body = { question: text, conversation: conversation, replaces: replaces, path: onScreen(), past: past.slice(-MOST_PAST) };
    read.ask(body, mine.turn.tell, mine.control.signal).then(function () { return null; }, function (error) { return error; }).then(function (error) { over(mine, error); });
  }

  function begun(mine, event, box) {
    turnsFrom(mine.replaces).forEach(function (one) { past.pop(); one.remove(); });
    conversation = event.conversation;
    keep(conversation);
    if (field().value === mine.text || editing) { field().value = ""; fit(); }
    endEdit();
    place("empty").hidden = true;
    place("turns").append(box);
    place("log").scrollTop = place("log").scrollHeight;
  }

  // The next question may follow at once: the line stays open a little longer than the answer lasts.
  function ended(event) {
    past.push({ question: busy.text, text: event.said });
    leave();
  }

  // Whatever happened, the question is still there: in the field, or in its turn with a way to ask again.
  function over(mine, error) {
    if (busy !== mine) return;
    if (mine.turn.isBegun() && !mine.turn.isOver()) breakOff(mine);
    leave();
    if (!mine.turn.isBegun()) {
      if (error && error.name !== "AbortError") refuse(error);
      if (!field().value) { field().value = mine.text; fit(); }
    }
  }

  function breakOff(mine) {
    var isStopped = mine.control.signal.aborted, end = draw(drawnFor.ends[isStopped ? "stopped" : "lost"]);
    follow(function () { past.push({ question: mine.text, text: mine.turn.breakOff(end) }); });
    said(isStopped ? "Stopped." : "The connection broke off.");
  }

  // Nothing is asked any more.
  function leave() {
    clearInterval(busy.timer);
    busy = null;
    place("busy-row").hidden = true;
    field().form.querySelector(".fw-chat-send").disabled = false;
  }

  function showBusy() {
    var text = place("busy"), mine = busy;
    function tick() { text.textContent = "Answering, " + window.fwTime.age((Date.now() - mine.began) / 1000); }
    place("busy-row").hidden = false;
    field().form.querySelector(".fw-chat-send").disabled = true;
    tick();
    mine.timer = setInterval(tick, 1000);
  }

  function stop() { if (busy) busy.control.abort(); field().focus(); }

  // ---- the conversation ----
  function begin() {
    if (busy) { busy.control.abort(); leave(); }
    conversation = ""; past = [];
    keep("");
    refuse(null);
    endEdit();
    place("turns").replaceChildren();
    place("empty").hidden = false;
    mark();
  }

  // The turns of a kept conversation go before what was asked since.
  function prepend(found) {
    var shown = Array.from(place("turns").children).map(function (turn) { return turn.getAttribute("data-turn"); });
    var earlier = found.turns.filter(function (turn) { return shown.indexOf(turn.props["data-turn"]) < 0; });
    place("empty").hidden = true;
    place("turns").prepend(draw(earlier));
    past = Array.from(place("turns").children).slice(0, earlier.length).map(function (turn) {
      return { question: questionOf(turn), text: turn.querySelector("[data-part=text]").textContent };
    }).concat(past);
    place("log").scrollTop = place("log").scrollHeight;
    mark();
  }

  function load(id) {
    if (busy) return Promise.resolve();
    return read.get("conversation", { id: id }).then(function (found) {
      begin();
      conversation = id;
      keep(id);
      prepend(found);
    });
  }

  // After a reload: a question may be asked before the earlier ones are there again.
  function restore(id) {
    conversation = id;
    return read.get("conversation", { id: id }).then(function (found) { if (conversation === id) prepend(found); }, function () {
      if (conversation === id && !busy) { conversation = ""; keep(""); }
    });
  }

  function edit(turn) {
    if (busy) return;
    endEdit();
    editing = turn.getAttribute("data-turn");
    turn.classList.add("fw-is-edited");
    place("editing").hidden = false;
    field().value = questionOf(turn);
    fit();
    field().focus();
  }
  function endEdit() {
    editing = "";
    place("editing").hidden = true;
    panel.querySelectorAll(".fw-is-edited").forEach(function (one) { one.classList.remove("fw-is-edited"); });
  }

  function judge(button) {
    var turn = turnOf(button), thumbs = turn.querySelectorAll("[data-thumb]");
    var value = button.getAttribute("aria-pressed") === "true" ? null : Number(button.getAttribute("data-thumb"));
    read.post("judge", { turn: turn.getAttribute("data-turn"), thumb: value }).then(function () {
      thumbs.forEach(function (one) { one.setAttribute("aria-pressed", Number(one.getAttribute("data-thumb")) === value ? "true" : "false"); });
      turn.querySelectorAll(".fw-chat-comment").forEach(function (one) { one.remove(); });
      if (value) turn.querySelector(".fw-chat-acts").after(place("comment").firstElementChild.cloneNode(true));
      said(value ? "Noted." : "Taken back.");
    }, refuse);
  }
  function comment(button) {
    var turn = turnOf(button), box = button.closest(".fw-chat-comment");
    var thumb = Number(turn.querySelector("[data-thumb][aria-pressed=true]").getAttribute("data-thumb"));
    read.post("judge", { turn: turn.getAttribute("data-turn"), thumb: thumb, comment: box.querySelector("textarea").value }).then(function () {
      box.replaceChildren(window.fwMake.html("span", "fw-note", "Noted, thank you."));
      said("Noted.");
    }, refuse);
  }

  // ---- the list on the page of the assistant ----
  function list() { return document.querySelector("#react-entry-point #chat-list"); }
  function listAll() {
    if (!list()) return;
    read.get("conversations").then(function (found) { if (list()) { list().replaceChildren(draw(found.list)); mark(); } }, function (error) {
      if (list()) list().replaceChildren(window.fwMake.html("p", "fw-quiet", error.message));
    });
  }
  function mark() {
    document.querySelectorAll(".fw-chat-open").forEach(function (one) { one.setAttribute("aria-current", one.getAttribute("data-conversation") === conversation ? "true" : "false"); });
  }
  // What cannot be taken back asks for a second press.
  function sure(button, act) {
    if (button.hasAttribute("data-sure")) { act(); return; }
    button.setAttribute("data-sure", "1");
    var title = button.title, label = button.textContent;
    if (label) button.textContent = "Press again to delete all"; else { button.title = "Press again to delete"; button.setAttribute("aria-label", button.title); }
    setTimeout(function () {
      button.removeAttribute("data-sure");
      if (label) button.textContent = label; else { button.title = title; button.setAttribute("aria-label", title); }
    }, 4000);
  }
  function forget(body, isShown) {
    read.post("forget", body).then(function () { if (isShown) begin(); listAll(); }, function (error) { refuse(error); });
  }

  // ---- keys, clicks ----
  function fit() { var one = field(); one.style.height = "auto"; one.style.height = Math.min(one.scrollHeight + 2, 160) + "px"; }
  function submit() { ask(field().value, editing); }

  var ACTS = {
    "new": function () { begin(); field().focus(); },
    close: function () { if (where === "page") window.fwGo(window.fwPrefix()); else window.fwChat.close(); },
    stop: stop,
    edit: function (button) { edit(turnOf(button)); },
    "end-edit": function () { endEdit(); field().value = ""; fit(); field().focus(); },
    retry: function (button) { var turn = turnOf(button); ask(questionOf(turn), turn.getAttribute("data-turn")); },
    thumb: judge,
    comment: comment,
    "delete": function (button) { var id = button.getAttribute("data-of"); sure(button, function () { forget({ conversation: id }, id === conversation); }); },
    "delete-all": function (button) { sure(button, function () { forget({ all: true }, true); }); }
  };

  function click(event) {
    var button = event.target.closest("[data-chat-act], [data-chat-ask], [data-conversation], a[href]");
    if (!button) return;
    if (button.hasAttribute("data-chat-act")) ACTS[button.getAttribute("data-chat-act")](button);
    else if (button.hasAttribute("data-chat-ask")) ask(button.getAttribute("data-chat-ask"), "");
    else if (button.hasAttribute("data-conversation")) load(button.getAttribute("data-conversation")).then(function () { field().focus(); }, function (error) { refuse(error); listAll(); });
    else go(event, button);
  }

  // Links of the app go its own way; on a phone the page then lies open.
  function go(event, link) {
    if (link.target || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    window.fwGo(window.fwStay(link.getAttribute("href")));
    if (isPhone() && where === "open") window.fwChat.close();
  }

  function key(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      if (editing) ACTS["end-edit"](); else if (where === "open") window.fwChat.close();
    }
    if (event.key === "Enter" && event.target === field() && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  }

  // On a phone the panel covers everything: what lies below must not be reached.
  function cover() {
    var covers = where === "open" && isPhone();
    document.querySelectorAll("#react-entry-point :is(.fw-nav, .fw-top, .fw-page)").forEach(function (one) { one.inert = covers; });
  }

  function attach(element) {
    panel = element;
    panel.addEventListener("click", click);
    panel.addEventListener("keydown", key);
    panel.addEventListener("submit", function (event) { event.preventDefault(); submit(); });
    panel.addEventListener("input", function (event) { if (event.target === field()) fit(); });
    document.addEventListener("click", function (event) { if (list() && list().contains(event.target)) click(event); });
    matchMedia("(max-width: 767.98px)").addEventListener("change", cover);
  }

  // The panel as it fits what is on screen; a conversation that is under way stays.
  function fill(focuses) {
    var path = onScreen();
    if (coming) return;
    if (drawnFor && (conversation || busy || field().value || drawnFor.path === path)) { if (focuses) field().focus(); return; }
    coming = read.get("panel", { path: path }).then(function (found) {
      drawnFor = { path: path, ends: found.ends };
      panel.replaceChildren(draw(found.panel));
      field().setAttribute("enterkeyhint", "send");
      return kept() ? restore(kept()) : undefined;
    }).catch(function (error) {
      panel.replaceChildren(window.fwMake.html("p", "fw-quiet", "The assistant cannot be opened now. " + error.message));
      drawnFor = null;
    }).then(function () { coming = null; if (focuses && field()) field().focus(); });
  }

  window.fwChatPanel = {
    show: function (element, place, focuses) {
      if (panel !== element) { attach(element); drawnFor = null; }
      where = place;
      fill(focuses);
      cover();
      if (place === "page") listAll();
    },
    hide: function () { where = ""; cover(); }
  };
})();
