"""The frame of the picture: style and script. What `draw` fills in stands between double @ signs."""

from __future__ import annotations

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Seine: the shared network</title>
<style>
:root { --back: #fbfbfd; --ink: #1d2330; --soft: #6b7385; --line: #c3c9d6;
  --panel: #ffffff; --mark: #d6336c; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171f; --ink: #e6e9f0; --soft: #98a1b5; --line: #3b4254;
    --panel: #1c212c; --mark: #ff79a8; }
}
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: grid; grid-template: auto 1fr / 1fr 320px;
  font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); }
header { grid-column: 1 / 3; display: flex; gap: 14px; align-items: center; padding: 10px 18px;
  background: var(--panel); border-bottom: 1px solid var(--line); }
h1 { font-size: 17px; margin: 0; }
header span { color: var(--soft); }
input, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
  border-radius: 6px; padding: 5px 10px; }
input { margin-left: auto; width: 260px; }
main { overflow: auto; }
aside { overflow: auto; padding: 14px 18px; background: var(--panel); border-left: 1px solid var(--line); }
aside h2 { font-size: 15px; margin: 0 0 6px; }
aside h3 { font-size: 12px; margin: 14px 0 4px; color: var(--soft); }
aside p, aside li { margin: 2px 0; overflow-wrap: anywhere; }
aside ul { margin: 0; padding-left: 18px; }
code { font: 12px/1.5 ui-monospace, monospace; }
svg.fit { width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; }
svg .kind { font-weight: 600; }
svg .badge { text-anchor: end; font-size: 11px; fill: var(--mark); font-weight: 600; }
svg text.stage { fill: var(--soft); }
svg line.stage { stroke: var(--line); stroke-dasharray: 2 5; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.4; }
.box { cursor: pointer; outline: none; --tint: #8e98ad; }
.box rect { fill: var(--panel); stroke: var(--tint); stroke-width: 1.3; }
.box .kind { fill: var(--tint); }
.shared rect { stroke-width: 2.8; }
.box:focus-visible rect { stroke: var(--mark); }
.source { --tint: #2f7ed8; } .resolve { --tint: #5c7cfa; } .select { --tint: #2f9e63; }
.lookup { --tint: #0c9aa8; } .join { --tint: #e8710a; } .merge { --tint: #b08900; }
.aggregate { --tint: #8a55d7; } .distinct, .except { --tint: #c2458f; } .changelog { --tint: #a0713d; }
.output { --tint: #5b6580; }
svg.focus .box:not(.on), svg.focus .edge:not(.on) { opacity: .13; }
svg.focus .edge.on { stroke: var(--mark); stroke-width: 2; }
.box.chosen rect { stroke: var(--mark); stroke-width: 3; }
</style></head><body>
<header><h1>Seine</h1><span>@@HEADLINE@@</span>
<input id="search" type="search" placeholder="search nodes and queries" aria-label="search"/>
<button id="fit" type="button">fit</button></header>
<main>@@SVG@@</main>
<aside id="panel"><h2>The shared network</h2>
<p>Streams enter on the left, queries leave on the right. A thick frame is shared.</p>
<p>Point at a box to see its path; click to keep it; search to find.</p></aside>
<script type="application/json" id="data">@@DATA@@</script>
<script>
"use strict";
const facts = JSON.parse(document.getElementById("data").textContent);
const svg = document.getElementById("net"), panel = document.getElementById("panel");
const boxes = [], edges = [...svg.querySelectorAll(".edge")];
for (const g of svg.querySelectorAll(".box")) boxes[Number(g.dataset.box)] = g;
const outputs = facts.map(() => []);
facts.forEach((fact, number) => fact.inputs.forEach(i => outputs[i].push(number)));
const hay = facts.map(f => [f.title, ...f.texts, ...f.users].join("\\n").toLowerCase());
let chosen = null;

function reach(start, next) {
  const seen = new Set([start]), waiting = [start];
  while (waiting.length) {
    for (const n of next(waiting.pop())) if (!seen.has(n)) { seen.add(n); waiting.push(n); }
  }
  return seen;
}
function path(number) {
  const below = reach(number, n => facts[n].inputs), above = reach(number, n => outputs[n]);
  return { below, above, all: new Set([...below, ...above]) };
}
function clear() {
  svg.classList.remove("focus");
  for (const element of svg.querySelectorAll(".on")) element.classList.remove("on");
}
function light(number) {
  clear();
  const { below, above, all } = path(number);
  svg.classList.add("focus");
  all.forEach(n => boxes[n].classList.add("on"));
  for (const edge of edges) {
    const from = Number(edge.dataset.from), to = Number(edge.dataset.to);
    if ((below.has(from) && below.has(to)) || (above.has(from) && above.has(to))) edge.classList.add("on");
  }
}
function put(tag, text, parent) {
  const element = document.createElement(tag);
  element.textContent = text;
  (parent || panel).append(element);
  return element;
}
function list(heading, items, more) {
  put("h3", heading);
  const ul = put("ul", "");
  items.forEach(item => put("code", item, put("li", "", ul)));
  if (more) put("p", "and " + more + " more");
}
function show(number) {
  const fact = facts[number];
  panel.replaceChildren();
  put("h2", fact.title);
  put("p", "stage " + fact.stage + (fact.reason ? ", shared: " + fact.reason : ""));
  list("what it does", fact.texts, fact.hidden);
  list("who uses it", fact.users, fact.others);
}
function choose(number) {
  if (chosen !== null) boxes[chosen].classList.remove("chosen");
  chosen = chosen === number ? null : number;
  if (chosen === null) return clear();
  boxes[chosen].classList.add("chosen");
  light(chosen);
  show(chosen);
}
boxes.forEach((g, number) => {
  g.addEventListener("mouseenter", () => { if (chosen === null) light(number); });
  g.addEventListener("mouseleave", () => { if (chosen === null) find(); });
  g.addEventListener("click", event => { event.stopPropagation(); choose(number); });
  g.addEventListener("keydown", event => { if (event.key === "Enter") choose(number); });
});
svg.addEventListener("click", () => { if (chosen !== null) choose(chosen); find(); });
const search = document.getElementById("search");
function find() {
  clear();
  const wanted = search.value.trim().toLowerCase();
  if (!wanted) return;
  svg.classList.add("focus");
  hay.forEach((text, number) => { if (text.includes(wanted)) boxes[number].classList.add("on"); });
}
search.addEventListener("input", () => { if (chosen !== null) choose(chosen); find(); });
search.addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const first = svg.querySelector(".box.on");
  if (first) first.scrollIntoView({ block: "center", inline: "center" });
});
document.getElementById("fit").addEventListener("click", () => svg.classList.toggle("fit"));
</script></body></html>
"""
