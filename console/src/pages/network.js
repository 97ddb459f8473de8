// The network as it runs: boxes by stages, rows on edges, what nodes hold, who shares them.
import { html, useEffect, useMemo, useRef, useState } from "../dom.js";
import { Refusal } from "../parts/refusal.js";
import { usePolled } from "../polling.js";
import { get } from "../service.js";
import { count, number, rate, seconds, short } from "../words.js";
import { queryHref } from "./queries.js";

const WIDTH = 230, HEIGHT = 62; // of a box, as the service places them
const LEAST_CPU = 0.01; // seconds that are shown on a box
const LEAST_ZOOM = 0.05, MOST_ZOOM = 3;

const has = (box, text) => `${box.title} ${box.lines.join(" ")} ${box.named_users.join(" ")}`.toLowerCase().includes(text);

function Edge({ from, to, lit }) {
  const x1 = from.x + WIDTH, y1 = from.y + HEIGHT / 2, x2 = to.x, y2 = to.y + HEIGHT / 2;
  const bend = Math.min(Math.max(40, (x2 - x1) / 2), 120);
  const width = from.rate > 0 ? Math.min(1.2 + Math.log10(1 + from.rate) * 1.4, 8) : 1.2;
  return html`<g class=${lit ? "edge lit" : "edge"}>
    <path d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} stroke-width=${width} />
  </g>`;
}

function BoxShape({ box, lit, chosen, onChoose }) {
  const state = box.held ? `, holds ${number(box.held)}` : "";
  return html`<g class=${`box${lit ? " lit" : ""}${chosen ? " chosen" : ""}${box.users > 1 ? " shared" : ""}`} role="button" tabindex="0"
    transform=${`translate(${box.x} ${box.y})`} data-box=${box.number}
    aria-label=${`${box.title}: ${box.lines.join(" ")}; ${count(box.users, "query", "queries")}${state}${box.cpu_seconds >= LEAST_CPU ? `, ${seconds(box.cpu_seconds)} of CPU time` : ""}`}
    onClick=${(event) => { event.stopPropagation(); onChoose(box); }}
    onKeyDown=${(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onChoose(box); } }}>
    ${box.count > 1 && html`<rect class="pile" x="5" y="5" width=${WIDTH} height=${HEIGHT} rx="7" />`}
    <rect width=${WIDTH} height=${HEIGHT} rx="7" />
    <text class="kind" x="10" y="19">${box.title}</text>
    ${box.users > 1 && html`<text class="badge" x=${WIDTH - 10} y="19" text-anchor="end">${short(box.users)} queries</text>`}
    ${box.lines.slice(0, 2).map((line, i) => html`<text x="10" y=${37 + i * 16}>${line.length > 34 ? `${line.slice(0, 33)}…` : line}</text>`)}
    ${box.rate > 0 && html`<text class="rate" x=${WIDTH + 6} y=${HEIGHT / 2 - 6}>${rate(box.rate)}</text>`}
    ${box.cpu_seconds >= LEAST_CPU && html`<text class="cost" x="10" y=${HEIGHT + 12}>${seconds(box.cpu_seconds)} CPU</text>`}
    ${box.held > 0 && html`<g><rect class="held" x=${WIDTH - 62} y=${HEIGHT - 4} width="56" height="15" rx="7" /><text class="heldtext" x=${WIDTH - 34} y=${HEIGHT + 7.5} text-anchor="middle">${short(box.held)}</text></g>`}
  </g>`;
}

function NodePanel({ box, onClose }) {
  const [node, setNode] = useState(box.nodes[0]);
  const { answer, error } = usePolled(() => get(`v1/network/${node}`), 2000, [node]);
  return html`<aside class="card panel" aria-label="node">
    <div class="titleline"><h2>${box.title}</h2><button class="quiet" onClick=${onClose} aria-label="close">×</button></div>
    ${box.count > 1 && html`<label>Node <select value=${node} onChange=${(event) => setNode(Number(event.target.value))}>
      ${box.nodes.map((one) => html`<option value=${one}>#${one}</option>`)}</select>
      ${box.count > box.nodes.length && html`<span class="faint"> and ${number(box.count - box.nodes.length)} more</span>`}</label>`}
    <${Refusal} error=${error} />
    ${answer && html`<p><b>${answer.kind}</b> #${answer.node}, ${answer.stage ? `stage ${answer.stage}` : "as tuples arrive"}</p>
      <p>${answer.text}</p>
      ${answer.details.length > 0 && html`<ul>${answer.details.map((text) => html`<li>${text}</li>`)}</ul>`}
      <dl class="figures">
        <div><dt>sends</dt><dd>${rate(answer.rate)}</dd></div>
        <div><dt>CPU time</dt><dd>${seconds(answer.cost.cpu_seconds)}</dd></div>
        <div><dt>rows in</dt><dd>${number(answer.cost.rows_in)}</dd></div>
        <div><dt>rows out</dt><dd>${number(answer.cost.rows_out)}</dd></div>
        ${answer.stateful && html`<div><dt>state bytes</dt><dd>${number(answer.cost.state_bytes)}</dd></div>`}
        ${answer.stateful && html`<div><dt>rows</dt><dd>${number(answer.state_rows)}</dd></div>
          <div><dt>groups</dt><dd>${number(answer.group_rows)}</dd></div>
          <div><dt>punctuations</dt><dd>${number(answer.punctuations)}</dd></div>`}
      </dl>
      <h2>${answer.users > 1 ? `Shared by ${count(answer.users, "query", "queries")}` : "Used by"}</h2>
      ${answer.reason && html`<p class="faint">${answer.reason}</p>`}
      <ul class="names">${answer.named_users.map((name) => html`<li><a href=${queryHref(name)}>${name}</a></li>`)}</ul>
      ${answer.users > answer.named_users.length && html`<p class="faint">and ${number(answer.users - answer.named_users.length)} more</p>`}`}
  </aside>`;
}

/** Where the picture is: what `#/network/17` and `#/network?query=q` ask for. */
function wanted(name) {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "").get("query");
  return { query: query ?? "", node: name && /^\d+$/.test(name) ? Number(name) : null };
}

export function NetworkPage({ name }) {
  const start = wanted(name);
  const [query, setQuery] = useState(start.query);
  const [asked, setAsked] = useState(start.query);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(null);
  const [view, setView] = useState(null); // {x, y, zoom}
  const svg = useRef(null), drag = useRef(null);
  const { answer, error } = usePolled((signal) => get(`v1/network${asked ? `?query=${encodeURIComponent(asked)}` : ""}`, signal), 2000, [asked]);
  const size = useMemo(() => ({
    width: Math.max(...(answer?.boxes ?? []).map((box) => box.x), 0) + WIDTH + 40,
    height: Math.max(...(answer?.boxes ?? []).map((box) => box.y), 0) + HEIGHT + 40,
  }), [answer?.version, answer?.boxes.length]);
  const fit = () => {
    const frame = svg.current?.getBoundingClientRect();
    if (frame) setView({ x: 0, y: 0, zoom: Math.max(LEAST_ZOOM, Math.min(1.2, frame.width / size.width, frame.height / size.height)) });
  };
  useEffect(() => {
    if (answer && !view) fit();
    if (answer && start.node !== null && !chosen) {
      const box = answer.boxes.find((one) => one.nodes.includes(start.node));
      if (box) setChosen(box.number);
    }
  }, [answer]);
  const zoomBy = (factor, at) => setView((before) => {
    const zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, before.zoom * factor));
    const frame = svg.current.getBoundingClientRect();
    const place = at ?? { x: frame.width / 2, y: frame.height / 2 };
    const grown = zoom / before.zoom;
    return { zoom, x: place.x - (place.x - before.x) * grown, y: place.y - (place.y - before.y) * grown };
  });
  useEffect(() => {
    const wheel = (event) => {
      event.preventDefault();
      const frame = svg.current.getBoundingClientRect();
      zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15, { x: event.clientX - frame.left, y: event.clientY - frame.top });
    };
    const element = svg.current;
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, [answer !== null]);
  const keys = { "+": () => zoomBy(1.2), "=": () => zoomBy(1.2), "-": () => zoomBy(1 / 1.2), "0": fit };
  const needle = text.trim().toLowerCase();
  const used = new Set(answer?.used ?? []);
  const lit = (box) => (asked ? used.has(box.number) : needle !== "" && has(box, needle));
  const picked = answer?.boxes.find((box) => box.number === chosen);
  const hits = answer && needle ? answer.boxes.filter((box) => has(box, needle)).length : 0;
  return html`<section class="page fill">
    <div class="titleline"><h1>Network</h1>
      <p class="summary" role="status">${answer ? `version ${answer.version}: ${count(answer.boxes.reduce((sum, box) => sum + box.count, 0), "node")} in ${count(answer.boxes.length, "box", "boxes")}` : ""}</p></div>
    <form class="filters" onSubmit=${(event) => { event.preventDefault(); setAsked(query.trim()); }}>
      <label>Search <input type="search" placeholder="nodes, conditions" value=${text} onInput=${(event) => { setText(event.target.value); setAsked(""); }} /></label>
      ${needle && html`<span class="faint" role="status">${count(hits, "box", "boxes")}</span>`}
      <label>Query <input type="search" placeholder="name" value=${query} onInput=${(event) => { setQuery(event.target.value); if (!event.target.value) setAsked(""); }} /></label>
      <button>Show its path</button>
      <span role="group" aria-label="zoom"><button type="button" onClick=${() => zoomBy(1.25)} aria-label="zoom in">+</button>
        <button type="button" onClick=${() => zoomBy(0.8)} aria-label="zoom out">−</button>
        <button type="button" onClick=${fit}>Fit</button></span>
    </form>
    <${Refusal} error=${error} />
    <div class="netframe">
      ${answer && html`<svg ref=${svg} class=${asked || needle ? "net dimmed" : "net"} tabindex="0" aria-label="operator network" role="group"
        onKeyDown=${(event) => keys[event.key] && event.target === svg.current && keys[event.key]()}
        onPointerDown=${(event) => { drag.current = { x: event.clientX, y: event.clientY }; }}
        onPointerMove=${(event) => {
          if (!drag.current || !event.buttons) return;
          const { x, y } = drag.current;
          drag.current = { x: event.clientX, y: event.clientY };
          setView((before) => ({ ...before, x: before.x + event.clientX - x, y: before.y + event.clientY - y }));
        }}>
        <g transform=${view ? `translate(${view.x} ${view.y}) scale(${view.zoom})` : ""}>
          ${answer.stages.map(({ stage, left }) => html`<g class="stagehead">${stage > 0 && html`<line x1=${left - 24} x2=${left - 24} y1="8" y2=${size.height} />`}
            <text x=${left} y="28">${stage === 0 ? "as tuples arrive" : `stage ${stage}`}</text></g>`)}
          ${answer.boxes.flatMap((box) => box.inputs.map((from) => html`<${Edge} from=${answer.boxes[from]} to=${box} lit=${lit(box) && lit(answer.boxes[from])} />`))}
          ${answer.boxes.map((box) => html`<${BoxShape} key=${box.number} box=${box} lit=${lit(box)} chosen=${box.number === chosen} onChoose=${(one) => setChosen(one.number)} />`)}
        </g>
      </svg>`}
      ${answer && answer.boxes.length === 0 && html`<p class="center">No query runs.</p>`}
      ${picked && html`<${NodePanel} key=${picked.nodes[0]} box=${picked} onClose=${() => setChosen(null)} />`}
    </div>
  </section>`;
}
