"use strict";
const { queries, states, templates, boxes: facts } = JSON.parse(document.getElementById("data").textContent);
const svg = document.getElementById("net"), world = document.getElementById("world");
const panel = document.getElementById("panel"), search = document.getElementById("search");
const boxes = [], edges = [...svg.querySelectorAll(".edge")], MOST = 100;
for (const g of svg.querySelectorAll(".box")) boxes[Number(g.dataset.box)] = g;
const users = facts.map(fact => fact.users && new Set(fact.users));
const hay = facts.map(fact => [fact.title, ...fact.nodes.flat()].join("\n").toLowerCase());
const low = queries.map(name => name.toLowerCase());
const serves = (number, query) => !users[number] || users[number].has(query);
let chosen = null, query = null;

// ---- what is lit
function light(...ways) {
  const shown = new Set(ways.flatMap(way => [...way]));
  svg.classList.toggle("focus", ways.length > 0);
  boxes.forEach((g, number) => g.classList.toggle("on", shown.has(number)));
  for (const edge of edges) {
    const from = Number(edge.dataset.from), to = Number(edge.dataset.to);
    edge.classList.toggle("on", ways.some(way => way.has(from) && way.has(to)));
  }
}
function reach(start, next) {
  const seen = new Set([start]), waiting = [start];
  while (waiting.length) {
    for (const n of next(waiting.pop())) if (!seen.has(n)) { seen.add(n); waiting.push(n); }
  }
  return seen;
}
const readers = facts.map(() => []);
facts.forEach((fact, number) => fact.inputs.forEach(i => readers[i].push(number)));
function pathOf(q) { return new Set(facts.keys().filter(number => serves(number, q))); }

// ---- the panel
function put(tag, text, parent) {
  const element = document.createElement(tag);
  element.textContent = text;
  (parent || panel).append(element);
  return element;
}
function pick(text, parent, act) {
  const button = put("button", text, parent);
  button.className = "pick";
  button.type = "button";
  button.addEventListener("click", act);
}
function pickQueries(numbers, parent, most = MOST) {
  numbers.slice(0, most).forEach(q => pick(queries[q], parent, () => chooseQuery(q)));
  if (numbers.length > most) put("p", "and " + (numbers.length - most) + " more", parent);
}
function listUsers(number) {
  const all = facts[number].users || [...queries.keys()];
  put("h3", all.length === 1 ? "1 query" : all.length + " queries");
  const list = document.createElement("div");
  if (all.length > 12) {
    const input = put("input", "");
    input.placeholder = "find a query";
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      list.replaceChildren();
      pickQueries(all.filter(q => low[q].includes(wanted)), list);
    });
  }
  panel.append(list);
  pickQueries(all, list, 12);
}
function describe(number, parent) {
  const ul = put("ul", "", parent);
  for (const [head, ...details] of facts[number].nodes) {
    const li = put("li", "", ul);
    put("code", head, li);
    if (details.length) {
      const inner = put("ul", "", li);
      details.forEach(text => put("code", text, put("li", "", inner)));
    }
  }
  if (facts[number].hidden) put("p", "and " + facts[number].hidden + " more nodes", parent);
}
function welcome() {
  panel.replaceChildren();
  put("h2", "The shared network");
  put("p", "Tuples enter on the left; queries get their results at the green boxes.");
  put("p", "A thick frame is shared by several queries. A pile is several nodes that do alike.");
  put("p", "Drag to move, scroll to zoom, click a box or a query to see its path.");
  put("h3", queries.length + " queries");
  pickQueries([...queries.keys()], panel);
  if (templates.length) put("h3", templates.length + (templates.length === 1 ? " template" : " templates"));
  templates.slice(0, MOST).forEach(([text, users]) => {
    put("code", text);
    put("p", users.length === 1 ? "1 query" : users.length + " queries");
    pickQueries(users, panel, 12);
  });
}
function showBox(number) {
  const fact = facts[number];
  panel.replaceChildren();
  put("h2", fact.title);
  put("p", "stage " + fact.stage + (fact.reason ? ", shared: " + fact.reason : ""));
  listUsers(number);
  put("h3", "what it does");
  describe(number, panel);
}
function showQuery(q) {
  panel.replaceChildren();
  put("h2", queries[q]);
  if (states[q].length) {
    put("h3", "what it holds");
    const ul = put("ul", "");
    states[q].forEach(text => put("code", text, put("li", "", ul)));
  }
  for (const [text, users] of templates.filter(([, users]) => users.includes(q))) {
    put("h3", "its template");
    put("code", text);
    put("p", users.length === 1 ? "alone" : "with " + (users.length - 1) + " others");
  }
  for (const number of pathOf(q)) {
    pick(facts[number].title, put("h3", ""), () => chooseBox(number));
    const others = facts[number].users ? facts[number].users.length - 1 : queries.length - 1;
    put("p", others ? "with " + others + (others === 1 ? " other query" : " other queries") : "alone");
    const { nodes, own } = facts[number];
    const mine = own ? nodes.filter((_, n) => own[n].includes(q)) : nodes;
    if (mine.length) put("code", mine[mine.length - 1][0]);
  }
}
function showFound(wanted) {
  const found = [...queries.keys()].filter(q => low[q].includes(wanted));
  const texts = [...facts.keys()].filter(number => hay[number].includes(wanted));
  const shown = new Set(texts);
  for (const q of found.slice(0, 20)) for (const number of pathOf(q)) shown.add(number);
  light(shown);
  panel.replaceChildren();
  put("h2", "found");
  put("h3", found.length + " queries");
  pickQueries(found, panel);
  put("h3", texts.length + " boxes");
  texts.slice(0, MOST).forEach(number => pick(facts[number].title, panel, () => chooseBox(number)));
  return found;
}

// ---- choosing
function choose(number, q) {
  if (chosen !== null) boxes[chosen].classList.remove("chosen");
  chosen = number;
  query = q;
  if (number !== null) {
    boxes[number].classList.add("chosen");
    light(reach(number, n => facts[n].inputs), reach(number, n => readers[n]));
    showBox(number);
  }
  else if (q !== null) { light(pathOf(q)); showQuery(q); }
  else find();
}
function chooseBox(number) { choose(chosen === number ? null : number, null); }
function chooseQuery(q) { choose(null, q); frame(pathOf(q)); }
function find() {
  const wanted = search.value.trim().toLowerCase();
  if (wanted) return showFound(wanted);
  light();
  welcome();
  return [];
}
boxes.forEach((g, number) => {
  g.addEventListener("click", () => { if (!moved) chooseBox(number); });
  g.addEventListener("keydown", event => { if (event.key === "Enter") chooseBox(number); });
});
search.addEventListener("input", () => choose(null, null));
search.addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const found = find();
  if (found.length) chooseQuery(found[0]);
});
document.addEventListener("keydown", event => { if (event.key === "Escape") choose(null, null); });

// ---- moving and zooming
const size = { width: Number(svg.dataset.width), height: Number(svg.dataset.height) };
let scale = 1, left = 0, top_ = 0, grip = null, moved = false;
function place() { world.setAttribute("transform", `translate(${left} ${top_}) scale(${scale})`); }
function zoom(factor, x, y) {
  const next = Math.min(4, Math.max(0.05, scale * factor));
  left = x - (x - left) * next / scale;
  top_ = y - (y - top_) * next / scale;
  scale = next;
  place();
}
function fit(least) {
  const room = svg.getBoundingClientRect();
  scale = Math.min(1.2, Math.max(least, Math.min(room.width / size.width, room.height / size.height)));
  left = Math.max(0, (room.width - size.width * scale) / 2);
  top_ = 0;
  place();
}
function frame(shown) {
  const room = svg.getBoundingClientRect();
  const places = [...shown].map(n => boxes[n].transform.baseVal[0].matrix);
  const right = Math.max(...places.map(m => m.e)) + 260, bottom = Math.max(...places.map(m => m.f)) + 90;
  const x = Math.min(...places.map(m => m.e)) - 20, y = Math.min(...places.map(m => m.f)) - 20;
  scale = Math.min(1.2, room.width / (right - x), room.height / (bottom - y));
  left = (room.width - (right + x) * scale) / 2;
  top_ = (room.height - (bottom + y) * scale) / 2;
  place();
}
function zoomMiddle(factor) {
  const room = svg.getBoundingClientRect();
  zoom(factor, room.width / 2, room.height / 2);
}
svg.addEventListener("wheel", event => {
  event.preventDefault();
  const room = svg.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 500), event.clientX - room.left, event.clientY - room.top);
}, { passive: false });
svg.addEventListener("pointerdown", event => {
  grip = { x: event.clientX - left, y: event.clientY - top_, fromX: event.clientX, fromY: event.clientY };
  moved = false;
});
window.addEventListener("pointermove", event => {
  if (!grip) return;
  moved = moved || Math.hypot(event.clientX - grip.fromX, event.clientY - grip.fromY) > 4;
  if (!moved) return;
  svg.classList.add("drag");
  left = event.clientX - grip.x;
  top_ = event.clientY - grip.y;
  place();
});
window.addEventListener("pointerup", () => { grip = null; svg.classList.remove("drag"); });
document.getElementById("in").addEventListener("click", () => zoomMiddle(1.3));
document.getElementById("out").addEventListener("click", () => zoomMiddle(1 / 1.3));
document.getElementById("fit").addEventListener("click", () => fit(0.05));
fit(0.6);
find();
if (queries.length && location.hash) {
  search.value = decodeURIComponent(location.hash.slice(1));
  const found = find();
  if (found.length) chooseQuery(found[0]);
}
