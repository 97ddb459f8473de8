// What pages are written with. A value in a template is a text node: nothing that the service says is markup.
import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
export { render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
