// JSON whose numbers stay as they were written: a BIGINT has more digits than a number of JavaScript.

export class ExactNumber {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
  toJSON() {
    return JSON.rawJSON ? JSON.rawJSON(this.text) : Number(this.text);
  }
}

export const parseExactly = (text) =>
  JSON.parse(text, (key, value, context) =>
    typeof value === "number" && context?.source && String(value) !== context.source ? new ExactNumber(context.source) : value);
