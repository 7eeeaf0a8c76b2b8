import { EVENT_ID, type Event, parseEvents, YAMLException } from "js-yaml";
import { DocumentError } from "../text/document-error.ts";
import type { ResolvedLimits } from "../text/limits.ts";
import { formatBytes, type Position, positionAt, positionsIn } from "../text/text.ts";

/** The events of a YAML text. Their offsets refer to `text`, which can differ from the input in white space. */
export interface ParsedYaml {
  text: string;
  events: readonly Event[];
  /** The position in the input of an offset. */
  positionAt(offset: number): Position;
}

/** 32 MiB, about a second: each line that {@link indented} fixes causes another parse. */
const MAX_PARSED_AGAIN = 32 * 1024 * 1024;
const TOO_LITTLE = "deficient indentation";
const PADDING = " ".repeat(64);

/** Parses a YAML text. @throws {DocumentError} Syntax, TooDeep, TooLarge */
export function parseYaml(input: string, limits: ResolvedLimits, source: string | undefined): ParsedYaml {
  if (input.length > limits.maxYamlLength) {
    const size = formatBytes(limits.maxYamlLength);
    const message = `is YAML of more than ${size}; write it as JSON, which has no such limit`;
    throw new DocumentError("TooLarge", [{ path: "", message }], source);
  }
  if (hasMoreNodes(input, limits.maxYamlValues)) {
    const { maxValues, maxYamlValues } = limits;
    const most = maxValues === Infinity ? "has no such limit" : `can have ${maxValues}`;
    const more = maxValues > maxYamlValues ? `; write it as JSON, which ${most}` : "";
    const message = `is YAML of more than ${maxYamlValues} fields and items${more}`;
    throw new DocumentError("TooManyValues", [{ path: "", message }], source);
  }
  let text = input.includes("\r") ? input.replace(/\r\n?/g, "\n") : input;
  // Each document can start with a byte order mark (YAML 1.2, 5.2), as in concatenated files of Windows editors.
  if (text.includes("\ufeff")) text = text.replace(/^(---(?:[ \t][^\n]*)?\n)\ufeff/gm, "$1");
  const padded = new Map<number, number>();
  const inInput = ({ line, column }: Position): Position => ({
    line,
    column: Math.max(column - (padded.get(line) ?? 0), 1),
  });
  // A scalar is one level for the parser, and another one while it can still be a key.
  const maxDepth = limits.maxDepth + 2;
  for (let again = 0; ; again += text.length) {
    try {
      const events = parseEvents(text, { maxDepth });
      const positionOf = positionsIn(text);
      return { text, events, positionAt: (offset) => inInput(positionOf(offset)) };
    } catch (error) {
      if (!(error instanceof YAMLException)) throw error;
      const { reason } = error;
      let offset = error.mark?.position ?? 0;
      const fixed = reason === TOO_LITTLE && again < MAX_PARSED_AGAIN ? indented(text, offset) : undefined;
      if (fixed !== undefined) {
        const { line } = positionAt(text, offset);
        padded.set(line, (padded.get(line) ?? 0) + fixed.length - text.length);
        text = fixed;
        continue;
      }
      const deep = reason.startsWith("nesting exceeded");
      let message = deep ? `is nested deeper than ${limits.maxDepth}` : reason;
      const quote = openQuote(text.slice(0, offset).trimEnd(), reason, maxDepth);
      if (quote !== undefined) {
        offset = quote;
        message = "is a quoted text that never ends";
      }
      // Omit the cause: the library's message quotes the text, which can contain secrets.
      throw new DocumentError(
        deep ? "TooDeep" : "Syntax",
        [{ path: "", message, ...inInput(positionAt(text, offset)) }],
        source,
      );
    }
  }
}

/**
 * Whether a text may have more nodes than a bound. Each node but the first of a document needs an indicator (YAML 1.2,
 * 5.3). The count includes indicators in texts and comments, so it is never too low.
 */
function hasMoreNodes(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let nodes = 0;
  for (let at = 0; at < text.length && nodes <= most; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x2c || c === 0x5b || c === 0x7b || (c === 0x2e && text.startsWith("\n...", at - 1))) nodes++;
    else if ((c === 0x3a || c === 0x2d || c === 0x3f) && endsIndicator(text, at)) nodes++;
  }
  return nodes > most;
}

/** Whether `:`, `-` or `?` at an offset can be an indicator: before white space, a bracket, or after a quote. */
function endsIndicator(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  // NaN at the end of the text is an indicator too.
  if (!(next > 0x20) || next === 0x2c || next === 0x5b || next === 0x5d || next === 0x7b || next === 0x7d) return true;
  const before = text.charCodeAt(at - 1);
  return before === 0x22 || before === 0x27;
}

/**
 * Kubernetes lets brackets and quoted text continue at any column, as in `args: [` ... `]`, and after tabs. The library
 * refuses that (https://github.com/nodeca/js-yaml/issues/768). White space has no meaning there, so this function
 * indents the refused line at `offset`. Undefined if the indentation is not the reason.
 */
function indented(text: string, offset: number): string | undefined {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  const rest = text.slice(offset);
  const space = /[ \t[{]*$/.exec(line)?.[0] ?? "";
  const starts = line.trim() === "";
  if (!(starts || space.includes("\t")) || /^(?:---|\.\.\.)(?:\s|$)/.test(rest)) return undefined;
  return text.slice(0, offset - space.length) + (starts ? PADDING : "") + space.replaceAll("\t", " ") + rest;
}

/** The start of the quoted text that does not end before the end of `text`: a quote there would close it. */
function openQuote(text: string, reason: string, maxDepth: number): number | undefined {
  if (reason !== TOO_LITTLE && !reason.endsWith("quoted scalar")) return undefined;
  for (const quote of ["'", '"']) {
    try {
      const events = parseEvents(text + quote, { maxDepth });
      const last = events.findLast((event) => event.type === EVENT_ID.SCALAR && event.valueEnd === text.length);
      if (last?.type === EVENT_ID.SCALAR) return last.valueStart - 1;
    } catch (error) {
      if (!(error instanceof YAMLException)) throw error;
    }
  }
  return undefined;
}
