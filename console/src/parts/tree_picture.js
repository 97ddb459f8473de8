// A tree of tuples that a SEARCH found: boxes of tuples, joined by the edges of the record.
import { html } from "../dom.js";
import { shown } from "../words.js";

const WIDTH = 210, GAP_X = 54, GAP_Y = 16, LINE = 17, PAD = 10, MOST_FIELDS = 6, MOST_LETTERS = 30;

const cut = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text);

/** Columns from a middle of the tree outwards would cross less; from tuple 0 on is what a reader expects. */
function placed(tuples, edges) {
  const near = tuples.map(() => []);
  for (const [a, b] of edges) {
    near[a].push(b);
    near[b].push(a);
  }
  const depth = tuples.map(() => -1);
  const queue = [0];
  depth[0] = 0;
  for (const i of queue) for (const next of near[i]) if (depth[next] < 0) (depth[next] = depth[i] + 1), queue.push(next);
  const bottoms = [];
  return tuples.map((tuple, i) => {
    const column = Math.max(depth[i], 0);
    const fields = Object.entries(tuple.row).filter(([, value]) => value !== null).slice(0, MOST_FIELDS);
    const height = PAD * 2 + LINE * (fields.length + 1);
    const y = bottoms[column] ?? 0;
    bottoms[column] = y + height + GAP_Y;
    return { x: column * (WIDTH + GAP_X), y, height, fields, stream: tuple.stream };
  });
}

export function TreePicture({ row }) {
  const { tuples, edges = [], matches = [] } = row;
  const boxes = placed(tuples, edges);
  const width = Math.max(...boxes.map((box) => box.x)) + WIDTH + 2;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) + 2;
  const words = `a tree of ${tuples.length} tuples: ${tuples.map((tuple, i) => `${tuple.stream}${matches[i]?.length ? ` with ${matches[i].join(", ")}` : ""}`).join("; ")}`;
  return html`<svg class="tree" viewBox=${`-1 -1 ${width} ${height}`} width=${width} height=${height} role="img" aria-label=${words}>
    ${edges.map(([a, b]) => {
      const [left, right] = boxes[a].x <= boxes[b].x ? [boxes[a], boxes[b]] : [boxes[b], boxes[a]];
      const y1 = left.y + left.height / 2, y2 = right.y + right.height / 2;
      const x1 = left.x + WIDTH, x2 = right.x === left.x ? x1 : right.x;
      const bend = right.x === left.x ? 30 : (x2 - x1) / 2;
      return html`<path class="edge" d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${right.x === left.x ? x2 + bend : x2 - bend} ${y2} ${x2} ${y2}`} />`;
    })}
    ${boxes.map((box, i) => html`<g class=${matches[i]?.length ? "tuple hit" : "tuple"} transform=${`translate(${box.x} ${box.y})`}>
      <rect width=${WIDTH} height=${box.height} rx="6" />
      <text class="head" x=${PAD} y=${PAD + 11}>${box.stream}</text>
      ${matches[i]?.length ? html`<text class="terms" x=${WIDTH - PAD} y=${PAD + 11} text-anchor="end">${cut(matches[i].join(", "))}</text>` : null}
      ${box.fields.map(([name, value], line) => html`<text x=${PAD} y=${PAD + 11 + LINE * (line + 1)}>${cut(`${name}: ${shown(value)}`)}</text>`)}
    </g>`)}
  </svg>`;
}
