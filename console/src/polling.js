// Questions that are asked again and again while a page is in sight.
import { useEffect, useState } from "./dom.js";

/** The newest answer of `load`, asked for every so many milliseconds while the tab is visible. */
export function usePolled(load, milliseconds, keys) {
  const [state, setState] = useState({ answer: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    let timer = null;
    const again = async () => {
      if (!document.hidden) {
        try {
          const answer = await load(stop.signal);
          if (!stop.signal.aborted) setState({ answer, error: null });
        } catch (error) {
          if (!stop.signal.aborted) setState((before) => ({ ...before, error }));
        }
      }
      if (!stop.signal.aborted) timer = setTimeout(again, milliseconds);
    };
    again();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, keys);
  return state;
}

/** How fast numbers grow, by name: each time they are given, the rate since they last changed. */
export class Rates {
  constructor() {
    this.last = new Map();
  }

  of(name, count, now = performance.now()) {
    const known = this.last.get(name);
    if (!known) {
      this.last.set(name, { count, at: now, rate: null });
      return null;
    }
    if (now - known.at >= 900) {
      const rate = ((count - known.count) * 1000) / (now - known.at);
      this.last.set(name, { count, at: now, rate: Math.max(rate, 0) });
    }
    return this.last.get(name).rate;
  }
}
