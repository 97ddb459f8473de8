// The documents that an XSCL record was made of, drawn as trees side by side: a line for each element, those that
// variables are bound to marked, and lines between variables whose values are equal.
import { html, useEffect, useState } from "../dom.js";
import { get, queryPath } from "../service.js";

const LINE = 24, INDENT = 18, LETTER = 7.2, PAD = 8, GAP = 90, MOST_LETTERS = 44, MOST_ELEMENTS = 40;

const cut = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text);

/** The elements of a document in its order, with depth and parent: their places are the numbers of a record. */
function elements(text) {
  const parsed = new DOMParser().parseFromString(text, "application/xml");
  if (parsed.getElementsByTagName("parsererror").length) return null;
  const all = [];
  const ahead = [[parsed.documentElement, -1, 0]];
  while (ahead.length) {
    const [element, parent, depth] = ahead.pop();
    const number = all.length;
    all.push({ element, parent, depth });
    for (const child of [...element.children].reverse()) ahead.push([child, number, depth + 1]);
  }
  return all;
}

const own = (element) => [...element.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE || one.nodeType === Node.CDATA_SECTION_NODE)
  .map((one) => one.nodeValue.trim()).filter(Boolean).join(" ");

/** Which variables are at which element: `{2: ["x"], 3: ["i = @id"]}`; hidden ones stand for paths, and have no name. */
function marks(nodes, hidden) {
  const at = {};
  for (const [name, node] of Object.entries(nodes)) {
    const [number, attribute] = String(node).split("/@");
    const shown = hidden.includes(name) ? "" : name;
    (at[number] ??= []).push(attribute ? [shown, `@${attribute}`].filter(Boolean).join(" = ") : shown);
  }
  return at;
}

/** The elements that are drawn: those that are bound with all above them, then the first others; a row says how many not. */
function chosen(all, at) {
  const kept = new Set();
  for (const number of Object.keys(at)) for (let one = Number(number); one >= 0 && all[one]; one = all[one].parent) kept.add(one);
  for (let one = 0; one < all.length && kept.size < MOST_ELEMENTS; one++) kept.add(one);
  const rows = [];
  let left = 0;
  all.forEach((one, number) => {
    if (!kept.has(number)) return void (left += 1);
    if (left) rows.push({ left });
    left = 0;
    rows.push({ ...one, number });
  });
  if (left) rows.push({ left });
  return rows;
}

function tree(document) {
  const all = elements(document.text);
  if (all === null) return null;
  const at = marks(document.nodes, document.hidden);
  const places = {};
  const rows = chosen(all, at).map((row, line) => {
    if (row.left) return { y: line * LINE, x: INDENT, label: `… ${row.left} more` };
    places[row.number] = line;
    const attributes = [...row.element.attributes].map((one) => ` @${one.name}=${one.value}`).join("");
    const text = own(row.element);
    const label = cut(`${row.element.nodeName}${attributes}${text ? `: ${text}` : ""}`);
    const bound = at[row.number];
    const names = bound ? bound.filter(Boolean).join(", ") : "";
    return { y: line * LINE, x: row.depth * INDENT, label, bound, names, parent: places[row.parent], width: PAD * 2 + LETTER * (label.length + (names ? names.length + 2 : 0)) };
  });
  return { rows, places, width: Math.max(...rows.map((row) => row.x + (row.width ?? 90))), height: rows.length * LINE };
}

/** Where a variable is drawn: the box of its element, in the tree of its document. */
function boxOf(trees, documents, name) {
  const i = documents.findIndex((one) => Object.hasOwn(one.nodes, name));
  if (i < 0 || !trees[i]) return null;
  const line = trees[i].places[String(documents[i].nodes[name]).split("/@")[0]];
  return line === undefined ? null : { ...trees[i].rows[line], tree: i };
}

function Row({ row }) {
  if (!row.width) return html`<text class="rest" x=${row.x} y=${row.y + 16}>${row.label}</text>`;
  return html`<g class=${row.bound ? "tuple hit" : "tuple"} transform=${`translate(${row.x} ${row.y})`}>
    <rect width=${row.width} height=${LINE - 4} rx="4" />
    <text class="element" x=${PAD} y="15">${row.label}</text>
    ${row.names && html`<text class="terms" x=${row.width - PAD} y="15" text-anchor="end">${row.names}</text>`}
  </g>`;
}

function Branches({ rows }) {
  return rows.filter((row) => row.parent !== undefined).map((row) => {
    const above = rows[row.parent];
    return html`<path class="edge" d=${`M${above.x + 8} ${above.y + LINE - 4}V${row.y + LINE / 2 - 2}H${row.x}`} />`;
  });
}

function Equalities({ pairs, offsets }) {
  return pairs.map(([a, b]) => {
    const [left, right] = a.tree <= b.tree ? [a, b] : [b, a];
    const x1 = offsets[left.tree] + left.x + left.width, x2 = offsets[right.tree] + right.x;
    const y1 = left.y + LINE / 2 - 2, y2 = right.y + LINE / 2 - 2, bend = Math.max((x2 - x1) / 2, 24);
    return html`<path class="equal" d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />`;
  });
}

function words(documents, equal) {
  const named = documents.map((one) => `${one.stream} with ${Object.entries(one.nodes).filter(([name]) => !one.hidden.includes(name)).map(([name, node]) => `${name} at node ${node}`).join(", ") || "no variable"}`);
  return `the documents: ${named.join("; ")}${equal.length ? `; ${equal.length === 1 ? "one value is" : `${equal.length} values are`} equal` : ""}`;
}

/** Asks for the documents of a record of a query, and draws those that there are. */
export function BoundTrees({ query, row }) {
  const [answer, setAnswer] = useState(null);
  useEffect(() => {
    const asked = new URLSearchParams({ right: String(row.right_ts), bindings: JSON.stringify(row.bindings) });
    if (row.left_ts !== null && row.left_ts !== undefined) asked.set("left", String(row.left_ts));
    const stop = new AbortController();
    get(queryPath(query, `/documents?${asked}`), stop.signal).then(setAnswer, () => setAnswer({ documents: [] }));
    return () => stop.abort();
  }, [query]);
  if (!answer) return null;
  const documents = answer.documents.filter((one) => one.text !== null);
  const trees = documents.map(tree);
  if (!documents.length || trees.includes(null)) return html`<p class="faint">Its documents are not drawn: they did not come in the last five minutes.</p>`;
  const offsets = [];
  const width = trees.reduce((x, one) => (offsets.push(x), x + one.width + GAP), 0) - GAP;
  const height = Math.max(...trees.map((one) => one.height));
  const pairs = answer.equal.map((pair) => pair.map((name) => boxOf(trees, documents, name))).filter(([a, b]) => a && b);
  return html`<div>
    <svg class="tree bound" viewBox=${`-1 -1 ${width + 2} ${height + 2}`} width=${width + 2} height=${height + 2} role="img" aria-label=${words(documents, pairs)}>
      <${Equalities} pairs=${pairs} offsets=${offsets} />
      ${trees.map((one, i) => html`<g transform=${`translate(${offsets[i]} 0)`}>
        <${Branches} rows=${one.rows} />
        ${one.rows.map((line) => html`<${Row} row=${line} />`)}
      </g>`)}
    </svg>
    ${documents.length < answer.documents.length && html`<p class="faint">The others did not come in the last five minutes.</p>`}
    ${answer.fitting > 1 && html`<p class="faint">${answer.fitting} combinations of recent documents fit this record; the newest is drawn.</p>`}
  </div>`;
}
