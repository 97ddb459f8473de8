// A small chart of how many records come in a second: one bar for each look at the count.
import { html } from "../dom.js";
import { rate } from "../words.js";

const WIDTH = 480, HEIGHT = 72, MOST_BARS = 60;

/** Adds a look at a count to those before; what is older than the chart is wide is forgotten. */
export function noted(looks, count, at) {
  const last = looks[looks.length - 1];
  if (last && count < last.count) return [{ count, at }]; // it began anew
  return [...looks, { count, at }].slice(-(MOST_BARS + 1));
}

export function RateChart({ looks, label }) {
  const rates = looks.slice(1).map((look, i) => ((look.count - looks[i].count) * 1000) / Math.max(look.at - looks[i].at, 1));
  const highest = Math.max(...rates, 1e-9);
  const now = rates.length ? rates[rates.length - 1] : null;
  const step = WIDTH / MOST_BARS;
  const words = rates.length ? `${label}: ${rate(now)} now, at most ${rate(highest)} in the last ${rates.length} looks` : `${label}: not known yet`;
  return html`<figure class="chart">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${words} preserveAspectRatio="none">
      <line x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} class="axis" />
      ${rates.map((value, i) => {
        const height = (value / highest) * (HEIGHT - 6);
        const x = WIDTH - (rates.length - i) * step;
        return html`<rect class="bar" x=${x + 0.5} width=${step - 1.5} y=${HEIGHT - height} height=${height} />`;
      })}
    </svg>
    <figcaption>${rates.length ? `${rate(now)} now, ${rate(highest)} at most` : "looking ..."}</figcaption>
  </figure>`;
}
