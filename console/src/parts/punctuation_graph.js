// The punctuation graph of a query: an arrow says that punctuations of values of its tail close its head.
import { html } from "../dom.js";

const WIDTH = 460, RADIUS_Y = 17;

export function PunctuationGraph({ graph, purgeable }) {
  const names = [...new Set([...Object.keys(purgeable), ...graph.flatMap((edge) => [...edge.tails, edge.head])])];
  if (!names.length) return null;
  const height = names.length < 3 ? 120 : 90 + names.length * 34;
  const middle = { x: WIDTH / 2, y: height / 2 };
  const radius = { x: Math.min(150, WIDTH / 2 - 70), y: names.length < 3 ? 0 : height / 2 - 32 };
  const places = Object.fromEntries(names.map((name, i) => {
    const angle = Math.PI + (2 * Math.PI * i) / names.length;
    return [name, { x: middle.x + radius.x * Math.cos(angle), y: middle.y + radius.y * Math.sin(angle) }];
  }));
  const half = (name) => Math.min(14 + name.length * 3.9, 66);
  const edges = graph.flatMap((edge) => edge.tails.map((tail) => ({ tail, head: edge.head, label: edge.label, together: edge.tails.length > 1 })));
  const words = graph.length
    ? `punctuation graph: ${graph.map((edge) => `${edge.tails.join(" and ")} close ${edge.head} by ${edge.label}`).join("; ")}`
    : `punctuation graph without edges: nothing closes ${names.join(", ")}`;
  return html`<svg class="pgraph" viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${words}>
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
    ${edges.map(({ tail, head, label, together }) => {
      const a = places[tail], b = places[head];
      if (!a || !b || tail === head) return null;
      const dx = b.x - a.x, dy = b.y - a.y, far = Math.hypot(dx, dy) || 1;
      const bend = { x: (a.x + b.x) / 2 - (dy / far) * 30, y: (a.y + b.y) / 2 + (dx / far) * 30 };
      const cutAt = (from, to, name) => {
        const angle = Math.atan2(to.y - from.y, to.x - from.x);
        return { x: from.x + half(name) * Math.cos(angle), y: from.y + RADIUS_Y * Math.sin(angle) };
      };
      const start = cutAt(a, bend, tail), end = cutAt(b, bend, head);
      return html`<path class=${together ? "edge together" : "edge"} d=${`M${start.x} ${start.y}Q${bend.x} ${bend.y} ${end.x} ${end.y}`} marker-end="url(#tip)" />
        <text class="label" x=${bend.x} y=${bend.y + (dx >= 0 ? 10 : -2)} text-anchor="middle">${label}</text>`;
    })}
    ${names.map((name) => html`<g class=${purgeable[name] === false ? "stream lasting" : "stream"}>
      <ellipse cx=${places[name].x} cy=${places[name].y} rx=${half(name)} ry=${RADIUS_Y} />
      <text x=${places[name].x} y=${places[name].y + 4} text-anchor="middle">${name.length > 15 ? `${name.slice(0, 14)}…` : name}</text>
    </g>`)}
  </svg>`;
}
