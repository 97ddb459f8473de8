// The state of something in a word, with a colour that the word does not need.
import { html } from "../dom.js";

const TONES = { running: "good", paused: "idle", idle: "idle", failed: "bad", retrying: "bad", safe: "good", refused: "bad", "by wish": "idle" };

export const State = ({ state }) => html`<span class=${`state ${TONES[state] ?? ""}`}>${state}</span>`;
